// Where the library's own requests for memory end when there is none: as a status, like every other
// error. What happens inside must leave nothing half-done when it is cut short.
#ifndef WINNOW_ENGINE_BASE_OUT_OF_MEMORY_H_
#define WINNOW_ENGINE_BASE_OUT_OF_MEMORY_H_

#include <new>
#include <utility>

#include "absl/status/status.h"

namespace winnow {

// What `call` returns, an absl::Status or absl::StatusOr; ResourceExhausted if it ran out of
// memory.
template <typename Call>
auto CatchOutOfMemory(Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  }
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_OUT_OF_MEMORY_H_
