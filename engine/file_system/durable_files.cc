#include "engine/file_system/durable_files.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checksum.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

// Part of the format of backups: another size gives other checksums (FORMAT.md).
constexpr size_t kPieceBytes = size_t{256} << 10;

// A file of any size through one buffer. The checksum of each piece seeds the next, so that pieces
// that change places change the result.
absl::StatusOr<uint64_t> ForEachPiece(FileSystem& file_system, const std::string& path,
                                      uint64_t length,
                                      absl::FunctionRef<absl::Status(std::string_view)> take) {
  WINNOW_ASSIGN_OR_RETURN(const auto source, file_system.OpenRandomAccess(path));
  std::string buffer(kPieceBytes, '\0');
  uint64_t checksum = 0;
  for (uint64_t offset = 0; offset < length;) {
    // Read is short at the end only, so that pieces begin at multiples of their size.
    const size_t wanted = std::min<uint64_t>(buffer.size(), length - offset);
    WINNOW_ASSIGN_OR_RETURN(const size_t got, source->Read(offset, wanted, buffer.data()));
    // The file has become shorter: the caller compares sizes or checksums, and finds it.
    if (got == 0) break;
    const std::string_view piece = std::string_view(buffer).substr(0, got);
    checksum = Checksum(piece, checksum);
    WINNOW_RETURN_IF_ERROR(take(piece));
    offset += got;
  }
  return checksum;
}

absl::StatusOr<uint64_t> CopyInto(FileSystem& file_system, const std::string& from, uint64_t length,
                                  WritableFile* target) {
  WINNOW_ASSIGN_OR_RETURN(const uint64_t checksum,
                          ForEachPiece(file_system, from, length, [&](std::string_view piece) {
                            return target->Append(piece);
                          }));
  // The name is not durable by this: callers sync the directory once for many copies.
  WINNOW_RETURN_IF_ERROR(target->Sync());
  WINNOW_RETURN_IF_ERROR(target->Close());
  return checksum;
}

}  // namespace

// Of "name" it is ".", of "/name" it is "/": SyncDirectory can be given every result.
std::string ParentDirectory(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status CreateDirectoryDurably(FileSystem& file_system, const std::string& path) {
  WINNOW_RETURN_IF_ERROR(file_system.CreateDirectories(path));
  // Those that were there already are synced too: an attempt that failed may have made them.
  // Directories that this process may not even read were made by somebody else.
  for (std::string child = path; child != "/" && child != "."; child = ParentDirectory(child)) {
    const absl::Status synced = file_system.SyncDirectory(ParentDirectory(child));
    if (!synced.ok() && (child == path || !absl::IsPermissionDenied(synced))) return synced;
  }
  return absl::OkStatus();
}

void RemoveFilesIn(FileSystem& file_system, const std::string& directory) {
  const auto names = file_system.List(directory);
  if (!names.ok()) return;
  // Errors are not looked at, nor are directories inside, which nothing here makes: this is called
  // after a failure, which is what the caller reports.
  for (const std::string& name : *names) {
    file_system.Remove(directory + "/" + name).IgnoreError();
  }
}

// Synced before it is closed: backups and checkpoints list a copy only after this.
absl::StatusOr<uint64_t> CopyFile(FileSystem& file_system, const std::string& from,
                                  const std::string& to, uint64_t length) {
  // A copy that an earlier attempt left half done is truncated and written anew.
  WINNOW_ASSIGN_OR_RETURN(const auto target, file_system.Create(to, {}));
  const absl::StatusOr<uint64_t> checksum = CopyInto(file_system, from, length, target.get());
  // A part of a file would look like the whole.
  if (!checksum.ok()) file_system.Remove(to).IgnoreError();
  return checksum;
}

absl::StatusOr<uint64_t> ChainedChecksum(FileSystem& file_system, const std::string& path) {
  return ForEachPiece(file_system, path, kWholeFile,
                      [](std::string_view /*piece*/) { return absl::OkStatus(); });
}

// A file system need not have links: the default makes callers copy.
absl::StatusOr<FileIdentity> FileSystem::Identify(const std::string& path) {
  return absl::UnimplementedError(absl::StrCat(path, ": this file system knows no identities"));
}

absl::Status FileSystem::SyncFile(const std::string& path) {
  return absl::UnimplementedError(path + ": this file system syncs no files of others");
}

absl::Status FileSystem::Link(const std::string& from, const std::string& to) {
  return absl::UnimplementedError(to + ": this file system has no links to " + from);
}

absl::Status LinkOrCopy(FileSystem& file_system, const std::string& from, const std::string& to) {
  const absl::Status linked = file_system.Link(from, to);
  // Any other error would meet the copy too: no space, no directory, a name that is taken.
  if (!absl::IsUnimplemented(linked)) return linked;
  return CopyFile(file_system, from, to).status();
}

// Others may create and destroy a directory again and again, but not as often as that in a row.
absl::StatusOr<std::unique_ptr<FileLock>> LockPrepared(FileSystem& file_system,
                                                       const std::string& lock_path,
                                                       absl::FunctionRef<absl::Status()> prepare) {
  constexpr int kTries = 50;
  for (int tries = kTries;; tries--) {
    WINNOW_RETURN_IF_ERROR(prepare());
    absl::StatusOr<std::unique_ptr<FileLock>> lock = file_system.Lock(lock_path);
    if (!absl::IsNotFound(lock.status()) || tries == 1) return lock;
  }
}

absl::Status CheckIsFree(FileSystem& file_system, const std::string& directory) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(directory));
  if (!exists) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(directory));
  if (!is_directory) return absl::AlreadyExistsError(absl::StrCat(directory, " is a file"));
  // An empty directory is free: users make one beforehand to set its owner or its mount.
  WINNOW_ASSIGN_OR_RETURN(const auto names, file_system.List(directory));
  // A lock file alone is left by who was killed before writing anything.
  if (names.empty() || (names.size() == 1 && names.front() == "LOCK")) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      directory, " exists and is not empty; if an interrupted copy has left it, remove it"));
}

}  // namespace winnow
