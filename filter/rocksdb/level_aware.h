// How a policy spreads the bits of a uniform setting over the levels of natural trees, whose levels
// are seldom of the sizes that they ought to have.
//
// Files of the last run get a little less than the uniform bits: by depth alone, so that a file
// that lives long has a sensible filter whatever was there when it was built. What those files have
// really saved, and no more, is spread over the upper levels by their sizes: nominal, or present
// where they are larger.

#ifndef WINNOW_FILTER_ROCKSDB_LEVEL_AWARE_H_
#define WINNOW_FILTER_ROCKSDB_LEVEL_AWARE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"
#include "filter/rocksdb/filter_ledger.h"
#include "filter/rocksdb/tree_observer.h"
#include "winnow/filter/choice.h"
#include "winnow/filter/spec.h"

namespace winnow::filter::internal {

// What files of the last run get of the uniform bits: a share below 1.
double ShareOfLastRun(const FilterSpec& spec, const TreeShape& shape);

// What the levels above the last run get, by level, at least `last_share`, the last run's: an upper
// level that holds most of the keys pays as that does. `live` is the tree's filters by level, those
// of the last run with all whose place is not known.
std::map<int, double> ShareOfUpperLevels(const FilterSpec& spec, const ObservedTree& tree,
                                         const std::map<int, FilterSize>& live, double last_share);

class LevelAwareFile;
class OpenedFilter;

// Of one policy. Thread-safe.
class LevelAware : public std::enable_shared_from_this<LevelAware> {
 public:
  LevelAware(FilterSpec spec, double size_ratio) : spec_(std::move(spec)), observer_(size_ratio) {}

  // A file is going to be built; `context` is for "auto".
  std::shared_ptr<LevelAwareFile> Begin(const NewFile& file, const FilterBuildContext& context);
  // A sound filter block was loaded. Null if it tells no number of keys.
  std::unique_ptr<OpenedFilter> Opened(std::string_view block);

 private:
  friend class LevelAwareFile;
  friend class OpenedFilter;

  double ShareOf(const NewFile& file, const ObservedTree& tree);
  double LastShare(const TreeShape& shape);

  const FilterSpec spec_;
  TreeObserver observer_;
  FilterLedger ledger_;
  Mutex mutex_;
  // For the shape that was asked for last: a millisecond to compute.
  TreeShape shape_ ABSL_GUARDED_BY(mutex_);
  std::optional<double> last_share_ ABSL_GUARDED_BY(mutex_);
};

// One file while it is built, for the thread that builds it.
class LevelAwareFile {
 public:
  LevelAwareFile(std::shared_ptr<LevelAware> policy, NewFile file, FilterPlace place,
                 FilterBuildContext context, double share);
  LevelAwareFile(const LevelAwareFile&) = delete;
  LevelAwareFile& operator=(const LevelAwareFile&) = delete;
  // The end of the file.
  ~LevelAwareFile();

  // Of a filter with many keys, roughly.
  double ExpectedBitsPerKey() const;
  // Of a filter that has so many keys and is built now; nothing: what the spec says.
  std::optional<double> BitsPerKey(uint64_t num_keys) const;
  void Built(std::string_view block);

 private:
  const std::shared_ptr<LevelAware> policy_;
  const NewFile file_;
  const FilterPlace place_;
  const FilterBuildContext context_;
  const double share_;  // of the uniform bits
  uint64_t num_keys_ = 0;
};

// Counts a filter for as long as it lives.
class OpenedFilter {
 public:
  OpenedFilter(std::shared_ptr<LevelAware> policy, const CountedFilter& filter)
      : policy_(std::move(policy)), filter_(filter) {}
  OpenedFilter(const OpenedFilter&) = delete;
  OpenedFilter& operator=(const OpenedFilter&) = delete;
  ~OpenedFilter() { policy_->ledger_.Closed(filter_); }

 private:
  const std::shared_ptr<LevelAware> policy_;
  const CountedFilter filter_;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_LEVEL_AWARE_H_
