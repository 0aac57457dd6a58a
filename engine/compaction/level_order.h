// In which order the files of a level go down to the next.
#ifndef WINNOW_ENGINE_COMPACTION_LEVEL_ORDER_H_
#define WINNOW_ENGINE_COMPACTION_LEVEL_ORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/base/capabilities.h"
#include "engine/version/version.h"

namespace winnow {

// For each file of a level below level 0, in the level's order: the bytes of the next level that
// have to be rewritten with it, for each byte that leaves the level. A deletion counts as the entry
// below that it drops. One pass over the files of both levels.
std::vector<double> OverlapRatios(const Version& version, int level);

// Of one level below level 0 of one column family. The file with the least overlap goes first, as
// in RocksDB (kMinOverlappingRatio) and Pebble: files that are merged where the next level is thin
// cost the fewest writes, and the others become worth more while they wait. But not for ever: every
// kPicksPerTurn-th time the next file in turn goes, round the key space as in LevelDB, so that each
// file, and each deletion in it, gets to the last level.
class LevelOrder {
 public:
  static constexpr uint64_t kPicksPerTurn = 32;
  // So many files are remembered as picked at most, those with the largest numbers.
  static constexpr size_t kMostPicked = 1024;

  // Shows the idle files of `level` to `take`, the one that should go first at first, until it
  // returns true or there are no more.
  void Offer(const std::shared_ptr<const Version>& version, int level,
             absl::FunctionRef<bool(const std::shared_ptr<SstableFile>&)> take)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // The files go down together now, the first by key first. If they come back, since their
  // compaction fails, others go first.
  void Picked(const Version::Files& files) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

 private:
  void Refresh(const std::shared_ptr<const Version>& version, int level)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The index of the first file behind the one that went in turn last.
  size_t NextInTurn(const Version& version, int level) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool is_turn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return num_picks_ % kPicksPerTurn == kPicksPerTurn - 1;
  }

  // What the order was made from. Not held: files of a version are removed when it is destroyed.
  std::weak_ptr<const Version> version_ ABSL_GUARDED_BY(database_mutex);
  std::vector<uint32_t> by_overlap_ ABSL_GUARDED_BY(database_mutex);  // indexes of files
  // Numbers of files that were picked; those that have left the level may be among them.
  std::set<uint64_t> picked_ ABSL_GUARDED_BY(database_mutex);
  // Its largest user key; none before the first.
  std::optional<std::string> last_in_turn_ ABSL_GUARDED_BY(database_mutex);
  uint64_t num_picks_ ABSL_GUARDED_BY(database_mutex) = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_LEVEL_ORDER_H_
