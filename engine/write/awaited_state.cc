#include "engine/write/awaited_state.h"

#include <chrono>
#include <thread>
#include <utility>

#include "engine/base/steady_clock.h"

namespace winnow {

namespace {

// Spinning for about a microsecond saves a system call when the other is nearly done.
constexpr int kSpins = 100;
constexpr std::chrono::microseconds kYieldFor{100};
// A yield that takes as long has let another thread run; after so many, others need the processor.
constexpr std::chrono::microseconds kSlowYield{3};
constexpr int kSlowYields = 3;

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Most waits are for one group of another thread, some microseconds; a sleep and the wake from it
// cost fifty. So the processor is offered to others a while before this thread sleeps, until they
// take it, which shows in how long it is away, or until the other must be at something slow. (The
// three steps are RocksDB's write thread's.)
int AwaitedState::AwaitChange(int from, bool takes_long) {
  for (int spin = 0; spin < kSpins; spin++) {
    const int state = state_.load(std::memory_order_acquire);
    if (state != from) return state;
    CpuRelax();
  }
  SteadyTime now = SteadyNow();
  const SteadyTime end = now + (takes_long ? SteadyTime::duration(0) : kYieldFor);
  for (int slow = 0; now < end && slow < kSlowYields;) {
    std::this_thread::yield();
    const int state = state_.load(std::memory_order_acquire);
    if (state != from) return state;
    const SteadyTime before = std::exchange(now, SteadyNow());
    slow += now - before >= kSlowYield ? 1 : 0;
  }
  state_.wait(from, std::memory_order_acquire);
  return state_.load(std::memory_order_acquire);
}

}  // namespace winnow
