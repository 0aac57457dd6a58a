#include "tools/winnow/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::cli {

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const std::string reason = std::strerror(errno);
    return absl::NotFoundError(absl::StrCat(path, ": cannot open: ", reason));
  }
  // Reading would say so only once something has been made for what was to be read.
  InputFile file(descriptor, path);
  struct stat status = {};
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot open: it is a directory"));
  }
  return file;
}

uint64_t InputFile::size_bytes() const {
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<uint64_t>(status.st_size);
}

absl::Status InputFile::Append(uint64_t most, std::string* bytes) const {
  constexpr uint64_t kReadBytes = uint64_t{1} << 20;
  bytes->reserve(std::min(most, size_bytes()));
  while (bytes->size() < most) {
    const size_t old_size = bytes->size();
    const uint64_t wanted = std::min(most - old_size, kReadBytes);
    bytes->resize(old_size + wanted);
    const ssize_t count = read(descriptor_, bytes->data() + old_size, wanted);
    bytes->resize(old_size + static_cast<size_t>(count > 0 ? count : 0));
    if (count == 0) break;
    if (count < 0 && errno != EINTR) {
      return absl::UnavailableError(absl::StrCat(name_, ": cannot read: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<InputFile>> OpenInputs(const std::vector<std::string>& paths) {
  std::vector<InputFile> files;
  for (const std::string& path : paths) {
    if (path == "-") {
      files.push_back(InputFile::StandardInput());
      continue;
    }
    WINNOW_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
    files.push_back(std::move(file));
  }
  if (files.empty()) files.push_back(InputFile::StandardInput());
  return files;
}

uint64_t TotalBytes(const std::vector<InputFile>& files) {
  uint64_t bytes = 0;
  for (const InputFile& file : files) bytes += file.size_bytes();
  return bytes;
}

}  // namespace winnow::cli
