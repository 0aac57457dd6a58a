// Decides what to compact next: leveled compaction with dynamic level sizes here, other styles by
// tiered_picker.h and fifo_picker.h.
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

// The deepest level that compactions write to: the last one that the style makes use of, or a
// deeper one where another style has left something. The last of all is not for them where it is
// for what is ingested behind everything else.
int LastCompactedLevel(const Version& version, const ColumnFamilyOptions& options);

// The deepest level for what is ingested in front of everything else. With fifo the oldest data is
// the deepest.
inline int DeepestIngestLevel(const Version& version, const ColumnFamilyOptions& options) {
  const bool is_fifo = options.compaction.kind == CompactionStyle::Kind::kFifo;
  return is_fifo ? 0 : LastCompactedLevel(version, options);
}

// How large each level may be. The deepest level with data sets the scale: the level above it may
// hold `multiplier` times less, and so on up to the base level, the first below level 0 that is
// used at all. So the deepest level holds about 90 % of the data (Dong et al., CIDR 2017), less
// where the base level's share of it would be below `level_base_bytes`, which it may hold in any
// case.
struct LevelTargets {
  int base_level = 1;
  std::array<uint64_t, kNumLevels> target_bytes{};  // of base_level and deeper
};
LevelTargets ComputeLevelTargets(const Version& version, const ColumnFamilyOptions& options);

// How urgent compacting each level is: from 1 on it is due.
struct LevelScores {
  std::array<double, kNumLevels> score{};
  int most_urgent = -1;  // level with the highest score >= 1; -1 if none
  // Nothing is due by size, but a file of this level, or of one below it, is worth compacting all
  // the same (early_compaction.h); -1 if none is. It is the most urgent then.
  int early = -1;

  // Sets `most_urgent` from the scores of levels above `last`.
  void FindMostUrgent(int last);
};
LevelScores ComputeScores(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// Picks for one column family, by its style, and goes by the files' flags: a file that is being
// compacted is left alone for now, one in quarantine for good, and what is sound is compacted
// around it.
class CompactionPicker {
 public:
  // The most urgent work whose inputs are all idle; null if there is none.
  std::unique_ptr<Compaction> Pick(const std::shared_ptr<const Version>& version,
                                   const ColumnFamilyOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // ComputeScores, and what the picker has begun and not ended yet.
  LevelScores Scores(const Version& version, const ColumnFamilyOptions& options) const
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
  // (at least level 1), busy or not. Null if nothing overlaps, and with fifo.
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

  // One file of a level below level 0 to a deeper one, between which there is nothing. Null:
  // something is busy.
  static std::unique_ptr<Compaction> OneFileDown(const std::shared_ptr<const Version>& version,
                                                 const ColumnFamilyOptions& options, int level,
                                                 int to, const std::shared_ptr<SstableFile>& file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // A file of this level, or of one below it, before the level is due.
  std::unique_ptr<Compaction> FindEarly(const std::shared_ptr<const Version>& version,
                                        const ColumnFamilyOptions& options, int from) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // From all levels above the last into the last one and each other, where levels are tiers.
  std::unique_ptr<Compaction> FindInTiers(const std::shared_ptr<const Version>& version,
                                          const ColumnFamilyOptions& options, int level) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // With lazy leveling: the level above the last goes down until nothing is left of it.
  bool IsDraining(const Version& version, const ColumnFamilyOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // IsDraining when last picked.
  bool is_draining_ = false;
  // Of the levels below level 0 that were ever due. Where a level stands changes with what is
  // picked alone; what is kept of a version does when it is only asked.
  mutable std::map<int, LevelOrder> orders_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_PICKER_H_
