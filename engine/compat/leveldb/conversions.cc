#include "engine/compat/leveldb/conversions.h"

#include "absl/strings/string_view.h"
#include "engine/base/status.h"
#include "engine/compat/error_text.h"

namespace leveldb {

// The message goes over as it is; Status::ToString puts the kind in front, as LevelDB's does.
Status ToStatus(const absl::Status& status) {
  if (status.ok()) [[likely]]
    return Status::OK();
  const Slice message = ToSlice(winnow::ToStd(status.message()));
  switch (winnow::LevelDbErrorKindOf(status)) {
    case winnow::LevelDbErrorKind::kNotFound:
      return Status::NotFound(message);
    case winnow::LevelDbErrorKind::kCorruption:
      return Status::Corruption(message);
    case winnow::LevelDbErrorKind::kNotSupported:
      return Status::NotSupported(message);
    case winnow::LevelDbErrorKind::kInvalidArgument:
      return Status::InvalidArgument(message);
    case winnow::LevelDbErrorKind::kIoError:
      break;
  }
  return Status::IOError(message);
}

// For errors of a program's own Env. IOError becomes Unavailable, which is what the
// store's own file system returns for errors of the device; that a disk is full cannot be told from
// it in LevelDB's interface.
absl::Status FromStatus(const Status& status) {
  if (status.ok()) return absl::OkStatus();
  // With the kind in front: the text is all that is left of it if the store wraps the error.
  const std::string text = status.ToString();
  if (status.IsNotFound()) return absl::NotFoundError(text);
  if (status.IsCorruption()) return absl::DataLossError(text);
  if (status.IsInvalidArgument()) return absl::InvalidArgumentError(text);
  if (status.IsNotSupportedError()) return absl::UnimplementedError(text);
  return absl::UnavailableError(text);
}

}  // namespace leveldb
