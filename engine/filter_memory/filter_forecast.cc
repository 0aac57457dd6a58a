#include "engine/filter_memory/filter_forecast.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
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
    planned.push_back(
        {trees[key.first].spec, sums.num_keys, sums.lookups, static_cast<double>(sums.num_files)});
  }
  return planned;
}

// The bits of filters that are written now, by level, of what is there and of what the next flush
// of each family will add: every family has a level 0 here.
std::map<LevelKey, double> PlanNewBits(std::span<const FamilyTree> trees,
                                       std::map<LevelKey, LevelSums> levels,
                                       std::span<const double> run_rates, uint64_t budget_bytes) {
  for (size_t i = 0; i < trees.size(); i++) {
    // Its table will be a sorted run of its own, asked as often as any other of the family.
    LevelSums& next_flush = levels[{i, 0}];
    next_flush.num_keys += trees[i].expected_flush_keys;
    next_flush.num_files += trees[i].expected_flush_keys > 0 ? 1 : 0;
    next_flush.lookups += run_rates[i];
  }
  const std::vector<double> planned =
      PlanBitsPerKey(PlannedLevels(trees, levels), BytesForNewFilters(budget_bytes));
  std::map<LevelKey, double> bits;
  size_t i = 0;
  for (const auto& [key, sums] : levels) bits[key] = planned[i++];
  return bits;
}

// The trees as they are under one budget or another. `Now` and `AtOnce` add up units that exist;
// `Rewritten` those that would be written, with the rates of theory.
class Forecast {
 public:
  // `tables` with those that have no filter: they let everything through.
  Forecast(std::span<const FamilyTree> trees, std::span<const TreeFilter> tables,
           const LookupHistory& history)
      : trees_(trees),
        filters_(tables),
        run_rates_(history.RunRates(trees)),
        rates_by_level_(history.RatesByLevel(trees)),
        measured_(history.LookupsPerSecond(trees)) {}

  FilterPlanSummary Now(uint64_t budget_bytes) const {
    std::vector<size_t> resident;
    for (const TreeFilter& filter : filters_) resident.push_back(filter.planned.num_resident);
    return OfUnits(budget_bytes, Present(), resident);
  }

  FilterPlanSummary AtOnce(uint64_t budget_bytes) const {
    const std::vector<PlannedFilter> present = Present();
    const FilterPlan plan = PlanFilterMemory(present, budget_bytes);
    return OfUnits(budget_bytes, present, plan.num_resident);
  }

  // Of files that have been rewritten since: with the bits that new filters get, in their units,
  // of which those are in memory that the budget would have there.
  FilterPlanSummary Rewritten(uint64_t budget_bytes) const {
    const std::map<LevelKey, LevelSums> levels = SumUp(filters_);
    const std::map<LevelKey, double> bits = PlanNewBits(trees_, levels, run_rates_, budget_bytes);
    std::map<LevelKey, std::vector<ExpectedUnit>> units;
    for (const auto& [key, sums] : levels) {
      // Rates take long to compute: those of a level's mean file are near enough for all of them.
      const double keys_of_file = sums.num_keys / static_cast<double>(sums.num_files);
      const FamilyTree& tree = trees_[key.first];
      units[key] = ExpectedUnits(tree.spec, {key.second, std::max(tree.num_levels, key.second + 1)},
                                 bits.at(key), static_cast<uint64_t>(keys_of_file));
    }
    std::vector<PlannedFilter> rewritten;
    for (const TreeFilter& filter : filters_) {
      PlannedFilter& planned = rewritten.emplace_back();
      planned.lookups = filter.planned.lookups;
      planned.is_left_out = filter.planned.is_left_out;
      for (const ExpectedUnit& unit : units[{filter.family, filter.level}]) {
        planned.steps.push_back({unit.BytesFor(filter.num_keys), unit.rate});
      }
    }
    const FilterPlan plan = PlanFilterMemory(rewritten, budget_bytes);
    return OfUnits(budget_bytes, rewritten, plan.num_resident);
  }

  double lookups_per_second() const { return measured_; }

 private:
  std::vector<PlannedFilter> Present() const {
    std::vector<PlannedFilter> present;
    for (const TreeFilter& filter : filters_) present.push_back(filter.planned);
    return present;
  }

  // With the first `resident` units of each filter in memory; `filters` are those of the tables.
  FilterPlanSummary OfUnits(uint64_t budget_bytes, std::span<const PlannedFilter> filters,
                            std::span<const size_t> resident) const {
    std::map<LevelKey, LevelSums> levels = SumUp(filters_);
    for (size_t i = 0; i < filters.size(); i++) {
      LevelSums& sums = levels[{filters_[i].family, filters_[i].level}];
      for (size_t unit = 0; unit < resident[i]; unit++) {
        sums.memory_bytes += static_cast<double>(filters[i].steps[unit].bytes);
      }
      sums.needless_reads += filters[i].lookups * PassingShare(filters[i], resident[i]);
    }
    return Summary(budget_bytes, levels);
  }

  FilterPlanSummary Summary(uint64_t budget_bytes,
                            const std::map<LevelKey, LevelSums>& levels) const {
    FilterPlanSummary summary;
    summary.budget_bytes = budget_bytes;
    // A key that is nowhere is one of a family as often as others of its absent keys are.
    std::vector<double> misses;
    for (size_t i = 0; i < trees_.size(); i++) {
      const double measured = rates_by_level_[i].back();
      misses.push_back(measured > 0 ? measured : run_rates_[i]);
    }
    const double all_misses = std::accumulate(misses.begin(), misses.end(), 0.0);
    for (const auto& [key, sums] : levels) {
      FilterPlanRow& row = summary.rows.emplace_back();
      row.column_family = trees_[key.first].name;
      row.level = key.second;
      row.kind = std::string(filter::KindName(trees_[key.first].spec.kind));
      row.num_files = sums.num_files;
      row.num_keys = static_cast<uint64_t>(sums.num_keys);
      row.memory_bytes = static_cast<uint64_t>(sums.memory_bytes);
      row.bits_per_key = sums.num_keys == 0 ? 0 : sums.memory_bytes * 8 / sums.num_keys;
      // A look-up of a key that is nowhere comes to each sorted run, like those whose keys are
      // further down. By what the tables were asked where that is more: rates waver, and nothing
      // may have been measured.
      const double num_runs = key.second == 0 ? static_cast<double>(sums.num_files) : 1;
      const double to_each_run = std::max(
          rates_by_level_[key.first][static_cast<size_t>(key.second)], sums.lookups / num_runs);
      row.needless_reads_per_miss = to_each_run == 0 ? 0 : sums.needless_reads / to_each_run;
      // Without measurements the rates are shares, and no look-ups a second.
      row.needless_reads_per_second = measured_ == 0 ? 0 : sums.needless_reads;
      summary.memory_bytes += row.memory_bytes;
      summary.needless_reads_per_second += row.needless_reads_per_second;
      summary.needless_reads_per_miss +=
          row.needless_reads_per_miss * misses[key.first] / all_misses;
    }
    return summary;
  }

  const std::span<const FamilyTree> trees_;
  const std::span<const TreeFilter> filters_;
  const std::vector<double> run_rates_;
  const std::vector<LookupHistory::LevelRates> rates_by_level_;
  const double measured_;
};

// With filters of the fewest bits. If the present ones `may_stay`, those that take less do.
uint64_t LeastBudget(std::span<const FamilyTree> trees, std::span<const TreeFilter> tables,
                     bool may_stay) {
  constexpr double kMargin = 1.05;
  double bytes = 0;
  for (const TreeFilter& table : tables) {
    const filter::FilterSpec& spec = trees[table.family].spec;
    const double first_unit = SplitIntoUnits(spec, kLeastPlannedBits).front();
    // Of the filter that a refiltering could give this table, not of that which it has.
    double of_table = spec.kind == filter::FilterKind::kNone
                          ? 0
                          : kMargin * (kBytesOfUnit + table.num_keys * first_unit / 8);
    if (may_stay && !table.planned.steps.empty()) {
      of_table = std::min(of_table, static_cast<double>(table.planned.steps.front().bytes));
    }
    bytes += of_table;
  }
  return std::max(kLeastFilterBudget, static_cast<uint64_t>(bytes));
}

absl::Status CheckBudget(std::span<const FamilyTree> trees, std::span<const TreeFilter> tables,
                         uint64_t budget_bytes, bool may_stay) {
  const uint64_t least = LeastBudget(trees, tables, may_stay);
  if (least <= budget_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "filter_memory_budget: ", budget_bytes, " bytes are too few for the smallest filters of ",
      tables.size(), tables.size() == 1 ? " table" : " tables", ": the smallest that works is ",
      least));
}

}  // namespace

std::vector<BitsByLevel> BitsForNewFilters(std::span<const FamilyTree> trees,
                                           const LookupHistory& history, uint64_t budget_bytes) {
  // With tables that have no filter yet: theirs will take of the budget, too.
  const std::map<LevelKey, double> bits =
      PlanNewBits(trees, SumUp(history.TablesOf(trees)), history.RunRates(trees), budget_bytes);
  std::vector<BitsByLevel> by_level(trees.size());
  for (const auto& [key, of_level] : bits) {
    // From here down, until the next level that has files says otherwise.
    BitsByLevel& of_family = by_level[key.first];
    std::fill(of_family.begin() + key.second, of_family.end(), of_level);
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

// By an empty history: what is possible depends on tables and keys, not on what was asked lately.
absl::Status CheckBudgetForNewFilters(std::span<const FamilyTree> trees, uint64_t budget_bytes) {
  return CheckBudget(trees, LookupHistory().TablesOf(trees), budget_bytes, /*may_stay=*/false);
}

absl::Status CheckBudgetToPlan(std::span<const FamilyTree> trees, uint64_t budget_bytes) {
  return CheckBudget(trees, LookupHistory().TablesOf(trees), budget_bytes, /*may_stay=*/true);
}

FilterPlans ForecastFilters(std::span<const FamilyTree> trees, std::span<const TreeFilter> tables,
                            const LookupHistory& history, uint64_t budget_bytes,
                            uint64_t present_budget_bytes) {
  const Forecast forecast(trees, tables, history);
  FilterPlans plans;
  plans.now = forecast.Now(present_budget_bytes);
  plans.at_once = forecast.AtOnce(budget_bytes);
  plans.planned = forecast.Rewritten(budget_bytes);
  const uint64_t least = LeastBudget(trees, tables, /*may_stay=*/false);
  plans.at_half = forecast.Rewritten(std::max(budget_bytes / 2, std::min(least, budget_bytes)));
  plans.at_double = forecast.Rewritten(
      budget_bytes > std::numeric_limits<uint64_t>::max() / 2 ? budget_bytes : 2 * budget_bytes);
  plans.lookups_per_second = forecast.lookups_per_second();
  return plans;
}

}  // namespace winnow
