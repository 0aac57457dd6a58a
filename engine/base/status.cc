#include "engine/base/status.h"

#include <new>

namespace winnow {

// One form for all damage, so that people and scripts find the place: file, offset, reason.
// DataLoss is used for nothing else: whoever meets it knows that retrying cannot help.
absl::Status CorruptionError(std::string_view file, uint64_t offset, std::string_view reason) {
  return absl::DataLossError(
      absl::StrCat(ToAbsl(file), ": at offset ", offset, ": ", ToAbsl(reason)));
}

absl::Status CorruptionError(std::string_view file, std::string_view reason) {
  return absl::DataLossError(absl::StrCat(ToAbsl(file), ": ", ToAbsl(reason)));
}

absl::Status MissingIsDamage(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::DataLossError(status.message()) : status;
}

// Keeps the code: context explains an error to people, callers decide by the code. Out of memory is
// when errors are told too, by code that must not be cut short by another.
absl::Status WithContext(const absl::Status& status, std::string_view context,
                         std::string_view more_context) noexcept {
  if (status.ok()) return status;
  try {
    return absl::Status(
        status.code(), absl::StrCat(ToAbsl(context), ToAbsl(more_context), ": ", status.message()));
  } catch (const std::bad_alloc&) {
    return status;
  }
}

}  // namespace winnow
