#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/file_system/posix_io.h"
#include "engine/file_system/posix_writable_file.h"
#include "tests/support/child_process.h"
#include "tests/support/scratch_directory.h"
#include "winnow/file_system.h"

namespace winnow {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Mode = WritableFileOptions::Mode;

WritableFileOptions WithMode(Mode mode) {
  WritableFileOptions options;
  options.mode = mode;
  return options;
}

class PosixFileSystemTest : public testing::Test {
 protected:
  PosixFileSystemTest() {
    std::string pattern = testing::TempDir() + "/posix_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~PosixFileSystemTest() override {
    const std::vector<std::string> names = posix_.List(directory_).value();
    for (const std::string& name : names) {
      const std::string path = Path(name);
      (posix_.IsDirectory(path).value() ? posix_.RemoveDirectory(path) : posix_.Remove(path))
          .IgnoreError();
    }
    posix_.RemoveDirectory(directory_).IgnoreError();
  }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  void Write(const std::string& name, std::string_view data) {
    auto file = posix_.Create(Path(name), WritableFileOptions{});
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append(data).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }
  std::string Content(const std::string& name) {
    return ReadFile(posix_, Path(name), 1 << 30).value();
  }

  FileSystem& posix_ = *PosixFileSystem();
  std::string directory_;
};

TEST_F(PosixFileSystemTest, AppendsOfAllSizesArriveInBothModes) {
  for (const Mode mode : {Mode::kBuffered, Mode::kLog}) {
    auto file = posix_.Create(Path("file"), WithMode(mode)).value();
    std::string expected;
    // Around the page, the write buffers of all sizes, the first reservation and the largest one.
    for (const size_t size : {0u, 1u, 100u, 4095u, 4096u, 4097u, 131071u, 131072u, 131073u, 262144u,
                              524287u, 524288u, 524289u, 1u << 20, (4u << 20) + 1, 9u << 20, 3u}) {
      const std::string data(size, static_cast<char>('a' + expected.size() % 26));
      ASSERT_TRUE(file->Append(data).ok());
      expected += data;
      ASSERT_EQ(file->size(), expected.size());
    }
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(file->Append("tail").ok());
    expected += "tail";
    ASSERT_TRUE(file->Close().ok());
    ASSERT_TRUE(file->Close().ok());
    EXPECT_TRUE(Content("file") == expected);
  }
}

TEST_F(PosixFileSystemTest, CreateTruncatesAnExistingFile) {
  for (const Mode mode : {Mode::kBuffered, Mode::kLog}) {
    Write("file", "old content");
    auto file = posix_.Create(Path("file"), WithMode(mode)).value();
    ASSERT_TRUE(file->Append("new").ok());
    ASSERT_TRUE(file->Close().ok());
    EXPECT_EQ(Content("file"), "new");
  }
}

TEST_F(PosixFileSystemTest, AFileDestroyedWithoutCloseKeepsItsBytes) {
  for (const Mode mode : {Mode::kBuffered, Mode::kLog}) {
    { ASSERT_TRUE(posix_.Create(Path("file"), WithMode(mode)).value()->Append("data").ok()); }
    EXPECT_EQ(Content("file"), "data");
  }
}

TEST_F(PosixFileSystemTest, NothingIsAppendedToAClosedFile) {
  for (const Mode mode : {Mode::kBuffered, Mode::kLog}) {
    auto file = posix_.Create(Path("file"), WithMode(mode)).value();
    ASSERT_TRUE(file->Close().ok());
    EXPECT_TRUE(absl::IsFailedPrecondition(file->Append("x")));
    EXPECT_TRUE(absl::IsFailedPrecondition(file->Append("")));
    EXPECT_TRUE(absl::IsFailedPrecondition(file->Sync()));
    EXPECT_TRUE(absl::IsFailedPrecondition(file->Flush()));
  }
}

// The page cache makes large folios of whole, aligned pieces only. A table was written in pieces of
// blocks, no two of one size, and reading a block of it from memory then took half as long again.
TEST_F(PosixFileSystemTest, BufferedFilesAreWrittenInAlignedPieces) {
  constexpr uint64_t kKiB = 1024;
  auto file = posix_.Create(Path("file"), WithMode(Mode::kBuffered)).value();
  const auto check = [&] {
    const uint64_t written = posix_.FileSize(Path("file")).value();
    EXPECT_LE(written, file->size());
    EXPECT_LT(file->size() - written, 512 * kKiB);
    EXPECT_EQ(written % (written < 512 * kKiB ? 128 * kKiB : 512 * kKiB), 0u) << written;
  };
  std::string expected;
  const auto append = [&](size_t size) {
    const std::string data(size, static_cast<char>('a' + expected.size() % 26));
    ASSERT_TRUE(file->Append(data).ok());
    expected += data;
  };
  while (expected.size() < 1500 * kKiB) {
    append(4122);
    // While the buffer doubles its pieces do, too.
    if (expected.size() < 256 * kKiB || expected.size() > 768 * kKiB) check();
  }
  // What Flush hands over early makes the next piece shorter.
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(posix_.FileSize(Path("file")).value(), expected.size());
  append(512 * kKiB);
  check();
  append(3000 * kKiB + 1);
  check();
  ASSERT_TRUE(file->Close().ok());
  EXPECT_TRUE(Content("file") == expected);
}

TEST_F(PosixFileSystemTest, BufferedBytesReachTheFileWithFlush) {
  auto file = posix_.Create(Path("file"), WithMode(Mode::kBuffered)).value();
  ASSERT_TRUE(file->Append("data").ok());
  EXPECT_EQ(Content("file"), "");
  ASSERT_TRUE(file->Flush().ok());
  EXPECT_EQ(Content("file"), "data");
}

TEST_F(PosixFileSystemTest, LogBytesAreThereAfterTheAppendAndOnlyZerosFollow) {
  auto file = posix_.Create(Path("log"), WithMode(Mode::kLog)).value();
  ASSERT_TRUE(file->Append("record").ok());
  const std::string content = Content("log");
  EXPECT_EQ(content.substr(0, 6), "record");
  EXPECT_EQ(content.find_first_not_of('\0', 6), std::string::npos);
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(posix_.FileSize(Path("log")).value(), 6u);
}

TEST_F(PosixFileSystemTest, LogBytesSurviveAKilledProcess) {
  int acknowledged[2];
  ASSERT_EQ(::pipe(acknowledged), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = posix_.Create(Path("log"), WithMode(Mode::kLog)).value();
    for (int i = 0; i < 1000; i++) {
      if (!file->Append("record " + std::to_string(i) + "\n").ok()) ::_exit(1);
    }
    if (!file->Append(std::string(10000, 'l') + "arge\n").ok()) ::_exit(1);
    if (::write(acknowledged[1], "k", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte;
  ASSERT_EQ(::read(acknowledged[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  ::close(acknowledged[0]);
  ::close(acknowledged[1]);
  const std::string content = Content("log");
  EXPECT_THAT(content, HasSubstr("record 0\n"));
  EXPECT_THAT(content, HasSubstr("record 999\nllll"));
  EXPECT_THAT(content, HasSubstr("large\n"));
}

// To open a pipe for reading would wait for somebody who writes to it.
TEST_F(PosixFileSystemTest, WhatIsNoRegularFileIsNotOpenedForReading) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  for (const std::string& path : {Path("pipe"), std::string("/dev/zero")}) {
    const absl::Status opened = posix_.OpenRandomAccess(path).status();
    EXPECT_TRUE(absl::IsInvalidArgument(opened)) << opened;
    EXPECT_THAT(std::string(opened.message()), HasSubstr("not a regular file"));
  }
}

TEST_F(PosixFileSystemTest, AFullDeviceIsResourceExhaustedForEver) {
  for (const Mode mode : {Mode::kBuffered, Mode::kLog}) {
    auto file = posix_.Create("/dev/full", WithMode(mode)).value();
    absl::Status status = file->Append("data");
    if (status.ok()) status = file->Flush();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/full: write: No space left"));
    EXPECT_EQ(file->Append("more"), status);
    if (mode == Mode::kBuffered) {
      EXPECT_EQ(file->Sync(), status);
    }
    EXPECT_EQ(file->Close(), status);
  }
}

// The limit on file sizes stands in for a full disk: both are met when space is reserved, or when a
// large record has been written in part.
void FillLog(const std::function<std::unique_ptr<WritableFile>()>& create, size_t record_bytes) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const std::unique_ptr<WritableFile> file = create();
    const std::string record(record_bytes, 'r');
    absl::Status status;
    while (status.ok()) status = file->Append(record);
    if (!absl::IsResourceExhausted(status) || file->size() % record.size() != 0) ::_exit(3);
    // What was appended before may still be made durable.
    if (file->Append("x") != status || !file->Sync().ok() || file->Close() != status) ::_exit(4);
    ::_exit(0);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PosixFileSystemTest, ALogThatCannotGrowFailsWithoutAHalfAppend) {
  for (const size_t record_bytes : {size_t{1000}, size_t{5000}, size_t{300000}}) {
    FillLog([&] { return posix_.Create(Path("log"), WithMode(Mode::kLog)).value(); }, record_bytes);
    const std::string content = Content("log");
    EXPECT_GT(content.size(), 100000u);
    EXPECT_TRUE(content == std::string(content.size(), 'r'));
    EXPECT_EQ(content.size() % record_bytes, 0u);
  }
}

// What logs are where space cannot be reserved: a part of the failed append may stay behind.
TEST_F(PosixFileSystemTest, APlainLogThatCannotGrowIsStillSynced) {
  FillLog(
      [&] {
        const std::string path = Path("log");
        FileDescriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        return std::make_unique<PosixWritableFile>(std::move(descriptor), path,
                                                   PosixWritableFile::BufferSizes{});
      },
      300000);
  const std::string content = Content("log");
  EXPECT_GE(content.size(), 900000u);
  EXPECT_TRUE(content == std::string(content.size(), 'r'));
}

// On a file system in memory, where space can be reserved.
TEST_F(PosixFileSystemTest, NoReservationGoesBeyondTheLimitOnFileSizes) {
  constexpr size_t kLimit = 100'000;  // inside a page and inside the first reservation
  constexpr size_t kRecordBytes = 100;
  const ScratchDirectory scratch("file-size-limit");
  const std::string path = scratch.path() + "/log";
  EXPECT_EQ(InChild([&] {
              ::signal(SIGXFSZ, SIG_DFL);  // which ends the process
              const rlimit limit = {kLimit, kLimit};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              const auto file = posix_.Create(path, WithMode(Mode::kLog)).value();
              while (file->size() < kLimit) {
                if (!file->Append(std::string(kRecordBytes, 'r')).ok()) return 3;
              }
              return file->Close().ok() ? 0 : 4;
            }),
            0);
  EXPECT_EQ(ReadFile(posix_, path, 1 << 20).value(), std::string(kLimit, 'r'));
}

// Runs on a small file system of its own, which needs the right to mount one.
TEST_F(PosixFileSystemTest, ALogFillsTheDiskToTheLastPageAndThenFailsCleanly) {
  constexpr uint64_t kDiskBytes = 1 << 20;
  constexpr int kCannotMount = 77;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", directory_.c_str(), "tmpfs", 0, "size=1m") != 0) {
      ::_exit(kCannotMount);
    }
    auto file = posix_.Create(Path("log"), WithMode(Mode::kLog)).value();
    const std::string record(100, 'r');
    absl::Status status;
    while (status.ok()) status = file->Append(record);
    if (!absl::IsResourceExhausted(status)) ::_exit(1);
    if (file->size() % record.size() != 0 || file->size() < kDiskBytes - 4096) ::_exit(2);
    if (file->Close() != status) ::_exit(3);
    if (Content("log") != std::string(file->size(), 'r')) ::_exit(4);
    ::_exit(0);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "may not mount a file system";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PosixFileSystemTest, ALogMayEndAnywhereAroundAReservation) {
  constexpr size_t kFirstReservation = 256 << 10;
  for (size_t first = kFirstReservation - 3; first <= kFirstReservation + 1; first++) {
    for (size_t second = 0; second < 5; second++) {
      auto file = posix_.Create(Path("log"), WithMode(Mode::kLog)).value();
      // In pieces that are copied to the mapping.
      for (size_t left = first; left > 0; left -= std::min<size_t>(left, 4000)) {
        ASSERT_TRUE(file->Append(std::string(std::min<size_t>(left, 4000), 'a')).ok());
      }
      ASSERT_TRUE(file->Append(std::string(second, 'b')).ok());
      ASSERT_TRUE(file->Append("c").ok());
      ASSERT_TRUE(file->Close().ok());
      ASSERT_TRUE(Content("log") == std::string(first, 'a') + std::string(second, 'b') + "c");
    }
  }
}

// Small appends go through a mapping, large ones through a system call: both must see where the
// other ended, within the mapping, at its end and past it, in the middle of a page or not.
TEST_F(PosixFileSystemTest, SmallAndLargeAppendsOfALogStandInTheirOrder) {
  constexpr size_t kFirstReservation = 256 << 10;
  for (const size_t large : {size_t{4096}, size_t{5000}, size_t{100000}, kFirstReservation - 4096,
                             kFirstReservation, kFirstReservation + 1}) {
    auto file = posix_.Create(Path("log"), WithMode(Mode::kLog)).value();
    std::string expected;
    for (int i = 0; i < 12; i++) {
      for (const size_t bytes : {size_t{1}, large, size_t{100}, size_t{4095}}) {
        const std::string record(bytes, static_cast<char>('a' + expected.size() % 26));
        ASSERT_TRUE(file->Append(record).ok());
        expected += record;
        ASSERT_EQ(file->size(), expected.size());
      }
    }
    ASSERT_TRUE(file->Sync().ok());
    const std::string content = Content("log");
    ASSERT_GE(content.size(), expected.size());
    EXPECT_TRUE(content.starts_with(expected));
    EXPECT_EQ(content.find_first_not_of('\0', expected.size()), std::string::npos);
    ASSERT_TRUE(file->Close().ok());
    EXPECT_TRUE(Content("log") == expected) << large;
  }
}

TEST_F(PosixFileSystemTest, ReadsAreShortOnlyAtTheEnd) {
  Write("file", "0123456789");
  const auto file = posix_.OpenRandomAccess(Path("file")).value();
  EXPECT_EQ(file->size(), 10u);
  char buffer[16];
  ASSERT_EQ(file->Read(2, 4, buffer).value(), 4u);
  EXPECT_EQ(std::string(buffer, 4), "2345");
  EXPECT_EQ(file->Read(8, 16, buffer).value(), 2u);
  EXPECT_EQ(file->Read(10, 1, buffer).value(), 0u);
  EXPECT_EQ(file->Read(1000, 1, buffer).value(), 0u);
  for (const auto pattern :
       {RandomAccessFile::AccessPattern::kRandom, RandomAccessFile::AccessPattern::kSequential,
        RandomAccessFile::AccessPattern::kNormal}) {
    file->Hint(pattern);
    EXPECT_EQ(file->Read(0, 10, buffer).value(), 10u);
  }
}

TEST_F(PosixFileSystemTest, AMappingOutlivesItsFileAndItsName) {
  const std::string bytes(10'000, 'm');
  Write("mapped", bytes);
  auto file = posix_.OpenRandomAccess(Path("mapped")).value();
  const std::unique_ptr<FileMapping> mapping = file->Map();
  ASSERT_NE(mapping, nullptr);
  file.reset();
  ASSERT_TRUE(posix_.Remove(Path("mapped")).ok());
  EXPECT_EQ(mapping->bytes(), bytes);
  mapping->WillNeed(5000, 100'000);
  mapping->WillNeed(50'000, 1);
}

// What was mapped beyond its end would end the process when it is read.
TEST_F(PosixFileSystemTest, AnEmptyFileAndOneThatWasCutAreNotMapped) {
  for (const size_t size : {0, 10'000}) {
    Write("mapped", std::string(size, 'm'));
    const auto file = posix_.OpenRandomAccess(Path("mapped")).value();
    ASSERT_EQ(::truncate(Path("mapped").c_str(), 0), 0);
    EXPECT_EQ(file->Map(), nullptr);
  }
}

TEST_F(PosixFileSystemTest, WhatIsMissingIsNotFound) {
  const std::string missing = Path("missing");
  EXPECT_TRUE(absl::IsNotFound(posix_.OpenRandomAccess(missing).status()));
  EXPECT_TRUE(absl::IsNotFound(posix_.Create(missing + "/file", {}).status()));
  EXPECT_TRUE(absl::IsNotFound(posix_.Rename(missing, Path("other"))));
  EXPECT_TRUE(absl::IsNotFound(posix_.Remove(missing)));
  EXPECT_TRUE(absl::IsNotFound(posix_.RemoveDirectory(missing)));
  EXPECT_TRUE(absl::IsNotFound(posix_.List(missing).status()));
  EXPECT_TRUE(absl::IsNotFound(posix_.FileSize(missing).status()));
  EXPECT_TRUE(absl::IsNotFound(posix_.SyncDirectory(missing)));
  EXPECT_TRUE(absl::IsNotFound(posix_.Lock(missing + "/lock").status()));
  EXPECT_THAT(std::string(posix_.Remove(missing).message()), HasSubstr(missing));
  EXPECT_FALSE(posix_.Exists(missing).value());
  EXPECT_FALSE(posix_.IsDirectory(missing).value());
}

TEST_F(PosixFileSystemTest, FilesAndDirectoriesAreNotConfused) {
  Write("file", "x");
  ASSERT_TRUE(posix_.CreateDirectories(Path("folder")).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.OpenRandomAccess(Path("folder")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.Create(Path("folder"), {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.FileSize(Path("folder")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.List(Path("file")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.SyncDirectory(Path("file"))));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.RemoveDirectory(Path("file"))));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.CreateDirectories(Path("file"))));
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.CreateDirectories(Path("file/below"))));
  EXPECT_FALSE(posix_.IsDirectory(Path("file")).value());
  EXPECT_TRUE(posix_.IsDirectory(Path("folder")).value());
  EXPECT_FALSE(posix_.Exists(Path("file/below")).value());
}

TEST_F(PosixFileSystemTest, ALinkThatLeadsNowhereIsNamed) {
  ASSERT_EQ(::symlink("nowhere", Path("link").c_str()), 0);
  const absl::Status status = posix_.CreateDirectories(Path("link"));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is a symbolic link to nowhere"));
}

// What a program without standard error prints all the same must not get into a file.
TEST_F(PosixFileSystemTest, NoFileHasTheNumberOfAStandardStream) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (int stream = 0; stream <= 2; stream++) ::close(stream);
    auto file = posix_.Create(Path("file"), {});
    auto lock = posix_.Lock(Path("lock"));
    if (!file.ok() || !lock.ok()) ::_exit(2);
    for (int stream = 0; stream <= 2; stream++) {
      if (::write(stream, "printed", 7) >= 0) ::_exit(3);
    }
    ::_exit((*file)->Append("x").ok() && (*file)->Close().ok() ? 0 : 4);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(Content("file"), "x");
}

TEST_F(PosixFileSystemTest, DirectoriesAreCreatedWithTheirParentsAndRemovedWhenEmpty) {
  ASSERT_TRUE(posix_.CreateDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(posix_.CreateDirectories(Path("a/b/c/")).ok());
  EXPECT_TRUE(posix_.SyncDirectory(Path("a/b")).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(posix_.RemoveDirectory(Path("a"))));
  for (const char* name : {"a/b/c", "a/b", "a"}) {
    EXPECT_TRUE(posix_.RemoveDirectory(Path(name)).ok());
  }
  EXPECT_FALSE(posix_.Exists(Path("a")).value());
}

TEST_F(PosixFileSystemTest, RenameReplacesAndListNamesEverything) {
  Write("one", "1");
  Write("two", "2");
  ASSERT_TRUE(posix_.CreateDirectories(Path("folder")).ok());
  EXPECT_THAT(posix_.List(directory_).value(), UnorderedElementsAre("one", "two", "folder"));
  ASSERT_TRUE(posix_.Rename(Path("one"), Path("two")).ok());
  EXPECT_THAT(posix_.List(directory_).value(), UnorderedElementsAre("two", "folder"));
  EXPECT_EQ(Content("two"), "1");
  EXPECT_EQ(posix_.FileSize(Path("two")).value(), 1u);
}

TEST_F(PosixFileSystemTest, NoFileDescriptorsIsResourceExhausted) {
  Write("file", "x");
  rlimit old_limit;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  const rlimit no_more = {0, old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &no_more), 0);
  const absl::Status status = posix_.OpenRandomAccess(Path("file")).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST_F(PosixFileSystemTest, ForbiddenIsPermissionDenied) {
  Write("file", "x");
  ASSERT_EQ(::chmod(directory_.c_str(), 0), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Root may do everything, so the child must not be root.
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(2);
    const bool denied = absl::IsPermissionDenied(posix_.Create(Path("new"), {}).status()) &&
                        absl::IsPermissionDenied(posix_.Exists(Path("file")).status()) &&
                        absl::IsPermissionDenied(posix_.Remove(Path("file")));
    ::_exit(denied ? 0 : 1);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PosixFileSystemTest, ReadFileRefusesWhatIsLargerThanExpected) {
  Write("file", "0123456789");
  EXPECT_EQ(ReadFile(posix_, Path("file"), 10).value(), "0123456789");
  EXPECT_TRUE(absl::IsResourceExhausted(ReadFile(posix_, Path("file"), 9).status()));
  Write("empty", "");
  EXPECT_EQ(ReadFile(posix_, Path("empty"), 0).value(), "");
}

TEST_F(PosixFileSystemTest, WriteFileAtomicallyReplacesAndLeavesNoTemporaryFile) {
  ASSERT_TRUE(WriteFileAtomically(posix_, Path("CURRENT"), "old").ok());
  ASSERT_TRUE(WriteFileAtomically(posix_, Path("CURRENT"), "new").ok());
  EXPECT_EQ(Content("CURRENT"), "new");
  EXPECT_THAT(posix_.List(directory_).value(), UnorderedElementsAre("CURRENT"));
}

}  // namespace
}  // namespace winnow
