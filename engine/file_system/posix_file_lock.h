// An exclusive lock on a file, between processes and inside one.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_POSIX_FILE_LOCK_H_
#define WINNOW_ENGINE_FILE_SYSTEM_POSIX_FILE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "winnow/file_system.h"

namespace winnow {

// FailedPrecondition, naming the holder's process id, if the file is locked already. The lock
// belongs to the inode, so that a second path to it (a symbolic link) changes nothing.
absl::StatusOr<std::unique_ptr<FileLock>> LockPosixFile(const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_POSIX_FILE_LOCK_H_
