#include "engine/backup/claimed_directory.h"

#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

// A copy that fails removes its directory; as many in a row do not.
constexpr int kClaimTries = 50;

}  // namespace

// What is seen without the lock may change: only the look after it counts.
absl::StatusOr<std::unique_ptr<FileLock>> ClaimDirectory(FileSystem& file_system,
                                                         const std::string& directory) {
  for (int tries = kClaimTries;; tries--) {
    WINNOW_RETURN_IF_ERROR(CheckIsFree(file_system, directory));
    WINNOW_RETURN_IF_ERROR(CreateDirectoryDurably(file_system, directory));
    absl::StatusOr<std::unique_ptr<FileLock>> lock = file_system.Lock(LockFileName(directory));
    if (absl::IsNotFound(lock.status()) && tries > 1) continue;
    if (absl::IsFailedPrecondition(lock.status())) {
      return absl::AlreadyExistsError(
          absl::StrCat(directory, " is being written to: ", lock.status().message()));
    }
    if (!lock.ok()) return lock.status();
    WINNOW_RETURN_IF_ERROR(CheckIsFree(file_system, directory));
    return lock;
  }
}

// Removed while it is held, as that of a destroyed database is.
void ReleaseDirectory(FileSystem& file_system, const std::string& directory,
                      std::unique_ptr<FileLock> lock) {
  file_system.Remove(LockFileName(directory)).IgnoreError();
  lock.reset();
}

}  // namespace winnow
