// Time that passes when a test says so.
#ifndef WINNOW_TESTS_SUPPORT_TEST_CLOCK_H_
#define WINNOW_TESTS_SUPPORT_TEST_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "winnow/clock.h"

namespace winnow {

class TestClock final : public Clock {
 public:
  uint64_t NowMicros() const override {
    asked_.fetch_add(1, std::memory_order_relaxed);
    return now_.load(std::memory_order_relaxed);
  }
  void SetSeconds(uint64_t seconds) { now_.store(seconds * 1'000'000, std::memory_order_relaxed); }
  void AdvanceSeconds(uint64_t seconds) { AdvanceMicros(seconds * 1'000'000); }
  void AdvanceMicros(uint64_t micros) { now_.fetch_add(micros, std::memory_order_relaxed); }
  uint64_t seconds() const { return now_.load(std::memory_order_relaxed) / 1'000'000; }
  // How often somebody wanted to know.
  uint64_t asked() const { return asked_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> now_{uint64_t{1'000'000} * 1'000'000};
  mutable std::atomic<uint64_t> asked_{0};
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_TEST_CLOCK_H_
