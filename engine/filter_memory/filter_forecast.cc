#include "engine/filter_memory/filter_forecast.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/filter_memory/unit_split.h"
#include "winnow/filter/sizing.h"

namespace winnow {

namespace {

// Options::filter_memory_budget takes none that is smaller.
constexpr uint64_t kLeastFilterBudget = 1 << 10;

using LevelKey = std::pair<size_t, int>;  // family, level

// Of all tables of one family on one level.
struct LevelSums {
  uint64_t num_files = 0;
  double num_keys = 0;
  double lookups = 0;
  double memory_bytes = 0;
  double needless_reads = 0;
};

// In the order of families and, within each, of levels from the top: BitsForNewFilters fills
// downward in this order.
std::map<LevelKey, LevelSums> SumUp(std::span<const TreeFilter> filters) {
  std::map<LevelKey, LevelSums> levels;
  for (const TreeFilter& filter : filters) {
    LevelSums& sums = levels[{filter.family, filter.level}];
    sums.num_files++;
    sums.num_keys += filter.num_keys;
    sums.lookups += filter.planned.lookups;
  }
  return levels;
}

// In the order of the map, by which callers bring results back to their levels.
std::vector<PlannedLevel> PlannedLevels(std::span<const FamilyTree> trees,
                                        const std::map<LevelKey, LevelSums>& levels) {
  std::vector<PlannedLevel> planned;
  for (const auto& [key, sums] : levels) {
    planned.push_back({trees[key.first].spec, sums.num_keys, sums.lookups});
  }
  return planned;
}

// The trees as they are under one budget or another. `Now` and `AtOnce` add up units that exist;
// `Rewritten` goes by theory, for filters that would be built with the planned bits.
class Forecast {
 public:
  Forecast(std::span<const FamilyTree> trees, const LookupHistory& history)
      : trees_(trees),
        filters_(history.FiltersOf(trees)),
        run_rates_(history.RunRates(trees)),
        measured_(history.LookupsPerSecond(trees)) {}

  FilterPlanSummary Now(uint64_t budget_bytes) const {
    std::vector<size_t> resident;
    for (const TreeFilter& filter : filters_) resident.push_back(filter.planned.num_resident);
    return OfUnits(budget_bytes, resident);
  }

  FilterPlanSummary AtOnce(uint64_t budget_bytes) const {
    std::vector<PlannedFilter> planned;
    for (const TreeFilter& filter : filters_) planned.push_back(filter.planned);
    return OfUnits(budget_bytes, PlanFilterMemory(planned, budget_bytes).num_resident);
  }

  // Of files that have been rewritten since.
  FilterPlanSummary Rewritten(uint64_t budget_bytes) const {
    std::map<LevelKey, LevelSums> levels = SumUp(filters_);
    const std::vector<PlannedLevel> planned = PlannedLevels(trees_, levels);
    const std::vector<double> bits = PlanBitsPerKey(planned, budget_bytes);
    size_t i = 0;
    for (auto& [key, sums] : levels) {
      // The plan knows bits alone; a kind may be unable to have as few, or as many.
      const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(planned[i].spec);
      const double held = std::clamp(bits[i], allowed.min, allowed.max);
      const auto num_keys = static_cast<uint64_t>(sums.num_keys);
      sums.memory_bytes = sums.num_keys * held / 8;
      sums.needless_reads = sums.lookups * PlannedFpr(planned[i].spec, bits[i], num_keys);
      i++;
    }
    return Summary(budget_bytes, levels);
  }

  double lookups_per_second() const { return measured_; }

 private:
  FilterPlanSummary OfUnits(uint64_t budget_bytes, const std::vector<size_t>& resident) const {
    std::map<LevelKey, LevelSums> levels = SumUp(filters_);
    for (size_t i = 0; i < filters_.size(); i++) {
      const TreeFilter& filter = filters_[i];
      LevelSums& sums = levels[{filter.family, filter.level}];
      for (size_t unit = 0; unit < resident[i]; unit++) {
        sums.memory_bytes += static_cast<double>(filter.planned.steps[unit].bytes);
      }
      sums.needless_reads += filter.planned.lookups * PassingShare(filter.planned, resident[i]);
    }
    return Summary(budget_bytes, levels);
  }

  FilterPlanSummary Summary(uint64_t budget_bytes,
                            const std::map<LevelKey, LevelSums>& levels) const {
    FilterPlanSummary summary;
    summary.budget_bytes = budget_bytes;
    double all_rates = 0;
    for (const double rate : run_rates_) all_rates += rate;
    for (const auto& [key, sums] : levels) {
      FilterPlanRow& row = summary.rows.emplace_back();
      row.column_family = trees_[key.first].name;
      row.level = key.second;
      row.kind = std::string(filter::KindName(trees_[key.first].spec.kind));
      row.num_files = sums.num_files;
      row.num_keys = static_cast<uint64_t>(sums.num_keys);
      row.memory_bytes = static_cast<uint64_t>(sums.memory_bytes);
      row.bits_per_key = sums.num_keys == 0 ? 0 : sums.memory_bytes * 8 / sums.num_keys;
      // A look-up of an absent key comes to each sorted run, at the rate of the family's runs,
      // which is never 0 (LookupHistory::RunRates).
      row.needless_reads_per_miss = sums.needless_reads / run_rates_[key.first];
      // Without measurements the rates are shares, and no look-ups a second.
      row.needless_reads_per_second = measured_ == 0 ? 0 : sums.needless_reads;
      summary.memory_bytes += row.memory_bytes;
      summary.needless_reads_per_second += row.needless_reads_per_second;
      summary.needless_reads_per_miss += all_rates == 0 ? 0 : sums.needless_reads / all_rates;
    }
    return summary;
  }

  const std::span<const FamilyTree> trees_;
  const std::vector<TreeFilter> filters_;
  const std::vector<double> run_rates_;
  const double measured_;
};

}  // namespace

std::vector<BitsByLevel> BitsForNewFilters(std::span<const FamilyTree> trees,
                                           const LookupHistory& history, uint64_t budget_bytes) {
  std::map<LevelKey, LevelSums> levels = SumUp(history.FiltersOf(trees));
  const std::vector<double> run_rates = history.RunRates(trees);
  for (size_t i = 0; i < trees.size(); i++) {
    // Its table will be a sorted run of its own, asked as often as any other of the family. So
    // every family has a level 0 here, and gets bits for each level below.
    LevelSums& next_flush = levels[{i, 0}];
    next_flush.num_keys += trees[i].expected_flush_keys;
    next_flush.lookups += run_rates[i];
  }
  const std::vector<double> bits =
      PlanBitsPerKey(PlannedLevels(trees, levels), BytesForNewFilters(budget_bytes));
  // `bits` has the order of `levels`.
  std::vector<BitsByLevel> by_level(trees.size());
  size_t i = 0;
  for (const auto& [key, sums] : levels) {
    // From here down, until the next level that has files says otherwise.
    BitsByLevel& of_family = by_level[key.first];
    std::fill(of_family.begin() + key.second, of_family.end(), bits[i]);
    i++;
  }
  return by_level;
}

uint64_t LeastFilterBudget(std::span<const TreeFilter> filters) {
  uint64_t bytes = 0;
  for (const TreeFilter& filter : filters) {
    if (!filter.planned.steps.empty()) bytes += filter.planned.steps.front().bytes;
  }
  return bytes;
}

absl::Status CheckBudgetForNewFilters(std::span<const FamilyTree> trees, uint64_t budget_bytes) {
  // Heads of units, and what kinds add for few keys.
  constexpr double kBytesOfUnit = 128;
  constexpr double kMargin = 1.05;
  double bytes = 0;
  // An empty history: what is possible depends on tables and keys, not on what was asked lately.
  const std::vector<TreeFilter> filters = LookupHistory().FiltersOf(trees);
  for (const TreeFilter& filter : filters) {
    // Of the filters that a refiltering could give these tables, not of those that they have.
    const std::vector<double> units = SplitIntoUnits(trees[filter.family].spec, kLeastPlannedBits);
    bytes += kBytesOfUnit + filter.num_keys * units.front() / 8;
  }
  const uint64_t least = std::max(kLeastFilterBudget, static_cast<uint64_t>(kMargin * bytes));
  if (least <= budget_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "filter_memory_budget: ", budget_bytes, " bytes are too few for the smallest filters of ",
      filters.size(), filters.size() == 1 ? " table" : " tables", ": the smallest that works is ",
      least));
}

FilterPlans ForecastFilters(std::span<const FamilyTree> trees, const LookupHistory& history,
                            uint64_t budget_bytes, uint64_t present_budget_bytes) {
  const Forecast forecast(trees, history);
  FilterPlans plans;
  plans.now = forecast.Now(present_budget_bytes);
  plans.at_once = forecast.AtOnce(budget_bytes);
  plans.planned = forecast.Rewritten(budget_bytes);
  plans.at_half = forecast.Rewritten(budget_bytes / 2);
  plans.at_double = forecast.Rewritten(
      budget_bytes > std::numeric_limits<uint64_t>::max() / 2 ? budget_bytes : 2 * budget_bytes);
  plans.lookups_per_second = forecast.lookups_per_second();
  return plans;
}

}  // namespace winnow
