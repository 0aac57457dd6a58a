// What budgets of filter memory bring, for people who choose one, and what new filters get.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_FILTER_FORECAST_H_
#define WINNOW_ENGINE_FILTER_MEMORY_FILTER_FORECAST_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "engine/filter_memory/tree_filters.h"
#include "winnow/filter_plan.h"
#include "winnow/options.h"

namespace winnow {

using BitsByLevel = std::array<double, kNumLevels>;

// What compactions write is opened while what they read is still in memory: a part of the budget is
// left to that, or each would push units of others out and in again.
inline uint64_t BytesForNewFilters(uint64_t budget_bytes) {
  constexpr double kPlannedShare = 0.95;
  return static_cast<uint64_t>(static_cast<double>(budget_bytes) * kPlannedShare);
}

// Bits per key that a filter written now gets under the budget, of each family in order: those that
// PlanBitsPerKey gives the trees as they are with the next flush. Levels without files have the
// bits of the deepest one that has some, which holds nearly all keys.
std::vector<BitsByLevel> BitsForNewFilters(std::span<const FamilyTree> trees,
                                           const LookupHistory& history, uint64_t budget_bytes);

// The least budget with which every filter is there with its first unit.
uint64_t LeastFilterBudget(std::span<const TreeFilter> filters);

// InvalidArgument: with no filter that could be made would each table have a unit within the
// budget. Names the smallest that works, a little more than filters of the fewest bits take.
absl::Status CheckBudgetForNewFilters(std::span<const FamilyTree> trees, uint64_t budget_bytes);

// The same for a budget that is only planned for: filters may stay as they are, too.
absl::Status CheckBudgetToPlan(std::span<const FamilyTree> trees, uint64_t budget_bytes);

// Cannot fail. `tables` as LookupHistory::TablesOf has them, with all that is left out marked;
// `budget_bytes` one that CheckBudgetToPlan takes.
FilterPlans ForecastFilters(std::span<const FamilyTree> trees, std::span<const TreeFilter> tables,
                            const LookupHistory& history, uint64_t budget_bytes,
                            uint64_t present_budget_bytes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_FILTER_FORECAST_H_
