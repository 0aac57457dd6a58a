// Large memory of short life, straight from the system and straight back to it.
#ifndef WINNOW_ENGINE_BASE_PAGE_BUFFER_H_
#define WINNOW_ENGINE_BASE_PAGE_BUFFER_H_

#include <cstddef>
#include <utility>

namespace winnow {

// Each flush and each compaction needs some buffers of many KiB for as long as it runs, and leaves
// small things behind that live long: readers of its tables, their indexes and filters. From one
// heap, the small ones settle where the large ones were, and the next job's buffers make the heap
// grow: with 1,000 column families it came to three times of what was in use.
//
// Not thread-safe.
class PageBuffer {
 public:
  PageBuffer() = default;
  // data() is null afterwards if there is no memory, or `bytes` is 0. The bytes are zero at first.
  explicit PageBuffer(size_t bytes);
  PageBuffer(PageBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PageBuffer();

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_PAGE_BUFFER_H_
