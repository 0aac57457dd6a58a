// Files that are worth compacting before their level is due: for their deletions, or for the blocks
// of them that look-ups read in vain.
#ifndef WINNOW_ENGINE_COMPACTION_EARLY_COMPACTION_H_
#define WINNOW_ENGINE_COMPACTION_EARLY_COMPACTION_H_

#include <limits>
#include <optional>

#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// Where files of a level below level 0 go before it is due.
struct EarlyPath {
  int level = 0;
  int below = 0;
  // What a file that is mostly deletions is merged with may be as many times as large.
  double most_times_larger = std::numeric_limits<double>::infinity();
  // Reads in vain count. Not where levels are tiers: who chose those wants to write less, and has
  // more of such reads for it.
  bool readers_may_pay = true;
};

// One level down; where levels are tiers, to the next run, over empty levels. Nothing there is to
// cost more than leveled compaction would: the next run may be much the larger. Empty if no run
// lies below: what deletions are left then a snapshot needs.
std::optional<EarlyPath> EarlyPathFrom(const Version& version, const ColumnFamilyOptions& options,
                                       bool has_tiers, int level);

// Why a file of path.level is worth compacting, for its compaction to say; null if it is not.
//
// For its deletions: half of its entries are some, which take their share of space and of every
// scan until they have met what they delete; or iterators have passed many of them
// (SstableFile::NoteGarbage); or its range deletions hide so much that at least a quarter of what
// is merged where it goes could be dropped.
//
// For reads in vain (SstableFile::NoteReadsInVain): they have read as many bytes as the compaction
// would read and write. To merge a byte takes about as long as to read one in vain from the
// system's cache, and less than from a disk. Whatever comes next, no more than twice is spent of
// what would have been best, be it to compact the file at once or never (Karlin et al.,
// "Competitive snoopy caching", 1988, on renting and buying).
const char* EarlyReason(const Version& version, const EarlyPath& path, const SstableFile& file);

// The same of level 0, whose idle files go together. Deletions count only where iterators have
// passed them: as a rule files wait here for others. Nor do they where levels are no tiers and the
// base level is many times as large, all of which would be the price: they are passed until more
// have come.
const char* EarlyReasonOfLevelZero(const Version& version, const ColumnFamilyOptions& options,
                                   bool has_tiers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// The first level with an idle file that has a reason and somewhere to go; -1 if there is none.
int FirstEarlyLevel(const Version& version, const ColumnFamilyOptions& options, bool has_tiers)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_EARLY_COMPACTION_H_
