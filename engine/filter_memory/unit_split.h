// How many bits a new filter gets on each level under a budget, and into which units it is cut.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_UNIT_SPLIT_H_
#define WINNOW_ENGINE_FILTER_MEMORY_UNIT_SPLIT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "winnow/filter/choice.h"
#include "winnow/filter/spec.h"

namespace winnow {

// Bits per key that are planned for at least and at most: more would save reads that hardly happen.
// A filter of one bit a key still denies a third of what is not there, so that under a shortage no
// file goes without. A database of a million keys with an eighth of ten bits for each reads 1.35
// blocks in vain for a miss, and 1.66 with two bits at least. Where levels are full that has a
// price, since small ones would make more of the bytes: 1.02 by theory, where with two bits, and
// none for half of the deepest level's files, it is 0.87 (ribbon filters: 0.77 and 0.76).
inline constexpr double kLeastPlannedBits = 1;
inline constexpr double kMostPlannedBits = 20;

// One level of one column family, as it is or is expected to be; or one file.
struct PlannedLevel {
  filter::FilterSpec spec;  // its amount plays no part
  double num_keys = 0;      // filter keys, of all its files
  double lookups = 0;       // of keys that are not there, in all its files together
  double num_files = 0;     // the heads of whose units count as well
};

// What a unit takes beside the bits of its keys: its head, and what kinds add for few keys.
inline constexpr double kBytesOfUnit = 128;

struct BitsPlan {
  std::vector<double> bits_per_key;  // of each level, in their order
  double value_of_byte = 0;          // FilterPlan::value_of_byte
};

// Single tables need none that are finer.
inline constexpr double kCoarseStepBits = 0.5;

// For kinds whose bits grow as c · log2(1 / rate) the allocation of Monkey, found by steps of so
// many bits. Levels without keys get as many bits as the budget would still pay for.
BitsPlan PlanBits(std::span<const PlannedLevel> levels, uint64_t budget_bytes, double step_bits);
// The bits alone, of the levels of a few families by finer steps.
std::vector<double> PlanBitsPerKey(std::span<const PlannedLevel> levels, uint64_t budget_bytes);

// The units of a filter for which `bits_per_key` are planned: two halves of that, which all files
// have in memory where the plan comes true, and a third such unit for files that are asked more
// than others. So a cold file makes do with half of the plan, or a third of what it was written
// with. The rate of the two is at most an eighth above that of one unit of their bits: where halves
// would err more they are uneven, as binary fuse filters', whose fingerprints are of whole bits;
// and where all would, as cuckoo filters, which lose two bits or three to each choice of buckets,
// the plan is one unit. Where it is enough for anybody there is no further unit; of very few bits,
// one.
std::vector<double> SplitIntoUnits(const filter::FilterSpec& spec, double bits_per_key);

// Of a file of so many keys that is cut so, and of which those units are in memory that make up
// the plan.
double PlannedFpr(const filter::FilterSpec& spec, double bits_per_key, uint64_t num_keys);

// One of the units that a filter would be written with.
struct ExpectedUnit {
  double bits_per_key = 0;
  double rate = 1;  // of what the units before it let through

  uint64_t BytesFor(double num_keys) const {
    return static_cast<uint64_t>(num_keys * bits_per_key / 8 + kBytesOfUnit);
  }
};

// All of them, with the rates of a filter of so many keys. `auto` is what it chooses for a file of
// that level, and kNone has no unit.
std::vector<ExpectedUnit> ExpectedUnits(const filter::FilterSpec& spec,
                                        const filter::FilterBuildContext& context,
                                        double bits_per_key, uint64_t num_keys);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_UNIT_SPLIT_H_
