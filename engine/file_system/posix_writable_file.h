// WritableFile over write(2), with a buffer in front.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_POSIX_WRITABLE_FILE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_POSIX_WRITABLE_FILE_H_

#include <string>

#include "engine/base/page_buffer.h"
#include "engine/file_system/posix_io.h"
#include "winnow/file_system.h"

namespace winnow {

class PosixWritableFile final : public WritableFile {
 public:
  // How much is collected between system calls: powers of two, or 0, for logs, which writes every
  // append through at once, and lets the disk begin with nothing: most logs are removed before they
  // are written to it. The buffer doubles as the file grows.
  struct BufferSizes {
    size_t first_bytes = 0;
    size_t largest_bytes = 0;
  };
  PosixWritableFile(FileDescriptor descriptor, std::string path, BufferSizes buffer_sizes);
  ~PosixWritableFile() override;

  absl::Status Append(std::string_view data) override;
  absl::Status Flush() override;
  absl::Status Sync() override;
  absl::Status Close() override;
  uint64_t size() const override { return size_; }

 private:
  absl::Status CheckWritable() const;
  // Bytes that the file takes before the next write: to a multiple of the buffer's size.
  size_t Room() const;
  absl::Status WriteBuffer();
  absl::Status WriteDirectly(std::string_view data);
  void GrowBuffer();
  // Lets the disk begin with what it has been given, a piece at a time.
  absl::Status WriteBack();

  const std::string path_;
  FileDescriptor descriptor_;
  const size_t largest_buffer_bytes_;
  PageBuffer buffer_;  // without memory for it every append is written through
  size_t buffered_ = 0;
  const bool is_log_;
  uint64_t write_back_offset_ = 0;  // the disk was told of what lies before it
  uint64_t written_ = 0;  // what the operating system has; what is buffered comes behind it
  uint64_t size_ = 0;
  absl::Status first_error_;
  bool only_append_failed_ = false;  // of a log: what was appended before may still be synced
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_POSIX_WRITABLE_FILE_H_
