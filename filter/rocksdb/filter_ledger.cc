#include "filter/rocksdb/filter_ledger.h"

#include <algorithm>

namespace winnow::filter::internal {
namespace {

void AddTo(FilterSize& sum, const FilterSize& size, int sign) {
  sum.keys += sign * size.keys;
  sum.uniform_bits += sign * size.uniform_bits;
  sum.bits += sign * size.bits;
}

}  // namespace

void FilterLedger::Count(const CountedFilter& filter, int sign) {
  AddTo(total_, filter.size, sign);
  FilterSize& sum = places_[filter.place];
  AddTo(sum, filter.size, sign);
  if (sum.keys == 0) places_.erase(filter.place);
}

void FilterLedger::Built(uint64_t identity, const CountedFilter& filter) {
  const MutexLock lock(&mutex_);
  Count(filter, +1);
  unopened_.emplace_back(identity, filter);
  if (unopened_.size() <= kMaxUnopened) return;
  Count(unopened_.front().second, -1);
  unopened_.pop_front();
}

CountedFilter FilterLedger::Opened(uint64_t identity, const FilterSize& size) {
  const MutexLock lock(&mutex_);
  const auto built = std::find_if(unopened_.begin(), unopened_.end(),
                                  [&](const auto& entry) { return entry.first == identity; });
  if (built != unopened_.end()) {
    const CountedFilter filter = built->second;
    unopened_.erase(built);
    return filter;
  }
  const CountedFilter filter = {.place = {}, .size = size};
  Count(filter, +1);
  return filter;
}

void FilterLedger::Closed(const CountedFilter& filter) {
  const MutexLock lock(&mutex_);
  Count(filter, -1);
}

FilterSize FilterLedger::Total() {
  const MutexLock lock(&mutex_);
  FilterSize sum = total_;
  for (const auto& [identity, filter] : unopened_) {
    const FilterSize& size = filter.size;
    AddTo(sum, {size.keys, size.uniform_bits, std::min(size.bits, size.uniform_bits)}, -1);
  }
  return sum;
}

std::map<int, FilterSize> FilterLedger::LevelsOf(uint64_t tree) {
  const MutexLock lock(&mutex_);
  std::map<int, FilterSize> levels;
  for (auto it = places_.lower_bound({tree, 0}); it != places_.end() && it->first.tree == tree;
       ++it) {
    levels.insert({it->first.level, it->second});
  }
  return levels;
}

}  // namespace winnow::filter::internal
