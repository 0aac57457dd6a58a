#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "engine/base/status.h"
#include "engine/file_system/posix_file_lock.h"
#include "engine/file_system/posix_file_mapping.h"
#include "engine/file_system/posix_io.h"
#include "engine/file_system/posix_log_file.h"
#include "engine/file_system/posix_writable_file.h"
#include "winnow/file_system.h"

namespace winnow {
namespace {

// Every table under construction has a buffer. Small ones, of which there may be many, fit into the
// first size; larger writes than those of the largest size make the page cache hardly faster.
constexpr PosixWritableFile::BufferSizes kBufferSizes{.first_bytes = size_t{128} << 10,
                                                      .largest_bytes = size_t{512} << 10};

// One descriptor for all threads; ReadFully takes the offset with each call.
class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  PosixRandomAccessFile(FileDescriptor descriptor, std::string path, uint64_t size)
      : path_(std::move(path)), descriptor_(std::move(descriptor)), size_(size) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    return ReadFully(descriptor_.get(), path_, offset, length, buffer);
  }

  uint64_t size() const override { return size_; }

  // The result is ignored: a file system that takes no advice reads as well without.
  void Hint(AccessPattern pattern) override {
    int advice = POSIX_FADV_NORMAL;
    if (pattern == AccessPattern::kRandom) advice = POSIX_FADV_RANDOM;
    if (pattern == AccessPattern::kSequential) advice = POSIX_FADV_SEQUENTIAL;
    ::posix_fadvise(descriptor_.get(), 0, 0, advice);
  }

  void Prefetch(uint64_t offset, size_t length) const override {
    ::posix_fadvise(descriptor_.get(), static_cast<off_t>(offset), static_cast<off_t>(length),
                    POSIX_FADV_WILLNEED);
  }

  int Descriptor(std::shared_ptr<const void>* holder) const override { return descriptor_.get(); }

  std::unique_ptr<FileMapping> Map() const override {
    return MapPosixFile(descriptor_.get(), size_);
  }

 private:
  const std::string path_;
  const FileDescriptor descriptor_;
  const uint64_t size_;
};

// Stateless: every call is one or a few system calls on a path, so that it needs no lock. What is
// durable when is the caller's business: only Sync and SyncDirectory wait for the disk.
class PosixFileSystemImplementation final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    // Access times that nobody reads cost a clock look-up for each read; only a file's owner may
    // leave them out. Without O_NONBLOCK, to open a named pipe waits for a writer.
    auto opened = OpenDescriptor(path, O_RDONLY | O_NONBLOCK | O_NOATIME);
    if (absl::IsPermissionDenied(opened.status())) {
      opened = OpenDescriptor(path, O_RDONLY | O_NONBLOCK);
    }
    if (!opened.ok()) return opened.status();
    FileDescriptor descriptor = *std::move(opened);
    struct stat information;
    if (::fstat(descriptor.get(), &information) != 0) return PosixError(path, "stat", errno);
    // open(2) takes a directory for reading; only the first read would fail.
    if (S_ISDIR(information.st_mode)) return PosixError(path, "open", EISDIR);
    if (!S_ISREG(information.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": open: not a regular file"));
    }
    return std::unique_ptr<RandomAccessFile>(std::make_unique<PosixRandomAccessFile>(
        std::move(descriptor), path, static_cast<uint64_t>(information.st_size)));
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    const bool is_log = options.mode == WritableFileOptions::Mode::kLog;
    WINNOW_ASSIGN_OR_RETURN(FileDescriptor descriptor,
                            // A shared mapping for writing needs a descriptor that may read.
                            OpenDescriptor(path, O_CREAT | O_TRUNC | (is_log ? O_RDWR : O_WRONLY)));
    if (is_log && PosixLogFile::Supports(descriptor.get())) {
      absl::StatusOr<std::unique_ptr<PosixLogFile>> file = PosixLogFile::Create(descriptor, path);
      // Only "cannot reserve space here" falls back to plain writes. A full disk is a full disk.
      if (file.ok() || !absl::IsUnimplemented(file.status())) return file;
    }
    return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(
        // No buffer for a log: every append is to be in the page cache when it returns.
        std::move(descriptor), path, is_log ? PosixWritableFile::BufferSizes{} : kBufferSizes));
  }

  absl::Status Link(const std::string& from, const std::string& to) override {
    // What a symbolic link leads to, and not that link, which would break with its target.
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return absl::OkStatus();
    }
    // Another file system, one that has no links, or a file that has too many: a copy can be made
    // all the same.
    if (errno == EXDEV || errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS ||
        errno == EMLINK) {
      return absl::UnimplementedError(absl::StrCat(to, ": cannot be a link to ", from));
    }
    return PosixError(from, absl::StrCat("link as ", to), errno);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    // Atomic for whoever looks; durable only with SyncDirectory.
    if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return PosixError(from, absl::StrCat("rename to ", to), errno);
  }

  absl::Status Remove(const std::string& path) override {
    // Files that are open, tables under a reader among them, live on without a name.
    if (::unlink(path.c_str()) == 0) return absl::OkStatus();
    return PosixError(path, "remove", errno);
  }

  absl::Status CreateDirectories(const std::string& path) override {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
      const std::string prefix = path.substr(0, slash);
      // From the top, starting behind a leading slash. What exists may be a file: then the next
      // component fails, or the check below.
      if (::mkdir(prefix.c_str(), 0755) != 0 && errno != EEXIST) {
        return PosixError(prefix, "create directory", errno);
      }
      if (slash == std::string::npos) break;
    }
    WINNOW_ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(path));
    if (is_directory) return absl::OkStatus();
    // A symbolic link that leads nowhere is in the way too, though nothing seems to be there.
    std::error_code unreadable;
    const auto target = std::filesystem::read_symlink(path, unreadable);
    if (unreadable) return PosixError(path, "create directory", ENOTDIR);
    return absl::InvalidArgumentError(absl::StrCat(path,
                                                   ": create directory: it is a symbolic link to ",
                                                   target.string(), ", which is no directory"));
  }

  absl::Status RemoveDirectory(const std::string& path) override {
    if (::rmdir(path.c_str()) == 0) return absl::OkStatus();
    return PosixError(path, "remove directory", errno);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    struct CloseDirectory {
      void operator()(DIR* stream) const { ::closedir(stream); }
    };
    const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.c_str()));
    if (stream == nullptr) return PosixError(directory, "list", errno);
    std::vector<std::string> names;
    errno = 0;
    // Null is the end or an error; errno, cleared before each call, tells which.
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) return PosixError(directory, "list", errno);
    return names;
  }

  absl::StatusOr<bool> Exists(const std::string& path) override {
    struct stat information;
    // Symbolic links are followed, here and below: a database may lie behind one.
    if (::stat(path.c_str(), &information) == 0) return true;
    // A component of the path that is a file: nothing below it exists.
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return PosixError(path, "stat", errno);
  }

  absl::StatusOr<bool> IsDirectory(const std::string& path) override {
    struct stat information;
    if (::stat(path.c_str(), &information) == 0) return S_ISDIR(information.st_mode);
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return PosixError(path, "stat", errno);
  }

  absl::StatusOr<uint64_t> FileSize(const std::string& path) override {
    struct stat information;
    if (::stat(path.c_str(), &information) != 0) return PosixError(path, "stat", errno);
    if (S_ISDIR(information.st_mode)) return PosixError(path, "file size", EISDIR);
    return static_cast<uint64_t>(information.st_size);
  }

  absl::StatusOr<FileIdentity> Identify(const std::string& path) override {
    struct stat information;
    if (::stat(path.c_str(), &information) != 0) return PosixError(path, "stat", errno);
    return FileIdentity{information.st_dev, information.st_ino,
                        static_cast<uint64_t>(information.st_size)};
  }

  absl::Status SyncFile(const std::string& path) override {
    // A descriptor that only reads will do: what is synced is the file and not the descriptor.
    WINNOW_ASSIGN_OR_RETURN(const FileDescriptor descriptor, OpenDescriptor(path, O_RDONLY));
    return SyncFileDescriptor(descriptor.get(), path);
  }

  absl::Status SyncDirectory(const std::string& directory) override {
    WINNOW_ASSIGN_OR_RETURN(const FileDescriptor descriptor,
                            // Opened each time: directories are synced when files come and go,
                            // which is rare.
                            OpenDescriptor(directory, O_RDONLY | O_DIRECTORY));
    return SyncDirectoryDescriptor(descriptor.get(), directory);
  }

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return LockPosixFile(path);
  }
};

}  // namespace

FileSystem* PosixFileSystem() {
  // Never destroyed: files may be closed by destructors of other static objects.
  static FileSystem* const file_system = new PosixFileSystemImplementation;
  return file_system;
}

}  // namespace winnow
