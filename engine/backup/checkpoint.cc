#include "engine/backup/checkpoint.h"

#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/file_system/durable_files.h"
#include "engine/log/log_writer.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/write/exclusive_writes.h"

namespace winnow {

namespace {

absl::Status WriteFiles(FileSystem& file_system, const std::string& from, const std::string& to,
                        const PlaceSstable& place_sstable, CheckpointContents* contents) {
  for (const auto& version : contents->versions) {
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& table : version->files(level)) {
        WINNOW_RETURN_IF_ERROR(place_sstable(*table, SstableFileName(from, table->number()),
                                             SstableFileName(to, table->number())));
      }
    }
  }
  for (const auto& [number, bytes] : contents->logs) {
    WINNOW_ASSIGN_OR_RETURN(
        contents->log_checksums[number],
        CopyFile(file_system, LogFileName(from, number), LogFileName(to, number), bytes));
  }
  WINNOW_RETURN_IF_ERROR(
      WriteManifest(file_system, to, contents->manifest_number, contents->snapshot));
  return WriteCurrentFile(file_system, to, contents->manifest_number);
}

}  // namespace

absl::Status WriteManifest(FileSystem& file_system, const std::string& directory, uint64_t number,
                           const VersionEdit& state) {
  std::string record;
  state.EncodeTo(&record);
  WINNOW_ASSIGN_OR_RETURN(const auto manifest,
                          LogWriter::Create(file_system, ManifestFileName(directory, number),
                                            number, WritableFileOptions::Mode::kBuffered));
  WINNOW_RETURN_IF_ERROR(manifest->Append(record));
  WINNOW_RETURN_IF_ERROR(manifest->Sync());
  // Not closed cleanly: that would say that the logs end with their markers.
  WINNOW_RETURN_IF_ERROR(manifest->Close());
  return file_system.SyncDirectory(directory);
}

absl::Status CheckIsFree(FileSystem& file_system, const std::string& directory) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(directory));
  if (!exists) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(directory));
  if (!is_directory) return absl::AlreadyExistsError(absl::StrCat(directory, " is a file"));
  WINNOW_ASSIGN_OR_RETURN(const auto names, file_system.List(directory));
  if (names.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(directory, " exists and is not empty"));
}

absl::Status LinkOrCopy(FileSystem& file_system, const std::string& from, const std::string& to) {
  const absl::Status linked = file_system.Link(from, to);
  if (!absl::IsUnimplemented(linked)) return linked;
  return CopyFile(file_system, from, to).status();
}

absl::Status WriteCheckpoint(FileSystem& file_system, const std::string& from,
                             const std::string& to, const PlaceSstable& place_sstable,
                             CheckpointContents* contents) {
  WINNOW_RETURN_IF_ERROR(CheckIsFree(file_system, to));
  WINNOW_RETURN_IF_ERROR(CreateDirectoryDurably(file_system, to));
  const absl::Status status =
      CatchOutOfMemory([&] { return WriteFiles(file_system, from, to, place_sstable, contents); });
  if (!status.ok()) {
    RemoveFilesIn(file_system, to);
    file_system.RemoveDirectory(to).IgnoreError();
  }
  return status;
}

absl::Status DBImpl::Capture(CheckpointContents* contents) {
  if (options_.read_only) {
    return absl::FailedPreconditionError(
        "a database that is open read-only cannot be copied while others may write to it");
  }
  // What was written without a log exists in memtables only.
  if (has_unlogged_writes_.load(std::memory_order_relaxed)) {
    for (ColumnFamily* family : ColumnFamilies()) {
      WINNOW_RETURN_IF_ERROR(FlushMemtables(Own(family)));
    }
  }
  ExclusiveWrites writes(&write_queue_);
  MutexLock lock(&mutex_);
  if (!background_error_.ok()) return background_error_;
  if (!log_error_.ok()) WINNOW_RETURN_IF_ERROR(ReplaceFailedLog());
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

}  // namespace winnow
