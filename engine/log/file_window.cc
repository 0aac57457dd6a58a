#include "engine/log/file_window.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/status.h"

namespace winnow {

absl::StatusOr<std::string_view> FileWindow::Load(uint64_t offset, size_t length) {
  // Never beyond the end of the file as far as it is known: a length that a damaged header claims
  // is checked against the file by the caller, so no allocation is larger than the file.
  const size_t wanted =
      static_cast<size_t>(std::min<uint64_t>(std::max(length, read_bytes_), *file_size_ - offset));
  // Bytes that the window has already are moved to its front rather than read again: a record that
  // crosses the window's end is common.
  std::string_view kept;
  if (offset >= begin_ && offset < begin_ + filled_) {
    kept = std::string_view(buffer_.get() + (offset - begin_), begin_ + filled_ - offset);
  }
  if (wanted > capacity_) {
    std::unique_ptr<char[]> larger(new (std::nothrow) char[wanted]);
    if (larger == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, ": at offset ", offset, ": no memory for ", wanted, " bytes"));
    }
    std::copy(kept.begin(), kept.end(), larger.get());
    buffer_ = std::move(larger);
    capacity_ = wanted;
  } else if (!kept.empty()) {
    std::memmove(buffer_.get(), kept.data(), kept.size());
  }
  // Set before the read: if that fails, the window holds `kept`, which is right, and nothing else.
  begin_ = offset;
  filled_ = kept.size();

  const size_t missing = wanted - filled_;
  WINNOW_ASSIGN_OR_RETURN(const size_t got,
                          file_->Read(offset + filled_, missing, buffer_.get() + filled_));
  filled_ += got;
  if (filled_ < length) {
    // Its writer has closed it, and given back what it had reserved.
    *file_size_ = offset + filled_;
    return absl::OutOfRangeError(
        absl::StrCat(path_, ": at offset ", *file_size_, ": file became shorter"));
  }
  return std::string_view(buffer_.get(), length);
}

}  // namespace winnow
