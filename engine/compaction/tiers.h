// Which sorted runs are merged, where each level holds one and none has a size of its own.
#ifndef WINNOW_ENGINE_COMPACTION_TIERS_H_
#define WINNOW_ENGINE_COMPACTION_TIERS_H_

#include <cstdint>
#include <span>

namespace winnow {

// A new run of `newest_bytes` (level 0) comes on top of levels 1, 2, ..., whose bytes
// `level_bytes` gives from index 0; 0: the level is empty. Returns the level (1 for index 0) that
// it should become, merged with everything in that level and above: one that holds nothing, and
// under which nothing else is empty, or a run that has to be written again.
//
// The binomial merge of Mathieu, Rajaraman, Young and Yousefi ("Competitive data-structure
// dynamization", SODA 2021): with k levels, C(k + d, k) runs of equal size can come before any
// entry has been written more than d times, and no schedule does better.
int TierToMergeInto(uint64_t newest_bytes, std::span<const uint64_t> level_bytes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_TIERS_H_
