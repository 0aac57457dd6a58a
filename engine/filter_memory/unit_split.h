// How many bits a new filter gets on each level under a budget, and into which units it is cut.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_UNIT_SPLIT_H_
#define WINNOW_ENGINE_FILTER_MEMORY_UNIT_SPLIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "winnow/filter/spec.h"

namespace winnow {

// Bits per key that are planned for at least and at most: more would save reads that hardly happen.
inline constexpr double kLeastPlannedBits = 2;
inline constexpr double kMostPlannedBits = 20;

// One level of one column family, as it is or is expected to be.
struct PlannedLevel {
  filter::FilterSpec spec;  // its amount plays no part
  double num_keys = 0;      // filter keys, of all its files
  double lookups = 0;       // of keys that are not there, in all its files together
};

// Bits per key of each level, in their order: for kinds whose bits grow as c · log2(1 / rate) the
// allocation of Monkey, found by steps of half a bit. Levels without keys get as many bits as the
// budget would still pay for.
std::vector<double> PlanBitsPerKey(std::span<const PlannedLevel> levels, uint64_t budget_bytes);

// The units of a filter for which `bits_per_key` are planned: two halves of that, which all files
// have in memory where the plan comes true, and a third such unit for files that are asked more
// than others. So a cold file makes do with half of the plan, or a third of what it was written
// with, and two units' rate is at most an eighth above that of one unit of their bits. Where that
// is enough for anybody, two; of very few bits, one.
std::vector<double> SplitIntoUnits(const filter::FilterSpec& spec, double bits_per_key);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_UNIT_SPLIT_H_
