// The clock that delays and stalls are measured with, so that tests can bring their own.
#ifndef WINNOW_ENGINE_BASE_STEADY_CLOCK_H_
#define WINNOW_ENGINE_BASE_STEADY_CLOCK_H_

#include <chrono>
#include <functional>

namespace winnow {

using SteadyTime = std::chrono::steady_clock::time_point;

// The present moment; it never goes back.
using SteadyClock = std::function<SteadyTime()>;

inline SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }

inline std::chrono::microseconds MicrosSince(SteadyTime begin, SteadyTime now = SteadyNow()) {
  return std::chrono::duration_cast<std::chrono::microseconds>(now - begin);
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_STEADY_CLOCK_H_
