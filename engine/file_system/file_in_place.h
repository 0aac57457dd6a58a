// Whether a file is still where it was put: nobody but a stranger, or an administrator in error,
// removes, replaces or cuts the files that a process has open.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_FILE_IN_PLACE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_FILE_IN_PLACE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "winnow/file_system.h"

namespace winnow {

class FileInPlace {
 public:
  enum class Size { kAny, kOnlyGrows };

  FileInPlace() = default;  // of no file: always in place
  // The file that `path` names now. One that cannot be identified counts as in place for ever.
  FileInPlace(FileSystem& file_system, std::string path, Size size);

  // DataLoss if the path names another file or none, or if a file that only grows has become
  // shorter since it was last looked at.
  absl::Status Check(FileSystem& file_system);

  // True if both are about the same file.
  bool IsSameFile(const FileInPlace& other) const;

 private:
  std::string path_;
  Size size_ = Size::kAny;
  std::optional<FileIdentity> identity_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_FILE_IN_PLACE_H_
