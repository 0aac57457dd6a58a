// The system calls of the POSIX file system, made whole: interrupted and short calls are retried,
// errno becomes a status.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_POSIX_IO_H_
#define WINNOW_ENGINE_FILE_SYSTEM_POSIX_IO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// The status for `error_number` (an errno value): "PATH: ACTION: system text". The codes are those
// that file_system.h promises.
absl::Status PosixError(std::string_view path, std::string_view action, int error_number);

// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  // Returns 0 or the errno of close(2); closed in either case.
  int Close();

 private:
  int descriptor_ = -1;
};

// In pages, whose size is the system's: what maps files has to begin and end at one.
uint64_t RoundUpToPage(uint64_t value);
uint64_t RoundDownToPage(uint64_t value);

// open(2) with O_CLOEXEC; new files get mode 0644 less the umask.
absl::StatusOr<FileDescriptor> OpenDescriptor(const std::string& path, int flags);

// Writes all of `data` at the descriptor's position.
absl::Status WriteFully(int descriptor, const std::string& path, std::string_view data);
// The same at `offset`; the position stays.
absl::Status WriteFullyAt(int descriptor, const std::string& path, uint64_t offset,
                          std::string_view data);

// Reads until `length` bytes or the end of the file; returns the number of bytes read.
absl::StatusOr<size_t> ReadFully(int descriptor, const std::string& path, uint64_t offset,
                                 size_t length, char* buffer);

// Lets the system begin to write a part of a file, in whole pages, to the disk, so that the sync
// that follows finds little left to wait for. OK where a file system or platform cannot; an error
// says that bytes may be lost.
absl::Status StartWriteBack(int descriptor, const std::string& path, uint64_t offset,
                            uint64_t length);

// Makes a file's bytes and size survive a power failure: the only place that does.
absl::Status SyncFileDescriptor(int descriptor, const std::string& path);
// The same for a directory's entries.
absl::Status SyncDirectoryDescriptor(int descriptor, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_POSIX_IO_H_
