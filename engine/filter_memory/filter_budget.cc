// One round, Keep, usually once a second: what look-ups met since the last round is held against
// what the filters that were in memory promised; then the bytes are spread anew, and units dropped
// and loaded until memory is as planned. Every step may fall short, for want of room, of a file
// that can be read, or of time: who loads gives way to others. Nothing is remembered of a plan: the
// next round begins from what is there.
//
// Readers take no part in this. Units come and go under them (FilterUnits), and so do tables: the
// trees of a round hold the versions, and with them every file that a TreeFilter points to.
#include "engine/filter_memory/filter_budget.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <numbers>
#include <thread>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "engine/base/counted.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/statistics/text_table.h"

namespace winnow {

namespace {

// Between the two what was decided stays, so that filters do not come and go with every wave of
// look-ups; and so it does where fewer look-ups than this were seen.
constexpr double kLeaveAtPresentShare = 0.95;
constexpr double kReturnAtPresentShare = 0.90;
constexpr double kLeastLookups = 2000;

constexpr std::chrono::milliseconds kBetweenReclaims(1);
constexpr std::chrono::milliseconds kLongestWaitForReaders(50);

// Reports show NaN as "-" or null: nothing was measured, which is not the same as zero.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

std::vector<PlannedFilter> PlannedOf(std::span<const TreeFilter> filters) {
  std::vector<PlannedFilter> planned;
  planned.reserve(filters.size());
  for (const TreeFilter& filter : filters) planned.push_back(filter.planned);
  return planned;
}

std::vector<size_t> ResidentOf(std::span<const TreeFilter> filters) {
  std::vector<size_t> resident;
  for (const TreeFilter& filter : filters) resident.push_back(filter.planned.num_resident);
  return resident;
}

// What has become of a plan, not the plan: files may have been unreadable, and room lacking.
std::vector<size_t> ResidentNow(std::span<const TreeFilter> filters) {
  std::vector<size_t> resident;
  for (const TreeFilter& filter : filters) {
    resident.push_back(filter.can_change ? filter.file->reader()->filter_units()->num_resident()
                                         : filter.planned.num_resident);
  }
  return resident;
}

// What a byte of the last of these units saves.
double ValueOf(const PlannedFilter& filter, size_t count) {
  if (count == 0) return 0;
  // The last unit is only asked about what those before it let through.
  const FilterStep& last = filter.steps[count - 1];
  const double saved = filter.lookups * PassingShare(filter, count - 1) * (1 - last.rate);
  return saved / static_cast<double>(std::max<uint64_t>(last.bytes, 1));
}

// The mean of what filters let through, by what each is asked.
struct WeightedRates {
  double lookups = 0;
  double all_units = 0;
  double expected = 0;

  void Add(const PlannedFilter& filter) {
    lookups += filter.lookups;
    all_units += filter.lookups * PassingShare(filter, filter.steps.size());
    expected += filter.lookups * PassingShare(filter, filter.num_resident);
  }
};

double ResidentBytes(const TreeFilter& filter) {
  return static_cast<double>(BytesOf(filter.planned, filter.planned.num_resident));
}

// What the filters of a family's last level have in memory, and let through.
struct LastLevelFilters {
  double keys = 0;
  double bytes = 0;
  double passed = 0;

  void Add(const TreeFilter& filter, double let_through) {
    keys += filter.num_keys;
    bytes += ResidentBytes(filter);
    passed += let_through;
  }

  // Reads in vain here that a filter of another level causes, by having more memory for its keys
  // than it would have here: each further bit a key would halve what passes.
  double ReadsFor(const TreeFilter& filter) const {
    if (keys == 0) return 0;
    const double more_bytes = ResidentBytes(filter) - bytes / keys * filter.num_keys;
    return std::max(0.0, more_bytes) * 8 / keys * std::numbers::ln2 * passed;
  }
};

// Counts of a thread that ended without memory are lost.
double Since(uint64_t before, uint64_t now) {
  return now > before ? static_cast<double>(now - before) : 0;
}

LevelOutcomes Latest(const LevelOutcomes& before, const LevelOutcomes& now) {
  LevelOutcomes latest = now;
  latest.refutable = std::max(before.refutable, now.refutable);
  latest.false_positives = std::max(before.false_positives, now.false_positives);
  latest.true_positives = std::max(before.true_positives, now.true_positives);
  return latest;
}

}  // namespace

void FilterBudget::Begin(const LookupOutcomes& counted) {
  MutexLock lock(&mutex_);
  blocks_read_ = counted.blocks_read;
  blocks_in_memory_ = counted.blocks_in_memory;
  for (const LevelOutcomes& now : counted.levels) {
    LevelOutcomes& at_last = counted_[{now.family_id, now.level}];
    at_last = Latest(at_last, now);
  }
}

std::map<FilterBudget::LevelKey, FilterBudget::LevelRound> FilterBudget::RoundsOf(
    std::span<const FamilyTree> trees, std::span<const TreeFilter> filters) const {
  std::map<LevelKey, LevelRound> rounds;
  for (const TreeFilter& filter : filters) {
    LevelRound& round = rounds[{trees[filter.family].id, filter.level}];
    const PlannedFilter& planned = filter.planned;
    const double passing = PassingShare(planned, planned.num_resident);
    // A filter that gave way, or was replaced, has let through at two rates what is counted as one.
    const auto known = passing_.find(filter.file->number());
    if (known != passing_.end() && known->second != passing) round.has_changed = true;
    if (planned.num_resident == 0) {
      round.unasked += history_.LastLookups(*filter.file);
    } else {
      round.lookups += planned.lookups;
      round.expected += planned.lookups * passing;
    }
  }
  return rounds;
}

// Under a budget, which makes filters weak, and by what they promise, since which file a read in
// vain was of is counted by level only; and of what they let through the part that was read from
// files.
bool FilterBudget::NoteReadsInVain(std::span<const TreeFilter> filters,
                                   const LookupOutcomes& counted) {
  const double read = Since(blocks_read_, counted.blocks_read);
  const double in_memory = Since(blocks_in_memory_, counted.blocks_in_memory);
  blocks_read_ = counted.blocks_read;
  blocks_in_memory_ = counted.blocks_in_memory;
  if (read == 0 || limit_bytes() == 0) return false;
  std::map<size_t, LastLevelFilters> last_levels;
  for (const TreeFilter& filter : filters) {
    if (filter.is_of_last_level) last_levels[filter.family].Add(filter, Passed(filter));
  }
  bool any = false;
  for (const TreeFilter& filter : filters) {
    double reads = Passed(filter);
    if (!filter.is_of_last_level) reads += last_levels[filter.family].ReadsFor(filter);
    if (reads == 0) continue;
    filter.file->NoteReadsInVain(reads * read / (read + in_memory));
    any = true;
  }
  return any;
}

double FilterBudget::Passed(const TreeFilter& filter) const {
  return history_.LastLookups(*filter.file) *
         PassingShare(filter.planned, filter.planned.num_resident);
}

void FilterBudget::RememberPassing(std::span<const TreeFilter> filters,
                                   std::span<const size_t> num_resident) {
  passing_.clear();
  for (size_t i = 0; i < filters.size(); i++) {
    passing_[filters[i].file->number()] = PassingShare(filters[i].planned, num_resident[i]);
  }
}

// By the filters as they were in memory until now: what was counted meanwhile was let through by
// those. A level whose tables have all gone has nothing to be held against, and neither has one
// whose filters have changed since the last call.
void FilterBudget::Watch(std::span<const FamilyTree> trees, std::span<const TreeFilter> filters,
                         std::span<const LevelOutcomes> counted, double seconds) {
  const std::map<LevelKey, LevelRound> rounds = RoundsOf(trees, filters);
  double lookups = 0;
  double false_positives = 0;
  double expected = 0;
  double unasked = 0;
  std::map<LevelKey, LevelOutcomes> next;
  std::map<LevelKey, RateWatch> watches;
  for (const LevelOutcomes& now : counted) {
    const LevelKey key = {now.family_id, now.level};
    const LevelOutcomes before = counted_[key];
    next[key] = Latest(before, now);
    // After Observe, which has decayed what was there: these are of the round that it has just
    // counted.
    history_.AddHits(now.family_id, now.level, Since(before.true_positives, now.true_positives));
    const auto found = rounds.find(key);
    if (found == rounds.end()) continue;
    const LevelRound& round = found->second;
    RateWatch& watch = watches[key] = watches_[key];
    if (round.has_changed) continue;
    // Weighted by look-ups: levels have filters of several kinds and sizes, and what was counted is
    // of the level as a whole.
    if (round.lookups > 0) {
      const double new_lookups = Since(before.refutable, now.refutable);
      const double new_false = Since(before.false_positives, now.false_positives);
      const double expected_fpr = round.expected / round.lookups;
      watch.Add(new_lookups, new_false, expected_fpr, seconds);
      lookups += new_lookups;
      false_positives += new_false;
      expected += new_lookups * expected_fpr;
    }
    watch.Add(round.unasked, round.unasked, 1, round.lookups > 0 ? 0 : seconds);
    unasked += round.unasked;
  }
  // Replaced as a whole, so that levels and families that are gone leave nothing behind.
  counted_ = std::move(next);
  watches_ = std::move(watches);
  const double expected_fpr = lookups > 0 ? expected / lookups : 0;
  filters_watch_.Add(lookups, false_positives, expected_fpr, seconds);
  watch_.Add(lookups, false_positives, expected_fpr, seconds);
  watch_.Add(unasked, unasked, 1, 0);
}

void FilterBudget::ChooseLeftOut(std::span<const FamilyTree> trees) {
  if (!optimize_for_hits_) return;
  std::set<uint32_t> left_out;
  for (const FamilyTree& tree : trees) {
    const RunLookups lookups = history_.OfLastLevel(tree);
    const double share = lookups.present_share();
    // While filters are left out, hits and misses of the level are counted by table
    // (Version::CountUnasked), so that the share stays known and the way back is open.
    const bool was = left_out_.contains(tree.id) || left_out_before_.contains(tree.name);
    const bool is = lookups.all() < kLeastLookups
                        ? was
                        : share >= kLeaveAtPresentShare || (was && share >= kReturnAtPresentShare);
    if (is) left_out.insert(tree.id);
  }
  left_out_ = std::move(left_out);
  left_out_before_.clear();
}

// A table without a filter would have one in vain there.
void FilterBudget::MarkLeftOut(std::span<const FamilyTree> trees,
                               std::vector<TreeFilter>* filters) const {
  for (TreeFilter& filter : *filters) {
    // One whose units cannot leave belongs to its reader: to leave it out would save nothing.
    filter.planned.is_left_out = (filter.can_change || filter.planned.steps.empty()) &&
                                 filter.is_of_last_level &&
                                 left_out_.contains(trees[filter.family].id);
  }
}

std::string FilterBudget::LeftOutText(std::span<const FamilyTree> trees) const {
  std::string text;
  for (const FamilyTree& tree : trees) {
    if (!left_out_.contains(tree.id)) continue;
    const RunLookups lookups = history_.OfLastLevel(tree);
    absl::StrAppend(&text, "; the last level of '", ToAbsl(tree.name), "' does without filters: ");
    if (lookups.all() < kLeastLookups) {
      absl::StrAppend(&text, "so it was decided before, and few look-ups have come there since");
    } else {
      absl::StrAppend(&text, FormatPercent(lookups.present_share()),
                      " of the look-ups there find their key");
    }
  }
  return text;
}

// The most valuable first, so that it is there if the room does not suffice: readers may hold what
// was dropped for a moment. Tables that could not be read lately come last.
std::vector<size_t> FilterBudget::LoadOrder(std::span<const TreeFilter> filters,
                                            const FilterPlan& plan) const {
  std::vector<std::tuple<bool, double, size_t>> to_load;
  for (size_t i = 0; i < filters.size(); i++) {
    const TreeFilter& filter = filters[i];
    if (!filter.can_change) continue;
    const size_t wanted = plan.num_resident[i];
    if (wanted <= filter.file->reader()->filter_units()->num_resident()) continue;
    const bool is_readable = !unreadable_.contains(filter.file->number());
    to_load.emplace_back(is_readable, ValueOf(filter.planned, wanted), i);
  }
  std::sort(to_load.begin(), to_load.end(), std::greater<>());
  std::vector<size_t> order;
  order.reserve(to_load.size());
  for (const auto& [is_readable, value, index] : to_load) order.push_back(index);
  return order;
}

void FilterBudget::Load(const FamilyTree& tree, const TreeFilter& filter, size_t wanted,
                        absl::FunctionRef<bool()> must_give_way, Changes* changes) {
  FilterUnits& units = *filter.file->reader()->filter_units();
  while (units.num_resident() < wanted) {
    if (must_give_way()) {
      changes->is_unfinished = true;
      return;
    }
    // A table without any unit answers "maybe" to everything, and is worth further units of
    // others.
    const auto claim = units.num_resident() == 0 ? FilterLedger::Claim::kFirstUnit
                                                 : FilterLedger::Claim::kFurtherUnit;
    const absl::StatusOr<bool> loaded = units.LoadNext(claim);
    // Damage is not met twice: the unit counts as resident from now on and answers "may contain",
    // so that the loop goes on with the next one.
    if (!loaded.ok() && absl::IsDataLoss(loaded.status())) {
      changes->damaged.push_back(
          {tree.name, units.file().path(), std::string(loaded.status().message())});
      continue;
    }
    // A file that cannot be read now: the next plan tries again.
    if (!loaded.ok()) unreadable_.insert(filter.file->number());
    if (!loaded.ok() || !*loaded) return;
    changes->units_loaded++;
    units.set_value(ValueOf(filter.planned, units.num_resident()));
  }
}

// A reader that was interrupted in a filter keeps what was dropped of it until it has run on: where
// more of them run than there are cores, some milliseconds. Memory is over the budget for as long,
// and not until the next round. What even then is announced stays counted until a later call.
void FilterBudget::WaitForReaders(absl::FunctionRef<bool()> must_give_way) {
  for (std::chrono::milliseconds waited(0); !ledger_->Reclaim(); waited += kBetweenReclaims) {
    const uint64_t limit = ledger_->limit_bytes();
    const bool is_over = limit != 0 && ledger_->resident_bytes() > limit;
    if (!is_over || waited >= kLongestWaitForReaders || must_give_way()) return;
    std::this_thread::sleep_for(kBetweenReclaims);
  }
}

// What is dropped makes the room for what is loaded then. All of that is dropped at once: it takes
// no I/O, and until it is done more may be in memory than there is room for.
void FilterBudget::Apply(std::span<const FamilyTree> trees, std::span<const TreeFilter> filters,
                         const FilterPlan& plan, absl::FunctionRef<bool()> must_give_way,
                         Changes* changes) {
  for (size_t i = 0; i < filters.size(); i++) {
    const TreeFilter& filter = filters[i];
    if (!filter.can_change) continue;
    FilterUnits& units = *filter.file->reader()->filter_units();
    const size_t wanted = plan.num_resident[i];
    const size_t before = units.num_resident();
    // Between two rounds the ledger compares these values when a table that is opened needs room
    // for its first unit (FilterLedger::DropLeastValued).
    units.set_value(ValueOf(filter.planned, std::min(wanted, before)));
    if (wanted >= before) continue;
    // A first unit that is there stays, even where the plan has no room for it: a shortage makes
    // filters weaker before any is absent.
    units.DropTo(filter.planned.is_left_out ? 0 : std::max<size_t>(wanted, 1));
    // The ledger may have dropped some meanwhile, and a reader's own first unit does not go: what
    // is gone is counted, not what was wanted.
    changes->units_dropped += before - std::min(before, units.num_resident());
  }
  WaitForReaders(must_give_way);
  for (const size_t i : LoadOrder(filters, plan)) {
    const TreeFilter& filter = filters[i];
    Load(trees[filter.family], filter, plan.num_resident[i], must_give_way, changes);
    if (changes->is_unfinished) break;
  }
  if (!changes->is_unfinished) unreadable_.clear();
  // Where nothing could be read it is not tried again at once, but by the next round.
  if (changes->units_loaded == 0 && changes->damaged.empty()) changes->is_unfinished = false;
}

void FilterBudget::Decide(std::span<const FamilyTree> trees, std::span<const TreeFilter> filters,
                          double before, double after, const Changes& changes) {
  const std::string left_out = LeftOutText(trees);
  if (changes.units_loaded + changes.units_dropped == 0) {
    // The last change says more than that there was none since.
    if (last_decision_.empty()) {
      last_decision_ =
          absl::StrCat("kept ", Counted(filters.size(), "filter"), " as they were", left_out);
    }
    return;
  }
  last_decision_ = absl::StrCat(
      "loaded ", Counted(changes.units_loaded, "unit"), " and dropped ", changes.units_dropped,
      " of ", Counted(filters.size(), "filter"), ", so that look-ups of absent keys read ",
      ShortNumber(after), " blocks in vain where they read ", ShortNumber(before),
      history_.LookupsPerSecond(trees) > 0 ? " a second" : " each, if all are asked alike",
      left_out);
}

FilterBudget::Changes FilterBudget::Keep(std::span<const FamilyTree> trees,
                                         const LookupOutcomes& counted, double seconds,
                                         absl::FunctionRef<bool()> must_give_way) {
  Changes changes;
  MutexLock lock(&mutex_);
  // First of all, since what was counted until now was let through by what is in memory now.
  const std::vector<TreeFilter> before = history_.FiltersOf(trees);
  history_.Observe(trees, seconds);
  Watch(trees, before, counted.levels, seconds);
  changes.read_in_vain = NoteReadsInVain(before, counted);
  ChooseLeftOut(trees);
  std::vector<TreeFilter> filters = history_.FiltersOf(trees);
  MarkLeftOut(trees, &filters);
  const std::vector<PlannedFilter> planned = PlannedOf(filters);
  const uint64_t limit = limit_bytes();
  // Without a limit all is loaded that saves anything: what a limit that is gone had left in files.
  const uint64_t budget = limit == 0 ? std::numeric_limits<uint64_t>::max() : limit;
  const FilterPlan plan = PlanFilterMemory(planned, budget, kReplacementGain);
  Apply(trees, filters, plan, must_give_way, &changes);
  const std::vector<size_t> resident = ResidentNow(filters);
  RememberPassing(filters, resident);
  Decide(trees, filters, NeedlessReads(planned, ResidentOf(filters)),
         NeedlessReads(planned, resident), changes);
  // Specs say the bits of new filters where there is no limit, and nothing is refiltered unasked.
  if (limit != 0) {
    changes.bits = BitsForNewFilters(trees, history_, limit);
    if (refilters_.IsTime(filters.size(), seconds)) {
      // Unlike the filters above with tables that have none, which may be worth one.
      std::vector<TreeFilter> tables = history_.TablesOf(trees);
      MarkLeftOut(trees, &tables);
      changes.refilter = refilters_.Choose(trees, tables, history_, limit);
    }
  }
  if (filters_watch_.HasJustLeft()) {
    changes.alert = absl::StrCat(FormatPercent(filters_watch_.measured_fpr()),
                                 " of the look-ups of absent keys passed, where ",
                                 FormatPercent(filters_watch_.low()), " to ",
                                 FormatPercent(filters_watch_.high()), " are expected");
  }
  return changes;
}

FilterPlans FilterBudget::Plan(std::span<const FamilyTree> trees, uint64_t budget_bytes) {
  MutexLock lock(&mutex_);
  std::vector<TreeFilter> tables = history_.TablesOf(trees);
  MarkLeftOut(trees, &tables);
  FilterPlans plans = ForecastFilters(trees, tables, history_, budget_bytes, limit_bytes());
  plans.last_refilter = refilters_.last();
  return plans;
}

FilterBudgetReport FilterBudget::Report(std::span<const FamilyTree> trees) {
  MutexLock lock(&mutex_);
  FilterBudgetReport report;
  report.budget_bytes = limit_bytes();
  report.resident_bytes = ledger_->resident_bytes();
  report.peak_bytes = ledger_->peak_bytes();
  report.expected_fpr = watch_.expected_fpr();
  report.low_fpr = watch_.low();
  report.high_fpr = watch_.high();
  report.measured_fpr = watch_.measured_fpr();
  report.last_decision = last_decision_;
  report.last_refilter = refilters_.last();
  for (const FamilyTree& tree : trees) {
    if (left_out_.contains(tree.id)) report.families_for_hits.push_back(tree.name);
  }
  // By kind as well: where the spec has changed, a level has filters of both until it is rewritten.
  // The measured rate, which is known by level alone, stands in the rows of all its kinds.
  std::map<std::tuple<size_t, int, filter::FilterKind>, std::pair<FilterBudgetRow, WeightedRates>>
      rows;
  for (const TreeFilter& filter : history_.FiltersOf(trees)) {
    const SstableReader& reader = *filter.file->reader();
    auto& [row, rates] = rows[{filter.family, filter.level, reader.filter_kind()}];
    row.num_files++;
    for (size_t i = 0; i < filter.planned.steps.size(); i++) {
      const uint64_t bytes = filter.planned.steps[i].bytes;
      (i < filter.planned.num_resident ? row.resident_bytes : row.dropped_bytes) += bytes;
    }
    rates.Add(filter.planned);
  }
  for (auto& [key, sums] : rows) {
    auto& [row, rates] = sums;
    const FamilyTree& tree = trees[std::get<0>(key)];
    row.column_family = tree.name;
    row.level = std::get<1>(key);
    row.kind = std::string(filter::KindName(std::get<2>(key)));
    row.all_units_fpr = rates.lookups > 0 ? rates.all_units / rates.lookups : kUnknown;
    row.expected_fpr = rates.lookups > 0 ? rates.expected / rates.lookups : kUnknown;
    const auto watch = watches_.find({tree.id, row.level});
    row.measured_fpr = watch == watches_.end() ? kUnknown : watch->second.measured_fpr();
    report.dropped_bytes += row.dropped_bytes;
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace winnow
