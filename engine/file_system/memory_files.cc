#include "engine/file_system/memory_files.h"

#include <utility>

#include "engine/base/status.h"

namespace winnow {

using Kind = FileOperation::Kind;

absl::StatusOr<size_t> MemoryRandomAccessFile::Read(uint64_t offset, size_t length,
                                                    char* buffer) const {
  WINNOW_RETURN_IF_ERROR(file_system_->Allow({Kind::kRead, path_, {}, {}, offset, length}));
  return file_system_->ReadContent(*node_, offset, length, buffer);
}

absl::Status MemoryWritableFile::CheckWritable() const {
  if (closed_) return absl::FailedPreconditionError(absl::StrCat(path_, ": file is closed"));
  return first_error_;
}

absl::Status MemoryWritableFile::Allow(const FileOperation& operation) {
  first_error_ = file_system_->Allow(operation);
  return first_error_;
}

absl::Status MemoryWritableFile::Append(std::string_view data) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  WINNOW_RETURN_IF_ERROR(append_error_);
  if (data.empty()) return absl::OkStatus();
  FileOperation operation{Kind::kAppend, path_, {}, std::string(data), size_, data.size()};
  if (absl::Status status = Allow(operation); !status.ok()) {
    if (log_mode_) std::swap(append_error_, first_error_);
    return status;
  }
  if (!log_mode_) unflushed_.append(data);
  file_system_->RecordFileOperation(std::move(operation), *node_,
                                    log_mode_ ? data : std::string_view());
  size_ += data.size();
  return absl::OkStatus();
}

absl::Status MemoryWritableFile::HandOver(Kind kind) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  FileOperation operation{kind, path_, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(operation));
  file_system_->RecordFileOperation(std::move(operation), *node_, unflushed_);
  unflushed_.clear();
  return absl::OkStatus();
}

absl::Status MemoryWritableFile::Close() {
  if (closed_) return absl::OkStatus();
  absl::Status status = HandOver(Kind::kClose);
  status.Update(append_error_);
  closed_ = true;
  return status;
}

}  // namespace winnow
