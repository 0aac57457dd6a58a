// Compiled and linked by CMake alone, into a shared library: uses each part of Abseil that Winnow
// uses, to see whether the archives at hand can be in one.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

absl::StatusOr<std::string> UseEachPart(double number) {
  absl::Status status = absl::InternalError(absl::StrCat(number));
  status.SetPayload("time", absl::Cord(absl::FormatTime(absl::Now())));
  if (number > 0) return status;
  return status.ToString();
}
