#include "engine/cache/block_arena.h"

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "winnow/filter/resident_memory.h"

namespace winnow {

namespace {

// Sizes of pieces: sixteen for each doubling from 1 KiB to 64 KiB, so that no piece is more than a
// sixteenth larger than what was asked for. Steps are multiples of kAlignment, so every piece
// starts on a cache line.
constexpr size_t kSlabBytes = filter::ResidentMemory::kHugePageBytes;
constexpr size_t kMinPieceBytes = 1024;
constexpr size_t kClassesPerDoubling = 16;
constexpr size_t kDoublings =
    static_cast<size_t>(std::bit_width(BlockArena::kMaxPieceBytes / kMinPieceBytes)) - 1;
// A size gets slabs once it has asked for this much, and if its share of all that is asked for, and
// so of the cache in the end, makes several slabs.
constexpr uint64_t kRequestsBeforeSlab = kSlabBytes / 2;
constexpr uint64_t kLeastSlabsOfSize = 4;
constexpr size_t kNumClasses = kDoublings * kClassesPerDoubling + 1;

size_t PieceBytes(size_t class_index) {
  const size_t base = kMinPieceBytes << (class_index / kClassesPerDoubling);
  return base + class_index % kClassesPerDoubling * (base / kClassesPerDoubling);
}

// The smallest class of pieces with `bytes`, at most kMaxPieceBytes.
size_t ClassOf(size_t bytes) {
  if (bytes <= kMinPieceBytes) return 0;
  const size_t doubling = static_cast<size_t>(std::bit_width((bytes - 1) / kMinPieceBytes)) - 1;
  const size_t base = kMinPieceBytes << doubling;
  const size_t step = base / kClassesPerDoubling;
  return doubling * kClassesPerDoubling + (bytes - base + step - 1) / step;
}

static_assert(kMinPieceBytes / kClassesPerDoubling % BlockArena::kAlignment == 0);

}  // namespace

// Layout of a slab, which is exactly one huge page and aligned to it, so that a piece's slab is
// found by clearing the low bits of its address:
//
//  | Slab | piece 0 | piece 1 | ... | piece num_cut - 1 | never handed out | rest |
//
// A piece is in one of three states: in use (num_used of them), on the free list, or not yet cut.
// Pieces are cut one by one, so that a new slab's page is touched only as far as it is used.
//
// Invariant: a slab is on its class's list if and only if it is not full.
struct alignas(BlockArena::kAlignment) BlockArena::Slab {
  filter::ResidentMemory memory;  // that this slab lies in
  uint32_t class_index = 0;
  uint32_t num_used = 0;
  uint32_t num_cut = 0;       // pieces that were ever handed out
  char* free_list = nullptr;  // given back; each starts with the address of the next
  Slab* previous = nullptr;
  Slab* next = nullptr;

  char* piece(size_t index, size_t piece_bytes) {
    return reinterpret_cast<char*>(this + 1) + index * piece_bytes;
  }
  static size_t Capacity(size_t piece_bytes) { return (kSlabBytes - sizeof(Slab)) / piece_bytes; }
  bool full(size_t piece_bytes) const {
    return free_list == nullptr && num_cut == Capacity(piece_bytes);
  }
};

BlockArena::BlockArena(size_t capacity_bytes)
    : capacity_bytes_(capacity_bytes), classes_(kNumClasses) {
  for (size_t i = 0; i < kNumClasses; i++) classes_[i].piece_bytes = PieceBytes(i);
}

// Full slabs are on no list, but there are none: everything has been given back.
BlockArena::~BlockArena() {
  for (SizeClass& size_class : classes_) {
    MutexLock lock(&size_class.mutex);
    while (Slab* const slab = size_class.available) {
      Unlink(size_class, slab);
      const filter::ResidentMemory memory =
          std::move(slab->memory);  // freed at the end of this turn
      slab->~Slab();
    }
  }
}

void BlockArena::Link(SizeClass& size_class, Slab* slab) {
  slab->previous = nullptr;
  slab->next = size_class.available;
  if (slab->next != nullptr) slab->next->previous = slab;
  size_class.available = slab;
}

void BlockArena::Unlink(SizeClass& size_class, Slab* slab) {
  if (slab->previous != nullptr) {
    slab->previous->next = slab->next;
  } else {
    size_class.available = slab->next;
  }
  if (slab->next != nullptr) slab->next->previous = slab->previous;
}

BlockArena::Slab* BlockArena::AddSlab(SizeClass& size_class, uint32_t class_index) {
  filter::ResidentMemory memory(kSlabBytes);
  if (memory.data() == nullptr) return nullptr;
  auto* const slab = new (memory.data()) Slab;
  slab->memory = std::move(memory);
  slab->class_index = class_index;
  // The slab's own memory handle lies inside of the memory that it owns: whoever frees the slab
  // moves the handle out first.
  size_class.num_slabs++;
  Link(size_class, slab);
  return slab;
}

// The last blocks of tables are of any size: a few of each would take a huge page for each size, a
// quarter of a cache of 256 MiB.
bool BlockArena::DeservesSlab(const SizeClass& size_class) const {
  if (capacity_bytes_ == 0) return true;
  const double share = static_cast<double>(size_class.requested_bytes) /
                       static_cast<double>(requested_bytes_.load(std::memory_order_relaxed));
  return size_class.requested_bytes >= kRequestsBeforeSlab &&
         share * static_cast<double>(capacity_bytes_) >= double{kLeastSlabsOfSize * kSlabBytes};
}

// One lock for each size class. Blocks of a database are of one or two sizes, so the lock is shared
// by all threads that load; it is held for a few instructions, beside a read from a file that it
// follows.
char* BlockArena::Allocate(size_t* bytes) {
  if (*bytes > kMaxPieceBytes) return nullptr;
  const size_t class_index = ClassOf(*bytes);
  SizeClass& size_class = classes_[class_index];
  const size_t piece_bytes = size_class.piece_bytes;
  MutexLock lock(&size_class.mutex);
  size_class.requested_bytes += piece_bytes;
  requested_bytes_.fetch_add(piece_bytes, std::memory_order_relaxed);
  Slab* slab = size_class.available;
  if (slab == nullptr && !DeservesSlab(size_class)) return nullptr;
  if (slab == nullptr) slab = AddSlab(size_class, static_cast<uint32_t>(class_index));
  if (slab == nullptr) return nullptr;
  char* piece = slab->free_list;
  if (piece != nullptr) {
    std::memcpy(&slab->free_list, piece, sizeof(slab->free_list));
  } else {
    piece = slab->piece(slab->num_cut++, piece_bytes);
  }
  slab->num_used++;
  if (slab->full(piece_bytes)) Unlink(size_class, slab);
  *bytes = piece_bytes;
  return piece;
}

void BlockArena::Free(char* piece) {
  auto* const slab =
      reinterpret_cast<Slab*>(reinterpret_cast<uintptr_t>(piece) & ~(uintptr_t{kSlabBytes} - 1));
  SizeClass& size_class = classes_[slab->class_index];
  filter::ResidentMemory unused;  // freed after the lock
  MutexLock lock(&size_class.mutex);
  // Restores the invariant before the piece goes back: the slab is about to have room.
  if (slab->full(size_class.piece_bytes)) Link(size_class, slab);
  std::memcpy(piece, &slab->free_list, sizeof(slab->free_list));
  slab->free_list = piece;
  slab->num_used--;
  // One slab with room stays, so that a size used now and then does not map and unmap each time.
  // On a list, a slab without neighbours is the only one.
  const bool is_only_available = slab->previous == nullptr && slab->next == nullptr;
  if (slab->num_used > 0 || is_only_available) return;
  Unlink(size_class, slab);
  size_class.num_slabs--;
  unused = std::move(slab->memory);
  slab->~Slab();
}

size_t BlockArena::mapped_bytes() const {
  size_t slabs = 0;
  for (const SizeClass& size_class : classes_) {
    MutexLock lock(&size_class.mutex);
    slabs += size_class.num_slabs;
  }
  return slabs * kSlabBytes;
}

}  // namespace winnow
