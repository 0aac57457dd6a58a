#include "engine/file_system/posix_writable_file.h"

#include <cstring>

#include "engine/base/status.h"

namespace winnow {

namespace {

// As large as the disk takes in one go, and as RocksDB recommends for bytes_per_sync: smaller
// pieces cost system calls, larger ones leave more to the sync.
constexpr uint64_t kWriteBackBytes = uint64_t{1} << 20;

}  // namespace

PosixWritableFile::PosixWritableFile(FileDescriptor descriptor, std::string path,
                                     size_t buffer_bytes)
    : path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      buffer_(buffer_bytes),
      writes_back_(buffer_bytes > 0) {}

PosixWritableFile::~PosixWritableFile() { Close().IgnoreError(); }

// The first error before "closed": whoever goes on after a failure should learn of the failure.
absl::Status PosixWritableFile::CheckWritable() const {
  if (!first_error_.ok()) return first_error_;
  if (!descriptor_.is_open()) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": file is closed"));
  }
  return absl::OkStatus();
}

// The first error is final: how much of the buffer reached the file is not known, and writing it
// again would append a part of it twice.
absl::Status PosixWritableFile::WriteThrough(std::string_view data) {
  first_error_ = WriteFully(descriptor_.get(), path_, std::string_view(buffer_.data(), buffered_));
  if (first_error_.ok()) {
    buffered_ = 0;
    first_error_ = WriteFully(descriptor_.get(), path_, data);
  }
  return first_error_;
}

// A table is synced once it is whole: without this the disk has nothing to do until then, and after
// it everything at once, for which others' syncs and reads wait as well. Whole pages only: the last
// one will be written to again.
absl::Status PosixWritableFile::WriteBack() {
  const uint64_t written = RoundDownToPage(size_ - buffered_);
  if (!writes_back_ || written < write_back_offset_ + kWriteBackBytes) return absl::OkStatus();
  first_error_ =
      StartWriteBack(descriptor_.get(), path_, write_back_offset_, written - write_back_offset_);
  write_back_offset_ = written;
  return first_error_;
}

// Three cases: it fits behind what is buffered; it is as large as the buffer and goes straight to
// the file, after what is buffered; or the buffer is emptied and starts again with it.
absl::Status PosixWritableFile::Append(std::string_view data) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  if (data.empty()) return absl::OkStatus();
  if (data.size() <= buffer_.size() - buffered_) {
    std::memcpy(buffer_.data() + buffered_, data.data(), data.size());
    buffered_ += data.size();
    // Larger than the buffer: copying it there first would be work for nothing.
  } else if (data.size() >= buffer_.size()) {
    WINNOW_RETURN_IF_ERROR(WriteThrough(data));
  } else {
    WINNOW_RETURN_IF_ERROR(WriteThrough({}));
    std::memcpy(buffer_.data(), data.data(), data.size());
    buffered_ = data.size();
  }
  // Counts what was taken, buffered or not; a failed append does not count.
  size_ += data.size();
  return WriteBack();
}

absl::Status PosixWritableFile::Flush() {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  return WriteThrough({});
}

// fsync covers the file, not the buffer: that is handed over first.
absl::Status PosixWritableFile::Sync() {
  WINNOW_RETURN_IF_ERROR(Flush());
  first_error_ = SyncFileDescriptor(descriptor_.get(), path_);
  return first_error_;
}

// Closed even if the flush failed; the first error is the one that is returned. close(2) may report
// an error of an earlier write-back, which must not get lost.
absl::Status PosixWritableFile::Close() {
  if (!descriptor_.is_open()) return absl::OkStatus();
  absl::Status status = Flush();
  const int close_error = descriptor_.Close();
  if (status.ok() && close_error != 0) status = PosixError(path_, "close", close_error);
  return status;
}

}  // namespace winnow
