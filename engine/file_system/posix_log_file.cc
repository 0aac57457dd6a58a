#include "engine/file_system/posix_log_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/status.h"

namespace winnow {
namespace {

// Reservations double from the first to the largest, so that small logs stay small on disk and
// large ones pay for few system calls.
constexpr uint64_t kFirstReservationBytes = uint64_t{256} << 10;
constexpr uint64_t kLargestReservationBytes = uint64_t{4} << 20;
// Pages made ready at once. Written first, as zeros, they come to the page cache as few large
// folios, which costs a third of what as many small ones do that page faults bring one by one. What
// is paid at once then falls on less than one in a thousand small writes; a small log begins with
// little.
constexpr uint64_t kFirstReadyBytes = uint64_t{16} << 10;
constexpr uint64_t kLargestReadyBytes = uint64_t{256} << 10;
constexpr std::array<char, size_t{16} << 10> kZeros = {};
// From a page on an append is written and not copied: to make a page of the mapping ready takes
// four microseconds, to write one takes three, of many at once hardly more than one.
constexpr size_t kLargeAppendBytes = size_t{4} << 10;

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

// Best effort: what is not written stays as it was reserved, and reads as zeros as well.
void WriteZeros(int descriptor, uint64_t begin, uint64_t end) {
  std::array<iovec, kLargestReadyBytes / kZeros.size() + 1> pieces;
  while (begin < end) {
    size_t count = 0;
    for (uint64_t at = begin; at < end && count < pieces.size(); count++) {
      const size_t bytes = std::min<uint64_t>(kZeros.size(), end - at);
      pieces[count] = {const_cast<char*>(kZeros.data()), bytes};
      at += bytes;
    }
    const ssize_t written =
        ::pwritev(descriptor, pieces.data(), static_cast<int>(count), static_cast<off_t>(begin));
    if (written > 0) {
      begin += static_cast<uint64_t>(written);
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

// Returns 0 or an errno value.
int Reserve(int descriptor, uint64_t offset, uint64_t length) {
  for (;;) {
    if (::fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0) {
      return 0;
    }
    if (errno != EINTR) return errno;
  }
}

// The limit of this process on the size of files: a reservation beyond it would not only fail but
// also raise SIGXFSZ, which ends the process.
uint64_t FileSizeLimit() {
  rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

}  // namespace

// A list of those that are known, not of those that are not: on an unknown file system logs are
// written plainly, which is slower and always right.
bool PosixLogFile::Supports(int descriptor) {
  struct statfs information;
  if (::fstatfs(descriptor, &information) != 0) return false;
  const auto type = static_cast<uint32_t>(information.f_type);
  return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == TMPFS_MAGIC;
}

absl::StatusOr<std::unique_ptr<PosixLogFile>> PosixLogFile::Create(FileDescriptor& descriptor,
                                                                   const std::string& path) {
  std::unique_ptr<PosixLogFile> file(new PosixLogFile(path));
  file->next_reservation_bytes_ = kFirstReservationBytes;
  file->next_ready_bytes_ = kFirstReadyBytes;
  WINNOW_RETURN_IF_ERROR(file->MoveWindow(descriptor.get(), 1));
  file->descriptor_ = std::move(descriptor);
  return file;
}

PosixLogFile::~PosixLogFile() {
  Close().IgnoreError();
  Unmap();
}

// Append's fast path compares with ready_end_ alone: lowering it to size_ sends every later append
// to AppendSlowly, which returns the error.
absl::Status PosixLogFile::Fail(absl::Status status) {
  first_error_ = std::move(status);
  ready_end_ = size_;
  return first_error_;
}

absl::Status PosixLogFile::CheckWritable() const {
  if (!first_error_.ok()) return first_error_;
  if (!descriptor_.is_open()) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": file is closed"));
  }
  return absl::OkStatus();
}

// Unmapping writes nothing and loses nothing: the pages are the page cache's.
void PosixLogFile::Unmap() {
  if (window_ != nullptr) ::munmap(window_, window_end_ - window_begin_);
  window_ = nullptr;
  window_begin_ = window_end_ = ready_end_ = size_;
}

// Invariant: bytes are copied only to pages whose blocks have been reserved. Storing to a page of a
// hole on a full disk would raise SIGBUS, in the middle of a memcpy, where no error can be
// returned.
//
//   file     | closed windows ...      | window_: mapped and reserved       |
//            0                         window_begin_  size_   ready_end_  window_end_
//
// fallocate (without KEEP_SIZE) also lengthens the file: what follows size_ reads as zeros, which
// log readers take for the end of the log. The window starts at a page boundary at or before size_,
// so that a page which holds the end of one append and the start of the next is mapped again.
absl::Status PosixLogFile::MoveWindow(int descriptor, size_t needed) {
  const uint64_t begin = RoundDownToPage(size_);
  const uint64_t limit = FileSizeLimit();
  // An append that goes beyond the limit meets it, as it would with write(2). The limit need not be
  // at the end of a page.
  const uint64_t most = size_ + needed <= limit ? limit - begin : RLIM_INFINITY;
  const uint64_t smallest = std::min(RoundUpToPage(size_ + needed) - begin, most);
  uint64_t length = std::min(std::max(smallest, next_reservation_bytes_), most);
  int error = Reserve(descriptor, begin, length);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    // The generous reservation does not fit on the disk, or into a file of its file system; what
    // this append needs may.
    length = smallest;
    error = Reserve(descriptor, begin, length);
  }
  if (error == EOPNOTSUPP || error == ENOSYS || error == ENODEV || error == ESPIPE) {
    return absl::UnimplementedError(absl::StrCat(path_, ": fallocate is not supported"));
  }
  if (error != 0) return PosixError(path_, "reserve space for the log", error);
  void* mapping = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor,
                         static_cast<off_t>(begin));
  if (mapping == MAP_FAILED) return PosixError(path_, "map the log", errno);
  Unmap();
  window_ = static_cast<char*>(mapping);
  window_begin_ = begin;
  window_end_ = begin + length;
  ready_end_ = size_;
  // Doubled only after success.
  next_reservation_bytes_ = std::min(next_reservation_bytes_ * 2, kLargestReservationBytes);
  return absl::OkStatus();
}

// A page's first write faults, and on a new block the kernel also clears the page: half a
// microsecond that would otherwise fall on every sixteenth append of 256 bytes. What lies behind
// size_ in its page is zeros already.
absl::Status PosixLogFile::PopulatePages(size_t needed) {
  const uint64_t begin = RoundDownToPage(size_);
  const uint64_t end = std::min(
      window_end_, RoundUpToPage(std::max<uint64_t>(size_ + needed, begin + next_ready_bytes_)));
  next_ready_bytes_ = std::min(next_ready_bytes_ * 2, kLargestReadyBytes);
  WriteZeros(descriptor_.get(), RoundUpToPage(size_), end);
#ifdef MADV_POPULATE_WRITE
  // Also turns what would be a SIGBUS at the memcpy into an error. Kernels before 5.14 answer
  // EINVAL; there the pages come by page faults.
  while (::madvise(window_ + (begin - window_begin_), end - begin, MADV_POPULATE_WRITE) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) break;
    return PosixError(path_, "populate pages of the log", errno == EFAULT ? EIO : errno);
  }
#endif
  ready_end_ = end;
  return absl::OkStatus();
}

// Past the window there is then none, until a small append asks for one. No space is reserved here:
// a full disk is an error of the call. What a failed call has written lies behind size_, where
// Close cuts it off, and where a reader finds a record that was torn.
absl::Status PosixLogFile::WriteLarge(std::string_view data) {
  absl::Status status = WriteFullyAt(descriptor_.get(), path_, size_, data);
  if (!status.ok()) {
    only_append_failed_ = true;
    return Fail(std::move(status));
  }
  size_ += data.size();
  ready_end_ = size_;
  if (size_ > window_end_) Unmap();
  return absl::OkStatus();
}

// Taken about once in 256 KiB. An append may be larger than any reservation: MoveWindow takes its
// size into account.
absl::Status PosixLogFile::AppendSlowly(std::string_view data) {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  if (data.empty()) return absl::OkStatus();
  if (data.size() >= kLargeAppendBytes) return WriteLarge(data);
  if (size_ + data.size() > window_end_) {
    if (absl::Status status = MoveWindow(descriptor_.get(), data.size()); !status.ok()) {
      // No byte of this append was copied, and those before it are whole: they may still be synced.
      only_append_failed_ = true;
      return Fail(std::move(status));
    }
  }
  if (size_ + data.size() > ready_end_) {
    if (absl::Status status = PopulatePages(data.size()); !status.ok()) {
      return Fail(std::move(status));
    }
  }
  std::memcpy(window_ + (size_ - window_begin_), data.data(), data.size());
  size_ += data.size();
  return absl::OkStatus();
}

// Nothing to hand over: an append is in the page cache when it returns, and so survives the
// process.
absl::Status PosixLogFile::Flush() { return CheckWritable(); }

absl::Status PosixLogFile::Sync() {
  if (!only_append_failed_ || !descriptor_.is_open()) WINNOW_RETURN_IF_ERROR(CheckWritable());
  // Pages dirtied through a shared mapping are part of what fdatasync writes back.
  absl::Status status = SyncFileDescriptor(descriptor_.get(), path_);
  if (status.ok()) return status;
  only_append_failed_ = false;
  return Fail(std::move(status));
}

// The file is cut to what was appended, whatever went wrong before: a reader need not tell the
// reserved zeros from content. If the process dies before this, it must, and can.
absl::Status PosixLogFile::Close() {
  if (!descriptor_.is_open()) return absl::OkStatus();
  absl::Status status = first_error_;
  Unmap();
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(size_)) != 0 && status.ok()) {
    status = PosixError(path_, "truncate the log to its size", errno);
  }
  const int close_error = descriptor_.Close();
  if (status.ok() && close_error != 0) status = PosixError(path_, "close", close_error);
  return status;
}

}  // namespace winnow
