// Decides what to compact next: leveled compaction with dynamic level sizes.
#ifndef WINNOW_ENGINE_COMPACTION_PICKER_H_
#define WINNOW_ENGINE_COMPACTION_PICKER_H_

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/compaction/compaction.h"
#include "engine/compaction/level_order.h"
#include "winnow/options.h"

namespace winnow {

// The deepest level that compactions write to: the last, or the one above it where that is for what
// is ingested behind everything else.
inline int LastCompactedLevel(const ColumnFamilyOptions& options) {
  return options.allow_ingest_behind ? kNumLevels - 2 : kNumLevels - 1;
}

// How large each level may be. The deepest level with data sets the scale: the level above it may
// hold `multiplier` times less, and so on up to the base level, the first below level 0 that is
// used at all. So the deepest level holds about 90 % of the data whatever the database's size, and
// space amplification stays near 1.1 (Dong et al., CIDR 2017).
struct LevelTargets {
  int base_level = 1;
  std::array<uint64_t, kNumLevels> target_bytes{};  // of base_level and deeper
};
LevelTargets ComputeLevelTargets(const Version& version, const ColumnFamilyOptions& options);

// How urgent compacting each level is: from 1 on it is due.
struct LevelScores {
  std::array<double, kNumLevels> score{};
  int most_urgent = -1;  // level with the highest score >= 1; -1 if none
};
LevelScores ComputeScores(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// Picks for one column family, and goes by the files' flags: a file that is being compacted is left
// alone for now, one in quarantine for good, and what is sound is compacted around it.
class CompactionPicker {
 public:
  // The most urgent work whose inputs are all idle; null if there is none.
  std::unique_ptr<Compaction> Pick(const std::shared_ptr<const Version>& version,
                                   const ColumnFamilyOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Whether Pick would find any.
  bool CanPick(const std::shared_ptr<const Version>& version,
               const ColumnFamilyOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return Find(version, options) != nullptr;
  }

  // Neighbours of level 0 into one file of level 0, where there are too many files and no way down:
  // the level below is busy or damaged, or a range compaction runs. Null if that is of no use yet.
  static std::unique_ptr<Compaction> PickWithinLevelZero(
      const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Everything that overlaps [begin, end], of all levels, into the deepest level that holds data
  // (at least level 1), busy or not. Null if nothing overlaps.
  static std::unique_ptr<Compaction> PickRange(const std::shared_ptr<const Version>& version,
                                               const ColumnFamilyOptions& options,
                                               std::optional<std::string_view> begin,
                                               std::optional<std::string_view> end);

 private:
  std::unique_ptr<Compaction> Find(const std::shared_ptr<const Version>& version,
                                   const ColumnFamilyOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::unique_ptr<Compaction> FindInLevel(const std::shared_ptr<const Version>& version,
                                          const ColumnFamilyOptions& options, int level) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Of the levels below level 0 that were ever due. Where a level stands changes with what is
  // picked alone; what is kept of a version does when it is only asked.
  mutable std::map<int, LevelOrder> orders_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_PICKER_H_
