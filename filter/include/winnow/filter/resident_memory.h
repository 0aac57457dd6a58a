// Memory for what is read at random and stays long: filters, indexes, hash tables.
//
//   ResidentMemory memory(block.size());
//   if (memory.data() == nullptr) return absl::ResourceExhaustedError("...");
//   std::memcpy(memory.data(), block.data(), block.size());
//   FilterReader reader = FilterReader::Open({memory.data(), memory.size()}, nullptr);
//
// A processor finds about 2000 pages of 4 KiB in its table of addresses. A random read of more than
// those 8 MiB waits twice: for the address and then for the line. On pages of 2 MiB it waits once.
// So pieces beyond the first few MiB of a process lie side by side on huge pages, where the system
// grants them (Linux, transparent_hugepage "madvise" or "always"; elsewhere the pages are small).

#ifndef WINNOW_FILTER_RESIDENT_MEMORY_H_
#define WINNOW_FILTER_RESIDENT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace winnow::filter {

// Owns bytes that are zero at first and start at a multiple of 64; a whole number of huge pages
// starts at a multiple of one. Different objects may be made and destroyed by different threads at
// once; one object is not thread-safe.
class ResidentMemory {
 public:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  ResidentMemory() = default;
  // data() is null afterwards if memory is exhausted or `bytes` is 0. Does not throw.
  explicit ResidentMemory(size_t bytes);
  ResidentMemory(ResidentMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        source_(other.source_) {}
  ResidentMemory& operator=(ResidentMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(source_, other.source_);
    return *this;
  }
  ~ResidentMemory();

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  enum class Source : uint8_t { kSlab, kSmallPages, kHugePageArena, kOwnMapping };

  char* data_ = nullptr;
  size_t size_ = 0;
  Source source_ = Source::kSlab;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_RESIDENT_MEMORY_H_
