// WritableFile for write-ahead logs: an append is one memcpy into a shared mapping, or, if it is
// large, one system call.
//
// A write(2) of a hundred bytes costs most of a microsecond, which would be the largest part of an
// unsynced Put. Bytes copied into a MAP_SHARED mapping are in the page cache just as well, so they
// survive the process being killed. Space is reserved with fallocate(2) before it is mapped: a full
// disk is an error from the append that needs more space, never a SIGBUS.
//
// For an append of a page or more write(2) is the faster way: a page that is mapped for writing
// costs the kernel more than one that is copied. Both ways lead into the same page cache.
//
// While such a file is open (and after a crash) it is longer than what was appended; the rest is
// zeros. Close cuts it to its size.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_POSIX_LOG_FILE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_POSIX_LOG_FILE_H_

#include <cstring>
#include <memory>
#include <string>

#include "engine/file_system/posix_io.h"
#include "winnow/file_system.h"

namespace winnow {

class PosixLogFile final : public WritableFile {
 public:
  // True if the file system guarantees that reserved blocks can always be written.
  // Copy-on-write file systems allocate again at each write-back, and network file systems may
  // lose the server: both could raise SIGBUS.
  static bool Supports(int descriptor);

  // `descriptor` is open for reading and writing and the file is empty. Unimplemented if space
  // cannot be reserved here: the caller then writes plainly. The descriptor is moved from only on
  // success.
  static absl::StatusOr<std::unique_ptr<PosixLogFile>> Create(FileDescriptor& descriptor,
                                                              const std::string& path);
  ~PosixLogFile() override;

  absl::Status Append(std::string_view data) override {
    if (data.size() < ready_end_ - size_) {
      std::memcpy(window_ + (size_ - window_begin_), data.data(), data.size());
      size_ += data.size();
      return absl::OkStatus();
    }
    return AppendSlowly(data);
  }
  absl::Status Flush() override;
  absl::Status Sync() override;
  absl::Status Close() override;
  uint64_t size() const override { return size_; }

 private:
  explicit PosixLogFile(std::string path) : path_(std::move(path)) {}

  absl::Status CheckWritable() const;
  absl::Status AppendSlowly(std::string_view data);
  absl::Status WriteLarge(std::string_view data);
  // Makes [size_, size_ + needed) part of the window.
  absl::Status MoveWindow(int descriptor, size_t needed);
  // Makes the pages up to size_ + needed, and some more, present and writable.
  absl::Status PopulatePages(size_t needed);
  void Unmap();
  // Keeps the error and sends every later append to AppendSlowly, which returns it.
  absl::Status Fail(absl::Status status);

  const std::string path_;
  FileDescriptor descriptor_;
  // All offsets count from the start of the file. Invariant while open:
  //   window_begin_ <= size_ <= ready_end_ <= window_end_, and [size_, window_end_) is reserved.
  char* window_ = nullptr;
  uint64_t window_begin_ = 0;
  uint64_t window_end_ = 0;
  uint64_t ready_end_ = 0;
  uint64_t size_ = 0;
  uint64_t next_reservation_bytes_;
  uint64_t next_ready_bytes_;
  absl::Status first_error_;
  bool only_append_failed_ = false;  // the bytes before it may still be synced
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_POSIX_LOG_FILE_H_
