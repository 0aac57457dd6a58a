#include "engine/compat/error_text.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// LevelDB has five kinds, absl::Status sixteen. A program can act on three of them: a key or file
// is not there, data is damaged, the call was wrong. "Exists already" is the last of these, as it
// is with error_if_exists. All others are IOError, among them those that LevelDB reports so as
// well: a lock that somebody holds, a full disk.
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

// The prefix is part of the interface: C programs have nothing else to tell errors apart, and those
// of leveldb/c.h look for these words. "Not implemented" is what LevelDB says for NotSupported.
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

// The texts of the first two are LevelDB's to the letter. The comparator is known by its text
// because FailedPrecondition has other reasons too.
absl::Status LevelDbOpenError(const absl::Status& status, std::string_view name,
                              bool create_if_missing) {
  if (absl::IsNotFound(status) && !create_if_missing) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(name), ": does not exist (create_if_missing is false)"));
  }
  if (absl::IsAlreadyExists(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(name), ": exists (error_if_exists is true)"));
  }
  if (absl::IsFailedPrecondition(status) &&
      ToStd(status.message()).find("written with comparator") != std::string_view::npos) {
    return absl::InvalidArgumentError(status.message());
  }
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status;
}

// IOError, as LevelDB had it before 1.22: its NotFound since then passes for an absent key.
absl::Status LevelDbCheckParent(const std::string& name) {
  const size_t end = name.find_last_not_of('/');
  const size_t slash = end == std::string::npos ? end : name.rfind('/', end);
  if (slash == std::string::npos || slash == 0) return absl::OkStatus();
  if (::access(name.substr(0, slash).c_str(), F_OK) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(name, ": No such file or directory"));
}

absl::Status LevelDbRepairError(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace winnow
