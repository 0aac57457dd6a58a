#include "tests/support/steady_clock_hook.h"

#include <atomic>
#include <cstdint>

namespace winnow {
namespace {

using SteadyTimePoint = std::chrono::steady_clock::time_point;

std::atomic<int64_t> seconds_ahead{0};

}  // namespace

// std::chrono::steady_clock::now, by the names that compilers of Linux and their linkers give it.
SteadyTimePoint RealSteadyNow() __asm__("__real__ZNSt6chrono3_V212steady_clock3nowEv");
SteadyTimePoint SteadyNowAhead() __asm__("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");

SteadyTimePoint SteadyNowAhead() {
  return RealSteadyNow() + std::chrono::seconds(seconds_ahead.load());
}

void AdvanceSteadyClock(std::chrono::seconds by) { seconds_ahead.fetch_add(by.count()); }

}  // namespace winnow
