// Errors as LevelDB words them, for programs that look at the text.
#ifndef WINNOW_ENGINE_COMPAT_ERROR_TEXT_H_
#define WINNOW_ENGINE_COMPAT_ERROR_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow {

// The kinds of error that LevelDB knows.
enum class LevelDbErrorKind { kNotFound, kCorruption, kNotSupported, kInvalidArgument, kIoError };

// The kind that comes nearest to `status`, which is an error.
LevelDbErrorKind LevelDbErrorKindOf(const absl::Status& status);

// "Corruption: MESSAGE" and so on; the message is that of `status`, which is an error.
std::string LevelDbErrorText(const absl::Status& status);

// The error of opening database `name` as LevelDB has it. InvalidArgument, which programs look for:
// there is none and none may be created, there is one and there may be none, another comparator.
// IOError where there is none in a directory that may not be written to.
absl::Status LevelDbOpenError(const absl::Status& status, const std::string& name,
                              bool create_if_missing);

// The same for repairing one. Programs take NotFound for an absent key, and go on.
absl::Status LevelDbRepairError(const absl::Status& status);

// LevelDB makes the directory of a database, but no parents of it in the operating system's file
// system: programs count on a mistyped path being an error.
absl::Status LevelDbCheckParent(const std::string& name);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_ERROR_TEXT_H_
