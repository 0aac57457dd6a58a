// Pieces of any size side by side on huge pages, for ResidentMemory. Internal.
//
// Regions of the address space are handed out in units of 4 KiB, to the first gap that is large
// enough; a bit for each unit says whether it is taken. Pieces are made when a table is opened and
// live as long as it: searching the bits costs nothing beside reading the table.

#ifndef WINNOW_FILTER_BASE_HUGE_PAGE_ARENA_H_
#define WINNOW_FILTER_BASE_HUGE_PAGE_ARENA_H_

#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "filter/base/huge_pages.h"
#include "filter/base/mutex.h"

namespace winnow::filter::internal {

// Thread-safe.
class HugePageArena {
 public:
  static constexpr size_t kRegionBytes = 16 * kHugePageBytes;
  static constexpr size_t kMaxPieceBytes = kRegionBytes / 2;

  // Never destroyed.
  static HugePageArena& OfProcess();

  HugePageArena() = default;
  ~HugePageArena();

  HugePageArena(const HugePageArena&) = delete;
  HugePageArena& operator=(const HugePageArena&) = delete;

  // Zeros at a multiple of 4 KiB. At most kMaxPieceBytes. Null if memory is exhausted. What no
  // piece had before is not touched: its pages come when they are used.
  char* Allocate(size_t bytes);
  // A piece, and its size as it was asked for. Huge pages that nothing lies on any more go back to
  // the system.
  void Free(char* piece, size_t bytes);

  // The address space taken from the system, and the part of it that pieces take.
  size_t mapped_bytes() const;
  size_t used_bytes() const;

  // For HoldWhileForking.
  void LockForFork() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_UNLOCK_FUNCTION(mutex_) { mutex_.Unlock(); }

 private:
  static constexpr size_t kUnitBytes = 4096;
  static constexpr size_t kUnitsOfRegion = kRegionBytes / kUnitBytes;
  static constexpr size_t kUnitsOfHugePage = kHugePageBytes / kUnitBytes;

  struct Piece {
    char* begin = nullptr;
    size_t stale_bytes = 0;  // from the beginning on: what other pieces had before
  };

  struct Region {
    char* begin;
    std::bitset<kUnitsOfRegion> used;
    size_t first_fresh = 0;  // this unit and those after it were never handed out

    size_t FindGap(size_t num_units) const;
    Piece Take(size_t first, size_t num_units);
    void Mark(size_t first, size_t num_units, bool is_used);
    // Drops the huge pages that these units lie on, but for those that other pieces lie on too.
    void DropUnused(size_t first, size_t num_units);
  };

  static size_t UnitsFor(size_t bytes) { return (bytes + kUnitBytes - 1) / kUnitBytes; }
  Piece Take(size_t num_units) ABSL_LOCKS_EXCLUDED(mutex_);
  Region* AddRegion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Region>> regions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_BASE_HUGE_PAGE_ARENA_H_
