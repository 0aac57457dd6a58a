// How a level-aware policy spreads the bits of a uniform setting over the levels of a tree.
//
// A look-up of an absent key asks one filter in each sorted run. Dayan, Athanassoulis and Idreos,
// "Monkey: Optimal Navigable Key-Value Store", SIGMOD 2017: the sum of the false-positive rates,
// under a fixed sum of bits, is least when the rate of each run is proportional to its number of
// keys. Each level is `size_ratio` times the one above it, so that the last holds nearly all keys
// and gets a little less than the uniform bits, and each level above gets log2(size_ratio) times
// the price of a halved rate more than the one below it.

#ifndef WINNOW_FILTER_LEVEL_ALLOCATION_H_
#define WINNOW_FILTER_LEVEL_ALLOCATION_H_

#include <vector>

#include "winnow/filter/spec.h"

namespace winnow::filter::internal {

// The levels that hold files: 0 and base_level to last_level.
struct TreeShape {
  int base_level = 1;
  int last_level = 1;
  double size_ratio = 10;

  friend bool operator==(const TreeShape&, const TreeShape&) = default;
};

// Level 0 is modelled as this many runs that together are as large as the base level: RocksDB's
// defaults of level0_file_num_compaction_trigger, and of max_bytes_for_level_base as so many
// memtables.
inline constexpr int kLevelZeroRuns = 4;

// Bits per key for each level from 0 to last_level (those between 0 and base_level, where no files
// are, get the base level's) that together take as many bits as `uniform_bits` for every key.
// `spec` must be of a kind with bits; its amount plays no part.
std::vector<double> SpreadBits(const FilterSpec& spec, double uniform_bits, const TreeShape& shape);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_LEVEL_ALLOCATION_H_
