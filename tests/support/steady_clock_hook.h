// Lets time pass that nobody waits for: the linker sends the program's questions for the steady
// clock here first.
#ifndef WINNOW_TESTS_SUPPORT_STEADY_CLOCK_HOOK_H_
#define WINNOW_TESTS_SUPPORT_STEADY_CLOCK_HOOK_H_

#include <chrono>

namespace winnow {

// From now on the steady clock of this program is ahead by so much more.
void AdvanceSteadyClock(std::chrono::seconds by);

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_STEADY_CLOCK_HOOK_H_
