// What a guard counts: each thread in cache lines of its own, so that hits share none. Internal.

#ifndef WINNOW_GUARD_COUNTERS_H_
#define WINNOW_GUARD_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "winnow/guard/statistics.h"

namespace winnow::guard::internal {

class Counters {
 public:
  // One of GuardStatistics' numbers.
  void Count(uint64_t GuardStatistics::*number) {
    std::atomic_ref(parts_[PartOfThread()].numbers.*number).fetch_add(1, std::memory_order_relaxed);
  }
  // The sum of all threads' numbers; the breaker's state is left as it is.
  GuardStatistics Sum() const;

 private:
  static constexpr size_t kParts = 64;
  struct alignas(64) Part {
    mutable GuardStatistics numbers;  // by std::atomic_ref alone
  };

  static size_t PartOfThread() {
    static std::atomic<size_t> next = 0;
    thread_local const size_t part = next.fetch_add(1, std::memory_order_relaxed) % kParts;
    return part;
  }

  std::array<Part, kParts> parts_;
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_COUNTERS_H_
