#include "tests/support/steady_clock_hook.h"

#include <atomic>

namespace winnow {
namespace {

using SteadyTimePoint = std::chrono::steady_clock::time_point;
using Ticks = std::chrono::steady_clock::rep;

// Real time is waited for by the time that threads take for now: beside a clock that stood behind
// it, or at it, no wait would last.
constexpr std::chrono::hours kAheadOfWaits{1};

std::atomic<Ticks> ahead{0};
std::atomic<Ticks> stands_at{0};  // 0: it runs

Ticks TicksOf(std::chrono::steady_clock::duration duration) { return duration.count(); }

}  // namespace

// std::chrono::steady_clock::now, by the names that compilers of Linux and their linkers give it.
SteadyTimePoint RealSteadyNow() __asm__("__real__ZNSt6chrono3_V212steady_clock3nowEv");
SteadyTimePoint HookedSteadyNow() __asm__("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");

SteadyTimePoint HookedSteadyNow() {
  const std::chrono::steady_clock::duration more(ahead.load());
  const Ticks standing = stands_at.load();
  if (standing == 0) return RealSteadyNow() + more;
  return SteadyTimePoint(std::chrono::steady_clock::duration(standing)) + more;
}

void AdvanceSteadyClock(std::chrono::milliseconds by) { ahead.fetch_add(TicksOf(by)); }

StoppedSteadyClock::StoppedSteadyClock() {
  stands_at.store(TicksOf((RealSteadyNow() + kAheadOfWaits).time_since_epoch()));
}
StoppedSteadyClock::~StoppedSteadyClock() { stands_at.store(0); }

}  // namespace winnow
