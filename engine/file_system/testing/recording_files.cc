#include "engine/file_system/testing/recording_files.h"

#include <utility>

#include "engine/base/status.h"

namespace winnow {

using Kind = FileOperation::Kind;

absl::StatusOr<size_t> RecordingRandomAccessFile::Read(uint64_t offset, size_t length,
                                                       char* buffer) const {
  WINNOW_RETURN_IF_ERROR(file_system_->Allow({Kind::kRead, path_, {}, {}, offset, length}));
  return file_->Read(offset, length, buffer);
}

// As the files of PosixFileSystem: the first error stays, and nothing is written after it.
absl::Status RecordingWritableFile::CheckWritable() const {
  if (closed_) return absl::FailedPreconditionError(absl::StrCat(path_, ": file is closed"));
  return first_error_;
}

absl::Status RecordingWritableFile::Allow(const FileOperation& operation) {
  first_error_ = file_system_->Allow(operation);
  return first_error_;
}

absl::Status RecordingWritableFile::Append(std::string_view data) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  WINNOW_RETURN_IF_ERROR(append_error_);
  // Nothing happened, so that there is nothing at which a crash could fall.
  if (data.empty()) return absl::OkStatus();
  FileOperation operation{Kind::kAppend, path_, {}, std::string(data), size_, data.size()};
  if (absl::Status status = Allow(operation); !status.ok()) {
    // The promise of WritableFile::Sync: a log may sync what was appended before, others may not.
    if (log_mode_) std::swap(append_error_, first_error_);
    return status;
  }
  WINNOW_RETURN_IF_ERROR(file_system_->Perform(std::move(operation), node_, [&] {
    if (log_mode_) return file_->Append(data);
    // The record has the append now, the file only when it is handed over: a crash in between may
    // show any part of it or nothing, as with the buffer of a real file.
    unflushed_.append(data);
    return absl::OkStatus();
  }));
  size_ += data.size();
  return absl::OkStatus();
}

// Flush, Sync and Close differ in what the record makes durable, not in what the file does.
absl::Status RecordingWritableFile::HandOver(Kind kind) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  FileOperation operation{kind, path_, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(operation));
  return file_system_->Perform(std::move(operation), node_, [&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(file_->Append(unflushed_));
    unflushed_.clear();
    return file_->Flush();
  });
}

absl::Status RecordingWritableFile::Close() {
  // Allowed, and no operation.
  if (closed_) return absl::OkStatus();
  absl::Status status = HandOver(Kind::kClose);
  // A log's failed append must not go unnoticed, even if all else went well.
  status.Update(append_error_);
  closed_ = true;
  return status;
}

}  // namespace winnow
