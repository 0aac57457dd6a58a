// Where exceptions of the user's code end that should not have thrown: operators and filters are
// called by the database's own threads too, where nobody could catch them.
#ifndef WINNOW_ENGINE_BASE_USER_EXCEPTION_H_
#define WINNOW_ENGINE_BASE_USER_EXCEPTION_H_

#include <exception>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace winnow {

// What `call`, which runs the user's code, returns. FailedPrecondition with what it has thrown, but
// for std::bad_alloc, which goes on to where the request for memory ends.
template <typename Call>
absl::Status CatchUserException(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    return absl::FailedPreconditionError(absl::StrCat("has thrown \"", exception.what(), "\""));
  } catch (...) {
    return absl::FailedPreconditionError("has thrown what is no std::exception");
  }
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_USER_EXCEPTION_H_
