// Decides what to compact next: leveled compaction with dynamic level sizes.
#ifndef WINNOW_ENGINE_COMPACTION_PICKER_H_
#define WINNOW_ENGINE_COMPACTION_PICKER_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

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
LevelScores ComputeScores(const Version& version, const ColumnFamilyOptions& options);

// Picks per column family. All calls need the database's mutex (the files' busy flags).
class CompactionPicker {
 public:
  // The most urgent work whose inputs are all idle; null if there is none.
  std::unique_ptr<Compaction> Pick(const std::shared_ptr<const Version>& version,
                                   const ColumnFamilyOptions& options);

  // Everything that overlaps [begin, end], of all levels, into the deepest level that holds data
  // (at least level 1). Null if nothing overlaps; AnyInputBusy(): it must wait.
  static std::unique_ptr<Compaction> PickRange(const std::shared_ptr<const Version>& version,
                                               const ColumnFamilyOptions& options,
                                               std::optional<std::string_view> begin,
                                               std::optional<std::string_view> end);

 private:
  std::unique_ptr<Compaction> PickLevelZero(const std::shared_ptr<const Version>& version,
                                            const ColumnFamilyOptions& options, int base_level);
  std::unique_ptr<Compaction> PickLevel(const std::shared_ptr<const Version>& version,
                                        const ColumnFamilyOptions& options, int level);

  // Where the last compaction of each level ended: work goes round the key space.
  std::array<std::string, kNumLevels> next_key_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_PICKER_H_
