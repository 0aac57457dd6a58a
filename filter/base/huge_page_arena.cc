#include "filter/base/huge_page_arena.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "filter/base/hold_while_forking.h"

namespace winnow::filter::internal {

HugePageArena& HugePageArena::OfProcess() {
  // Leaked on purpose: pieces of static objects may be freed after everything else has been
  // destroyed.
  static auto* const arena = [] {
    auto* const made = new HugePageArena;
    HoldWhileForking<HugePageArena>();
    return made;
  }();
  return *arena;
}

namespace {
[[maybe_unused]] const HugePageArena& arena_at_load = HugePageArena::OfProcess();  // for forking
}  // namespace

HugePageArena::~HugePageArena() {
  for (const std::unique_ptr<Region>& region : regions_) UnmapPages(region->begin, kRegionBytes);
}

// The first unit of a gap of so many; kUnitsOfRegion if there is none.
size_t HugePageArena::Region::FindGap(size_t num_units) const {
  // First fit. Looks at a candidate gap from its end backwards: the last taken unit in it rules out
  // all candidates up to itself, so that a unit is hardly ever looked at twice.
  size_t first = 0;
  while (first + num_units <= kUnitsOfRegion) {
    size_t unit = first + num_units;
    while (unit > first && !used[unit - 1]) --unit;
    if (unit == first) return first;
    first = unit;
  }
  return kUnitsOfRegion;
}

void HugePageArena::Region::Mark(size_t first, size_t num_units, bool is_used) {
  for (size_t unit = first; unit < first + num_units; ++unit) used[unit] = is_used;
}

HugePageArena::Piece HugePageArena::Region::Take(size_t first, size_t num_units) {
  Mark(first, num_units, true);
  const size_t end = first + num_units;
  const size_t stale_units = std::min(end, std::max(first, first_fresh)) - first;
  first_fresh = std::max(first_fresh, end);
  return {begin + first * kUnitBytes, stale_units * kUnitBytes};
}

void HugePageArena::Region::DropUnused(size_t first, size_t num_units) {
  // The first and the last page of a piece may be shared with its neighbours; those between are its
  // own.
  const size_t last = first + num_units - 1;
  for (size_t page = first / kUnitsOfHugePage; page <= last / kUnitsOfHugePage; ++page) {
    size_t unit = page * kUnitsOfHugePage;
    const size_t end = unit + kUnitsOfHugePage;
    while (unit < end && !used[unit]) ++unit;
    if (unit == end) DropPages(begin + page * kHugePageBytes, kHugePageBytes);
  }
}

// Null if memory is exhausted.
HugePageArena::Region* HugePageArena::AddRegion() {
  try {
    auto region = std::make_unique<Region>();
    // What can throw comes before the mapping, which would otherwise be lost.
    regions_.reserve(regions_.size() + 1);
    region->begin = MapHugePages(kRegionBytes);
    if (region->begin == nullptr) return nullptr;
    regions_.push_back(std::move(region));
    return regions_.back().get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// The piece is the caller's alone when it is cleared, without the lock.
char* HugePageArena::Allocate(size_t bytes) {
  const Piece piece = Take(UnitsFor(bytes));
  if (piece.stale_bytes > 0) std::memset(piece.begin, 0, piece.stale_bytes);
  return piece.begin;
}

HugePageArena::Piece HugePageArena::Take(size_t num_units) {
  const MutexLock lock(&mutex_);
  for (const std::unique_ptr<Region>& region : regions_) {
    const size_t first = region->FindGap(num_units);
    if (first == kUnitsOfRegion) continue;
    return region->Take(first, num_units);
  }
  // No region has a gap that is large enough.
  Region* const region = AddRegion();
  return region == nullptr ? Piece() : region->Take(0, num_units);
}

void HugePageArena::Free(char* piece, size_t bytes) {
  const MutexLock lock(&mutex_);
  // Regions are few: 32 MiB each.
  const auto found = std::find_if(
      regions_.begin(), regions_.end(), [piece](const std::unique_ptr<Region>& region) {
        return piece >= region->begin && piece < region->begin + kRegionBytes;
      });
  Region& region = **found;
  const auto first = static_cast<size_t>(piece - region.begin) / kUnitBytes;
  region.Mark(first, UnitsFor(bytes), false);
  // The last region stays, so that a piece that comes and goes does not map and unmap each time.
  if (region.used.none() && regions_.size() > 1) {
    UnmapPages(region.begin, kRegionBytes);
    regions_.erase(found);
    return;
  }
  region.DropUnused(first, UnitsFor(bytes));
}

size_t HugePageArena::mapped_bytes() const {
  const MutexLock lock(&mutex_);
  return regions_.size() * kRegionBytes;
}

size_t HugePageArena::used_bytes() const {
  const MutexLock lock(&mutex_);
  size_t units = 0;
  for (const std::unique_ptr<Region>& region : regions_) units += region->used.count();
  return units * kUnitBytes;
}

}  // namespace winnow::filter::internal
