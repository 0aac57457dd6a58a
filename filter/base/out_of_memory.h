// Where requests for memory end that the system refuses: as a status, like every other error. What
// happens inside must leave nothing half-done when it is cut short.
#ifndef WINNOW_FILTER_BASE_OUT_OF_MEMORY_H_
#define WINNOW_FILTER_BASE_OUT_OF_MEMORY_H_

#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"

namespace winnow {

// ResourceExhausted, "out of memory". Made when the program starts: a copy takes no memory, and
// when there is none is when it is wanted.
const absl::Status& OutOfMemory();

// What `call` returns, an absl::Status or absl::StatusOr; OutOfMemory() if it ran out of memory. It
// is called at once, so that a lambda may be annotated to require what its surroundings hold; the
// analysis checks its body, but cannot see through this call.
template <typename Call>
ABSL_NO_THREAD_SAFETY_ANALYSIS auto CatchOutOfMemory(Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

// For what may be left out, or is done again later: false if `call` ran out of memory.
template <typename Call>
ABSL_NO_THREAD_SAFETY_ANALYSIS bool UnlessOutOfMemory(Call&& call) noexcept {
  try {
    std::forward<Call>(call)();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace winnow

#endif  // WINNOW_FILTER_BASE_OUT_OF_MEMORY_H_
