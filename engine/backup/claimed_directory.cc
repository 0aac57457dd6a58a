#include "engine/backup/claimed_directory.h"

#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/version/file_names.h"

namespace winnow {

// What is seen without the lock may change: only the look after it counts.
absl::StatusOr<std::unique_ptr<FileLock>> ClaimDirectory(FileSystem& file_system,
                                                         const std::string& directory) {
  absl::StatusOr<std::unique_ptr<FileLock>> lock =
      LockPrepared(file_system, LockFileName(directory), [&]() -> absl::Status {
        WINNOW_RETURN_IF_ERROR(CheckIsFree(file_system, directory));
        return CreateDirectoryDurably(file_system, directory);
      });
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " is being written to: ", lock.status().message()));
  }
  if (!lock.ok()) return lock.status();
  WINNOW_RETURN_IF_ERROR(CheckIsFree(file_system, directory));
  return lock;
}

// Removed while it is held, as that of a destroyed database is.
void ReleaseDirectory(FileSystem& file_system, const std::string& directory,
                      std::unique_ptr<FileLock> lock) {
  file_system.Remove(LockFileName(directory)).IgnoreError();
  lock.reset();
}

}  // namespace winnow
