#include "engine/file_system/posix_writable_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/status.h"

namespace winnow {

namespace {

// As large as the disk takes in one go, and as RocksDB recommends for bytes_per_sync: smaller
// pieces cost system calls, larger ones leave more to the sync.
constexpr uint64_t kWriteBackBytes = uint64_t{1} << 20;

}  // namespace

PosixWritableFile::PosixWritableFile(FileDescriptor descriptor, std::string path,
                                     BufferSizes buffer_sizes)
    : path_(std::move(path)),
      descriptor_(std::move(descriptor)),
      largest_buffer_bytes_(buffer_sizes.largest_bytes),
      buffer_(buffer_sizes.first_bytes),
      is_log_(buffer_sizes.first_bytes == 0) {}

PosixWritableFile::~PosixWritableFile() { Close().IgnoreError(); }

// The first error before "closed": whoever goes on after a failure should learn of the failure.
absl::Status PosixWritableFile::CheckWritable() const {
  if (!first_error_.ok()) return first_error_;
  if (!descriptor_.is_open()) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": file is closed"));
  }
  return absl::OkStatus();
}

// Writes begin and end at multiples of the buffer's size, but for those that Flush makes. The page
// cache keeps each then as one folio, or few, where the file system has large ones: to find a block
// in it, and to copy it from there, takes two thirds of the time that small and odd folios take,
// for as long as the file stays in memory.
size_t PosixWritableFile::Room() const {
  if (buffer_.size() == 0) return 0;
  return buffer_.size() - static_cast<size_t>(written_ % buffer_.size()) - buffered_;
}

// The first error is final: how much of the buffer reached the file is not known, and writing it
// again would append a part of it twice.
absl::Status PosixWritableFile::WriteDirectly(std::string_view data) {
  first_error_ = WriteFully(descriptor_.get(), path_, data);
  if (first_error_.ok()) written_ += data.size();
  only_append_failed_ = !first_error_.ok() && is_log_;
  return first_error_;
}

absl::Status PosixWritableFile::WriteBuffer() {
  if (buffered_ == 0) return first_error_;
  WINNOW_RETURN_IF_ERROR(WriteDirectly({buffer_.data(), buffered_}));
  buffered_ = 0;
  GrowBuffer();
  return absl::OkStatus();
}

// Where a write of twice the size may begin: so that a buffer is at most half of its file.
void PosixWritableFile::GrowBuffer() {
  const size_t doubled = 2 * buffer_.size();
  if (doubled > largest_buffer_bytes_ || written_ % doubled != 0) return;
  PageBuffer larger(doubled);
  if (larger.data() != nullptr) buffer_ = std::move(larger);
}

// A table is synced once it is whole: without this the disk has nothing to do until then, and after
// it everything at once, for which others' syncs and reads wait as well. Whole pages only: the last
// one will be written to again.
absl::Status PosixWritableFile::WriteBack() {
  const uint64_t written = RoundDownToPage(written_);
  if (is_log_ || written < write_back_offset_ + kWriteBackBytes) return absl::OkStatus();
  first_error_ =
      StartWriteBack(descriptor_.get(), path_, write_back_offset_, written - write_back_offset_);
  write_back_offset_ = written;
  return first_error_;
}

// What has room in the buffer is copied there; whole buffers of a large append go straight to the
// file.
absl::Status PosixWritableFile::Append(std::string_view data) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  for (std::string_view rest = data; !rest.empty();) {
    const size_t room = Room();
    if (buffered_ == 0 && rest.size() >= room) {
      const size_t behind = rest.size() - room;
      const size_t kept = buffer_.size() == 0 ? 0 : behind % buffer_.size();
      WINNOW_RETURN_IF_ERROR(WriteDirectly(rest.substr(0, rest.size() - kept)));
      rest.remove_prefix(rest.size() - kept);
      continue;
    }
    const size_t copied = std::min(room, rest.size());
    std::memcpy(buffer_.data() + buffered_, rest.data(), copied);
    buffered_ += copied;
    rest.remove_prefix(copied);
    if (copied == room) WINNOW_RETURN_IF_ERROR(WriteBuffer());
  }
  // Counts what was taken, buffered or not; a failed append does not count.
  size_ += data.size();
  return WriteBack();
}

absl::Status PosixWritableFile::Flush() {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  return WriteBuffer();
}

// fsync covers the file, not the buffer: that is handed over first. A log has none, so that all
// that was appended before a failure is the operating system's.
absl::Status PosixWritableFile::Sync() {
  if (!only_append_failed_ || !descriptor_.is_open()) WINNOW_RETURN_IF_ERROR(Flush());
  absl::Status status = SyncFileDescriptor(descriptor_.get(), path_);
  if (status.ok()) return status;
  only_append_failed_ = false;
  if (first_error_.ok()) first_error_ = status;
  return status;
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
