// What is done to a database that is not open: listing its column families, destroying it.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/database_mutex.h"
#include "engine/base/status.h"
#include "engine/db/database_directory.h"
#include "engine/file_system/directory_for_file.h"
#include "engine/file_system/file_system_of.h"
#include "engine/version/file_names.h"
#include "engine/version/foreign_database.h"
#include "engine/version/version_set.h"
#include "filter/base/out_of_memory.h"
#include "winnow/db.h"

namespace winnow {

namespace {

// Takes no lock and writes nothing. No table is opened and no comparator needed: whoever wants to
// open the database asks this first, to know which families to give options for.
absl::StatusOr<std::vector<std::string>> FamiliesOf(FileSystem& file_system,
                                                    const std::string& path) {
  WINNOW_RETURN_IF_ERROR(CheckIsDatabase(file_system, path));
  std::vector<std::string> names;
  const auto read = [&] {
    DatabaseMutex mutex;
    VersionSet versions({&file_system, path, nullptr}, &mutex);
    DatabaseLock lock(&mutex);
    const absl::Status status = versions.ReadFamilies();
    names.clear();
    for (const auto& [id, family] : versions.families()) names.push_back(family.name);
    return status;
  };
  WINNOW_RETURN_IF_ERROR(ReadBesideWriter(file_system, path, read));
  return names;
}

// Of a database, whatever else lies beside it. Other stores have a LOG as well, and statistics are
// no data.
bool AnyIsOurs(const std::vector<std::string>& names) {
  FileType type;
  uint64_t number;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return ParseFileName(name, &type, &number) && type != FileType::kInfoLog &&
           type != FileType::kStatistics;
  });
}

// With the lock held, so that what is listed now is all that there is.
absl::Status RemoveFilesOfDatabase(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system.List(path));
  // CURRENT first: from then on a crash leaves files, but no half-removed database. The lock file
  // last.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name == "CURRENT"; });
  FileType type;
  uint64_t number;
  for (const std::string& name : names) {
    if (!ParseFileName(name, &type, &number) || type == FileType::kLock) continue;
    const std::string file = absl::StrCat(path, "/", name);
    if (IsDirectoryForFile(file_system, file)) continue;
    WINNOW_RETURN_IF_ERROR(file_system.Remove(file));
    // Or a power failure might leave it, and not the tables.
    if (type == FileType::kCurrent) WINNOW_RETURN_IF_ERROR(file_system.SyncDirectory(path));
  }
  // Not every file system of a program's own keeps its locks in files.
  const absl::Status removed = file_system.Remove(LockFileName(path));
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

// Without the lock: another process may create a database there, or destroy it, at any time.
absl::Status RemoveDirectoryIfEmpty(FileSystem& file_system, const std::string& path) {
  const auto is_empty = [&]() -> absl::StatusOr<bool> {
    const absl::StatusOr<std::vector<std::string>> names = file_system.List(path);
    if (absl::IsNotFound(names.status())) return false;
    if (!names.ok()) return names.status();
    return names->empty();
  };
  WINNOW_ASSIGN_OR_RETURN(const bool empty, is_empty());
  if (!empty) return absl::OkStatus();
  const absl::Status removed = file_system.RemoveDirectory(path);
  // Of a link to the directory, or ".": whoever made it may go on using it.
  if (removed.ok() || absl::IsInvalidArgument(removed)) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool still_empty, is_empty());
  return still_empty ? removed : absl::OkStatus();
}

// Removes what has a name of ours and leaves everything else, the directory included if anything is
// left in it: a wrong path must not cost more than a database.
absl::Status DestroyAt(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (!exists) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(path));
  if (!is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a file, not a directory"));
  }
  WINNOW_RETURN_IF_ERROR(RefuseForeignDatabase(file_system, path));
  const absl::StatusOr<std::vector<std::string>> names = file_system.List(path);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();  // gone meanwhile
  if (!names.ok()) return names.status();
  if (!names->empty()) {
    if (!AnyIsOurs(*names)) return absl::OkStatus();  // nothing of ours: touch nothing
    // An open database is refused, even if this process has opened it.
    const auto lock = file_system.Lock(LockFileName(path));
    if (absl::IsNotFound(lock.status())) return absl::OkStatus();  // another one has destroyed it
    if (!lock.ok()) return lock.status();
    WINNOW_RETURN_IF_ERROR(RemoveFilesOfDatabase(file_system, path));
  }
  // That alone is what a destruction that was interrupted leaves last.
  return RemoveDirectoryIfEmpty(file_system, path);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> DB::ListColumnFamilies(const Options& options,
                                                                const std::string& path) {
  return CatchOutOfMemory([&] { return FamiliesOf(*FileSystemOf(options), path); });
}

absl::Status DB::Destroy(const Options& options, const std::string& path) {
  return CatchOutOfMemory([&] { return DestroyAt(*FileSystemOf(options), path); });
}

}  // namespace winnow
