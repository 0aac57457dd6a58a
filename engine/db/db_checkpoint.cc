// Checkpoint and BackupTo: what makes up the database at one moment, copied elsewhere.
#include "engine/backup/write_backup.h"
#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/file_system/durable_files.h"

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
  ExclusiveWrites writes(&write_queue_);
  DatabaseLock lock(&mutex_);
  WINNOW_RETURN_IF_ERROR(PrepareForChange());
  contents->manifest_number = versions_.NewFileNumber();
  contents->snapshot = versions_.Snapshot();
  for (const auto& [id, record] : versions_.families()) {
    contents->versions.push_back(record.version);
  }
  const uint64_t oldest_log = versions_.OldestNeededLog();
  contents->logs = logs_.Sizes();
  contents->logs.erase(contents->logs.begin(), contents->logs.lower_bound(oldest_log));
  logs_.PauseRemoval();  // last: whatever fails before it leaves no pause behind
  return absl::OkStatus();
}

absl::Status DBImpl::CopyTo(const std::string& directory, const PlaceSstable& place_sstable,
                            CheckpointContents* contents) {
  // Looked at before writers are made to wait.
  WINNOW_RETURN_IF_ERROR(CheckIsFree(*file_system_, directory));
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] { return Capture(contents); }));
  const absl::Status status = CatchOutOfMemory(
      [&] { return WriteCheckpoint(*file_system_, path_, directory, place_sstable, contents); });
  logs_.ResumeRemoval();
  contents->versions.clear();
  return status;
}

absl::Status DBImpl::Checkpoint(const std::string& directory) {
  WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
  CheckpointContents contents;
  return CopyTo(
      directory,
      [this](const SstableFile& /*table*/, const std::string& from, const std::string& to) {
        return LinkOrCopy(*file_system_, from, to);
      },
      &contents);
}

absl::StatusOr<BackupInfo> DBImpl::BackupTo(const std::string& backup_directory) {
  WINNOW_RETURN_IF_ERROR(CheckRead(default_family_, ""));
  const auto copy_to = [this](const std::string& directory, const PlaceSstable& place_sstable,
                              CheckpointContents* contents) {
    return CopyTo(directory, place_sstable, contents);
  };
  return CatchOutOfMemory([&] { return WriteBackup(*file_system_, backup_directory, copy_to); });
}

}  // namespace winnow
