// Flush, CompactRange, WaitForBackgroundWork: background work that somebody waits for.
#include <algorithm>
#include <memory>

#include "engine/base/database_closed.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

absl::Status DBImpl::CheckMayWaitForJobs() const {
  // Every flush and compaction, and each thread that does a part of one, has such a mark (Flush and
  // Compact in DatabaseJobs).
  if (!OngoingCall::IsOf(&mutex_)) return absl::OkStatus();
  return CatchOutOfMemory([] {
    return absl::FailedPreconditionError(
        "a compaction filter or merge operator asks for what may wait for the flush or compaction "
        "that has called it");
  });
}

absl::Status DBImpl::FlushMemtables(ColumnFamilyState* family) {
  if (options_.read_only) return absl::FailedPreconditionError("the database is open read-only");
  // Leadership only for the switch: other writers go on while the flush is waited for.
  {
    ExclusiveWrites writes(&write_queue_);
    DatabaseLock lock(&mutex_);
    WINNOW_RETURN_IF_ERROR(leader_.CheckRunning());
    if (!scheduler_.errors().fatal().ok()) return scheduler_.errors().fatal();
    if (!leader_.log_error().ok()) return leader_.ReplaceFailedLog();  // flushes everything
    // Without entries there is nothing to retire, but older memtables may still wait for a flush
    // that nothing has made urgent.
    if (!family->active().empty()) WINNOW_RETURN_IF_ERROR(leader_.SwitchMemtable(family));
    if (!family->immutables.empty()) family->flush_wanted = true;
  }
  DatabaseLock lock(&mutex_);
  return AwaitFlush(family);
}

absl::Status DBImpl::AwaitFlush(ColumnFamilyState* family) {
  BackgroundErrors& errors = scheduler_.errors();
  // Taken before the work is asked for: any failure from here on ends the wait, since the next try
  // may be long in coming, and the caller can ask again.
  const uint64_t failures = errors.num_failures(JobKind::kFlush);
  errors.RetryNow(JobKind::kFlush);
  scheduler_.SignalWork();
  // What was there at the call: others may fill memtables as fast as they are flushed. They go in
  // their order.
  std::weak_ptr<const Memtable> newest;
  if (!family->immutables.empty()) newest = family->immutables.back();
  const auto is_flushed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return std::none_of(family->immutables.begin(), family->immutables.end(),
                        [&](const auto& memtable) {
                          return !memtable.owner_before(newest) && !newest.owner_before(memtable);
                        });
  };
  while (!is_flushed() && errors.fatal().ok() && !scheduler_.is_stopping() &&
         errors.num_failures(JobKind::kFlush) == failures && !family->is_dropped()) {
    scheduler_.WaitForProgress();
  }
  // In this order: work that was done counts though the database closes, and a drop makes the
  // entries nobody's concern.
  if (!errors.fatal().ok() || is_flushed()) return errors.fatal();
  if (scheduler_.is_stopping()) return DatabaseClosedError();
  return family->is_dropped() ? absl::OkStatus() : errors.retried(JobKind::kFlush);
}

absl::Status DBImpl::Flush(ColumnFamily* family) {
  const absl::Status checked = CatchOutOfMemory([&] {
    WINNOW_RETURN_IF_ERROR(CheckMayWaitForJobs());
    return CheckRead(family, "");
  });
  // In a forked child some lock may be held by a thread that the child has not.
  if (!checked.ok()) return checked;
  const absl::Status status = CatchOutOfMemory([&] { return FlushMemtables(Own(family)); });
  UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
  return status;
}

// Memtables first: what was written before the call is part of the range.
absl::Status DBImpl::CompactRange(ColumnFamily* family, std::optional<std::string_view> begin,
                                  std::optional<std::string_view> end) {
  return CatchOutOfMemory([&] {
    WINNOW_RETURN_IF_ERROR(CheckMayWaitForJobs());
    WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
    ColumnFamilyState* own = Own(family);
    WINNOW_RETURN_IF_ERROR(FlushMemtables(own));
    absl::Status status;
    {
      DatabaseLock lock(&mutex_);
      // On this thread, which gives the mutex back while it merges.
      status = jobs_.CompactRange(own, begin, end);
    }
    UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
    // Cancelled half-way is refused too late: the caller gets the answer of a call that came after.
    if (absl::IsCancelled(status)) WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
    return status;
  });
}

// Damage that a compaction met is returned as well; what is sound is waited for.
absl::Status DBImpl::WaitForBackgroundWork() {
  if (!process_.IsThisOne()) return CatchOutOfMemory([this] { return Unusable(); });
  WINNOW_RETURN_IF_ERROR(CheckMayWaitForJobs());
  // To look for work takes memory.
  const absl::Status status = CatchOutOfMemory([this] { return AwaitBackgroundWork(); });
  UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
  return status;
}

absl::Status DBImpl::AwaitBackgroundWork() {
  DatabaseLock lock(&mutex_);
  scheduler_.SignalWork();
  const BackgroundErrors& errors = scheduler_.errors();
  const auto num_failures = [&errors]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return errors.num_failures(JobKind::kFlush) + errors.num_failures(JobKind::kCompaction);
  };
  const uint64_t failures = num_failures();
  // A failure ends the wait too, though its work is still due: it may be tried again for hours.
  while (errors.fatal().ok() && !scheduler_.is_stopping() && !options_.read_only &&
         num_failures() == failures && jobs_.HasWork()) {
    scheduler_.WaitForProgress();
  }
  return errors.Gravest();
}

}  // namespace winnow
