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

// Filters without keys are never counted, so that a place without keys has no filters.
void FilterLedger::Count(const CountedFilter& filter, int sign) {
  AddTo(total_, filter.size, sign);
  FilterSize& sum = places_[filter.place];
  AddTo(sum, filter.size, sign);
  if (sum.keys == 0) places_.erase(filter.place);
}

// Counted at once: the other builders of the job are to see it, though it is in no reader yet. It
// may never be, if the job fails, so that the oldest of too many are taken back.
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
  // Up to 1,024 comparisons, beside loading a filter. It goes on counting as what it was built as.
  const auto built = std::find_if(unopened_.begin(), unopened_.end(),
                                  [&](const auto& entry) { return entry.first == identity; });
  if (built != unopened_.end()) {
    const CountedFilter filter = built->second;
    unopened_.erase(built);
    return filter;
  }
  // Built by another process, or taken back before: nobody knows its level.
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
  // What stays of an unopened filter is bits - uniform_bits, where that is positive.
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
  // Places are in the order of their trees first: those of one tree lie together.
  for (auto it = places_.lower_bound({tree, 0}); it != places_.end() && it->first.tree == tree;
       ++it) {
    levels.insert({it->first.level, it->second});
  }
  return levels;
}

}  // namespace winnow::filter::internal
