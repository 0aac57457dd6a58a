#include "engine/file_system/posix_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"

namespace winnow {
namespace {

// One system call transfers at most this much: below the limit of read(2) and write(2) on Linux.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;

// Three classes matter to callers: what may pass by itself when space or descriptors are freed
// (ResourceExhausted), what is a mistake in the request, and everything else, which is taken for an
// I/O error of the device (Unavailable).
absl::StatusCode CodeForErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    // A limit that was set for the process or the file system: like a full disk it can be lifted.
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EXDEV:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// A program that runs without standard input, output or error would get their numbers here, and
// whatever it prints would go into the database.
absl::StatusOr<FileDescriptor> AboveStandardStreams(FileDescriptor opened,
                                                    const std::string& path) {
  FileDescriptor moved(::fcntl(opened.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (moved.get() < 0) return PosixError(path, "open", errno);
  return moved;
}

// A short write is no error: the rest is tried again, and a full disk then says so.
template <typename Write>
absl::Status WriteAll(const std::string& path, std::string_view data, Write write) {
  while (!data.empty()) {
    const ssize_t written = write(data.data(), std::min(data.size(), kMaxTransferBytes));
    if (written < 0) {
      if (errno == EINTR) continue;
      return PosixError(path, "write", errno);
    }
    // What an interrupted or short call has written stays written: only the rest is left to do.
    data.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

uint64_t PageBytes() {
  static const uint64_t bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

uint64_t RoundUpToPage(uint64_t value) { return (value + PageBytes() - 1) & ~(PageBytes() - 1); }
uint64_t RoundDownToPage(uint64_t value) { return value & ~(PageBytes() - 1); }

absl::Status PosixError(std::string_view path, std::string_view action, int error_number) {
  // Callers count on the error: that a sync has failed must be known, if not why.
  absl::Status error(CodeForErrno(error_number), "");  // without a message: takes no memory
  UnlessOutOfMemory([&] {
    // Not strerror, which shares its buffer among threads.
    error = absl::Status(error.code(), absl::StrCat(ToAbsl(path), ": ", ToAbsl(action), ": ",
                                                    std::generic_category().message(error_number)));
  });
  return error;
}

// What was held before is closed first; its error is lost, since files that were written are closed
// explicitly.
FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    Close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

int FileDescriptor::Close() {
  if (descriptor_ < 0) return 0;
  // Never retried: Linux has released the descriptor even when it reports EINTR.
  const int result = ::close(std::exchange(descriptor_, -1));
  return result == 0 || errno == EINTR ? 0 : errno;
}

absl::StatusOr<FileDescriptor> OpenDescriptor(const std::string& path, int flags) {
  for (;;) {
    // Not inherited by programs that the process starts: one of them could hold the database's lock
    // after the process has ended.
    FileDescriptor opened(::open(path.c_str(), flags | O_CLOEXEC, 0644));
    if (opened.get() > STDERR_FILENO) [[likely]]
      return opened;
    if (opened.get() >= 0) return AboveStandardStreams(std::move(opened), path);
    if (errno != EINTR) return PosixError(path, "open", errno);
  }
}

absl::Status WriteFully(int descriptor, const std::string& path, std::string_view data) {
  return WriteAll(path, data, [descriptor](const char* from, size_t length) {
    return ::write(descriptor, from, length);
  });
}

absl::Status WriteFullyAt(int descriptor, const std::string& path, uint64_t offset,
                          std::string_view data) {
  return WriteAll(path, data, [&](const char* from, size_t length) {
    const auto at = offset + static_cast<uint64_t>(from - data.data());
    return ::pwrite(descriptor, from, length, static_cast<off_t>(at));
  });
}
// pread: several threads read one descriptor, which has no position of its own here.
absl::StatusOr<size_t> ReadFully(int descriptor, const std::string& path, uint64_t offset,
                                 size_t length, char* buffer) {
  size_t done = 0;
  while (done < length) {
    const ssize_t got =
        ::pread(descriptor, buffer + done, std::min(length - done, kMaxTransferBytes),
                static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return PosixError(path, absl::StrCat("read at offset ", offset + done), errno);
    }
    // The end of the file, and the only reason to return less than was asked for.
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// Without the flags that wait: whoever waits also takes the error of a write that has failed, which
// the file's sync has to see.
absl::Status StartWriteBack([[maybe_unused]] int descriptor,
                            [[maybe_unused]] const std::string& path,
                            [[maybe_unused]] uint64_t offset, [[maybe_unused]] uint64_t length) {
#ifdef SYNC_FILE_RANGE_WRITE
  if (::sync_file_range(descriptor, static_cast<off_t>(offset), static_cast<off_t>(length),
                        SYNC_FILE_RANGE_WRITE) == 0) {
    return absl::OkStatus();
  }
  if (errno == EIO || errno == ENOSPC || errno == EDQUOT) {
    return PosixError(path, "write back", errno);
  }
#endif
  return absl::OkStatus();
}

absl::Status SyncFileDescriptor(int descriptor, const std::string& path) {
#ifdef F_FULLFSYNC
  // On macOS fsync(2) stops at the drive's cache.
  if (::fcntl(descriptor, F_FULLFSYNC) == 0) return absl::OkStatus();
  return PosixError(path, "sync", errno);
#else
  // fdatasync covers the size and every other piece of metadata needed to read the bytes back. An
  // interrupted call has synced nothing yet, so repeating it is not believing a second sync.
  while (::fdatasync(descriptor) != 0) {
    if (errno != EINTR) return PosixError(path, "sync", errno);
  }
  return absl::OkStatus();
#endif
}

// fsync: a directory has no data without metadata. EINTR is repeated for the reason given above;
// every other error is final, since the kernel may have dropped the pages that it could not write:
// none, a full disk included, has a code that says "try again".
absl::Status SyncDirectoryDescriptor(int descriptor, const std::string& path) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    return absl::UnavailableError(PosixError(path, "sync directory", errno).message());
  }
  return absl::OkStatus();
}

}  // namespace winnow
