// Which filters are worth their memory: spreads a budget of bytes over the filters of a database.
//
// A look-up of a key that a file does not hold reads a block of it in vain at the rate of the part
// of its filter that is in memory. Under a bound on all bytes the sum of such reads is least where
// no byte would save more elsewhere: the condition of Monkey (Dayan, Athanassoulis and Idreos,
// SIGMOD 2017), here for any tree and any measured look-ups, without a closed form.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_FILTER_PLAN_H_
#define WINNOW_ENGINE_FILTER_MEMORY_FILTER_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace winnow {

// A part of a filter that is in memory or not: it lets through this share of what those before it
// let through.
struct FilterStep {
  uint64_t bytes = 0;
  double rate = 1;  // 0 to 1
};

// A filter that memory is planned for: of a file that exists, its units, or of files to be written,
// as many small steps of bits as it might have. Steps are in memory from the first to some last.
struct PlannedFilter {
  double lookups = 0;  // of keys that are not there, in whatever unit of time
  std::vector<FilterStep> steps;
  size_t num_resident = 0;   // steps that are in memory now
  bool is_left_out = false;  // no step is to be
};

struct FilterPlan {
  std::vector<size_t> num_resident;  // steps, of each filter in their order
  uint64_t bytes = 0;
  double needless_reads = 0;  // in the unit of time of `lookups`
  // What another byte would save: the most of what found no room; 0: what saves anything is there.
  double value_of_byte = 0;
};

// How much more another step must save for a byte than one that is in memory, to take its place:
// what is measured wavers, and a filter that is dropped and loaded again costs a read each time.
inline constexpr double kReplacementGain = 1.25;

// Every filter that is not left out keeps its first step as long as all first steps fit into the
// budget: a shortage makes filters weaker before any is absent. Beyond that the least sum of
// needless reads that can be had for the bytes taken; what is left of the budget is less than the
// step that would come next, or any smaller one that is worth its bytes. With a `replacement_gain`
// over 1, that holds but for steps in memory which it keeps there. Cannot fail; takes O(n log n)
// for n steps in all.
FilterPlan PlanFilterMemory(std::span<const PlannedFilter> filters, uint64_t budget_bytes,
                            double replacement_gain = 1);

// The share of look-ups that its first `count` steps let through.
double PassingShare(const PlannedFilter& filter, size_t count);
// What those steps take.
uint64_t BytesOf(const PlannedFilter& filter, size_t count);
// Of filters whose first `num_resident` steps are in memory: what PlanFilterMemory makes least.
double NeedlessReads(std::span<const PlannedFilter> filters, std::span<const size_t> num_resident);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_FILTER_PLAN_H_
