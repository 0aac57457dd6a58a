#include "engine/sstable/policy_filter.h"

namespace winnow {

// Keys lie one behind the other in key_bytes_, with their ends: LevelDB's interface wants all keys
// of a filter at once, and a vector of strings would take several times the memory.
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
  // The views point into key_bytes_, which no longer changes.
  policy_->CreateFilter(keys, &filter);
  return filter;
}

}  // namespace winnow
