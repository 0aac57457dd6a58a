// Builders for the errors that name a file, an offset and a reason. The one place where text
// crosses from std::string_view to Abseil.
#ifndef WINNOW_ENGINE_BASE_STATUS_H_
#define WINNOW_ENGINE_BASE_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace winnow {

inline absl::string_view ToAbsl(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}
inline std::string_view ToStd(absl::string_view text) {
  return std::string_view(text.data(), text.size());
}

// DataLoss: bytes that were stored are wrong. "FILE: at offset N: REASON".
absl::Status CorruptionError(std::string_view file, uint64_t offset, std::string_view reason);
// DataLoss without an offset: "FILE: REASON".
absl::Status CorruptionError(std::string_view file, std::string_view reason);
inline bool IsCorruption(const absl::Status& status) { return absl::IsDataLoss(status); }

// For a file that must be there: NotFound becomes DataLoss with the same message.
absl::Status MissingIsDamage(const absl::Status& status);

// The same code with "CONTEXT: " before the message, where context is both texts together. The
// status as it is if there is no memory for that.
absl::Status WithContext(const absl::Status& status, std::string_view context,
                         std::string_view more_context = {}) noexcept;

#define WINNOW_CONCAT_INNER(a, b) a##b
#define WINNOW_CONCAT(a, b) WINNOW_CONCAT_INNER(a, b)

// Leaves the function with the error, if there is one.
#define WINNOW_RETURN_IF_ERROR(expression)                                                 \
  do {                                                                                     \
    if (absl::Status status_or_ok = (expression); !status_or_ok.ok()) return status_or_ok; \
  } while (false)

// WINNOW_ASSIGN_OR_RETURN(auto file, Open(path));
#define WINNOW_ASSIGN_OR_RETURN(target, expression) \
  WINNOW_ASSIGN_OR_RETURN_INNER(WINNOW_CONCAT(status_or_, __LINE__), target, expression)
#define WINNOW_ASSIGN_OR_RETURN_INNER(temporary, target, expression) \
  auto temporary = (expression);                                     \
  if (!temporary.ok()) return std::move(temporary).status();         \
  target = std::move(temporary).value()

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_STATUS_H_
