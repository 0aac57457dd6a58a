#include "filter/base/slab_pool.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <new>

#include "filter/base/hold_while_forking.h"
#include "filter/base/huge_pages.h"

#if defined(__SANITIZE_ADDRESS__)
#define WINNOW_POISONS_PIECES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WINNOW_POISONS_PIECES 1
#endif
#endif

#ifdef WINNOW_POISONS_PIECES
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace winnow::filter::internal {
namespace {

constexpr size_t kRegionBytes = kHugePageBytes;
constexpr size_t kSlabsOfRegion = kRegionBytes / SlabPool::kSlabBytes;
constexpr size_t kMaxPiecesOfSlab = SlabPool::kSlabBytes / SlabPool::kLineBytes;
// Empty slabs that keep their memory: a piece that comes and goes does not cause page faults each
// time.
constexpr size_t kMostKept = 4;
// So much may lie idle, beside an eighth of what is in use: what comes and goes at one place, as
// blocks in a full cache do, shall find its pages there.
constexpr size_t kIdleBytes = size_t{256} << 10;

// What is not given out may not be touched: AddressSanitizer reports it as it would of the heap.
void Poison([[maybe_unused]] const char* begin, [[maybe_unused]] size_t bytes) {
#ifdef WINNOW_POISONS_PIECES
  ASAN_POISON_MEMORY_REGION(begin, bytes);
#endif
}
void Unpoison([[maybe_unused]] const char* begin, [[maybe_unused]] size_t bytes) {
#ifdef WINNOW_POISONS_PIECES
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
#endif
}

// Objects in pieces may be all that points to something on the heap.
void ScanForLeaks([[maybe_unused]] const char* begin, [[maybe_unused]] bool scan) {
#ifdef WINNOW_POISONS_PIECES
  if (scan) {
    __lsan_register_root_region(begin, kRegionBytes);
  } else {
    __lsan_unregister_root_region(begin, kRegionBytes);
  }
#endif
}

}  // namespace

// Lies apart from the slab's memory: pieces fill that to its end, and looking for room touches none
// of its pages.
struct SlabPool::Slab {
  char* begin = nullptr;
  Slab* next = nullptr;
  Slab* previous = nullptr;
  size_t piece_bytes = 0;  // while it has pieces
  uint32_t absent = 0;     // a bit for each page that is not resident
  uint16_t num_used = 0;
  uint16_t first_free = 0;  // no piece before this one is free
  bool is_kept = false;     // empty, with pages
  std::bitset<kMaxPiecesOfSlab> used;
};

struct SlabPool::Region {
  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (begin == nullptr) return;
    Unpoison(begin, kRegionBytes);
    ScanForLeaks(begin, false);
    UnmapPages(begin, kRegionBytes);
  }

  char* begin = nullptr;
  size_t num_in_use = 0;
  std::array<Slab, kSlabsOfRegion> slabs;
};

void SlabPool::SlabList::PushFront(Slab* slab) {
  slab->previous = nullptr;
  slab->next = front;
  if (front != nullptr) front->previous = slab;
  front = slab;
}

void SlabPool::SlabList::Remove(Slab* slab) {
  if (slab->next != nullptr) slab->next->previous = slab->previous;
  (slab->previous != nullptr ? slab->previous->next : front) = slab->next;
}

SlabPool& SlabPool::OfProcess() {
  // Leaked on purpose: pieces of static objects may be freed after everything else has been
  // destroyed.
  static SlabPool* const pool = [] {
    auto* const made = new SlabPool;
    HoldWhileForking<SlabPool>();
    return made;
  }();
  return *pool;
}

namespace {
[[maybe_unused]] const SlabPool& slab_pool_at_load = SlabPool::OfProcess();  // for forking
}  // namespace

SlabPool::SlabPool() = default;
SlabPool::~SlabPool() = default;

// Beyond sixteen lines: the four highest bits of the number of lines, rounded up, and how many
// there are below them.
size_t SlabPool::ClassOf(size_t bytes) {
  const size_t lines = (bytes + kLineBytes - 1) / kLineBytes;
  if (lines <= 16) return lines - 1;
  const size_t below = static_cast<size_t>(std::bit_width(lines - 1)) - 4;
  const size_t highest = ((lines - 1) >> below) + 1;  // 9 to 16
  return 16 + (below - 1) * 8 + (highest - 9);
}

size_t SlabPool::BytesOf(size_t size_class) {
  if (size_class < 16) return (size_class + 1) * kLineBytes;
  const size_t below = (size_class - 16) / 8 + 1;
  const size_t highest = (size_class - 16) % 8 + 9;
  return (highest << below) * kLineBytes;
}

// At an address that is a multiple of the region's size.
bool SlabPool::AddRegion() {
  try {
    auto region = std::make_unique<Region>();
    // What can throw comes before the mapping.
    regions_.reserve(regions_.size() + 1);
    region->begin = MapSmallPages(kRegionBytes);
    if (region->begin == nullptr) return false;
    Poison(region->begin, kRegionBytes);
    ScanForLeaks(region->begin, true);
    // From the last on, so that they are taken in the order of their addresses.
    for (size_t i = kSlabsOfRegion; i-- > 0;) {
      region->slabs[i].begin = region->begin + i * kSlabBytes;
      dropped_.PushFront(&region->slabs[i]);
    }
    // By address, as RegionOf searches by halves.
    const auto place = std::upper_bound(
        regions_.begin(), regions_.end(), region,
        [](const auto& left, const auto& right) { return left->begin < right->begin; });
    regions_.insert(place, std::move(region));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// The last region that begins at or before the piece.
SlabPool::Regions::const_iterator SlabPool::RegionOf(const char* piece) const {
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), piece,
                       [](const char* left, const auto& right) { return left < right->begin; });
  return after - 1;
}

size_t SlabPool::PageBytes() {
  static const size_t bytes =
      std::clamp<size_t>(static_cast<size_t>(::sysconf(_SC_PAGESIZE)), 4096, kSlabBytes);
  return bytes;
}

// A bit for each page that has some of these bytes of a slab.
uint32_t SlabPool::PagesOf(size_t first_byte, size_t end_byte) {
  const size_t first = first_byte / PageBytes();
  const size_t end = (end_byte + PageBytes() - 1) / PageBytes();
  return static_cast<uint32_t>((uint64_t{1} << end) - (uint64_t{1} << first));
}

SlabPool::Slab* SlabPool::SlabWithRoom(size_t size_class) {
  SlabList& with_room = with_room_[size_class];
  if (with_room.front != nullptr) return with_room.front;
  if (kept_.front == nullptr && dropped_.front == nullptr && !AddRegion()) return nullptr;
  Slab* const slab = kept_.front != nullptr ? kept_.front : dropped_.front;
  // Its pages went back to the system, or were never touched: none counts until a piece touches it.
  if (!slab->is_kept) {
    slab->absent = PagesOf(0, kSlabBytes);
    absent_pages_ += SlabsPages();
  }
  Remove(slab);
  num_in_use_++;
  (*RegionOf(slab->begin))->num_in_use++;
  slab->piece_bytes = BytesOf(size_class);
  with_room.PushFront(slab);
  return slab;
}

// One whose pages are there, if there is one.
size_t SlabPool::ChoosePiece(const Slab& slab) {
  size_t first = slab.first_free;
  // There is one: slabs without room are in no list.
  while (slab.used[first]) first++;
  const size_t capacity = kSlabBytes / slab.piece_bytes;
  for (size_t number = first; slab.absent != 0 && number < capacity; number++) {
    const size_t begin = number * slab.piece_bytes;
    if (!slab.used[number] && (PagesOf(begin, begin + slab.piece_bytes) & slab.absent) == 0) {
      return number;
    }
  }
  return first;
}

char* SlabPool::Allocate(size_t bytes) noexcept {
  const size_t size_class = ClassOf(bytes);
  const MutexLock lock(&mutex_);
  Slab* const slab = SlabWithRoom(size_class);
  if (slab == nullptr) return nullptr;
  const size_t number = ChoosePiece(*slab);
  slab->used[number] = true;
  if (number == slab->first_free) slab->first_free = static_cast<uint16_t>(number + 1);
  // Without room it is in no list; the first piece that is freed brings it back.
  if (++slab->num_used == kSlabBytes / slab->piece_bytes) with_room_[size_class].Remove(slab);
  used_bytes_ += slab->piece_bytes;
  const size_t begin = number * slab->piece_bytes;
  const uint32_t touched = PagesOf(begin, begin + slab->piece_bytes) & slab->absent;
  slab->absent &= ~touched;
  absent_pages_ -= static_cast<size_t>(std::popcount(touched));
  Unpoison(slab->begin + begin, bytes);
  return slab->begin + begin;
}

void SlabPool::Free(char* piece, size_t bytes) noexcept {
  const MutexLock lock(&mutex_);
  const auto region = RegionOf(piece);
  Slab* const slab = &(*region)->slabs[static_cast<size_t>(piece - (*region)->begin) / kSlabBytes];
  Poison(piece, slab->piece_bytes);
  used_bytes_ -= slab->piece_bytes;
  const size_t number = static_cast<size_t>(piece - slab->begin) / slab->piece_bytes;
  slab->used[number] = false;
  slab->first_free = static_cast<uint16_t>(std::min<size_t>(slab->first_free, number));
  SlabList& with_room = with_room_[ClassOf(bytes)];
  if (slab->num_used-- == kSlabBytes / slab->piece_bytes) with_room.PushFront(slab);
  if (slab->num_used != 0) {
    // Pages go back where something is freed, so that there is never a pass over all slabs.
    if (ResidentBytes() - used_bytes_ > used_bytes_ / 8 + kIdleBytes) DropIdlePages(slab, number);
    return;
  }
  // The slab is empty: from now on it may serve any class.
  with_room.Remove(slab);
  num_in_use_--;
  slab->first_free = 0;
  PutAside(slab);
  // The last region stays, so that a piece that comes and goes does not map and unmap each time.
  if (--(*region)->num_in_use > 0 || regions_.size() == 1) return;
  // All of them are empty, and so in one of the two lists of empty ones.
  for (Slab& unused : (*region)->slabs) {
    if (unused.is_kept) absent_pages_ -= static_cast<size_t>(std::popcount(unused.absent));
    Remove(&unused);
  }
  regions_.erase(region);
}

// Those that lie wholly in the free pieces beside one another of which this is one.
void SlabPool::DropIdlePages(Slab* slab, size_t number) {
  const size_t capacity = kSlabBytes / slab->piece_bytes;
  size_t first = number;
  size_t end = number + 1;
  while (first > 0 && !slab->used[first - 1]) first--;
  while (end < capacity && !slab->used[end]) end++;
  // Inwards to whole pages: those at the ends hold parts of neighbours. Behind the last piece there
  // may be a rest of the slab that no piece ever uses.
  const size_t first_page = (first * slab->piece_bytes + PageBytes() - 1) / PageBytes();
  const size_t end_page = end == capacity ? SlabsPages() : end * slab->piece_bytes / PageBytes();
  if (first_page >= end_page) return;
  const uint32_t pages = PagesOf(first_page * PageBytes(), end_page * PageBytes());
  const uint32_t dropped = pages & ~slab->absent;
  if (dropped == 0) return;
  DropPages(slab->begin + first_page * PageBytes(), (end_page - first_page) * PageBytes());
  slab->absent |= dropped;
  absent_pages_ += static_cast<size_t>(std::popcount(dropped));
}

void SlabPool::PutAside(Slab* slab) {
  if (num_kept_ < kMostKept) {
    kept_.PushFront(slab);
    slab->is_kept = true;
    num_kept_++;
    return;
  }
  DropPages(slab->begin, kSlabBytes);
  // Absent pages count for slabs in use and kept ones alone.
  absent_pages_ -= static_cast<size_t>(std::popcount(slab->absent));
  dropped_.PushFront(slab);
}

// From among the empty ones.
void SlabPool::Remove(Slab* slab) {
  if (slab->is_kept) num_kept_--;
  (slab->is_kept ? kept_ : dropped_).Remove(slab);
  slab->is_kept = false;
}

size_t SlabPool::ResidentBytes() const {
  return (num_in_use_ + num_kept_) * kSlabBytes - absent_pages_ * PageBytes();
}

size_t SlabPool::used_bytes() const {
  const MutexLock lock(&mutex_);
  return used_bytes_;
}

size_t SlabPool::mapped_bytes() const {
  const MutexLock lock(&mutex_);
  return ResidentBytes();
}

}  // namespace winnow::filter::internal
