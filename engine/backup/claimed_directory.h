// The directory that a copy of a database is written to.
#ifndef WINNOW_ENGINE_BACKUP_CLAIMED_DIRECTORY_H_
#define WINNOW_ENGINE_BACKUP_CLAIMED_DIRECTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "winnow/file_system.h"

namespace winnow {

// Creates the directory, durably, if it is missing, and takes the lock that a database in it would
// have: while it is held nobody else copies to the directory or opens a database there.
// AlreadyExists: it is neither missing nor empty, or another copy is being written to it; then it
// stays as it is.
absl::StatusOr<std::unique_ptr<FileLock>> ClaimDirectory(FileSystem& file_system,
                                                         const std::string& directory);

// Lets go of it, and leaves no lock file.
void ReleaseDirectory(FileSystem& file_system, const std::string& directory,
                      std::unique_ptr<FileLock> lock);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BACKUP_CLAIMED_DIRECTORY_H_
