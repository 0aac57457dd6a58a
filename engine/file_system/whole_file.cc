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
  std::string content(file->size(), '\0');
  WINNOW_ASSIGN_OR_RETURN(const size_t length, file->Read(0, content.size(), content.data()));
  content.resize(length);
  return content;
}

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
