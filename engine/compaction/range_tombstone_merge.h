// The range tombstones of a flush or compaction: which of them its outputs still need.
#ifndef WINNOW_ENGINE_COMPACTION_RANGE_TOMBSTONE_MERGE_H_
#define WINNOW_ENGINE_COMPACTION_RANGE_TOMBSTONE_MERGE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/range_tombstones.h"
#include "engine/compaction/compaction.h"

namespace winnow {

// All tombstones of a job's inputs in one index; their bytes stay the inputs'.
class RangeTombstoneMerge {
 public:
  explicit RangeTombstoneMerge(const InternalKeyComparator& comparator) : comparator_(comparator) {}

  void Add(const SstableReader& table) { table.AppendRangeTombstones(&tombstones_); }
  std::vector<RangeTombstone>* tombstones() { return &tombstones_; }
  // After all have been added, once; null if there is none.
  const RangeTombstoneIndex* index();

  // What is kept of them between the two user keys (unset: unbounded), in order: of each fragment
  // the newest number of each stripe of `snapshots` (ascending; CompactionIterator says what a
  // stripe is), and of the oldest stripe none where `is_last_level_for(begin, end)` says that
  // nothing older can hold keys of [begin, end) (null: it never is).
  using IsLastLevelFor = std::function<bool(std::string_view begin, std::string_view end)>;
  std::vector<RangeTombstoneFragment> Kept(const std::vector<SequenceNumber>& snapshots,
                                           const IsLastLevelFor& is_last_level_for,
                                           const std::optional<std::string>& begin,
                                           const std::optional<std::string>& end);

 private:
  std::vector<SequenceNumber> KeptIn(size_t fragment, const std::vector<SequenceNumber>& snapshots,
                                     const std::function<bool()>& is_last_level) const;

  const InternalKeyComparator comparator_;
  std::vector<RangeTombstone> tombstones_;
  std::optional<RangeTombstoneIndex> index_;
};

// Whether no file that is older than a compaction's inputs overlaps a range, as
// BottommostLevelChecker says it of keys.
bool IsBottommostFor(const Compaction& compaction, std::string_view begin, std::string_view end);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_RANGE_TOMBSTONE_MERGE_H_
