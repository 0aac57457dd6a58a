#include "engine/cache/aligned_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace winnow {

namespace {

constexpr std::align_val_t kLineBytes{64};

// Maps `bytes`, a multiple of the huge page size, at a multiple of that size.
char* MapHugePages(size_t bytes) {
  const size_t reserved = bytes + AlignedMemory::kHugePageBytes;
  void* region =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(region);
  const size_t misaligned = reinterpret_cast<uintptr_t>(begin) % AlignedMemory::kHugePageBytes;
  const size_t head = misaligned == 0 ? 0 : AlignedMemory::kHugePageBytes - misaligned;
  if (head > 0) munmap(begin, head);
  if (const size_t tail = reserved - head - bytes; tail > 0) munmap(begin + head + bytes, tail);
#ifdef MADV_HUGEPAGE
  (void)madvise(begin + head, bytes, MADV_HUGEPAGE);  // a wish: small pages work as well
#endif
  return begin + head;
}

}  // namespace

AlignedMemory::AlignedMemory(size_t bytes) {
  if (bytes == 0) return;
  if (bytes >= kHugePageBytes) {
    const size_t rounded = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    data_ = rounded < bytes ? nullptr : MapHugePages(rounded);
    if (data_ != nullptr) mapped_bytes_ = rounded;
  } else {
    data_ = static_cast<char*>(::operator new(bytes, kLineBytes, std::nothrow));
    if (data_ != nullptr) std::memset(data_, 0, bytes);
  }
  if (data_ != nullptr) size_ = bytes;
}

AlignedMemory::~AlignedMemory() {
  if (data_ == nullptr) return;
  if (mapped_bytes_ > 0) {
    munmap(data_, mapped_bytes_);
  } else {
    ::operator delete(data_, kLineBytes);
  }
}

}  // namespace winnow
