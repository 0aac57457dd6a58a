#include "engine/compat/error_text.h"

#include "absl/strings/str_cat.h"

namespace winnow {

LevelDbErrorKind LevelDbErrorKindOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
      return LevelDbErrorKind::kNotFound;
    case absl::StatusCode::kDataLoss:
      return LevelDbErrorKind::kCorruption;
    case absl::StatusCode::kUnimplemented:
      return LevelDbErrorKind::kNotSupported;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
      return LevelDbErrorKind::kInvalidArgument;
    default:
      return LevelDbErrorKind::kIoError;
  }
}

std::string LevelDbErrorText(const absl::Status& status) {
  const auto with_prefix = [&status](absl::string_view prefix) {
    return absl::StrCat(prefix, ": ", status.message());
  };
  switch (LevelDbErrorKindOf(status)) {
    case LevelDbErrorKind::kNotFound:
      return with_prefix("NotFound");
    case LevelDbErrorKind::kCorruption:
      return with_prefix("Corruption");
    case LevelDbErrorKind::kNotSupported:
      return with_prefix("Not implemented");
    case LevelDbErrorKind::kInvalidArgument:
      return with_prefix("Invalid argument");
    case LevelDbErrorKind::kIoError:
      break;
  }
  return with_prefix("IO error");
}

}  // namespace winnow
