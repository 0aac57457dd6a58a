// What the filters of a policy that are alive take, beside what a uniform setting would: whoever
// spends more on one filter must know that others have saved it.

#ifndef WINNOW_FILTER_ROCKSDB_FILTER_LEDGER_H_
#define WINNOW_FILTER_ROCKSDB_FILTER_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"

namespace winnow::filter::internal {

struct FilterSize {
  int64_t keys = 0;
  int64_t uniform_bits = 0;  // what the uniform setting would give these keys
  int64_t bits = 0;          // what they have

  int64_t saved_bits() const { return uniform_bits - bits; }
};

// Where a filter's file is in a tree: its level, or kLastRun if no older run holds keys of its
// range, wherever it lies.
struct FilterPlace {
  static constexpr int kLastRun = std::numeric_limits<int>::max();
  static constexpr uint64_t kUnknownTree = 0;

  uint64_t tree = kUnknownTree;
  int level = kLastRun;

  friend auto operator<=>(const FilterPlace&, const FilterPlace&) = default;
};

struct CountedFilter {
  FilterPlace place;
  FilterSize size;
};

// A filter counts from when it is built until the last reader of it is destroyed. Thread-safe.
class FilterLedger {
 public:
  // Filters that were built and not opened yet; of more, the oldest count no longer. RocksDB opens
  // each file to check it when all of its job are written; not those of a job that has failed.
  static constexpr size_t kMaxUnopened = 1024;

  // A filter of this FilterIdentity was built.
  void Built(uint64_t identity, const CountedFilter& filter);
  // A filter was opened: the one that was built, or one whose place is not known.
  CountedFilter Opened(uint64_t identity, const FilterSize& size);
  // What Opened has returned is gone.
  void Closed(const CountedFilter& filter);

  // The sum of the filters that have come to stay: of those that were not opened yet, only what
  // they take beyond the uniform bits counts, since the ones that they replace are still there.
  FilterSize Total();
  // The sums of a tree's filters by level.
  std::map<int, FilterSize> LevelsOf(uint64_t tree);

 private:
  void Count(const CountedFilter& filter, int sign) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  FilterSize total_ ABSL_GUARDED_BY(mutex_);
  // Only places that have filters.
  std::map<FilterPlace, FilterSize> places_ ABSL_GUARDED_BY(mutex_);
  // Counted, with their identities, in the order in which they were built.
  std::deque<std::pair<uint64_t, CountedFilter>> unopened_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_FILTER_LEDGER_H_
