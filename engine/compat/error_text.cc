#include "engine/compat/error_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "winnow/comparator.h"

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

namespace {

// LevelDB locks a database before it looks whether there is one.
bool IsUnwritableDirectory(const std::string& name) {
  return ::access(name.c_str(), F_OK) == 0 &&
         ::faccessat(AT_FDCWD, name.c_str(), W_OK | X_OK, AT_EACCESS) != 0;
}

// The store's own order has LevelDB's name here: programs know no other.
std::string_view LevelDbComparatorName(std::string_view name) {
  return name == BytewiseComparator()->Name() ? "leveldb.BytewiseComparator" : name;
}

// The store's error of another comparator as LevelDB words it, nothing if `message` is another one.
// The text tells it apart, because FailedPrecondition has other reasons too.
std::optional<absl::Status> OtherComparatorError(std::string_view message) {
  constexpr std::string_view kWritten = " was written with comparator '";
  constexpr std::string_view kGiven = "', but the options give '";
  // The family's name stands before the one text and comparators' names around the other: the first
  // match of the one and the last of the other are the store's own, whatever the names hold.
  const size_t written = message.find(kWritten);
  const size_t given = message.rfind(kGiven);
  if (written == std::string_view::npos || given == std::string_view::npos) return std::nullopt;
  const size_t written_name = written + kWritten.size();
  const size_t given_name = given + kGiven.size();
  const auto name = [message](size_t begin, size_t end) {
    return ToAbsl(LevelDbComparatorName(message.substr(begin, end - begin)));
  };
  return absl::InvalidArgumentError(
      absl::StrCat(name(written_name, given),
                   " does not match existing comparator : ", name(given_name, message.size() - 1)));
}

}  // namespace

// The texts are LevelDB's to the letter.
absl::Status LevelDbOpenError(const absl::Status& status, const std::string& name,
                              bool create_if_missing) {
  if (absl::IsNotFound(status) && !create_if_missing) {
    if (IsUnwritableDirectory(name)) {
      return absl::PermissionDeniedError(absl::StrCat(name, "/LOCK: Permission denied"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": does not exist (create_if_missing is false)"));
  }
  if (absl::IsAlreadyExists(status)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": exists (error_if_exists is true)"));
  }
  if (absl::IsFailedPrecondition(status)) {
    if (const auto other = OtherComparatorError(ToStd(status.message()))) return *other;
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
