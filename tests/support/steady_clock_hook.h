// Lets time pass that nobody waits for: the linker sends the program's questions for the steady
// clock here first.
#ifndef WINNOW_TESTS_SUPPORT_STEADY_CLOCK_HOOK_H_
#define WINNOW_TESTS_SUPPORT_STEADY_CLOCK_HOOK_H_

#include <chrono>

namespace winnow {

// From now on the steady clock of this program is ahead by so much more.
void AdvanceSteadyClock(std::chrono::milliseconds by);

// While it is there the clock stands but for AdvanceSteadyClock, so that what is measured does not
// go by the speed of the machine. It jumps an hour ahead first: who waits until a time that is not
// so far off is woken by signals alone.
class StoppedSteadyClock {
 public:
  StoppedSteadyClock();
  ~StoppedSteadyClock();
  StoppedSteadyClock(const StoppedSteadyClock&) = delete;
  StoppedSteadyClock& operator=(const StoppedSteadyClock&) = delete;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_STEADY_CLOCK_HOOK_H_
