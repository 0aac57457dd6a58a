// Files that range tombstones make work of.
#ifndef WINNOW_ENGINE_COMPACTION_COVERED_FILES_H_
#define WINNOW_ENGINE_COMPACTION_COVERED_FILES_H_

#include <memory>
#include <vector>

#include "engine/base/capabilities.h"
#include "engine/compaction/compaction.h"

namespace winnow {

// Why the compaction below is made.
inline constexpr const char* kRangeDeletedReason = "range deleted";

// Files to remove without reading them; null if there are none. A file goes if the range tombstones
// of one newer place, a file of level 0 or a level, cover all of its keys, are newer than all that
// it holds, and no snapshot (ascending) sees any of it without them. What it hides itself lies
// deeper and is older, and so they hide that too. They stay as long as anything below does, and so
// nothing comes back in between. As Pebble's delete-only compactions.
std::unique_ptr<Compaction> PickCoveredFiles(const std::shared_ptr<const Version>& version,
                                             const std::vector<SequenceNumber>& snapshots)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// Of the files in deeper levels, roughly, the bytes that range tombstones of a file of `level` hide
// from who reads at present.
uint64_t CoveredBytesBelow(const Version& version, int level, const SstableFile& file);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COVERED_FILES_H_
