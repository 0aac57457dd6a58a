#include "tools/winnow/unfinished_marker.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "winnow/file_system.h"

namespace winnow::cli {
namespace {
constexpr uint64_t kMaxMarkerBytes = 64 << 10;
}  // namespace

std::string CanonicalPath(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, unknown);
  return unknown ? path : canonical.string();
}

UnfinishedMarker::UnfinishedMarker(const std::string& directory, const std::string& name,
                                   std::string work, std::string source)
    : directory_(directory),
      path_(absl::StrCat(directory, "/", name)),
      work_(std::move(work)),
      source_(std::move(source)) {}

absl::StatusOr<bool> UnfinishedMarker::Exists() const {
  const auto found = ReadFile(*PosixFileSystem(), path_, kMaxMarkerBytes);
  if (absl::IsNotFound(found.status())) return false;
  if (!found.ok()) return found.status();
  if (*found == source_) return true;
  return absl::FailedPreconditionError(absl::StrCat(path_, " says that an ", work_, " from ",
                                                    *found, " is unfinished: finish it or remove ",
                                                    directory_));
}

absl::Status UnfinishedMarker::Write() const {
  return WriteFileAtomically(*PosixFileSystem(), path_, source_);
}

absl::Status UnfinishedMarker::Remove() const { return PosixFileSystem()->Remove(path_); }

}  // namespace winnow::cli
