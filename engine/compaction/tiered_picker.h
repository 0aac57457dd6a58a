// The runs above the last level, where they are merged seldom: lazy leveling and tiering.
#ifndef WINNOW_ENGINE_COMPACTION_TIERED_PICKER_H_
#define WINNOW_ENGINE_COMPACTION_TIERED_PICKER_H_

#include <memory>

#include "engine/compaction/compaction.h"
#include "engine/compaction/picker.h"
#include "winnow/options.h"

namespace winnow {

// Whether runs above the last level are merged by their number, not by their size. Not around
// damage: leveled compaction goes around files in quarantine, and every tree is one of its own.
bool HasTiers(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// Level 0 by its files, as ever. With lazy leveling also the level above the last, by the bytes of
// all levels above the last for each byte that they may have.
LevelScores ComputeTierScores(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// With lazy leveling: level 0 is so large beside the last level, and alone above it, that it goes
// straight there.
bool GoesToLastLevel(const Version& version, const ColumnFamilyOptions& options);

// All of level 0 to the level that takes it, with what is on the way; or a run over an empty level,
// which first moves there. `draining`: the level above the last takes nothing. Null: busy.
std::unique_ptr<Compaction> FindTierMerge(const std::shared_ptr<const Version>& version,
                                          const ColumnFamilyOptions& options, bool draining)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// The deepest run to the level above the last, if that is empty: it goes down from there. Null if
// there is no such run, or it is busy.
std::unique_ptr<Compaction> FindRunToDrain(const std::shared_ptr<const Version>& version,
                                           const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_TIERED_PICKER_H_
