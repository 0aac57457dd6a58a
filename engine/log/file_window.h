// A bounded buffer over a file that is read mostly forwards.
#ifndef WINNOW_ENGINE_LOG_FILE_WINDOW_H_
#define WINNOW_ENGINE_LOG_FILE_WINDOW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "winnow/file_system.h"

namespace winnow {

class FileWindow {
 public:
  // `file` and `file_size` must outlive the window. Reads at least `read_bytes` at a time.
  FileWindow(const RandomAccessFile* file, uint64_t* file_size, std::string path, size_t read_bytes)
      : file_(file), file_size_(file_size), path_(std::move(path)), read_bytes_(read_bytes) {}

  // The bytes [offset, offset + length), which must lie inside the file; valid until the next
  // call. Unavailable if they cannot be read, ResourceExhausted if there is no memory for them.
  // OutOfRange if the file has become shorter: *file_size is what it is now.
  absl::StatusOr<std::string_view> At(uint64_t offset, size_t length) {
    if (offset >= begin_ && offset + length <= begin_ + filled_) {
      return std::string_view(buffer_.get() + (offset - begin_), length);
    }
    return Load(offset, length);
  }

  // The next call reads from the file again.
  void Forget() { filled_ = 0; }

 private:
  absl::StatusOr<std::string_view> Load(uint64_t offset, size_t length);

  const RandomAccessFile* const file_;
  uint64_t* const file_size_;
  const std::string path_;
  const size_t read_bytes_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  uint64_t begin_ = 0;  // file offset of buffer_[0]
  size_t filled_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_LOG_FILE_WINDOW_H_
