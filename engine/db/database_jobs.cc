// A flush in the order that its safety needs:
//
//  1. Older logs are synced, if they hold writes that stay in memory. Its table will survive a
//     power failure; were an older log then cut, a later write would be there and an earlier one,
//     of another family, would not. A database of one family has its writes in the table instead.
//  2. Tables are written and synced, and so is the directory.
//  3. The edit with the tables and the family's next log number is durable in the manifest.
//  4. Readers get the view with the tables and without the memtables.
//  5. Logs that no family needs are removed.
//
// A crash before step 3 leaves orphan tables and all logs: replay writes the same entries again.
// One after it leaves logs too many, whose updates replay passes over by the family's log number.
#include "engine/db/database_jobs.h"

#include <algorithm>
#include <utility>

#include "engine/base/ongoing_call.h"
#include "engine/base/status.h"
#include "engine/compaction/flush_job.h"
#include "engine/db/job_events.h"
#include "engine/statistics/job_timer.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

DatabaseJobs::DatabaseJobs(const DatabaseJobParts& parts) : parts_(parts) {}

// Flushes first: writers wait for those when memtables are full, and level 0 can wait for longer.
// But not all threads: where many families share a bound of memory there is always one to be
// flushed, and level 0 of each would grow until writes have to wait for it.
bool DatabaseJobs::RunMostUrgent() {
  for (const auto& [id, family] : parts_.families->live()) family->RenewStaleView();
  for (const auto& [id, family] : parts_.families->leaving()) family->RenewStaleView();
  const BackgroundErrors& errors = parts_.scheduler->errors();
  const bool may_compact = !errors.IsWaitingToRetry(JobKind::kCompaction);
  const bool others_flush =
      flushes_running_ >= parts_.options->background_threads() - 1 && flushes_running_ > 0;
  if (others_flush && may_compact && level0_is_due_ && automatic_compaction_threads_ == 0) {
    if (RunCompactionIfDue()) return true;
    level0_is_due_ = false;
  }
  if (!errors.IsWaitingToRetry(JobKind::kFlush)) {
    if (ColumnFamilyState* family = FamilyToFlush()) {
      Flush(family);
      return true;
    }
  }
  // In turns with compactions, of which the next may always be due.
  const bool filters_first = !std::exchange(filters_had_their_turn_, false);
  if (filters_first && KeepFiltersIfUnfinished()) {
    filters_had_their_turn_ = true;
    return true;
  }
  if (may_compact && RunCompactionIfDue()) return true;
  if (!filters_first && KeepFiltersIfUnfinished()) return true;
  return RunPlannedRefilterIfIdle();
}

// One slice, by one thread at a time: it says again if there is more.
bool DatabaseJobs::KeepFiltersIfUnfinished() {
  if (!std::exchange(filters_are_unfinished_, false)) return false;
  DatabaseUnlock unlock(parts_.mutex);
  UnlessOutOfMemory([this] { parts_.keep_filters(); });
  return true;
}

// Families are never taken out of the set, so that the pointers outlive the lock.
void DatabaseJobs::ReleaseReplaced() {
  std::vector<ColumnFamilyState*> families;
  {
    DatabaseLock lock(parts_.mutex);
    for (const auto& [id, family] : parts_.families->live()) families.push_back(family);
    for (const auto& [id, family] : parts_.families->leaving()) families.push_back(family);
  }
  ReleaseReplacedOf(families);
}

void DatabaseJobs::ReleaseReplacedOf(std::span<ColumnFamilyState* const> families) {
  for (ColumnFamilyState* family : families) family->views.Reclaim();
  DatabaseLock lock(parts_.mutex);
  bool any = false;
  for (ColumnFamilyState* family : families) {
    // A flush that runs may hold what it has installed; this comes again once it has ended.
    if (family->flush_running) continue;
    if (family->is_releasing()) {
      family->FinishRelease();
      any = true;
    }
    if (family->is_dropped() && family->has_let_go()) parts_.families->NoteLeft(*family);
  }
  // A writer may wait for the memory.
  if (any) parts_.scheduler->SignalProgress();
}

absl::Status DatabaseJobs::DoUpkeep() {
  parts_.save_statistics();
  parts_.keep_filters();
  // Look-ups that held back what a job has replaced have ended by now, and where nobody writes no
  // further job would come to free it.
  UnlessOutOfMemory([this] { ReleaseReplaced(); });
  WINNOW_RETURN_IF_ERROR(parts_.lock_file->Check(*parts_.versions->store().file_system));
  WINNOW_RETURN_IF_ERROR(parts_.logs->CheckInPlace());
  // Unlike a log's, what the manifest said is still known.
  DatabaseLock lock(parts_.mutex);
  const absl::Status replaced = parts_.versions->ReplaceLostManifest();
  return absl::IsResourceExhausted(replaced) ? absl::OkStatus() : replaced;
}

bool DatabaseJobs::HasWork() const {
  return FamilyToFlush() != nullptr || IsRunning() || CompactionIsDue();
}

SstableOutputOptions DatabaseJobs::OutputOptions(const ColumnFamilyState& family,
                                                 SstableBuilderOptions builder,
                                                 BackgroundRateLimiter::Priority priority) const {
  SstableOutputOptions output;
  output.store = parts_.versions->store();
  output.builder = std::move(builder);
  output.new_file_number = [versions = parts_.versions] { return versions->NewFileNumber(); };
  output.cancelled = {&parts_.scheduler->cancelled(), &family.dropped};
  output.rate_limiter = parts_.rate_limiter;
  output.priority = priority;
  return output;
}

// One flush of a family at a time, or a later memtable's table could be installed before an older
// one's, and level 0 would be out of order. Of several families the one whose memtable needs the
// oldest log: a busy one does not starve the others, and logs go in their order.
ColumnFamilyState* DatabaseJobs::FamilyToFlush() const {
  ColumnFamilyState* oldest = nullptr;
  for (const auto& [id, family] : parts_.families->live()) {
    if (!family->flush_wanted || family->flush_running || family->immutables.empty() ||
        family->is_dropped()) {
      continue;
    }
    if (oldest == nullptr ||
        family->immutables.front()->log_number() < oldest->immutables.front()->log_number()) {
      oldest = family;
    }
  }
  return oldest;
}

absl::Status DatabaseJobs::WriteFlush(const ColumnFamilyState& family,
                                      const std::vector<std::shared_ptr<Memtable>>& memtables,
                                      SstableBuilderOptions builder, FlushJobOptions job,
                                      SstableOutputResult* result) {
  JobTimer timer(parts_.recorder, LatencyHistogram::kFlush);
  std::vector<const Memtable*> inputs;
  for (const auto& memtable : memtables) inputs.push_back(memtable.get());
  job.output = OutputOptions(family, std::move(builder), BackgroundRateLimiter::Priority::kFlush);
  // Listed after the memtables were retired: a snapshot that is taken from now on includes all of
  // their entries, and needs none that this flush drops.
  job.snapshots = parts_.snapshots->Sequences();
  job.merge_operator = &family.merge_operator();
  return RunFlush(inputs, job, result);
}

// All immutable memtables at once: merged, they make fewer files, and an entry that a newer one
// hides is not written at all.
void DatabaseJobs::Flush(ColumnFamilyState* family) {
  const OngoingCall job(parts_.mutex);
  const size_t num_memtables = family->immutables.size();
  family->flush_running = true;
  flushes_running_++;
  const SteadyTime begin = SteadyNow();
  NotifyFlushBegin(parts_.events, family->name(), num_memtables);
  SstableOutputResult result;
  absl::Status logs_synced;
  const absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    // Held here, since the family's own list may be cleared meanwhile, by a drop.
    const std::vector<std::shared_ptr<Memtable>> memtables = family->immutables;
    FlushJobOptions flush;
    // As in compactions: not where older entries may come in behind.
    if (!family->allows_ingest_behind()) flush.collectors = family->collectors();
    flush.moment = MomentOf(*family, family->active().smallest_sequence());
    flush.version = family->version();
    // Taken under the mutex: the filter settings may change while the tables are written.
    parts_.plan_new_filters();
    SstableBuilderOptions builder = family->BuilderOptions(0);
    WINNOW_RETURN_IF_ERROR(parts_.versions->Settle());
    // A log that is begun from here on is not older, and nothing of these memtables is in it.
    const uint64_t current_log = parts_.logs->current_number();
    const bool older_are_needed = OldestLogWithout(*family, num_memtables) < current_log;
    {
      DatabaseUnlock unlock(parts_.mutex);
      const absl::Status names_synced = parts_.logs->SyncNames();
      logs_synced = names_synced.ok() && older_are_needed ? parts_.logs->SyncOlder() : names_synced;
      if (!names_synced.ok() && absl::IsResourceExhausted(names_synced)) {
        logs_synced = absl::OkStatus();
      }
      WINNOW_RETURN_IF_ERROR(names_synced);
      WINNOW_RETURN_IF_ERROR(logs_synced);
      WINNOW_RETURN_IF_ERROR(
          WriteFlush(*family, memtables, std::move(builder), std::move(flush), &result));
      WINNOW_RETURN_IF_ERROR(OrRemoveOutputs(parts_.versions->store(), result.files, [&] {
        if (parts_.row_cache != nullptr) ForgetRows(family, memtables);
        return absl::OkStatus();
      }));
    }
    WINNOW_RETURN_IF_ERROR(InstallFlush(family, num_memtables, result));
    // As after a compaction.
    if (result.entries_collected > 0) family->rows.ForgetAll();
    return absl::OkStatus();
  });
  family->flush_running = false;
  flushes_running_--;
  BackgroundErrors& errors = parts_.scheduler->errors();
  // Fatal, since a later sync that succeeds would prove nothing. Other failures may be tried again,
  // with new files: the memtables are still there.
  if (!logs_synced.ok()) {
    errors.SetFatal(logs_synced, "syncing a write-ahead log");
  } else if (status.ok()) {
    errors.JobSucceeded(JobKind::kFlush);
  } else {
    errors.JobFailed(JobKind::kFlush, status);
  }
  ThreadCounters& counters = parts_.recorder->Local();
  counters.Add(Ticker::kFlushes);
  counters.Add(Ticker::kFlushBytesWritten, result.bytes_written);
  counters.Add(Ticker::kBackgroundWaitMicros, static_cast<uint64_t>(result.waited.count()));
  counters.Add(Ticker::kFiltersFellBack, result.num_filters_fell_back);
  counters.Add(Ticker::kMergeFailures, result.num_merge_failures);
  counters.Add(Ticker::kEntriesFilteredOut, result.entries_collected);
  parts_.events->AddMergeFailures(family->name(), "flush", result.merge_failure,
                                  result.num_merge_failures);
  NotifyFlushEnd(
      parts_.events, family->name(), num_memtables,
      {status, result.files.size(), 0, result.bytes_written, result.num_filters_fell_back, begin});
}

void DatabaseJobs::ForgetRows(ColumnFamilyState* family,
                              const std::vector<std::shared_ptr<Memtable>>& memtables) {
  const uint64_t forgotten = parts_.row_cache->Forget(family->row_family(), memtables);
  parts_.recorder->Local().Add(Ticker::kRowCacheForgotten, forgotten);
}

uint64_t DatabaseJobs::OldestLogWithout(const ColumnFamilyState& flushed,
                                        size_t num_memtables) const {
  uint64_t oldest = flushed.OldestLogInMemory(num_memtables);
  for (const auto& [id, other] : parts_.families->live()) {
    if (other == &flushed || other->is_dropped()) continue;
    oldest = std::min(oldest, other->OldestLogInMemory());
  }
  return oldest;
}

absl::Status DatabaseJobs::InstallFlush(ColumnFamilyState* family, size_t num_memtables,
                                        const SstableOutputResult& result) {
  VersionSet& versions = *parts_.versions;
  if (family->is_dropped()) {
    RemoveOutputs(versions.store(), result.files);
    return absl::OkStatus();
  }
  VersionEdit edit;
  WINNOW_RETURN_IF_ERROR(OrRemoveOutputs(versions.store(), result.files,
                                         [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
                                           FamilyEdit& added = edit.families.emplace_back();
                                           for (const FileMetadata& file : result.files)
                                             added.added.push_back({0, file});
                                           family->PrepareRelease(num_memtables);
                                           return absl::OkStatus();
                                         }));
  FamilyEdit& change = edit.families.front();
  change.family_id = family->id();
  // The oldest log that what is left in memory needs: that of the next memtable.
  // Read before the memtables are asked: a write that is under way, and has not come to its
  // memtable yet, is in this log or a later one.
  const uint64_t current_log = parts_.logs->current_number();
  change.log_number = std::min(family->OldestLogInMemory(num_memtables), current_log);
  // Other families that hold nothing in memory need nothing either; their own numbers stay behind.
  edit.oldest_log = std::min(OldestLogWithout(*family, num_memtables), current_log);
  // With the logs gone the manifest alone remembers how far numbers were given out.
  versions.RaiseLastSequence(parts_.leader->visible_sequence());
  // On an error the tables stay: the edit that names them may have reached the disk. From here on
  // nothing fails for want of memory, or the flush would be taken for one that has to be done
  // again.
  WINNOW_RETURN_IF_ERROR(versions.LogAndApply(std::move(edit)));
  family->ReleaseImmutables(num_memtables);
  family->flush_wanted = !family->immutables.empty();
  const size_t level0_trigger = static_cast<size_t>(family->options().level0_compaction_trigger);
  const auto record = versions.families().find(family->id());
  if (record != versions.families().end() &&
      record->second.version->num_files(0) >= level0_trigger) {
    level0_is_due_ = true;
  }
  if (record != versions.families().end()) family->InstallDurableView(record->second.version);
  parts_.leader->LookForStall(family);
  // Of all families: one log holds the writes of all.
  const uint64_t oldest_needed = versions.OldestNeededLog();
  DatabaseUnlock unlock(parts_.mutex);
  parts_.logs->RemoveBefore(oldest_needed);
  return absl::OkStatus();
}

}  // namespace winnow
