// The answer to every call that comes after a database's Close, or that Close cuts short.
#ifndef WINNOW_ENGINE_BASE_DATABASE_CLOSED_H_
#define WINNOW_ENGINE_BASE_DATABASE_CLOSED_H_

#include "absl/status/status.h"

namespace winnow {

inline absl::Status DatabaseClosedError() {
  return absl::FailedPreconditionError("the database is closed");
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_DATABASE_CLOSED_H_
