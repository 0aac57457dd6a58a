#include "engine/sstable/policy_filter.h"

namespace winnow {

std::string PolicyFilterBuilder::Finish() const {
  std::string filter;
  if (key_ends_.empty()) return filter;
  std::vector<std::string_view> keys;
  keys.reserve(key_ends_.size());
  uint64_t begin = 0;
  for (const uint64_t end : key_ends_) {
    keys.push_back(std::string_view(key_bytes_).substr(begin, end - begin));
    begin = end;
  }
  policy_->CreateFilter(keys, &filter);
  return filter;
}

}  // namespace winnow
