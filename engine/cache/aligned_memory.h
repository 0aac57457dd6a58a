// Memory for what is read at random and stays long: filters, indexes, hash tables.
#ifndef WINNOW_ENGINE_CACHE_ALIGNED_MEMORY_H_
#define WINNOW_ENGINE_CACHE_ALIGNED_MEMORY_H_

#include <cstddef>
#include <utility>

namespace winnow {

// Owns bytes that are zero at first and start at a multiple of 64. From kHugePageBytes on they are
// mapped on huge pages where the system grants them: a random read then costs one cache miss
// instead of two (the page table is the other).
class AlignedMemory {
 public:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  AlignedMemory() = default;
  // data() is null afterwards if memory is exhausted or `bytes` is 0.
  explicit AlignedMemory(size_t bytes);
  AlignedMemory(AlignedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}
  AlignedMemory& operator=(AlignedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    return *this;
  }
  ~AlignedMemory();

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_bytes_ = 0;  // 0: from the allocator
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_CACHE_ALIGNED_MEMORY_H_
