#include "engine/filter_memory/tree_filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"

namespace winnow {

namespace {

constexpr double kHalfLifeSeconds = 300;
// What is expected of a table counts as if it had been measured for so long.
constexpr double kTrustSeconds = 30;
// A family that nobody was seen to ask counts this much beside the one that is asked most: a scan
// of another does not take all of its filters away.
constexpr double kLeastShare = 1e-3;

// Not those that could not be opened, of whose filter nothing is known.
void ForEachTable(const Version& version,
                  absl::FunctionRef<void(int level, const SstableFile& file)> visit) {
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) {
      if (file->reader() != nullptr) visit(level, *file);
    }
  }
}

PlannedFilter PlannedOf(const SstableReader& reader, bool* can_change) {
  PlannedFilter planned;
  const FilterUnits* const units = reader.filter_units();
  *can_change = units != nullptr;
  // The filter belongs to its reader and stays: one step that is there, for the plan to reckon
  // with.
  if (units == nullptr) {
    planned.steps.push_back({reader.filter_memory_bytes(), reader.figures().expected_fpr});
    planned.num_resident = 1;
    return planned;
  }
  for (const filter::BuiltUnit& unit : units->units()) {
    planned.steps.push_back({unit.bytes, unit.expected_fpr});
  }
  // As of this moment: a table that is opened may make further units give way at any time.
  planned.num_resident = units->num_resident();
  return planned;
}

}  // namespace

void LookupHistory::Observe(std::span<const FamilyTree> trees, double seconds) {
  // Counts and seconds decay alike, so that a rate, which is their ratio, is one of the last
  // minutes.
  const double decay = std::exp2(-seconds / kHalfLifeSeconds);
  seconds_ = seconds_ * decay + seconds;
  std::unordered_map<uint64_t, Asked> next;
  for (const FamilyTree& tree : trees) {
    ForEachTable(*tree.version, [&](int, const SstableFile& file) {
      // A table that is new begins without counts and seconds: its rate is over its own time.
      Asked asked;
      if (const auto known = tables_.find(file.number()); known != tables_.end()) {
        asked = known->second;
      }
      const uint64_t counted = file.refutable_lookups();
      // Less, where the table has got another filter file just now: it is counted anew.
      const uint64_t before = counted < asked.counted ? 0 : asked.counted;
      asked.last_lookups = static_cast<double>(counted - before);
      asked.lookups = asked.lookups * decay + asked.last_lookups;
      const uint64_t hits = file.unasked_hits();
      const uint64_t hits_before = hits < asked.counted_hits ? 0 : asked.counted_hits;
      asked.unasked_hits = asked.unasked_hits * decay + static_cast<double>(hits - hits_before);
      asked.counted_hits = hits;
      asked.seconds = asked.seconds * decay + seconds;
      asked.counted = counted;
      next.emplace(file.number(), asked);
    });
  }
  // Replaced as a whole: tables that no version has any more are forgotten.
  tables_ = std::move(next);
  for (auto& [level, hits] : asked_hits_) hits *= decay;
  // Of families that are gone, too.
  std::erase_if(asked_hits_, [](const auto& level) { return level.second < 1; });
}

int LookupHistory::LastLevel(const Version& version) {
  int last = kNumLevels - 1;
  while (last > 0 && version.files(last).empty()) last--;
  return last;
}

// Hits are known by table where no filter could be asked, and by level where one was.
double LookupHistory::Hits(const FamilyTree& tree, int level) const {
  double hits = 0;
  for (const auto& file : tree.version->files(level)) {
    const auto asked = tables_.find(file->number());
    if (asked != tables_.end()) hits += asked->second.unasked_hits;
  }
  const auto asked_hits = asked_hits_.find({tree.id, level});
  return asked_hits == asked_hits_.end() ? hits : hits + asked_hits->second;
}

RunLookups LookupHistory::OfLastLevel(const FamilyTree& tree) const {
  RunLookups sum;
  const int last = LastLevel(*tree.version);
  for (const auto& file : tree.version->files(last)) {
    const auto asked = tables_.find(file->number());
    if (asked != tables_.end()) sum.absent += asked->second.lookups;
  }
  sum.present = Hits(tree, last);
  return sum;
}

void LookupHistory::AddHits(uint32_t family_id, int level, double hits) {
  asked_hits_[{family_id, level}] += hits;
}

double LookupHistory::MeasuredRate(const SstableFile& file) const {
  const auto asked = tables_.find(file.number());
  if (asked == tables_.end() || asked->second.seconds <= 0) return 0;
  return asked->second.lookups / asked->second.seconds;
}

double LookupHistory::MeasuredLookups(const SstableFile& file) const {
  const auto asked = tables_.find(file.number());
  // Over the whole of the time, unlike MeasuredRate: a table that is young has proved little yet.
  return asked == tables_.end() || seconds_ <= 0 ? 0 : asked->second.lookups / seconds_;
}

double LookupHistory::LastLookups(const SstableFile& file) const {
  const auto asked = tables_.find(file.number());
  return asked == tables_.end() ? 0 : asked->second.last_lookups;
}

double LookupHistory::MeasuredRate(const Version& version, int level) const {
  double of_level = 0;
  for (const auto& file : version.files(level)) {
    const double rate = MeasuredRate(*file);
    // Look-ups are shared by the tables of a level, and each comes to every table of level 0.
    of_level = level == 0 ? std::max(of_level, rate) : of_level + rate;
  }
  return of_level;
}

// The run that is asked most: a look-up that ends above does not come to those below, and one whose
// key lies outside of a small run's range is not asked of it.
double LookupHistory::RunRate(const FamilyTree& tree) const {
  double most = 0;
  for (int level = 0; level < kNumLevels; level++) {
    most = std::max(most, MeasuredRate(*tree.version, level));
  }
  if (most > 0) return most;
  // By name, as an earlier opening has left it in the file STATISTICS.
  const auto expected = expected_.find(tree.name);
  return expected == expected_.end() ? 0 : expected->second;
}

// All look-ups are those that a run was asked in vain, and those that had ended by then; a run
// whose range is small shows fewer of them.
std::vector<LookupHistory::LevelRates> LookupHistory::RatesByLevel(
    std::span<const FamilyTree> trees) const {
  std::vector<LevelRates> rates(trees.size(), LevelRates{});
  for (size_t i = 0; i < trees.size() && seconds_ > 0; i++) {
    LevelRates ended{};
    double until_here = 0;
    double all = 0;
    for (int level = 0; level < kNumLevels; level++) {
      until_here += Hits(trees[i], level) / seconds_;
      ended[static_cast<size_t>(level)] = until_here;
      const double in_vain = MeasuredRate(*trees[i].version, level);
      if (in_vain > 0) all = std::max(all, in_vain + until_here);
    }
    if (all == 0) continue;
    std::transform(ended.begin(), ended.end(), rates[i].begin(), [all](double had_ended) {
      return std::max(all - had_ended, all * kLeastShare);
    });
  }
  return rates;
}

double LookupHistory::LookupsPerSecond(std::span<const FamilyTree> trees) const {
  double sum = 0;
  for (const FamilyTree& tree : trees) sum += RunRate(tree);
  return sum;
}

std::vector<double> LookupHistory::RunRates(std::span<const FamilyTree> trees) const {
  std::vector<double> rates;
  for (const FamilyTree& tree : trees) rates.push_back(RunRate(tree));
  const double most = rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
  // Without measurements the rates are no look-ups a second but shares, all alike.
  for (double& rate : rates) rate = most == 0 ? 1 : std::max(rate, most * kLeastShare);
  return rates;
}

std::vector<TreeFilter> LookupHistory::FiltersOf(std::span<const FamilyTree> trees) const {
  std::vector<TreeFilter> filters = TablesOf(trees);
  std::erase_if(filters, [](const TreeFilter& filter) { return filter.planned.steps.empty(); });
  return filters;
}

std::vector<TreeFilter> LookupHistory::TablesOf(std::span<const FamilyTree> trees) const {
  const std::vector<double> run_rates = RunRates(trees);
  std::vector<TreeFilter> filters;
  for (size_t i = 0; i < trees.size(); i++) {
    const Version& version = *trees[i].version;
    const int last_level = LastLevel(version);
    std::array<double, kNumLevels> keys_of_level{};
    ForEachTable(version, [&](int level, const SstableFile& file) {
      keys_of_level[static_cast<size_t>(level)] +=
          static_cast<double>(std::max<uint64_t>(1, file.metadata().num_entries));
    });
    ForEachTable(version, [&](int level, const SstableFile& file) {
      const SstableReader& reader = *file.reader();
      // A user's policy makes its filters as it likes: they are nothing that could be planned.
      if (reader.has_policy_filter()) return;
      TreeFilter& filter = filters.emplace_back();
      filter.family = i;
      filter.level = level;
      filter.is_of_last_level = level == last_level;
      filter.file = &file;
      // A table without a filter says nothing of filter keys: entries stand for them.
      filter.num_keys = static_cast<double>(reader.figures().num_filter_keys != 0
                                                ? reader.figures().num_filter_keys
                                                : file.metadata().num_entries);
      // Else there is none, or it is damaged or not understood.
      if (reader.figures().filter_bytes != 0 && reader.has_filter()) {
        filter.planned = PlannedOf(reader, &filter.can_change);
      }
      const auto entries = static_cast<double>(std::max<uint64_t>(1, file.metadata().num_entries));
      // Each table of level 0 is a run of its own.
      const double share = level == 0 ? 1 : entries / keys_of_level[static_cast<size_t>(level)];
      const auto asked = tables_.find(file.number());
      const double lookups = asked == tables_.end() ? 0 : asked->second.lookups;
      const double seconds = asked == tables_.end() ? 0 : asked->second.seconds;
      // The expectation counts as kTrustSeconds of measurement, so that a new table is neither cold
      // nor hot before it has been asked for a while.
      filter.planned.lookups =
          (lookups + share * run_rates[i] * kTrustSeconds) / (seconds + kTrustSeconds);
    });
  }
  return filters;
}

}  // namespace winnow
