// Latches on rows: who changes a row does it alone, so that the changes of a row take effect in the
// order of their write numbers, and so that what is read before a change is still so when it is
// made.
#ifndef WINNOW_ENGINE_TABLE_ROW_LATCHES_H_
#define WINNOW_ENGINE_TABLE_ROW_LATCHES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace winnow {

// A fixed number of latches; rows share them by hash. Thread-safe. A latch is a word to wait on
// rather than a mutex: one guard may hold all of them, and tools that watch a thread's mutexes
// (ThreadSanitizer: 64) allow few at a time.
class RowLatches {
 public:
  static constexpr size_t kNumLatches = 1024;

  // Which latch is that of a row. Rows of equal bytes share one, whatever table they are of.
  static uint16_t LatchOf(std::string_view row);
  // For a guard that will soon be made.
  void Prefetch(uint16_t latch) const { __builtin_prefetch(&latches_[latch], /*rw=*/1); }

 private:
  friend class RowLatchGuard;
  class alignas(64) Latch {
   public:
    void Lock() {
      while (held_.exchange(1, std::memory_order_acquire)) held_.wait(1);
    }
    void Unlock() {
      held_.store(0, std::memory_order_release);
      held_.notify_one();
    }

   private:
    std::atomic<int> held_{0};
  };
  std::array<Latch, kNumLatches> latches_;
};

// Holds latches for a scope. They are taken in ascending order, so that no two guards wait for each
// other; the thread that makes one holds no other. Which ones is known only at run time, and beyond
// what clang's analysis of locks can follow.
class [[nodiscard]] RowLatchGuard {
 public:
  RowLatchGuard(RowLatches& latches, uint16_t latch);
  // In any order, repetitions too.
  RowLatchGuard(RowLatches& latches, std::vector<uint16_t> wanted);
  // All of them: nobody writes meanwhile.
  explicit RowLatchGuard(RowLatches& latches);
  ~RowLatchGuard();
  RowLatchGuard(const RowLatchGuard&) = delete;
  RowLatchGuard& operator=(const RowLatchGuard&) = delete;

 private:
  void LockHeld();

  RowLatches& latches_;
  const uint16_t single_ = 0;
  const bool is_single_;
  std::vector<uint16_t> held_;  // ascending; if it is not a single one
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_LATCHES_H_
