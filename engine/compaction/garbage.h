// Files that are worth compacting for their deletions, whatever their level's size.
#ifndef WINNOW_ENGINE_COMPACTION_GARBAGE_H_
#define WINNOW_ENGINE_COMPACTION_GARBAGE_H_

#include <limits>
#include <optional>

#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// Where the deletions of a level below level 0 go.
struct GarbagePath {
  int level = 0;
  int below = 0;
  // What a file that is mostly deletions is merged with may be as many times as large.
  double most_times_larger = std::numeric_limits<double>::infinity();
};

// One level down; where levels are tiers, to the next run, over empty levels. Nothing there is to
// cost more than leveled compaction would: the next run may be much the larger. Empty if no run
// lies below: what deletions are left then a snapshot needs.
std::optional<GarbagePath> PathOfGarbage(const Version& version, const ColumnFamilyOptions& options,
                                         bool has_tiers, int level);

// A file of path.level. Half of its entries are deletions, which take their share of space and of
// every scan until they have met what they delete; or iterators have passed many of them
// (SstableFile::NoteGarbage); or its range deletions hide so much that at least a quarter of what
// is merged where it goes could be dropped.
bool HasGarbage(const Version& version, const GarbagePath& path, const SstableFile& file);

// In level 0, which waits for other files as a rule, only what iterators have passed counts.
bool LevelZeroHasGarbage(const Version& version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// The first level with an idle file that has garbage and somewhere to go; -1 if there is none.
int LevelWithGarbage(const Version& version, const ColumnFamilyOptions& options, bool has_tiers)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_GARBAGE_H_
