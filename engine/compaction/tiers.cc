#include "engine/compaction/tiers.h"

#include <algorithm>
#include <numeric>

namespace winnow {

namespace {

// What one run may be larger, or all together smaller, in new runs, than the schedule has it.
constexpr double kTolerance = 0.4;

// C(k + d, k), in floating point: it is compared with a ratio of bytes.
double RunsFor(int levels, int merges) {
  double runs = 1;
  for (int i = 1; i <= levels; i++) runs = runs * (merges + i) / i;
  return runs;
}

}  // namespace

// The run of level k has been merged d - 1 times if it is as large as C(k + d - 1, k) new ones. It
// takes part again once the levels above it have had all that they can without being merged more
// than d times: C(k - 1 + d, k - 1) new ones. With what they bring it is as large as C(k + d, k).
// Level 1, with nothing above it to take a new run, is merged each time.
int TierToMergeInto(uint64_t newest_bytes, std::span<const uint64_t> level_bytes) {
  const double unit = static_cast<double>(std::max<uint64_t>(newest_bytes, 1));
  uint64_t above = std::accumulate(level_bytes.begin(), level_bytes.end(), newest_bytes);
  for (int level = static_cast<int>(level_bytes.size()); level >= 1; level--) {
    const uint64_t bytes = level_bytes[static_cast<size_t>(level) - 1];
    above -= bytes;
    if (bytes == 0) {
      // Nothing lies between level 0 and this level: the new run goes down this far without being
      // merged.
      if (above == newest_bytes) return level;
      continue;
    }
    int merges = 1;
    constexpr int kMostMerges = 64;  // of level 1 a run of any size has had more
    while (merges < kMostMerges &&
           RunsFor(level, merges - 1) * (1 + kTolerance) * unit < static_cast<double>(bytes)) {
      merges++;
    }
    const double runs_above = static_cast<double>(above) / unit;
    if (runs_above + kTolerance >= RunsFor(level - 1, merges)) return level;
  }
  return 1;
}

}  // namespace winnow
