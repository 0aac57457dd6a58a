#include "engine/file_system/posix_file_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "engine/base/status.h"
#include "engine/file_system/posix_io.h"

namespace winnow {
namespace {

// flock(2) locks belong to the open file description: a second open in the same process conflicts
// (locks of fcntl(2) would not), and a forked child that exits does not release its parent's lock.
class PosixFileLock final : public FileLock {
 public:
  // `directory` is closed where no directory is locked.
  PosixFileLock(FileDescriptor descriptor, FileDescriptor directory)
      : descriptor_(std::move(descriptor)), directory_(std::move(directory)), owner_(::getpid()) {}

  ~PosixFileLock() override {
    // An explicit unlock works even while a forked child holds a copy of the descriptor; in the
    // child itself it would take the lock away from the parent.
    if (::getpid() != owner_) return;
    if (directory_.is_open()) ::flock(directory_.get(), LOCK_UN);
    ::flock(descriptor_.get(), LOCK_UN);
  }

 private:
  FileDescriptor descriptor_;
  FileDescriptor directory_;
  const pid_t owner_;
};

// A lock goes when the last process that has the descriptor ends: a child that its holder has
// forked may be that one. Process ids of another container or machine look the same.
const char* WhereItIs(std::string_view holder) {
  pid_t process = 0;
  if (!absl::SimpleAtoi(ToAbsl(holder), &process) || process <= 0) return "";
  if (::kill(process, 0) == 0 || errno != ESRCH) return "";
  return ", which has ended, by way of a child that it forked (or which is not of this system)";
}

// LevelDB's programs know a lock that is held by the word in front. The lock is flock's; the
// process id in the file is for the message only, and may be missing while the holder is writing
// it.
absl::Status LockedError(const std::string& path, int descriptor) {
  char text[32];
  const absl::StatusOr<size_t> length = ReadFully(descriptor, path, 0, sizeof(text), text);
  std::string_view holder(text, length.value_or(0));
  holder = holder.substr(0, holder.find('\n'));
  return absl::FailedPreconditionError(absl::StrCat(
      "lock ", path, ": held by process ", holder.empty() ? "(unknown)" : ToAbsl(holder),
      WhereItIs(holder), "; a database can be open only once"));
}

// The lock of a file is worth nothing once somebody has removed or replaced the file; a directory
// stays. Network file systems have no locks for directories: there the file alone must do.
absl::StatusOr<FileDescriptor> LockDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = std::string_view(path).substr(slash + 1);  // npos + 1 is 0
  if (name != "LOCK") return FileDescriptor();
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  WINNOW_ASSIGN_OR_RETURN(FileDescriptor descriptor,
                          OpenDescriptor(directory, O_RDONLY | O_DIRECTORY));
  while (::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return FileDescriptor();
    return absl::FailedPreconditionError(absl::StrCat(
        "lock ", path,
        ": its directory is locked: by a process that has the database open, though its lock file ",
        "was removed or replaced (a database can be open only once), or by a program that locks ",
        "directories, such as flock(1)"));
  }
  return descriptor;
}

// True if `path` still names the file that `descriptor` has open.
bool IsSameFile(const std::string& path, int descriptor) {
  struct stat by_path, by_descriptor;
  return ::stat(path.c_str(), &by_path) == 0 && ::fstat(descriptor, &by_descriptor) == 0 &&
         by_path.st_dev == by_descriptor.st_dev && by_path.st_ino == by_descriptor.st_ino;
}

// For the message alone: a full disk that has no room for it shuts nobody out.
void WriteProcessId(const std::string& path, int descriptor) {
  if (::ftruncate(descriptor, 0) != 0) return;
  WriteFully(descriptor, path, ToStd(absl::StrCat(::getpid(), "\n"))).IgnoreError();
}

}  // namespace

// 1. Open or create the file. 2. Lock what was opened, without waiting. 3. Check that the path
//    still names it. Between 1 and 2 another process may have destroyed the database, lock file
//    included, and a third may have created a new one: that third has the lock of the new inode and
//    this process one of a file without a name. Then start again.
//
// The lock file is never removed while a database is in use, and its content never decides
// anything, so that a crash leaves nothing behind that would have to be cleaned up.
absl::StatusOr<std::unique_ptr<FileLock>> LockPosixFile(const std::string& path) {
  for (;;) {
    WINNOW_ASSIGN_OR_RETURN(FileDescriptor descriptor, OpenDescriptor(path, O_RDWR | O_CREAT));
    while (::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return LockedError(path, descriptor.get());
      return PosixError(path, "lock", errno);
    }
    // Between open and lock the file may have been removed: that lock would exclude nobody.
    if (!IsSameFile(path, descriptor.get())) continue;
    WINNOW_ASSIGN_OR_RETURN(FileDescriptor directory, LockDirectoryOf(path));
    WriteProcessId(path, descriptor.get());
    return std::unique_ptr<FileLock>(
        std::make_unique<PosixFileLock>(std::move(descriptor), std::move(directory)));
  }
}

}  // namespace winnow
