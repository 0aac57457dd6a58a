// DB::Refilter: the call; DatabaseJobs does the work.
#include "winnow/refilter.h"

#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

absl::StatusOr<std::optional<BitsByLevel>> DBImpl::PlannedBits(const ColumnFamilyState& family,
                                                               uint64_t budget_bytes) {
  if (budget_bytes == 0) return std::nullopt;
  if (filter_budget_.limit_bytes() == 0) {
    return absl::FailedPreconditionError(
        "refilter: the database has no filter_memory_budget by which filters are cut into units");
  }
  std::vector<FamilyTree> trees;
  {
    DatabaseLock lock(&mutex_);
    trees = TreesNow();
  }
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
    // A policy's filters are made of keys by code of the user's, and only with a table.
    if (own->filter_policy() != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("filters of the column family '", ToAbsl(own->name()),
                       "' are made by its filter policy '", ToAbsl(own->filter_policy()->Name()),
                       "': open it without one to refilter"));
    }
    if (!options.filter.empty() || !options.filter_key.empty()) {
      WINNOW_RETURN_IF_ERROR(SetFilter(family, options.filter, options.filter_key));
    }
    WINNOW_ASSIGN_OR_RETURN(const std::optional<BitsByLevel> planned_bits,
                            PlannedBits(*own, options.filter_memory_budget));
    RefilterInfo info;
    absl::Status status;
    {
      DatabaseLock lock(&mutex_);
      if (!IsUsable()) return Unusable();
      copies_running_++;  // Close waits
      status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
        return jobs_.Refilter(own, options, planned_bits, &info);
      });
      {
        // Which of the new filters' units are worth their memory, now that the old ones' is free.
        DatabaseUnlock unlock(&mutex_);
        UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
        UnlessOutOfMemory([this] { KeepFilters(); });
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
