#include "engine/cache/cached_block.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/cache/block_arena.h"
#include "filter/base/huge_pages.h"
#include "filter/base/per_thread.h"
#include "filter/base/slab_pool.h"

namespace winnow {

namespace {
constexpr std::align_val_t kBlockAlignment{alignof(CachedBlock)};
static_assert(BlockArena::kAlignment % alignof(CachedBlock) == 0);

using filter::internal::SlabPool;

// Blocks come and go with a cache that is full, in all sizes: in the heap of the program they would
// leave holes between what stays.
void* NewMemory(size_t bytes) {
  return bytes <= SlabPool::kMaxPieceBytes ? SlabPool::OfProcess().Allocate(bytes)
                                           : ::operator new(bytes, kBlockAlignment, std::nothrow);
}

void DeleteMemory(void* memory, size_t bytes) {
  if (bytes <= SlabPool::kMaxPieceBytes) {
    SlabPool::OfProcess().Free(static_cast<char*>(memory), bytes);
  } else {
    ::operator delete(memory, kBlockAlignment);
  }
}

// AddressSanitizer must see every block freed.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepSpares = false;
#else
constexpr bool kKeepSpares = true;
#endif
constexpr size_t kMaxSpareBytes = size_t{64} << 10;
// What the system maps at least. Where its pages are larger a block takes more than it is charged.
constexpr size_t kPageBytes = 4096;

// The memory of the blocks that this thread freed last, to be used again last in, first out, while
// it is in the processor's cache: blocks that a cache does not admit are read into the place of
// those before them, and a full cache that takes a block in puts one out. The general allocator
// took 7 % of a look-up that reads its block from the file. As many as a batch of look-ups holds.
// A thread's spares are its own: they are taken and put back without a lock, and freed when the
// thread ends.
class Spares {
 public:
  ~Spares() {
    while (count_ > 0) DropOldest();
  }

  // Memory of at least `*wanted_bytes`, at most an eighth more, which is then `*wanted_bytes`.
  void* Take(size_t* wanted_bytes) {
    // From the newest on, which is the likeliest to be in the processor's cache.
    for (size_t i = count_; i-- > 0;) {
      const Piece piece = pieces_[i];
      if (piece.bytes < *wanted_bytes || piece.bytes - *wanted_bytes > *wanted_bytes / 8) continue;
      std::copy(pieces_ + i + 1, pieces_ + count_, pieces_ + i);
      count_--;
      total_bytes_ -= piece.bytes;
      *wanted_bytes = piece.bytes;
      return piece.memory;
    }
    return nullptr;
  }

  void Put(void* memory, size_t bytes) {
    while (count_ == kMaxPieces || (count_ > 0 && total_bytes_ + bytes > kMaxTotalBytes)) {
      DropOldest();
    }
    pieces_[count_++] = {memory, bytes};
    total_bytes_ += bytes;
  }

 private:
  static constexpr size_t kMaxPieces = 32;
  static constexpr size_t kMaxTotalBytes = size_t{160} << 10;
  struct Piece {
    void* memory;
    size_t bytes;
  };

  void DropOldest() {
    DeleteMemory(pieces_[0].memory, pieces_[0].bytes);
    total_bytes_ -= pieces_[0].bytes;
    std::copy(pieces_ + 1, pieces_ + count_, pieces_);
    count_--;
  }

  Piece pieces_[kMaxPieces] = {};  // oldest first
  size_t count_ = 0;
  size_t total_bytes_ = 0;
};

void* AllocateBlock(size_t* bytes) {
  // Blocks of about one size get exactly one size, so that one fits in another's place.
  if (*bytes <= SlabPool::kMaxPieceBytes) *bytes = SlabPool::PieceBytes(*bytes);
  if (Spares* const spares = PerThread<Spares>::GetOrNull()) {
    if (void* const memory = spares->Take(bytes)) return memory;
  }
  return NewMemory(*bytes);
}

void FreeBlock(void* memory, size_t bytes) {
  Spares* const spares =
      kKeepSpares && bytes <= kMaxSpareBytes ? PerThread<Spares>::GetOrNull() : nullptr;
  if (spares == nullptr) {
    DeleteMemory(memory, bytes);
  } else {
    spares->Put(memory, bytes);
  }
}

}  // namespace

BlockRef CachedBlock::Allocate(size_t contents_bytes, BlockArena* arena) {
  return Allocate(contents_bytes, arena, /*long_lived=*/false);
}

BlockRef CachedBlock::AllocateLongLived(size_t contents_bytes, BlockArena* arena) {
  return Allocate(contents_bytes, arena, /*long_lived=*/true);
}

// The block records where its memory came from: a block of a size that is rare, or too large, for
// the arena, or that comes when there is no memory for another slab of it, is not from there.
BlockRef CachedBlock::Allocate(size_t contents_bytes, BlockArena* arena, bool long_lived) {
  size_t charge = sizeof(CachedBlock) + contents_bytes + kReadablePadding;
  // The sum wrapped around: a length from a damaged file.
  if (charge < contents_bytes) return BlockRef();
  void* memory = arena == nullptr ? nullptr : arena->Allocate(&charge);
  Source source = Source::kArena;
  if (memory == nullptr && long_lived && charge >= kMinInPages) {
    source = Source::kPages;
    charge = (charge + kPageBytes - 1) / kPageBytes * kPageBytes;
    memory = filter::internal::MapPages(charge);
  } else if (memory == nullptr) {
    source = Source::kAllocator;
    memory = AllocateBlock(&charge);
  }
  if (memory == nullptr) return BlockRef();
  auto* const block = new (memory) CachedBlock(contents_bytes, charge, source, arena);
  // The padding alone: contents are about to be written, and clearing them too would cost as much.
  std::memset(block->mutable_data() + contents_bytes, 0, kReadablePadding);
  return BlockRef(block, &block->references_, /*cached=*/false);
}

void CachedBlock::Free(CachedBlock* block) {
  // The header lies in the memory that is freed: what is needed of it is taken out before.
  BlockArena* const arena = block->arena_;
  const Source source = block->source_;
  const size_t bytes = block->charge_;
  block->~CachedBlock();
  switch (source) {
    case Source::kAllocator:
      FreeBlock(block, bytes);
      break;
    case Source::kArena:
      arena->Free(reinterpret_cast<char*>(block));
      break;
    case Source::kPages:
      filter::internal::UnmapPages(reinterpret_cast<char*>(block), bytes);
      break;
  }
}

}  // namespace winnow
