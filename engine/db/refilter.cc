// DB::Refilter: the call; DatabaseJobs does the work.
#include "winnow/refilter.h"

#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

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
    RefilterInfo info;
    absl::Status status;
    {
      DatabaseLock lock(&mutex_);
      if (!IsUsable()) return Unusable();
      copies_running_++;  // Close waits
      status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
        return jobs_.Refilter(own, options, &info);
      });
      {
        // Which of the new filters' units are worth their memory.
        DatabaseUnlock unlock(&mutex_);
        UnlessOutOfMemory([this] { KeepFilters(); });
      }
      copies_running_--;
      scheduler_.SignalProgress();
    }
    UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
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
