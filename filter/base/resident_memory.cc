#include "winnow/filter/resident_memory.h"

#include <atomic>
#include <cstring>

#include "filter/base/huge_page_arena.h"
#include "filter/base/huge_pages.h"
#include "filter/base/slab_pool.h"

namespace winnow::filter {
namespace {

// Pieces from here on have pages of their own or lie in the arena. Smaller ones would be rounded up
// to much more.
constexpr size_t kMinInArena = size_t{8} << 10;
// So many bytes of such pieces have small pages first: the processor knows their addresses, and a
// small process should not grow by whole huge pages.
constexpr size_t kMaxOnSmallPages = size_t{4} << 20;

std::atomic<size_t> bytes_on_small_pages{0};

// Counts the bytes if they may be on small pages.
bool TakeSmallPages(size_t bytes) {
  if (bytes > kMaxOnSmallPages) return false;
  // Counts first and takes it back if that was too much: threads that do so at once may refuse a
  // piece that would have fitted, but never give out more than the limit. Relaxed, as it publishes
  // no memory.
  const size_t before = bytes_on_small_pages.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= kMaxOnSmallPages) return true;
  bytes_on_small_pages.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void ReturnSmallPages(size_t bytes) {
  bytes_on_small_pages.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace

ResidentMemory::ResidentMemory(size_t bytes) {
  if (bytes == 0 || bytes > SIZE_MAX - kHugePageBytes) return;
  // Where a piece comes from goes by its size: whole huge pages and what is too large for a region
  // of the arena are mapped by themselves; the rest lies in the arena, but for small pieces, which
  // share slabs, and the first few MiB of a process, in pages of their own: filters come and go
  // with tables, the newer ones larger than the older, and would leave holes in a heap that nothing
  // fits into.
  const bool is_whole_pages = bytes % kHugePageBytes == 0;
  if (is_whole_pages || bytes > internal::HugePageArena::kMaxPieceBytes) {
    source_ = Source::kOwnMapping;
    data_ = internal::MapHugePages(internal::WholeHugePages(bytes));
  } else if (bytes < kMinInArena) {
    source_ = Source::kSlab;
    data_ = internal::SlabPool::OfProcess().Allocate(bytes);
  } else if (TakeSmallPages(bytes)) {
    source_ = Source::kSmallPages;
    data_ = internal::MapPages(bytes);
    if (data_ == nullptr) ReturnSmallPages(bytes);
  } else {
    source_ = Source::kHugePageArena;
    data_ = internal::HugePageArena::OfProcess().Allocate(bytes);
  }
  if (data_ == nullptr) return;
  // The others are zeros already, and are not touched before they are used.
  if (source_ == Source::kSlab) std::memset(data_, 0, bytes);
  size_ = bytes;
}

ResidentMemory::~ResidentMemory() {
  if (data_ == nullptr) return;
  switch (source_) {
    case Source::kSlab:
      internal::SlabPool::OfProcess().Free(data_, size_);
      break;
    case Source::kSmallPages:
      internal::UnmapPages(data_, size_);
      ReturnSmallPages(size_);
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
