#include "engine/db/database_jobs.h"

#include <algorithm>
#include <utility>

#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/compaction/flush_job.h"
#include "engine/db/job_events.h"
#include "engine/statistics/job_timer.h"

namespace winnow {

DatabaseJobs::DatabaseJobs(const DatabaseJobParts& parts) : parts_(parts) {}

bool DatabaseJobs::RunMostUrgent() {
  if (ColumnFamilyState* family = FamilyToFlush()) {
    Flush(family);
    return true;
  }
  return RunCompactionIfDue();
}

void DatabaseJobs::ReleaseReplaced() {
  std::vector<ColumnFamilyState*> families;
  {
    DatabaseLock lock(parts_.mutex);
    for (const auto& [id, family] : parts_.families->all()) families.push_back(family.get());
  }
  for (ColumnFamilyState* family : families) family->views.Reclaim();
}

bool DatabaseJobs::HasWork() const {
  // Damage that a compaction met stays due for ever.
  const bool compaction_can_run = parts_.scheduler->errors().quarantine().ok();
  return FamilyToFlush() != nullptr || flushes_running_ > 0 || compactions_running_ > 0 ||
         (compaction_can_run && CompactionIsDue());
}

SstableOutputOptions DatabaseJobs::OutputOptions(SstableBuilderOptions builder) const {
  SstableOutputOptions output;
  output.store = parts_.versions->store();
  output.builder = std::move(builder);
  output.new_file_number = [versions = parts_.versions] { return versions->NewFileNumber(); };
  output.cancelled = &parts_.scheduler->cancelled();
  return output;
}

ColumnFamilyState* DatabaseJobs::FamilyToFlush() const {
  for (const auto& [id, family] : parts_.families->all()) {
    if (family->flush_wanted && !family->flush_running && !family->immutables.empty() &&
        !family->is_dropped()) {
      return family.get();
    }
  }
  return nullptr;
}

absl::Status DatabaseJobs::WriteFlush(const std::vector<std::shared_ptr<Memtable>>& memtables,
                                      SstableBuilderOptions builder, SstableOutputResult* result) {
  JobTimer timer(parts_.recorder, LatencyHistogram::kFlush);
  std::vector<const Memtable*> inputs;
  for (const auto& memtable : memtables) inputs.push_back(memtable.get());
  FlushJobOptions job;
  job.output = OutputOptions(std::move(builder));
  job.snapshots = parts_.snapshots->Sequences();
  return RunFlush(inputs, job, result);
}

void DatabaseJobs::Flush(ColumnFamilyState* family) {
  const std::vector<std::shared_ptr<Memtable>> memtables(family->immutables.begin(),
                                                         family->immutables.end());
  family->flush_running = true;
  flushes_running_++;
  const SteadyTime begin = SteadyNow();
  NotifyFlushBegin(parts_.events, family->name(), memtables.size());
  SstableBuilderOptions builder = family->BuilderOptions(0);
  SstableOutputResult result;
  absl::Status logs_synced;
  absl::Status status;
  {
    DatabaseUnlock unlock(parts_.mutex);
    // Entries of other families or of older writes must not be lost where these survive.
    logs_synced = parts_.logs->SyncOlder();
    status = logs_synced;
    if (status.ok()) {
      status = CatchOutOfMemory([&] { return WriteFlush(memtables, std::move(builder), &result); });
    }
  }
  if (status.ok()) status = InstallFlush(family, memtables.size(), result);
  family->flush_running = false;
  flushes_running_--;
  BackgroundErrors& errors = parts_.scheduler->errors();
  if (!logs_synced.ok()) {
    errors.SetFatal(logs_synced, "syncing a write-ahead log");
  } else if (status.ok()) {
    errors.JobSucceeded();
  } else {
    errors.JobFailed(status, "a flush");
  }
  ThreadCounters& counters = parts_.recorder->Local();
  counters.Add(Ticker::kFlushes);
  counters.Add(Ticker::kFlushBytesWritten, result.bytes_written);
  counters.Add(Ticker::kFiltersFellBack, result.num_filters_fell_back);
  NotifyFlushEnd(
      parts_.events, family->name(), memtables.size(),
      {status, result.files.size(), 0, result.bytes_written, result.num_filters_fell_back, begin});
}

absl::Status DatabaseJobs::InstallFlush(ColumnFamilyState* family, size_t num_memtables,
                                        const SstableOutputResult& result) {
  VersionSet& versions = *parts_.versions;
  if (family->is_dropped()) {
    RemoveOutputs(versions.store(), result.files);
    return absl::OkStatus();
  }
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = family->id();
  for (const FileMetadata& file : result.files) change.added.push_back({0, file});
  change.log_number = family->immutables.size() > num_memtables
                          ? family->immutables[num_memtables]->log_number()
                          : family->active().log_number();
  // Families that hold nothing in memory release the older logs as well.
  for (const auto& [id, other] : parts_.families->all()) {
    if (other.get() == family || other->is_dropped() || !other->HasNothingInMemory()) continue;
    FamilyEdit& release = edit.families.emplace_back();
    release.family_id = id;
    release.log_number = other->active().log_number();
  }
  versions.RaiseLastSequence(parts_.leader->visible_sequence());
  WINNOW_RETURN_IF_ERROR(versions.LogAndApply(std::move(edit)));
  family->immutables.erase(family->immutables.begin(),
                           family->immutables.begin() + static_cast<ptrdiff_t>(num_memtables));
  family->flush_wanted = !family->immutables.empty();
  const auto record = versions.families().find(family->id());
  if (record != versions.families().end()) family->InstallView(record->second.version);
  parts_.leader->LookForStalls();
  const uint64_t oldest_log = versions.OldestNeededLog();
  DatabaseUnlock unlock(parts_.mutex);
  parts_.logs->RemoveBefore(oldest_log);
  return absl::OkStatus();
}

}  // namespace winnow
