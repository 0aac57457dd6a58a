// The filters of an open database under a budget of memory: what they may take, and what that
// brings. What is decided is engine/filter_memory's; here is when, and from what.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Of reading units of filters, before others have their turn.
constexpr std::chrono::milliseconds kLoadingSlice{50};

// The number of keys, in tables and still to be flushed: by how far it has moved a plan is known to
// be out of date.
double KeysOf(const std::vector<FamilyTree>& trees) {
  double keys = 0;
  for (const FamilyTree& tree : trees) {
    keys += tree.expected_flush_keys;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : tree.version->files(level)) {
        keys += static_cast<double>(file->metadata().num_entries);
      }
    }
  }
  return keys;
}

// Look-ups a second of a sorted run of each family, by name.
std::map<std::string, double> RunRatesOf(const SavedStatistics& saved) {
  std::map<std::string, double> run_rates;
  if (saved.saved_unix_seconds <= saved.opened_unix_seconds) return run_rates;
  const auto seconds = static_cast<double>(saved.saved_unix_seconds - saved.opened_unix_seconds);
  std::map<std::pair<std::string, int>, uint64_t> by_level;
  for (const FilterStatistics& row : saved.since_opening.filters) {
    if (row.call == FilterCall::kSeek) continue;
    // Of keys that were not there, which filters can refute; hits say nothing of what a filter
    // saves.
    by_level[{row.column_family, row.level}] += row.rejected + row.false_positive;
  }
  for (const auto& [key, lookups] : by_level) {
    // Of the tables of level 0 nobody knows any more how many there were.
    if (key.second == 0) continue;
    // A look-up of an absent key asks each run whose range it falls into: the level that is asked
    // most comes nearest to what a run of the family is asked.
    double& rate = run_rates[key.first];
    rate = std::max(rate, static_cast<double>(lookups) / seconds);
  }
  return run_rates;
}

}  // namespace

// The versions keep their tables, so that a plan can be made, and files read for it, without the
// mutex.
std::vector<FamilyTree> DBImpl::TreesNow() const {
  std::vector<FamilyTree> trees;
  for (const auto& [id, family] : families_.live()) {
    if (family->is_dropped() || family->version() == nullptr) continue;
    FamilyTree& tree = trees.emplace_back();
    tree.id = id;
    tree.name = std::string(family->name());
    tree.spec = family->filter_spec();
    tree.num_levels = family->options().compaction.num_levels();
    tree.version = family->version();
    uint64_t in_memory = family->active().num_entries();
    for (const auto& memtable : family->immutables) in_memory += memtable->num_entries();
    tree.expected_flush_keys = static_cast<double>(in_memory);
  }
  return trees;
}

std::vector<FamilyTree> DBImpl::Trees() {
  DatabaseLock lock(&mutex_);
  return TreesNow();
}

// Where compactions do not run by themselves the planner refilters nothing either: the user has
// asked that tables be left alone. What a compaction is about to rewrite gets its filter from that.
void DBImpl::MarkRefilterable(std::vector<FamilyTree>* trees) const {
  for (FamilyTree& tree : *trees) {
    const auto found = families_.live().find(tree.id);
    if (found == families_.live().end()) continue;
    const ColumnFamilyState& family = *found->second;
    const ColumnFamilyOptions& options = family.options();
    tree.filter_key = family.filter_key().ToString();
    tree.hash_seed = family.hash_seed();
    tree.may_refilter = !options_.read_only && !options.disable_auto_compactions &&
                        family.filter_policy() == nullptr;
    if (!tree.may_refilter) continue;
    const LevelScores scores = family.picker.Scores(*tree.version, options);
    for (size_t level = 0; level < scores.score.size(); level++) {
      tree.is_due[level] = scores.score[level] > 1;
    }
  }
}

void DBImpl::GivePlannedBits(const std::vector<FamilyTree>& trees,
                             const std::vector<BitsByLevel>& bits) {
  // Less than 0 makes the next PlanNewFilters plan, whatever there is.
  planned_keys_ = trees.empty() ? -1 : KeysOf(trees);
  // By id: of the trees that were planned for some may have been dropped meanwhile, and families
  // that have come since wait for the next plan.
  std::map<uint32_t, BitsByLevel> by_family;
  // A limit that was taken away while the plan was made takes the plan with it.
  const bool is_limited = filter_budget_.limit_bytes() != 0;
  for (size_t i = 0; is_limited && i < bits.size(); i++) by_family[trees[i].id] = bits[i];
  for (const auto& [id, family] : families_.live()) {
    const auto planned = by_family.find(id);
    if (planned != by_family.end()) {
      family->SetPlannedFilterBits(planned->second);
    } else if (!is_limited) {
      family->SetPlannedFilterBits(std::nullopt);
    }
  }
}

// Before each flush and compaction, under the mutex. Only where the number of keys has changed by
// more than a tenth: most calls are no more than a sum over the files.
void DBImpl::PlanNewFilters() {
  if (filter_budget_.limit_bytes() == 0) return;
  const std::vector<FamilyTree> trees = TreesNow();
  const double keys = KeysOf(trees);
  if (planned_keys_ >= 0 && std::abs(keys - planned_keys_) <= planned_keys_ / 10) return;
  // By an empty history, for which all runs are asked alike: the measured one is under a lock that
  // is held while files are read. KeepFilters, once a second, plans by that.
  GivePlannedBits(trees, BitsForNewFilters(trees, LookupHistory(), filter_budget_.limit_bytes()));
}

// Without a budget nothing is looked at, but once more after one was taken away, or where filters
// may be left out.
std::optional<DBImpl::FilterRound> DBImpl::BeginFilterRound() {
  DatabaseLock lock(&mutex_);
  const bool is_limited = filter_budget_.limit_bytes() != 0 || options_.optimize_filters_for_hits;
  FilterRound round;
  round.is_first = is_limited && !filters_are_watched_;
  filters_are_watched_ = is_limited;
  if (!is_limited && !filters_are_kept_) return std::nullopt;
  // The round after a limit has gone, which loads what was left out, clears it; one that gives way
  // before all is loaded sets it again.
  filters_are_kept_ = is_limited;
  const SteadyTime now = SteadyNow();
  round.seconds = std::chrono::duration<double>(now - filters_kept_).count();
  filters_kept_ = now;
  round.trees = TreesNow();
  MarkRefilterable(&round.trees);
  round.refilters_ended = jobs_.planned_refilters_ended();
  return round;
}

// Seeks ask other filters of the same files, by prefix or by range, and say nothing of look-ups.
LookupOutcomes DBImpl::CountedOutcomes() {
  const Recorder::Totals totals = recorder_.Sum();
  const auto ticker = [&](Ticker which) { return totals.tickers[static_cast<size_t>(which)]; };
  LookupOutcomes counted;
  counted.blocks_read = ticker(Ticker::kDataBlocksRead);
  counted.blocks_in_memory =
      ticker(Ticker::kBlockCacheHits) + ticker(Ticker::kFalsePositiveCacheHits);
  std::map<std::pair<uint32_t, int>, LevelOutcomes> by_level;
  for (const auto& [key, counts] : totals.filters) {
    if (key.call == FilterCall::kSeek) continue;
    LevelOutcomes& outcomes = by_level[{key.family_id, key.level}];
    outcomes.family_id = key.family_id;
    outcomes.level = key.level;
    outcomes.refutable += counts.rejected + counts.false_positive;
    outcomes.false_positives += counts.false_positive;
    outcomes.true_positives += counts.true_positive;
  }
  for (const auto& [key, outcomes] : by_level) counted.levels.push_back(outcomes);
  return counted;
}

void DBImpl::ReportFilterChanges(const FilterBudget::Changes& changes) {
  recorder_.Local().Add(Ticker::kFilterUnitsLoaded, changes.units_loaded);
  recorder_.Local().Add(Ticker::kFilterUnitsDropped, changes.units_dropped);
  recorder_.Local().Add(Ticker::kFiltersDamaged, changes.damaged.size());
  for (const FilterBudget::DamagedUnit& unit : changes.damaged) {
    Event degraded;
    degraded.kind = Event::Kind::kFilterDegraded;
    degraded.column_family = unit.family;
    degraded.path = unit.path;
    degraded.message = unit.reason;
    events_.Add(std::move(degraded));
  }
  if (!changes.alert.empty()) {
    Event alert;
    alert.kind = Event::Kind::kFilterRateOffPromise;
    alert.message = changes.alert;
    events_.Add(std::move(alert));
  }
}

// Whoever needs this thread, the turn of SetOptions or the end of the database waits for one slice
// of loading at most, and for the read that is under way.
void DBImpl::KeepFilters(FilterLoading loading) {
  if (loading != FilterLoading::kInBackground) {
    waiting_for_filter_round_.fetch_add(1, std::memory_order_relaxed);
  } else if (waiting_for_filter_round_.load(std::memory_order_relaxed) > 0) {
    return;  // that round does what this one would
  }
  MutexLock turn(&filter_round_);
  if (loading != FilterLoading::kInBackground) {
    waiting_for_filter_round_.fetch_sub(1, std::memory_order_relaxed);
  }
  const std::optional<FilterRound> round = BeginFilterRound();
  if (!round.has_value()) return;
  const LookupOutcomes counted = CountedOutcomes();
  if (round->is_first) filter_budget_.Begin(counted);
  // From the first unit on: planning, which gets longer with the number of tables, leaves time for
  // some in every round.
  std::optional<SteadyTime> end;
  const auto must_give_way = [&] {
    if (loading == FilterLoading::kAtOnce) return false;
    if (scheduler_.cancelled().load(std::memory_order_relaxed)) return true;
    const SteadyTime now = SteadyNow();
    const bool is_first_unit = !end.has_value();
    if (is_first_unit) end = now + kLoadingSlice;
    return now >= *end ||
           (!is_first_unit && waiting_for_filter_round_.load(std::memory_order_relaxed) > 0);
  };
  // Reads and drops units of filters, under the budget's own lock.
  FilterBudget::Changes changes =
      filter_budget_.Keep(round->trees, counted, round->seconds, must_give_way);
  ReportFilterChanges(changes);
  DatabaseLock lock(&mutex_);
  GivePlannedBits(round->trees, changes.bits);
  // Idle threads look once a round whether readers have paid for a compaction.
  if (changes.read_in_vain && !options_.read_only) scheduler_.SignalWork();
  if (changes.refilter.has_value()) {
    jobs_.ProposeRefilter(*std::move(changes.refilter), round->refilters_ended);
  }
  if (changes.is_unfinished) {
    filters_are_kept_ = true;
    jobs_.KeepFiltersSoon();
  }
}

absl::Status DBImpl::CheckFilterBudget(uint64_t budget_bytes) const {
  if (budget_bytes == 0) return absl::OkStatus();
  // By an empty history: what is possible does not depend on what was asked lately.
  const std::vector<TreeFilter> filters = LookupHistory().FiltersOf(TreesNow());
  const uint64_t least = LeastFilterBudget(filters);
  if (least <= budget_bytes) return absl::OkStatus();
  const bool any_whole = std::any_of(filters.begin(), filters.end(), [](const TreeFilter& filter) {
    return filter.planned.steps.size() == 1;
  });
  return absl::InvalidArgumentError(absl::StrCat(
      "filter_memory_budget: ", budget_bytes, " bytes are too few for one unit of each of ",
      filters.size(), " filters: the smallest that works is ", least,
      any_whole
          ? "; less will do once Refilter, under that, has made several units of filters from "
            "before a budget"
          : "; less will do once Refilter with this RefilterOptions::filter_memory_budget has made "
            "smaller units"));
}

absl::StatusOr<FilterPlans> DBImpl::PlanFilters(uint64_t budget_bytes) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<FilterPlans> {
    if (!IsUsable()) return Unusable();
    if (budget_bytes == 0) {
      return absl::InvalidArgumentError("a plan needs a budget of at least one byte");
    }
    const std::vector<FamilyTree> trees = Trees();
    WINNOW_RETURN_IF_ERROR(CheckBudgetToPlan(trees, budget_bytes));
    return filter_budget_.Plan(trees, budget_bytes);
  });
}

// A database that has just been opened has measured nothing. The rates of the opening before are a
// better guess than that all families are asked alike, until there are measurements; and so is what
// it had decided of last levels. An error is none: the guess is left out.
void DBImpl::ExpectLookups() {
  const absl::StatusOr<SavedStatistics> saved = ReadSavedStatistics(*file_system_, path_);
  if (!saved.ok()) return;
  const std::vector<std::string>& for_hits = saved->families_for_hits;
  filter_budget_.Expect(RunRatesOf(*saved), {for_hits.begin(), for_hits.end()});
}

FilterBudgetReport DBImpl::ReportFilterBudget() { return filter_budget_.Report(Trees()); }

}  // namespace winnow
