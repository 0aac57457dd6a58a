#include "tools/report/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace winnow::report {

namespace {

absl::Status FileError(const std::string& path, const char* what) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno)));
}

absl::Status WriteAll(int descriptor, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return FileError(path, "write");
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// A device or a pipe: renaming a file over its name would replace the thing itself.
absl::Status WriteInto(const std::string& path, std::string_view bytes) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return FileError(path, "open");
  absl::Status status = WriteAll(descriptor, path, bytes);
  if (close(descriptor) != 0) status.Update(FileError(path, "close"));
  return status;
}

// The descriptor that a name in the directory of this process's own stands for.
std::optional<int> AsOwnDescriptor(const std::filesystem::path& path) {
  std::error_code error;
  const std::string directory = std::filesystem::canonical(path.parent_path(), error).string();
  if (directory != "/dev/fd" && directory != absl::StrCat("/proc/", getpid(), "/fd")) {
    return std::nullopt;
  }
  const std::string name = path.filename().string();
  int descriptor = -1;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  if (wrong != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return descriptor;
}

// Where a path leads.
struct Target {
  std::string path;
  std::optional<int> descriptor;
};

// A symbolic link stays one: the file behind it is replaced, or made where there is none. But what
// is behind a descriptor of this process (/dev/stdout, /dev/fd/1) is not known by its name alone:
// whoever opened it may have it appended to.
Target BehindLinks(const std::string& path) {
  std::filesystem::path behind = path;
  std::error_code error;
  for (int links = 0; links < 40; links++) {
    if (const std::optional<int> own = AsOwnDescriptor(behind)) return {behind.string(), own};
    if (!std::filesystem::is_symlink(behind, error)) break;
    behind = behind.parent_path() / std::filesystem::read_symlink(behind, error);
  }
  return {behind.string(), std::nullopt};
}

}  // namespace

absl::Status WriteWholeFile(const std::string& path, std::string_view bytes) {
  const Target target = BehindLinks(path);
  if (target.descriptor.has_value()) return WriteAll(*target.descriptor, path, bytes);
  struct stat found;
  const bool exists = stat(path.c_str(), &found) == 0;
  // A circle of links, too, which would be replaced by a file.
  if (!exists && errno != ENOENT) return FileError(path, "open");
  if (exists && !S_ISREG(found.st_mode)) return WriteInto(path, bytes);
  const std::string& final_path = target.path;
  const std::string temporary = final_path + ".part";
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return FileError(temporary, "create");
  absl::Status status;
  // A file that is not for everyone to read stays so.
  if (exists && fchmod(descriptor, found.st_mode & 0777) != 0) {
    status = FileError(temporary, "set the permissions of");
  }
  if (status.ok()) status = WriteAll(descriptor, temporary, bytes);
  if (status.ok() && fsync(descriptor) != 0) status = FileError(temporary, "sync");
  if (close(descriptor) != 0) status.Update(FileError(temporary, "close"));
  if (status.ok() && std::rename(temporary.c_str(), final_path.c_str()) != 0) {
    status = FileError(path, "rename to");
  }
  if (!status.ok()) unlink(temporary.c_str());
  return status;
}

absl::Status WriteReportFile(const std::string& path, std::string_view contents) {
  return path.empty() ? absl::OkStatus() : WriteWholeFile(path, contents);
}

}  // namespace winnow::report
