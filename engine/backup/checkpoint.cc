#include "engine/backup/checkpoint.h"

#include <utility>

#include "engine/backup/claimed_directory.h"
#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/manifest_file.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// tables    and filter files: as `place_sstable` likes. They never change, so that a link is as
// good
//           as a copy
// logs      copied, since the database goes on appending to the newest, and up to the bytes that
//           count: what came later is not part of this moment
// manifest  a new one with the whole state, under a number of its own; its directory is synced
// CURRENT   last, and atomically
//
// A database is what CURRENT leads to. Before that a power failure leaves files that nothing opens,
// after it everything that CURRENT leads to is durable already.
absl::Status WriteFiles(FileSystem& file_system, const std::string& from, const std::string& to,
                        const PlaceSstable& place_sstable, CheckpointContents* contents) {
  for (const auto& version : contents->versions) {
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& table : version->files(level)) {
        WINNOW_RETURN_IF_ERROR(place_sstable(*table, FileType::kSstable,
                                             SstableFileName(from, table->number()),
                                             SstableFileName(to, table->number())));
        const uint64_t filter = table->metadata().filter_file.number;
        if (filter == 0) continue;
        WINNOW_RETURN_IF_ERROR(place_sstable(*table, FileType::kFilterFile,
                                             FilterFileName(from, filter),
                                             FilterFileName(to, filter)));
      }
    }
  }
  // The manifest says what the tables hold, the logs bring the rest when the copy is opened:
  // nothing has to be flushed for a checkpoint.
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

absl::Status WriteCheckpoint(FileSystem& file_system, const std::string& from,
                             const std::string& to, const PlaceSstable& place_sstable,
                             CheckpointContents* contents) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> claim, ClaimDirectory(file_system, to));
  const absl::Status status =
      CatchOutOfMemory([&] { return WriteFiles(file_system, from, to, place_sstable, contents); });
  if (status.ok()) {
    ReleaseDirectory(file_system, to, std::move(claim));
    return status;
  }
  // The directory was empty or missing before, so that all that is in it is ours to remove, the
  // lock file as well. One that is there by the time the claim is given back is somebody else's.
  RemoveFilesIn(file_system, to);
  file_system.RemoveDirectory(to).IgnoreError();
  return status;
}

}  // namespace winnow
