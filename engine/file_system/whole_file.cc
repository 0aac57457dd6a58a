#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "winnow/file_system.h"

namespace winnow {
namespace {

absl::Status WriteAndSync(FileSystem& file_system, const std::string& path, std::string_view data) {
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          file_system.Create(path, WritableFileOptions{}));
  WINNOW_RETURN_IF_ERROR(file->Append(data));
  WINNOW_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(FileSystem& file_system, const std::string& path,
                                     uint64_t max_bytes) {
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file,
                          file_system.OpenRandomAccess(path));
  if (file->size() > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": file has ", file->size(), " bytes; at most ", max_bytes, " are expected"));
  }
  // The size was checked against the caller's limit: a wrong file cannot take the machine's memory.
  std::string content(file->size(), '\0');
  WINNOW_ASSIGN_OR_RETURN(const size_t length, file->Read(0, content.size(), content.data()));
  content.resize(length);
  return content;
}

// 1. Write and sync `path`.tmp: its bytes are durable before any name points to them.
// 2. Rename: readers, and a crash, see the old content or the new one.
// 3. Sync the directory: from here on a crash shows the new one.
//
// Without the sync in 1 the rename could be durable before the bytes, and the file be empty after a
// power failure. Before 3, which of the two a crash shows is open.
absl::Status WriteFileAtomically(FileSystem& file_system, const std::string& path,
                                 std::string_view data) {
  const std::string temporary = path + ".tmp";
  absl::Status status = WriteAndSync(file_system, temporary, data);
  if (status.ok()) status = file_system.Rename(temporary, path);
  if (!status.ok()) {
    file_system.Remove(temporary).IgnoreError();
    return status;
  }
  return file_system.SyncDirectory(ParentDirectory(path));
}

}  // namespace winnow
