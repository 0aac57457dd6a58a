// Small pieces of memory that live about as long as what they belong to, apart from the heap of
// the program. Internal.
//
// A database with many small tables or memtables makes and drops thousands of pieces of some KiB:
// readers, their filters and indexes, the chunks of memtables. In one heap with everything else,
// what stays lies between what goes, and the heap keeps its largest size for good. Here pieces of
// about one size share slabs (Bonwick, "The Slab Allocator", USENIX Summer 1994). Pages that no
// piece has a part of go back to the system where more than an eighth of what is in use lies idle.

#ifndef WINNOW_FILTER_BASE_SLAB_POOL_H_
#define WINNOW_FILTER_BASE_SLAB_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"

namespace winnow::filter::internal {

// Thread-safe.
class SlabPool {
 public:
  static constexpr size_t kLineBytes = 64;
  static constexpr size_t kSlabBytes = size_t{64} << 10;
  static constexpr size_t kMaxPieceBytes = size_t{32} << 10;

  // Never destroyed.
  static SlabPool& OfProcess();

  SlabPool();
  ~SlabPool();
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // What Allocate takes for as many: at most an eighth more, but for less than sixteen lines.
  static size_t PieceBytes(size_t bytes) { return BytesOf(ClassOf(bytes)); }
  // 1 to kMaxPieceBytes bytes at a multiple of kLineBytes, which hold anything. Null if there is no
  // memory.
  char* Allocate(size_t bytes) noexcept ABSL_LOCKS_EXCLUDED(mutex_);
  // What Allocate gave for as many bytes.
  void Free(char* piece, size_t bytes) noexcept ABSL_LOCKS_EXCLUDED(mutex_);

  // Of all pieces, each as PieceBytes has it.
  size_t used_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of all pages that pieces have touched and that have not gone back since.
  size_t mapped_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For HoldWhileForking.
  void LockForFork() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.Unlock(); }

 private:
  struct Slab;
  struct Region;
  using Regions = std::vector<std::unique_ptr<Region>>;
  // Slabs in a list of their own links: moving one from list to list cannot fail.
  struct SlabList {
    Slab* front = nullptr;
    void PushFront(Slab* slab);
    void Remove(Slab* slab);
  };

  // Sizes are whole lines up to sixteen, then eight of each doubling.
  static size_t ClassOf(size_t bytes);
  static size_t BytesOf(size_t size_class);
  static constexpr size_t kNumClasses = 16 + 5 * 8;

  static size_t SlabsPages() { return kSlabBytes / PageBytes(); }
  static size_t PageBytes();
  static size_t ChoosePiece(const Slab& slab);
  static uint32_t PagesOf(size_t first_byte, size_t end_byte);

  size_t ResidentBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropIdlePages(Slab* slab, size_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A slab with room for a piece of the class, in its list; null if there is no memory.
  Slab* SlabWithRoom(size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AddRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Regions::const_iterator RegionOf(const char* piece) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // To the empty slabs, and from there.
  void PutAside(Slab* slab) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Slab* slab) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Regions regions_ ABSL_GUARDED_BY(mutex_);  // by address
  // Of each class. What was full until now comes first: others have a chance to become empty.
  std::array<SlabList, kNumClasses> with_room_ ABSL_GUARDED_BY(mutex_);
  SlabList kept_ ABSL_GUARDED_BY(mutex_);     // empty, with pages
  SlabList dropped_ ABSL_GUARDED_BY(mutex_);  // empty, without
  size_t num_kept_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t absent_pages_ ABSL_GUARDED_BY(mutex_) = 0;  // of slabs in use and kept ones
};

// Where objects of some classes lie: in the pool of the process. Throw std::bad_alloc.
//
// Base of a class without subclasses, made by `new`.
struct InSlabPool {
  static void* operator new(size_t bytes) {
    void* const piece = SlabPool::OfProcess().Allocate(bytes);
    if (piece == nullptr) throw std::bad_alloc();
    return piece;
  }
  static void operator delete(void* object, size_t bytes) noexcept {
    SlabPool::OfProcess().Free(static_cast<char*>(object), bytes);
  }
};

// For std::allocate_shared.
template <typename T>
struct SlabAllocator {
  static_assert(sizeof(T) <= SlabPool::kMaxPieceBytes && alignof(T) <= SlabPool::kLineBytes);
  using value_type = T;

  SlabAllocator() = default;
  template <typename U>
  explicit SlabAllocator(const SlabAllocator<U>& /*other*/) {}

  // One at a time.
  T* allocate(size_t /*count*/) { return static_cast<T*>(InSlabPool::operator new(sizeof(T))); }
  void deallocate(T* object, size_t /*count*/) noexcept {
    InSlabPool::operator delete(object, sizeof(T));
  }

  friend bool operator==(const SlabAllocator&, const SlabAllocator&) { return true; }
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_BASE_SLAB_POOL_H_
