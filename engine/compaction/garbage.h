// Files that are worth compacting for their deletions, whatever their level's size.
#ifndef WINNOW_ENGINE_COMPACTION_GARBAGE_H_
#define WINNOW_ENGINE_COMPACTION_GARBAGE_H_

#include "engine/compaction/compaction.h"

namespace winnow {

// A file of `level`. Half of its entries are deletions, which take their share of space and of
// every scan until they have met what they delete; or iterators have passed many of them
// (SstableFile::NoteGarbage); or its range deletions hide so much that at least a quarter of what
// is merged where it goes one level down could be dropped.
bool HasGarbage(const Version& version, int level, const SstableFile& file);

// The first of the levels with an idle file that has garbage; -1 if there is none.
int LevelWithGarbage(const Version& version, int first, int last)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_GARBAGE_H_
