// Errors as LevelDB words them, for programs that look at the text.
#ifndef WINNOW_ENGINE_COMPAT_ERROR_TEXT_H_
#define WINNOW_ENGINE_COMPAT_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"

namespace winnow {

// The kinds of error that LevelDB knows.
enum class LevelDbErrorKind { kNotFound, kCorruption, kNotSupported, kInvalidArgument, kIoError };

// The kind that comes nearest to `status`, which is an error.
LevelDbErrorKind LevelDbErrorKindOf(const absl::Status& status);

// "Corruption: MESSAGE" and so on; the message is that of `status`, which is an error.
std::string LevelDbErrorText(const absl::Status& status);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_ERROR_TEXT_H_
