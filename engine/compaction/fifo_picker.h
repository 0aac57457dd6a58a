// What is dropped unread, oldest first, once the files of a family have more bytes than its limit.
#ifndef WINNOW_ENGINE_COMPACTION_FIFO_PICKER_H_
#define WINNOW_ENGINE_COMPACTION_FIFO_PICKER_H_

#include <memory>

#include "engine/compaction/compaction.h"
#include "engine/compaction/picker.h"
#include "winnow/options.h"

namespace winnow {

// Of all levels together, as that of level 0.
LevelScores ComputeFifoScores(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// The oldest files, those that other styles left below level 0 included, until the rest is within
// the limit; else small neighbours of level 0, if there are as many as a look-up should not have to
// pass. Null: nothing is due, or it is busy.
std::unique_ptr<Compaction> FindFifo(const std::shared_ptr<const Version>& version,
                                     const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// Files of level 0 are merged up to this size; UINT64_MAX: in any other style to any size.
uint64_t MostBytesOfMergedFile(const ColumnFamilyOptions& options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_FIFO_PICKER_H_
