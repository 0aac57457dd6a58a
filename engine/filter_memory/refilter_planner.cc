#include "engine/filter_memory/refilter_planner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/filter_memory/filter_forecast.h"

namespace winnow {

namespace {

// A hundred times what choosing takes.
constexpr double kSecondsForFilter = 2e-3;
constexpr double kFirstPauseSeconds = 1;
constexpr double kLongestPauseSeconds = 600;

// Tables of a process share few descriptions.
class Kinds {
 public:
  std::string_view Of(const FilterDescription& description) {
    auto [known, is_new] = kinds_.try_emplace(&description);
    if (is_new) {
      const auto spec = filter::ParseFilterSpec(description.spec);
      if (spec.ok()) known->second = filter::KindName(spec->kind);
    }
    return known->second;
  }

 private:
  // By address, which stands for the description as long as the caller's versions hold the tables.
  std::map<const FilterDescription*, std::string_view> kinds_;  // empty: unknown here
};

RefilterCandidate CandidateOf(const FamilyTree& tree, const TreeFilter& table,
                              std::string_view kind) {
  const SstableReader& reader = *table.file->reader();
  RefilterCandidate candidate;
  candidate.spec = tree.spec;
  candidate.num_keys = table.num_keys;
  candidate.planned = table.planned;
  const bool has_filter = !table.planned.steps.empty();
  candidate.has_other_kind = has_filter && kind != filter::KindName(tree.spec.kind);
  // What is set for tables to come may be for other look-ups than those that these are asked.
  const bool has_its_key = !has_filter || reader.filter_description().key_text == tree.filter_key;
  // What a compaction is about to rewrite gets the planned bits for nothing: tables of a level that
  // is due, and those of level 0, where they are compacted at all.
  candidate.may_change = tree.may_refilter && has_its_key && table.level > 0 &&
                         !tree.is_due[static_cast<size_t>(table.level)];
  candidate.blocks_to_read = static_cast<double>(reader.figures().num_data_blocks);
  candidate.block_bytes = std::max(1.0, static_cast<double>(reader.figures().data_bytes) /
                                            std::max(1.0, candidate.blocks_to_read));
  // Where it has the hashes that the new filter is made of, those are all that is read.
  const KeyHashOrigin* const hashes = reader.key_hash_origin();
  if (hashes != nullptr && hashes->seed == tree.hash_seed &&
      hashes->description->key_text == tree.filter_key) {
    candidate.blocks_to_read =
        static_cast<double>(reader.figures().key_hash_bytes) / candidate.block_bytes;
  }
  return candidate;
}

}  // namespace

std::string PlannedRefilter::FileText() const {
  return absl::StrCat(SixDigits(file_number), ".sst of family '", ToAbsl(family), "', level ",
                      level);
}

std::string PlannedRefilter::ToString() const {
  const std::string before = ShortNumber(bits_in_memory);
  return absl::StrCat(
      "refiltered ", FileText(), ", from ",
      other_kind.empty() ? "" : absl::StrCat(other_kind, " of "), before, " to ",
      other_kind.empty() ? "" : absl::StrCat(ToAbsl(filter::KindName(spec.kind)), " of "),
      ShortNumber(bits_per_key), " bits a key: ", ShortNumber(reads_saved),
      " needless reads a second less, repaid in ", ShortNumber(seconds_to_repay), " s");
}

bool RefilterPlanner::IsTime(size_t num_filters, double seconds) {
  waited_seconds_ += seconds;
  pause_seconds_ = std::max(0.0, pause_seconds_ - seconds);
  if (pause_seconds_ > 0) return false;
  if (waited_seconds_ < kSecondsForFilter * static_cast<double>(num_filters)) return false;
  waited_seconds_ = 0;
  return true;
}

// Of every table that the budget pays for, and last of what is going to be flushed.
std::vector<RefilterCandidate> RefilterPlanner::Candidates(
    std::span<const FamilyTree> trees, std::span<const TreeFilter> tables,
    const LookupHistory& history, std::vector<const TreeFilter*>* table_of) {
  Kinds kinds;
  std::vector<RefilterCandidate> candidates;
  std::map<uint64_t, Tried> tried;
  for (const TreeFilter& table : tables) {
    const FamilyTree& tree = trees[table.family];
    const auto before = tried_.find(table.file->number());
    // For tables that are left out as well, which may be candidates again.
    if (before != tried_.end()) tried.insert(*before);
    if (table.planned.is_left_out || tree.spec.kind == filter::FilterKind::kNone) continue;
    const std::string_view kind = kinds.Of(table.file->reader()->filter_description());
    RefilterCandidate& candidate = candidates.emplace_back(CandidateOf(tree, table, kind));
    table_of->push_back(&table);
    candidate.measured_lookups = history.MeasuredLookups(*table.file);
    if (before == tried_.end()) continue;
    // Under another spec the same bits may come to something else.
    if (before->second.spec == tree.spec) candidate.tried_bits = before->second.bits_per_key;
    if (before->second.is_damaged) candidate.may_change = false;
  }
  tried_ = std::move(tried);  // without tables that are gone
  // These have no table and may not change: the choice is always one of those before them, whose
  // place is that in `table_of`.
  const std::vector<double> run_rates = history.RunRates(trees);
  for (size_t i = 0; i < trees.size(); i++) {
    RefilterCandidate& next_flush = candidates.emplace_back();
    next_flush.spec = trees[i].spec;
    next_flush.num_keys = trees[i].expected_flush_keys;
    next_flush.planned.lookups = run_rates[i];
  }
  return candidates;
}

std::optional<PlannedRefilter> RefilterPlanner::Choose(std::span<const FamilyTree> trees,
                                                       std::span<const TreeFilter> tables,
                                                       const LookupHistory& history,
                                                       uint64_t budget_bytes) {
  std::vector<const TreeFilter*> table_of;
  const std::vector<RefilterCandidate> candidates = Candidates(trees, tables, history, &table_of);
  // What is merely expected is no reason for I/O: a database that nobody asks plans nothing.
  const bool any_measured = std::any_of(
      candidates.begin(), candidates.end(),
      [](const RefilterCandidate& candidate) { return candidate.measured_lookups > 0; });
  if (!any_measured) return std::nullopt;
  const auto choice =
      ChooseRefilter(candidates, BytesForNewFilters(budget_bytes), history.MeasuredSeconds());
  if (!choice.has_value()) return std::nullopt;
  const TreeFilter& table = *table_of[choice->index];
  const FamilyTree& tree = trees[table.family];
  PlannedRefilter planned;
  planned.family_id = tree.id;
  planned.family = tree.name;
  planned.file_number = table.file->number();
  planned.level = table.level;
  planned.spec = tree.spec;
  if (candidates[choice->index].has_other_kind) {
    planned.other_kind = Kinds().Of(table.file->reader()->filter_description());
  }
  planned.bits_in_memory = choice->bits_in_memory;
  planned.bits_per_key = choice->bits_per_key;
  planned.reads_saved = choice->reads_saved;
  planned.seconds_to_repay = choice->blocks / choice->reads_saved;
  return planned;
}

void RefilterPlanner::Pause() {
  // Bounded before the shift, which would overflow.
  const int doublings = std::min(failures_in_a_row_, 20);
  pause_seconds_ = std::min(kFirstPauseSeconds * (1 << doublings), kLongestPauseSeconds);
  failures_in_a_row_++;
}

void RefilterPlanner::Note(const PlannedRefilter& refilter, const absl::Status& status,
                           bool is_done) {
  if (is_done) {
    failures_in_a_row_ = 0;
    // By the planned bits, which are what the next plan is compared with.
    tried_[refilter.file_number] = {refilter.spec, refilter.bits_per_key};
    last_ = refilter.ToString();
    return;
  }
  // Damage does not pass, and is the table's alone: it is left out for good, without a pause for
  // the others.
  if (absl::IsDataLoss(status)) {
    tried_[refilter.file_number] = {refilter.spec, refilter.bits_per_key, /*is_damaged=*/true};
    last_ = absl::StrCat("could not refilter ", refilter.FileText(),
                         ", which is damaged: ", status.ToString());
    return;
  }
  Pause();
  // It gave way to other work, the table is gone, or the database closes: nobody need hear of that.
  if (status.ok() || absl::IsCancelled(status)) return;
  last_ = absl::StrCat("could not refilter ", refilter.FileText(), ": ", status.ToString(),
                       "; nothing is tried again for ", pause_seconds_, " s");
}

}  // namespace winnow
