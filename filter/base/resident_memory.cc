#include "winnow/filter/resident_memory.h"

#include <atomic>
#include <cstring>
#include <new>

#include "filter/base/huge_page_arena.h"
#include "filter/base/huge_pages.h"

namespace winnow::filter {
namespace {

constexpr std::align_val_t kLineBytes{64};
// Pieces from here on lie in the arena. Smaller ones would be rounded up to much more.
constexpr size_t kMinInArena = size_t{8} << 10;
// So many bytes of such pieces come from the allocator first: the processor knows the addresses of
// small pages for them, and a small process should not grow by whole huge pages.
constexpr size_t kMaxFromAllocator = size_t{4} << 20;

std::atomic<size_t> bytes_from_allocator{0};

// Counts the bytes if the allocator may give them.
bool TakeFromAllocator(size_t bytes) {
  if (bytes < kMinInArena) return true;
  if (bytes > kMaxFromAllocator) return false;
  // Counts first and takes it back if that was too much: threads that do so at once may refuse a
  // piece that would have fitted, but never give out more than the limit. Relaxed, as it publishes
  // no memory.
  const size_t before = bytes_from_allocator.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= kMaxFromAllocator) return true;
  bytes_from_allocator.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void ReturnToAllocator(size_t bytes) {
  if (bytes >= kMinInArena) bytes_from_allocator.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace

ResidentMemory::ResidentMemory(size_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX - kHugePageBytes) return;
  // Where a piece comes from goes by its size: whole huge pages and what is too large for a region
  // of the arena are mapped by themselves; the rest lies in the arena, but for the first few MiB of
  // a process and for small pieces.
  const bool is_whole_pages = bytes % kHugePageBytes == 0;
  if (is_whole_pages || bytes > internal::HugePageArena::kMaxPieceBytes) {
    source_ = Source::kOwnMapping;
    data_ = internal::MapHugePages(internal::WholeHugePages(bytes));
  } else if (!TakeFromAllocator(bytes)) {
    source_ = Source::kHugePageArena;
    data_ = internal::HugePageArena::OfProcess().Allocate(bytes);
  } else {
    // In pages of its own where that wastes little: filters come and go with tables, the newer ones
    // larger than the older, and would leave holes in a heap that nothing fits into.
    source_ = bytes < kMinInArena ? Source::kAllocator : Source::kSmallPages;
    data_ = source_ == Source::kSmallPages
                ? internal::MapPages(bytes)
                : static_cast<char*>(::operator new(bytes, kLineBytes, std::nothrow));
    if (data_ == nullptr) ReturnToAllocator(bytes);
  }
  if (data_ == nullptr) return;
  // Fresh mappings are zeros already, and are not touched before they are used.
  if (source_ == Source::kAllocator || source_ == Source::kHugePageArena)
    std::memset(data_, 0, bytes);
  size_ = bytes;
}

ResidentMemory::~ResidentMemory() {
  if (data_ == nullptr) return;
  switch (source_) {
    case Source::kAllocator:
      ::operator delete(data_, kLineBytes);
      break;
    case Source::kSmallPages:
      internal::UnmapPages(data_, size_);
      ReturnToAllocator(size_);
      break;
    case Source::kHugePageArena:
      internal::HugePageArena::OfProcess().Free(data_, size_);
      break;
    case Source::kOwnMapping:
      internal::UnmapPages(data_, internal::WholeHugePages(size_));
      break;
  }
}

}  // namespace winnow::filter
