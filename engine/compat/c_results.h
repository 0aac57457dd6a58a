// What C functions give back: bytes, errors, null. Nothing is thrown across them.
#ifndef WINNOW_ENGINE_COMPAT_C_RESULTS_H_
#define WINNOW_ENGINE_COMPAT_C_RESULTS_H_

#include <new>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

// A malloc'ed copy with a zero byte behind it; null if there is no memory.
char* CopyToC(std::string_view bytes);

// The text of that error, for where there is no memory to say so and null means another thing. Not
// malloc'ed: only winnow_free and ReportToC may be given it.
char* OutOfMemoryText();

// Replaces *errptr by the text of an error; OK changes nothing. True if `status` is OK.
bool ReportToC(const absl::Status& status, char** errptr);

// The same for what `call` returns, an absl::Status; that it ran out of memory is one.
template <typename Call>
bool ReportFrom(char** errptr, Call&& call) {
  return ReportToC(CatchOutOfMemory(std::forward<Call>(call)), errptr);
}

// The pointer that `make` returns; null if it ran out of memory.
template <typename Make>
auto NullIfOutOfMemory(Make&& make) -> decltype(make()) {
  try {
    return std::forward<Make>(make)();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// A malloc'ed copy of the text that `call` returns, an absl::StatusOr; null with its error.
template <typename Call>
char* TextToC(Call&& call, char** errptr) {
  char* copy = nullptr;
  ReportFrom(errptr, [&]() -> absl::Status {
    const auto text = std::forward<Call>(call)();
    if (!text.ok()) return text.status();
    copy = CopyToC(*text);
    return copy != nullptr ? absl::OkStatus() : OutOfMemory();
  });
  return copy;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_C_RESULTS_H_
