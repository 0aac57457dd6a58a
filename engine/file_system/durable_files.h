// Copies and directories that a power failure cannot undo.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_DURABLE_FILES_H_
#define WINNOW_ENGINE_FILE_SYSTEM_DURABLE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "winnow/file_system.h"

namespace winnow {

std::string ParentDirectory(const std::string& path);

// Creates the directory and missing parents, each durably.
absl::Status CreateDirectoryDurably(FileSystem& file_system, const std::string& path);

// Removes the files in a directory as far as that is possible: what a failure left half done.
void RemoveFilesIn(FileSystem& file_system, const std::string& directory);

inline constexpr uint64_t kWholeFile = UINT64_MAX;

// Copies the first `length` bytes (all, if the file has fewer) and syncs the copy; durable once its
// directory has been synced. Returns the ChainedChecksum of what was copied. After an error there
// is no copy.
absl::StatusOr<uint64_t> CopyFile(FileSystem& file_system, const std::string& from,
                                  const std::string& to, uint64_t length = kWholeFile);

// A second name for the file where the file system has links, else a copy of it.
absl::Status LinkOrCopy(FileSystem& file_system, const std::string& from, const std::string& to);

// AlreadyExists unless the directory is missing, or empty but for a lock file.
absl::Status CheckIsFree(FileSystem& file_system, const std::string& directory);

// Takes the lock, whose directory `prepare` looks at and makes. Both are done again where another
// process has removed the directory in between: what `prepare` has seen may have changed until the
// lock is held.
absl::StatusOr<std::unique_ptr<FileLock>> LockPrepared(FileSystem& file_system,
                                                       const std::string& lock_path,
                                                       absl::FunctionRef<absl::Status()> prepare);

// XXH3-64 over pieces of 256 KiB, the result of each the seed of the next, 0 the first.
absl::StatusOr<uint64_t> ChainedChecksum(FileSystem& file_system, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_DURABLE_FILES_H_
