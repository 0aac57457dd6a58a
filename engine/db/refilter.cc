// DB::Refilter: the call; DatabaseJobs does the work.
#include "winnow/refilter.h"

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/sstable/filter_description.h"
#include "filter/base/out_of_memory.h"
#include "winnow/filter/spec.h"

namespace winnow {

namespace {

// A range filter is part of its table, which refiltering leaves as it is: one that is asked for is
// there already, or the call would end well without having done what it was asked to.
absl::Status CheckRangeFilters(const Version& version, std::string_view filter) {
  const absl::StatusOr<filter::FilterSpec> spec = filter::ParseFilterSpec(filter);
  if (!spec.ok() || spec->range_bits == 0) return absl::OkStatus();  // SetFilter says what is wrong
  const std::string text = filter::ToString(*spec);
  const std::string_view wanted = RangeFilterText(text);
  uint64_t files = 0;
  uint64_t files_without = 0;
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) {
      if (file->reader() == nullptr) continue;
      files++;
      files_without += RangeFilterText(file->reader()->filter_description().spec) == wanted ? 0 : 1;
    }
  }
  if (files_without == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(files_without, " of ", files, files == 1 ? " table has" : " tables have",
                   " no range filter '", ToAbsl(wanted),
                   "', which is part of a table and built by flushes and compactions alone: set '",
                   text, "' as the filter and compact the family (winnow compact --filter=", text,
                   "), or refilter with '", ToAbsl(PointFilterText(text)), "'"));
}

// A spec that says nothing of range filters leaves what is set of them: tables keep theirs, and new
// ones would come to be without.
std::string WithRangeOf(const filter::FilterSpec& present, std::string_view filter) {
  absl::StatusOr<filter::FilterSpec> spec = filter::ParseFilterSpec(filter);
  if (!spec.ok()) return std::string(filter);  // SetFilter says what is wrong
  if (RangeFilterText(filter).empty()) spec->range_bits = present.range_bits;
  return filter::ToString(*spec);
}

bool HasTableFrom(const Version& version, uint64_t first_number) {
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) {
      if (file->number() >= first_number) return true;
    }
  }
  return false;
}

// What a second look at the tables of a call did.
void AddTo(const RefilterInfo& more, RefilterInfo* info) {
  info->files_refiltered += more.files_refiltered;
  info->files_restored += more.files_restored;
  info->files_gone += more.files_gone;
  info->files_damaged = more.files_damaged;
  info->files_left = more.files_left;
  info->filters_fell_back += more.filters_fell_back;
  info->bytes_read += more.bytes_read;
  info->bytes_written += more.bytes_written;
  info->filter_bytes += more.filter_bytes;
  info->duration += more.duration;
}

// What was written while a call was at work is of the present budget, and not of the one that the
// database is made ready for. Once more and no further: it would not end beside a writer.
absl::Status RefilterOnceMore(DatabaseJobs* jobs, DatabaseMutex* mutex, ColumnFamilyState* family,
                              const RefilterOptions& options,
                              absl::FunctionRef<absl::StatusOr<std::optional<BitsByLevel>>()> plan,
                              RefilterInfo* info) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  absl::StatusOr<std::optional<BitsByLevel>> bits = std::optional<BitsByLevel>();
  {
    DatabaseUnlock unlock(mutex);
    bits = plan();
  }
  WINNOW_RETURN_IF_ERROR(bits.status());
  RefilterInfo more;
  const absl::Status status = jobs->Refilter(family, options, *bits, &more);
  AddTo(more, info);
  return status;
}

}  // namespace

// Before anything is changed.
absl::Status DBImpl::CheckRefilterBudget(const ColumnFamilyState& family,
                                         const RefilterOptions& options) {
  if (options.filter_memory_budget == 0) return absl::OkStatus();
  if (filter_budget_.limit_bytes() == 0) {
    return absl::FailedPreconditionError(
        "the database has no filter_memory_budget by which filters are cut into units");
  }
  // As if the new spec were set already: whether the smallest units fit is a matter of the kind.
  std::vector<FamilyTree> trees = Trees();
  const absl::StatusOr<filter::FilterSpec> spec = filter::ParseFilterSpec(options.filter);
  for (FamilyTree& tree : trees) {
    if (tree.id == family.id() && !options.filter.empty() && spec.ok()) tree.spec = *spec;
  }
  return CheckBudgetForNewFilters(trees, options.filter_memory_budget);
}

// By the look-ups that were measured, over the trees of all families, which share the budget. Made
// once: the plan of a call does not follow what changes while it runs.
absl::StatusOr<std::optional<BitsByLevel>> DBImpl::PlannedBits(const ColumnFamilyState& family,
                                                               uint64_t budget_bytes) {
  if (budget_bytes == 0) return std::nullopt;
  const std::vector<FamilyTree> trees = Trees();
  const std::vector<BitsByLevel> bits = filter_budget_.Bits(trees, budget_bytes);
  for (size_t i = 0; i < trees.size(); i++) {
    if (trees[i].id == family.id()) return bits[i];
  }
  return std::nullopt;  // dropped meanwhile
}

absl::StatusOr<RefilterInfo> DBImpl::Refilter(ColumnFamily* family,
                                              const RefilterOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RefilterInfo> {
    WINNOW_RETURN_IF_ERROR(CheckWritable());
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    ColumnFamilyState* const own = Own(family);
    // Calls for one family have their turns: this one might wait for a call that waits for this
    // one.
    if (OngoingCall::IsOf(&jobs_)) {
      return absl::FailedPreconditionError("called by on_progress of another Refilter");
    }
    // A policy's filters are made of keys by code of the user's, and only with a table.
    if (own->filter_policy() != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("filters of the column family '", ToAbsl(own->name()),
                       "' are made by its filter policy '", ToAbsl(own->filter_policy()->Name()),
                       "': open it without one to refilter"));
    }
    // What can be refused is refused before the filter is set, so that a call which fails here has
    // changed nothing.
    WINNOW_RETURN_IF_ERROR(CheckRangeFilters(*own->views.Shared()->version, options.filter));
    WINNOW_RETURN_IF_ERROR(CheckRefilterBudget(*own, options));
    if (!options.filter.empty() || !options.filter_key.empty()) {
      std::string filter;
      if (!options.filter.empty()) {
        DatabaseLock lock(&mutex_);
        filter = WithRangeOf(own->filter_spec(), options.filter);
      }
      WINNOW_RETURN_IF_ERROR(SetFilter(family, filter, options.filter_key));
    }
    WINNOW_ASSIGN_OR_RETURN(const std::optional<BitsByLevel> planned_bits,
                            PlannedBits(*own, options.filter_memory_budget));
    RefilterInfo info;
    absl::Status status;
    {
      DatabaseLock lock(&mutex_);
      if (!IsUsable()) return Unusable();
      copies_running_++;  // Close waits
      // Without memory, too, the count has to come back: Close waits for it.
      status =
          CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) -> absl::Status {
            const uint64_t first_new_number = versions_.next_file_number();
            WINNOW_RETURN_IF_ERROR(jobs_.Refilter(own, options, planned_bits, &info));
            if (!planned_bits.has_value() || own->is_dropped() ||
                !HasTableFrom(*own->version(), first_new_number)) {
              return absl::OkStatus();
            }
            return RefilterOnceMore(
                &jobs_, &mutex_, own, options,
                [&] { return PlannedBits(*own, options.filter_memory_budget); }, &info);
          });
      {
        // Which of the new filters' units are worth their memory, now that the old ones' is free.
        DatabaseUnlock unlock(&mutex_);
        UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
        UnlessOutOfMemory([this] { KeepFilters(FilterLoading::kInSlices); });
      }
      copies_running_--;
      scheduler_.SignalProgress();
    }
    // Cancelled by a close or a drop: the answer of a call that came after.
    if (absl::IsCancelled(status)) {
      WINNOW_RETURN_IF_ERROR(CheckWritable());
      WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    }
    WINNOW_RETURN_IF_ERROR(status);
    return info;
  });
}

}  // namespace winnow
