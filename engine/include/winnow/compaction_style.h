// In which shape a column family keeps its SSTables, and what that costs.
#ifndef WINNOW_COMPACTION_STYLE_H_
#define WINNOW_COMPACTION_STYLE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// Each level below level 0 is one sorted run, whatever the style, so that a look-up asks one filter
// of each, newest first. Styles differ in when runs are merged. A database may be opened with
// another style each time: what lies in its levels is right for all of them, and compactions bring
// it into the new shape over time.
struct CompactionStyle {
  enum class Kind {
    // Each level is level_size_multiplier times larger than the one above it; files go down one by
    // one. Least space (1.1 times the data) and most writing. Levels 0 to 6.
    kLeveled,
    // Lazy leveling (Dayan and Idreos, "Dostoevsky", SIGMOD 2018). The levels above the last hold
    // runs that are merged seldom: as many as levels are there, so that the next of them takes what
    // level 0 has. Once they have half of what the last level has, they go down to it together, key
    // range by key range, so that each range of the last level is written once for all of them.
    // Takes up to half of the data again in space. The deeper the tree, the less it writes beside
    // kLeveled: six tenths with 1,800 memtables of data. A look-up asks up to fourteen runs, the
    // last level and level 0: of absent keys, some filters more, to which filter_memory_budget
    // gives bits by their size, so that they cost little more.
    kLazyLeveled,
    // The last level is a run as the others and is merged, whole, once twice its size lies above
    // it. Least writing; up to three times the data in space, and once more while that merge runs.
    kTiered,
    // Nothing goes below level 0. Once the files have more than `fifo_bytes` together the oldest
    // are dropped, unread, with whatever is in them: for logs and caches. Snapshots do not keep
    // what is in them, and CompactRange does nothing. The newest file stays, however large. Small
    // neighbours are merged, up to an eighth of the limit. Writes do not wait for level 0.
    kFifo,
  };

  Kind kind = Kind::kLeveled;
  uint64_t fifo_bytes = 0;  // of kFifo alone; range 64 KiB - 16 TiB

  static CompactionStyle Fifo(uint64_t bytes) { return {Kind::kFifo, bytes}; }
  bool operator==(const CompactionStyle&) const = default;
  // Of how many levels, from level 0 on, it makes use: 7, or of all (kNumLevels) where each holds a
  // tier. What another style has left on a deeper level stays there, and is the last level.
  int num_levels() const;
  int last_level() const { return num_levels() - 1; }
  // "leveled", "lazy_leveled", "tiered", "fifo:1073741824".
  std::string ToString() const;
};

// The reverse; bytes may have a suffix: "fifo:1G". InvalidArgument lists the forms.
absl::StatusOr<CompactionStyle> ParseCompactionStyle(std::string_view text);

}  // namespace winnow

#endif  // WINNOW_COMPACTION_STYLE_H_
