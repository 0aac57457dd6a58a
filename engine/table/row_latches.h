// Latches on rows: who changes a row does it alone, so that the changes of a row take effect in the
// order of their write numbers, and so that what is read before a change is still so when it is
// made.
#ifndef WINNOW_ENGINE_TABLE_ROW_LATCHES_H_
#define WINNOW_ENGINE_TABLE_ROW_LATCHES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "filter/base/mutex.h"

namespace winnow {

// A fixed number of latches; rows share them by hash. Thread-safe.
class RowLatches {
 public:
  static constexpr size_t kNumLatches = 1024;

  // Which latch is that of a row. Rows of equal bytes share one, whatever table they are of.
  static uint16_t LatchOf(std::string_view row);

 private:
  friend class RowLatchGuard;
  struct alignas(64) Latch {
    Mutex mutex;
  };
  std::array<Latch, kNumLatches> latches_;
};

// Holds latches for a scope. They are taken in ascending order, so that no two guards wait for each
// other; the thread that makes one holds no other. Which ones is known only at run time, and beyond
// what the analysis of locks can follow.
class [[nodiscard]] RowLatchGuard {
 public:
  RowLatchGuard(RowLatches& latches, uint16_t latch) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // In any order, repetitions too.
  RowLatchGuard(RowLatches& latches, std::vector<uint16_t> wanted) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // All of them: nobody writes meanwhile.
  explicit RowLatchGuard(RowLatches& latches) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  ~RowLatchGuard() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  RowLatchGuard(const RowLatchGuard&) = delete;
  RowLatchGuard& operator=(const RowLatchGuard&) = delete;

 private:
  void LockHeld() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  RowLatches& latches_;
  const uint16_t single_ = 0;
  const bool is_single_;
  std::vector<uint16_t> held_;  // ascending; if it is not a single one
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_LATCHES_H_
