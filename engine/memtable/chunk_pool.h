// Small chunks for the arenas of memtables, apart from the heap of the program.
#ifndef WINNOW_ENGINE_MEMTABLE_CHUNK_POOL_H_
#define WINNOW_ENGINE_MEMTABLE_CHUNK_POOL_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <list>

#include "engine/base/page_buffer.h"
#include "filter/base/mutex.h"

namespace winnow {

// Where a thousand families share little memory, memtables of a few KiB come and go many times a
// second, and what else is allocated meanwhile stays: in one heap the one would lie between the
// other, and the heap would keep its largest size for good. Here chunks of one size share slabs of
// pages of their own, and a slab goes back to the system when its last chunk does. Thread-safe.
class ChunkPool {
 public:
  struct Slab;
  static constexpr size_t kSmallestBytes = size_t{2} << 10;
  static constexpr size_t kLargestBytes = size_t{32} << 10;
  static constexpr size_t kSlabBytes = size_t{64} << 10;

  struct Chunk {
    char* data = nullptr;
    Slab* slab = nullptr;
  };

  ChunkPool() = default;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // Powers of two between the two bounds.
  static bool Has(size_t bytes) {
    return std::has_single_bit(bytes) && bytes >= kSmallestBytes && bytes <= kLargestBytes;
  }
  // Of one of these sizes. Throws std::bad_alloc.
  Chunk Take(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(const Chunk& chunk, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Taken from the system: all slabs. At most one of each size has no chunk in use.
  size_t mapped_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Slabs = std::list<Slab>;
  struct Size {
    Slabs with_room;  // the fullest are mostly in front: others have a chance to become empty
    Slabs full;
    bool has_empty = false;  // one of with_room
  };
  static constexpr size_t kNumSizes =
      std::bit_width(kLargestBytes) - std::bit_width(kSmallestBytes) + 1;

  static size_t IndexOf(size_t bytes) {
    return static_cast<size_t>(std::bit_width(bytes) - std::bit_width(kSmallestBytes));
  }
  // All chunks of a slab.
  static uint32_t FullOf(size_t bytes) {
    return static_cast<uint32_t>((uint64_t{1} << (kSlabBytes / bytes)) - 1);
  }

  mutable Mutex mutex_;
  std::array<Size, kNumSizes> sizes_ ABSL_GUARDED_BY(mutex_);
};

struct ChunkPool::Slab {
  PageBuffer pages{kSlabBytes};
  uint32_t used = 0;  // a bit for each chunk
  Slabs::iterator place;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_CHUNK_POOL_H_
