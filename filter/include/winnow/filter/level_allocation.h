// Spreads the bits of a uniform filter setting over the levels of a tree, so that a look-up of an
// absent key reads less for the same memory.
//
// Such a look-up asks one filter in each sorted run, so that the sum of their false-positive rates
// counts. Under a fixed sum of bits it is least when the rate of each run is proportional to its
// number of keys (Dayan, Athanassoulis and Idreos, "Monkey: Optimal Navigable Key-Value Store",
// SIGMOD 2017). Each level is `size_ratio` times the one above it, so that the last holds nearly
// all keys and gets a little less than the uniform bits, and each level above gets log2(size_ratio)
// times the price of a halved rate more than the one below it.
//
//   std::vector<double> bits = SpreadBits(*ParseFilterSpec("ribbon"), 10, {.last_level = 3});
//   // bits[3] is a little below 10, bits[1] about 7 above it

#ifndef WINNOW_FILTER_LEVEL_ALLOCATION_H_
#define WINNOW_FILTER_LEVEL_ALLOCATION_H_

#include <vector>

#include "winnow/filter/spec.h"

namespace winnow::filter {

// The levels that hold files: 0 and base_level to last_level; 1 <= base_level <= last_level.
struct TreeShape {
  int base_level = 1;
  int last_level = 1;
  double size_ratio = 10;  // of a level to the one above it, at least 1

  friend bool operator==(const TreeShape&, const TreeShape&) = default;
};

// Level 0 is modelled as this many runs that together are as large as the base level: RocksDB's
// defaults of level0_file_num_compaction_trigger, and of max_bytes_for_level_base as so many
// memtables.
inline constexpr int kLevelZeroRuns = 4;

// Bits per key by level, from 0 to last_level, that together take as many bits as `uniform_bits`
// for every key would if the levels have the sizes of `shape`. Levels between 0 and base_level,
// which hold no files, get the base level's. No level leaves AllowedBitsPerKey(spec), nor a rate of
// 1e-6 to 0.5; where all of them are at an end of that, the sum differs from the uniform one.
//
// `spec` must be of a kind with bits: not kNone; its amount plays no part. `uniform_bits` must lie
// in AllowedBitsPerKey(spec). Cannot fail. Thread-safe; up to some milliseconds.
std::vector<double> SpreadBits(const FilterSpec& spec, double uniform_bits, const TreeShape& shape);

// One level of a tree that is known: what a look-up of an absent key meets in it, and what it
// takes.
struct LevelKeys {
  double run_keys = 0;    // of one sorted run; more than 0
  double total_keys = 0;  // of all its runs
};

// Bits per key for each of `levels`, in their order, which together take `total_bits`: the same
// rule and the same limits for levels of any sizes. `levels` must not be empty.
std::vector<double> SpreadBits(const FilterSpec& spec, double total_bits,
                               const std::vector<LevelKeys>& levels);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_LEVEL_ALLOCATION_H_
