// One bound for the memtables of all column families of a database.
#ifndef WINNOW_ENGINE_MEMTABLE_WRITE_BUFFER_BUDGET_H_
#define WINNOW_ENGINE_MEMTABLE_WRITE_BUFFER_BUDGET_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "filter/base/slab_pool.h"

namespace winnow {

// Counts what memtables take from the system, and says when that is too much (as RocksDB's
// WriteBufferManager does; who flushes and who waits is decided by the leader of the write queue).
// Thread-safe. A memtable adds whole chunks of its arena, so that a write adds nothing here; with
// relaxed order, as numbers are all that is shared.
class WriteBufferBudget {
 public:
  // Where a memtable is on its way; it moves downwards only.
  enum class Stage : uint8_t {
    kActive,   // takes writes
    kWaiting,  // for its flush, or for the end of the job that has flushed it
    kFlushed,  // or dropped: readers alone hold it
  };

  // 0: no bound.
  explicit WriteBufferBudget(size_t limit_bytes = 0) : limit_bytes_(limit_bytes) {}
  WriteBufferBudget(const WriteBufferBudget&) = delete;
  WriteBufferBudget& operator=(const WriteBufferBudget&) = delete;

  size_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  void set_limit_bytes(size_t bytes) { limit_bytes_.store(bytes, std::memory_order_relaxed); }
  // Where all these memtables have their small chunks.
  filter::internal::SlabPool& chunks() { return chunks_; }
  // Of all memtables that there are.
  size_t memory_bytes() const { return total_.load(std::memory_order_relaxed); }
  size_t active_bytes() const { return active_.load(std::memory_order_relaxed); }
  // Of those that readers alone still hold.
  size_t held_bytes() const {
    const size_t in_use = active_bytes() + waiting_.load(std::memory_order_relaxed);
    return std::max(memory_bytes(), in_use) - in_use;
  }

  // Active memtables should be flushed above the one, down to the other. The half above is for
  // those whose flush is under way, and what is flushed at one time shares one new log.
  size_t switch_above_bytes() const {
    const size_t limit = limit_bytes();
    return limit == 0 ? SIZE_MAX : limit / 2;
  }
  size_t switch_down_to_bytes() const { return limit_bytes() / 8 * 3; }
  // Everything is taken, and flushes will give some of it back. What only readers hold comes back
  // when they please: nobody may wait for that.
  bool MustWait() const {
    const size_t limit = limit_bytes();
    return limit != 0 && memory_bytes() >= limit && waiting_.load(std::memory_order_relaxed) != 0;
  }
  // How near writes are to that while a flush is on its way: 0 where one begins, 1 where they wait.
  double NearnessToWaiting() const {
    if (limit_bytes() == 0 || waiting_.load(std::memory_order_relaxed) == 0) return 0;
    const auto room = static_cast<double>(limit_bytes() - switch_above_bytes());
    const auto used =
        static_cast<double>(memory_bytes()) - static_cast<double>(switch_above_bytes());
    return std::clamp(used / room, 0.0, 1.0);
  }
  // What a memtable grows to if all grow alike.
  size_t ShareOfOne() const {
    const size_t num_active = num_active_.load(std::memory_order_relaxed);
    const size_t above = switch_above_bytes();
    return above == SIZE_MAX ? SIZE_MAX : above / std::max<size_t>(num_active, 1);
  }

  // There is another active memtable, which has no bytes yet.
  void Begin() { num_active_.fetch_add(1, std::memory_order_relaxed); }
  // An active memtable takes bytes.
  void Grow(size_t bytes) {
    total_.fetch_add(bytes, std::memory_order_relaxed);
    active_.fetch_add(bytes, std::memory_order_relaxed);
  }
  // One that has `bytes` passes from one stage to a later one.
  void Move(size_t bytes, Stage from, Stage to) {
    Leave(bytes, from);
    if (to == Stage::kWaiting) waiting_.fetch_add(bytes, std::memory_order_relaxed);
  }
  // It is gone.
  void Free(size_t bytes, Stage from) {
    Leave(bytes, from);
    total_.fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  void Leave(size_t bytes, Stage stage) {
    if (stage == Stage::kActive) {
      active_.fetch_sub(bytes, std::memory_order_relaxed);
      num_active_.fetch_sub(1, std::memory_order_relaxed);
    } else if (stage == Stage::kWaiting) {
      waiting_.fetch_sub(bytes, std::memory_order_relaxed);
    }
  }

  std::atomic<size_t> limit_bytes_;
  filter::internal::SlabPool chunks_;
  std::atomic<size_t> total_{0};
  std::atomic<size_t> active_{0};
  std::atomic<size_t> waiting_{0};
  std::atomic<size_t> num_active_{0};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_WRITE_BUFFER_BUDGET_H_
