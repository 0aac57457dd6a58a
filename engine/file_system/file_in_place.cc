#include "engine/file_system/file_in_place.h"

#include <utility>

#include "engine/base/status.h"

namespace winnow {

FileInPlace::FileInPlace(FileSystem& file_system, std::string path, Size size)
    : path_(std::move(path)), size_(size) {
  // A file system without identities, like LevelDB's Envs, leaves it unset: nothing is checked
  // then.
  const absl::StatusOr<FileIdentity> identity = file_system.Identify(path_);
  if (identity.ok()) identity_ = *identity;
}

// Only what is certain counts: a look that fails for another reason proves nothing.
absl::Status FileInPlace::Check(FileSystem& file_system) {
  if (!identity_.has_value()) return absl::OkStatus();
  const absl::StatusOr<FileIdentity> now = file_system.Identify(path_);
  if (absl::IsNotFound(now.status())) {
    return CorruptionError(path_, "was removed or renamed while the database is open");
  }
  if (!now.ok()) return absl::OkStatus();
  if (now->device != identity_->device || now->number != identity_->number) {
    return CorruptionError(path_, "was replaced by another file while the database is open");
  }
  if (size_ == Size::kOnlyGrows && now->bytes < identity_->bytes) {
    return CorruptionError(path_, absl::StrCat("was cut from ", identity_->bytes, " to ",
                                               now->bytes, " bytes while the database is open"));
  }
  // The next cut is measured from here.
  identity_->bytes = now->bytes;
  return absl::OkStatus();
}

bool FileInPlace::IsSameFile(const FileInPlace& other) const {
  return identity_.has_value() && other.identity_.has_value() &&
         identity_->device == other.identity_->device &&
         identity_->number == other.identity_->number;
}

}  // namespace winnow
