// Where exceptions end that code of the program's throws: loaders, scans and filters.
// Internal.

#ifndef WINNOW_GUARD_USER_CALL_H_
#define WINNOW_GUARD_USER_CALL_H_

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"

namespace winnow::guard::internal {

// What `call`, a Status or StatusOr of the program's code, returns; Internal with what it has
// thrown, which names `what`, "the loader".
template <typename Call>
auto CatchFrom(const char* what, Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& error) {
    return CatchOutOfMemory(
        [&] { return absl::InternalError(absl::StrCat(what, " threw: ", error.what())); });
  } catch (...) {
    return CatchOutOfMemory([&] { return absl::InternalError(absl::StrCat(what, " threw")); });
  }
}

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_USER_CALL_H_
