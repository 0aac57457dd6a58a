// System calls that are interrupted or do a part of their work: the POSIX file system goes on until
// the whole is done. The calls are replaced in this program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>

#include "winnow/file_system.h"

namespace {

// Of every three calls one is interrupted; of the others that move bytes, every second does a part.
std::atomic<bool> storm{false};
std::atomic<unsigned> calls{0};
std::atomic<unsigned> interrupted{0};
std::atomic<unsigned> transfers{0};
std::atomic<unsigned> shortened{0};

bool IsInterrupted() {
  if (!storm || calls++ % 3 != 0) return false;
  interrupted++;
  errno = EINTR;
  return true;
}

size_t Shortened(size_t bytes) {
  if (!storm || bytes < 2 || transfers++ % 2 != 0) return bytes;
  shortened++;
  return std::max<size_t>(1, bytes / 3);
}

}  // namespace

extern "C" {
ssize_t write(int descriptor, const void* data, size_t bytes) {
  if (IsInterrupted()) return -1;
  return syscall(SYS_write, descriptor, data, Shortened(bytes));
}
ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  if (IsInterrupted()) return -1;
  return syscall(SYS_pread64, descriptor, data, Shortened(bytes), offset);
}
int fdatasync(int descriptor) {
  return IsInterrupted() ? -1 : static_cast<int>(syscall(SYS_fdatasync, descriptor));
}
int fsync(int descriptor) {
  return IsInterrupted() ? -1 : static_cast<int>(syscall(SYS_fsync, descriptor));
}
}

namespace winnow {
namespace {

TEST(PosixInterruptions, AreRetriedInside) {
  std::string directory = (std::filesystem::temp_directory_path() / "winnow-eintr-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  FileSystem& posix = *PosixFileSystem();
  for (const auto mode : {WritableFileOptions::Mode::kBuffered, WritableFileOptions::Mode::kLog}) {
    const std::string path = directory + "/file";
    std::string expected;
    storm = true;
    const auto file = *posix.Create(path, {.mode = mode});
    for (int i = 0; i < 200; i++) {
      const std::string piece(static_cast<size_t>(i * 37), static_cast<char>('a' + i % 26));
      ASSERT_TRUE(file->Append(piece).ok());
      if (i % 5 == 0) {
        ASSERT_TRUE(file->Flush().ok() && file->Sync().ok());
      }
      expected += piece;
    }
    ASSERT_TRUE(file->Sync().ok() && file->Close().ok());
    ASSERT_TRUE(posix.SyncDirectory(directory).ok());
    const auto read = ReadFile(posix, path, 1 << 24);
    storm = false;
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == expected);
  }
  EXPECT_GT(interrupted, 50u);
  EXPECT_GT(shortened, 20u);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace winnow
