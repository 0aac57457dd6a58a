// Which compactions need not write a file.
#ifndef WINNOW_ENGINE_COMPACTION_TRIVIAL_MOVE_H_
#define WINNOW_ENGINE_COMPACTION_TRIVIAL_MOVE_H_

#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// A trivial move changes the manifest and no file. Only for one file that overlaps nothing in the
// output level, and not
//
// 1. where the file cannot be opened: moving damage down helps nobody;
// 2. where the levels have different compression, which a rewrite is to apply;
// 3. where the file overlaps so much of the level after that its next compaction would be large;
// 4. where a rewrite is what drops the file's deletions: once it lies in the last level, nothing
//    would, and every scan would walk them.
bool CanMove(const Compaction& compaction, const ColumnFamilyOptions& options, int from_level);

// The same for several files, of any levels, that together are everything from there down to the
// output level: only if no two of them overlap, and none is small, as those of level 0 would stay.
bool CanMoveTogether(const Compaction& compaction, const ColumnFamilyOptions& options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_TRIVIAL_MOVE_H_
