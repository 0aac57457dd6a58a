// Memory for the blocks of a large cache, on huge pages.
//
// A point look-up reads a few lines of a block that it has not seen for long. On pages of 4 KiB
// each of them also misses the page table; with 600 MB of cached blocks, huge pages made whole
// look-ups 8 to 14 % faster. Slabs of one huge page, cut into pieces of one size class (Bonwick,
// "The Slab Allocator", USENIX Summer 1994).
#ifndef WINNOW_ENGINE_CACHE_BLOCK_ARENA_H_
#define WINNOW_ENGINE_CACHE_BLOCK_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"

namespace winnow {

// Thread-safe. Everything must be given back before it is destroyed.
class BlockArena {
 public:
  // Pieces start at multiples of this.
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kMaxPieceBytes = size_t{64} << 10;

  // For a cache of `capacity_bytes`: sizes that too little of it is of to fill slabs get none, so
  // that what is mapped for nothing stays small beside it. 0: every size gets slabs.
  explicit BlockArena(size_t capacity_bytes = 0);
  ~BlockArena();

  BlockArena(const BlockArena&) = delete;
  BlockArena& operator=(const BlockArena&) = delete;

  // A piece of at least `*bytes`, which becomes what it really has: 1 KiB or up to a sixteenth
  // more. Null if `*bytes` is more than kMaxPieceBytes, or of a size without slabs, or memory is
  // exhausted.
  char* Allocate(size_t* bytes);
  void Free(char* piece);

  // Memory mapped from the system.
  size_t mapped_bytes() const;

 private:
  // At the start of each huge page.
  struct Slab;
  struct SizeClass {
    mutable Mutex mutex;
    size_t piece_bytes = 0;
    // Slabs with a free piece, the one to be used next first.
    Slab* available ABSL_GUARDED_BY(mutex) = nullptr;
    size_t num_slabs ABSL_GUARDED_BY(mutex) = 0;
    uint64_t requested_bytes ABSL_GUARDED_BY(mutex) = 0;
  };

  // Another slab is likely to be filled.
  bool DeservesSlab(const SizeClass& size_class) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(size_class.mutex);
  static Slab* AddSlab(SizeClass& size_class, uint32_t class_index)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(size_class.mutex);
  static void Link(SizeClass& size_class, Slab* slab)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(size_class.mutex);
  static void Unlink(SizeClass& size_class, Slab* slab)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(size_class.mutex);

  const size_t capacity_bytes_;
  std::atomic<uint64_t> requested_bytes_{0};  // of all sizes
  std::vector<SizeClass> classes_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_CACHE_BLOCK_ARENA_H_
