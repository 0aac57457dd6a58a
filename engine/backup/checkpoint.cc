#include "engine/backup/checkpoint.h"

#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/manifest_file.h"

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

}  // namespace winnow
