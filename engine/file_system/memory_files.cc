#include "engine/file_system/memory_files.h"

#include "engine/base/status.h"

namespace winnow {

absl::Status MemoryWritableFile::CheckOpen() const {
  if (closed_) return absl::FailedPreconditionError(absl::StrCat(path_, ": file is closed"));
  return absl::OkStatus();
}

absl::Status MemoryWritableFile::Append(std::string_view data) {
  WINNOW_RETURN_IF_ERROR(CheckOpen());
  // The two modes differ here as they do on disk: what a database forgets to flush must be missing
  // for readers in memory too, or tests in memory would hide the mistake.
  if (mode_ == WritableFileOptions::Mode::kLog) {
    file_system_->AppendContent(*node_, data);
  } else {
    unflushed_.append(data);
  }
  size_ += data.size();
  return absl::OkStatus();
}

absl::Status MemoryWritableFile::Flush() {
  WINNOW_RETURN_IF_ERROR(CheckOpen());
  // Nothing to hand over leaves the node alone, so that closing an idle file is no change.
  if (!unflushed_.empty()) file_system_->AppendContent(*node_, unflushed_);
  unflushed_.clear();
  return absl::OkStatus();
}

absl::Status MemoryWritableFile::Close() {
  if (closed_) return absl::OkStatus();
  // Closed in any case: a second Close must not append again.
  const absl::Status status = Flush();
  closed_ = true;
  return status;
}

}  // namespace winnow
