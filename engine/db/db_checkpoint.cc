// Checkpoint and BackupTo: what makes up the database at one moment, copied elsewhere.
//
// Writers are stopped only while the list of what to copy is made. Then the versions hold the
// tables, which never change, and the pause holds the logs, which only grow: of each as many bytes
// count as it had at that moment. So the copy is of one moment, however long it takes.
#include "engine/backup/write_backup.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/file_system/durable_files.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

absl::Status DBImpl::Capture(CheckpointContents* contents) {
  if (options_.read_only) {
    return absl::FailedPreconditionError(
        "a database that is open read-only cannot be copied while others may write to it");
  }
  // What was written without a log exists in memtables only.
  if (leader_.has_unlogged_writes()) {
    for (ColumnFamily* family : ColumnFamilies()) {
      WINNOW_RETURN_IF_ERROR(FlushMemtables(Own(family)));
    }
  }
  // Leadership, so that the sizes of the logs are those between two groups; the mutex, so that
  // versions and logs belong together: an entry is in a table or in a log that is listed.
  ExclusiveWrites writes(&write_queue_);
  DatabaseLock lock(&mutex_);
  WINNOW_RETURN_IF_ERROR(PrepareForChange());
  // A number of its own, since the copy gets a manifest that this database never had.
  contents->manifest_number = versions_.NewFileNumber();
  contents->snapshot = versions_.Snapshot();
  for (const auto& [id, record] : versions_.families()) {
    contents->versions.push_back(record.version);
  }
  const uint64_t oldest_log = versions_.OldestNeededLog();
  contents->logs = logs_.Sizes();
  contents->logs.erase(contents->logs.begin(), contents->logs.lower_bound(oldest_log));
  logs_.PauseRemoval();  // last: whatever fails before it leaves no pause behind
  copies_running_++;
  return absl::OkStatus();
}

absl::Status DBImpl::CopyTo(const std::string& directory, const PlaceSstable& place_sstable,
                            CheckpointContents* contents) {
  WINNOW_RETURN_IF_ERROR(CheckMayWaitForJobs());
  // Looked at before writers are made to wait.
  WINNOW_RETURN_IF_ERROR(CheckIsFree(*file_system_, directory));
  WINNOW_RETURN_IF_ERROR(Capture(contents));
  const absl::Status status = CatchOutOfMemory(
      [&] { return WriteCheckpoint(*file_system_, path_, directory, place_sstable, contents); });
  // Before the result is looked at: a failed copy must not keep logs for ever.
  logs_.ResumeRemoval();
  // Tables that a compaction has replaced meanwhile are removed here, without the mutex, and before
  // Close may give the directory up.
  contents->versions.clear();
  DatabaseLock lock(&mutex_);
  copies_running_--;
  scheduler_.SignalProgress();
  return status;
}

// Links where the file system can: tables are immutable, so that both directories may share them.
absl::Status DBImpl::Checkpoint(const std::string& directory) {
  return CatchOutOfMemory([&] {
    WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
    CheckpointContents contents;
    return CopyTo(
        directory,
        [this](const SstableFile& /*table*/, FileType /*type*/, const std::string& from,
               const std::string& to) { return LinkOrCopy(*file_system_, from, to); },
        &contents);
  });
}

// The backup decides table by table what it has already and what must be copied.
absl::StatusOr<BackupInfo> DBImpl::BackupTo(const std::string& backup_directory) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<BackupInfo> {
    WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
    const auto copy_to = [this](const std::string& directory, const PlaceSstable& place_sstable,
                                CheckpointContents* contents) {
      return CopyTo(directory, place_sstable, contents);
    };
    return WriteBackup(*file_system_, backup_directory, copy_to);
  });
}

}  // namespace winnow
