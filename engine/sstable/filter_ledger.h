// What the filters of one database take of its filter_memory_budget, and who gives way.
#ifndef WINNOW_ENGINE_SSTABLE_FILTER_LEDGER_H_
#define WINNOW_ENGINE_SSTABLE_FILTER_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "filter/base/mutex.h"

namespace winnow {

class FilterUnits;
struct ResidentUnits;

// Thread-safe. Invariants:
//  1. Bytes are counted before they are allocated, and until they have been freed.
//  2. Under a limit, what is counted exceeds it by one unit at most: room is only given where
//     nothing exceeds it yet.
//
// The lock is a leaf; no I/O happens under it.
class FilterLedger {
 public:
  // 0: no limit.
  explicit FilterLedger(uint64_t limit_bytes);
  FilterLedger(const FilterLedger&) = delete;
  FilterLedger& operator=(const FilterLedger&) = delete;
  ~FilterLedger();

  uint64_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  // Takes effect with the next unit that is loaded; what is there is for the planner to drop.
  void set_limit_bytes(uint64_t bytes) { limit_bytes_.store(bytes, std::memory_order_relaxed); }
  uint64_t resident_bytes() const { return resident_bytes_.load(std::memory_order_relaxed); }
  // The most that resident_bytes() has been.
  uint64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }

  enum class Claim {
    kFurtherUnit,  // only what is free
    kFirstUnit,    // of a table that would have no filter else: further units of others give way
  };
  // True: the bytes are counted, and to be given back by Release.
  bool Reserve(uint64_t bytes, Claim claim) ABSL_LOCKS_EXCLUDED(mutex_);
  void Release(uint64_t bytes) { resident_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Frees what was dropped and no reader asks any more. True: nothing is left that was dropped.
  bool Reclaim() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class FilterUnits;

  void ReclaimLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of all tables' last units, beyond their first ones, the one that is worth least for its bytes.
  bool DropLeastValued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<uint64_t> limit_bytes_;
  std::atomic<uint64_t> resident_bytes_{0};
  std::atomic<uint64_t> peak_bytes_{0};
  Mutex mutex_;  // also guards what is resident of each member
  std::set<FilterUnits*> members_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<const ResidentUnits>> replaced_ ABSL_GUARDED_BY(mutex_);
};

// Bytes that a ledger has counted, for as long as the object lives.
class LedgerCharge {
 public:
  LedgerCharge() = default;
  LedgerCharge(FilterLedger* ledger, uint64_t bytes) : ledger_(ledger), bytes_(bytes) {}
  LedgerCharge(LedgerCharge&& other) noexcept
      : ledger_(std::exchange(other.ledger_, nullptr)), bytes_(other.bytes_) {}
  LedgerCharge& operator=(LedgerCharge&& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~LedgerCharge() {
    if (ledger_ != nullptr) ledger_->Release(bytes_);
  }

 private:
  FilterLedger* ledger_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FILTER_LEDGER_H_
