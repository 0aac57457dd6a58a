#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/child_process.h"
#include "winnow/file_system.h"

namespace winnow {
namespace {

using testing::HasSubstr;

class FileLockTest : public testing::Test {
 protected:
  FileLockTest() {
    std::string pattern = testing::TempDir() + "/lock_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ + "/LOCK";
  }
  ~FileLockTest() override {
    const std::vector<std::string> names = posix_.List(directory_).value();
    for (const std::string& name : names) {
      posix_.Remove(directory_ + "/" + name).IgnoreError();
    }
    posix_.RemoveDirectory(directory_).IgnoreError();
  }

  FileSystem& posix_ = *PosixFileSystem();
  std::string directory_;
  std::string path_;
};

std::string OwnProcess() { return "held by process " + std::to_string(::getpid()); }

TEST_F(FileLockTest, ASecondHolderInThisProcessIsToldThePid) {
  auto first = posix_.Lock(path_);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = posix_.Lock(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(OwnProcess() + ";"));
  first->reset();
  EXPECT_TRUE(posix_.Lock(path_).ok());
}

TEST_F(FileLockTest, AnotherThreadIsASecondHolder) {
  const auto first = posix_.Lock(path_);
  absl::Status second;
  std::thread([&] { second = posix_.Lock(path_).status(); }).join();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
}

TEST_F(FileLockTest, ASymbolicLinkLeadsToTheSameLock) {
  const auto first = posix_.Lock(path_);
  ASSERT_EQ(::symlink(path_.c_str(), (directory_ + "/alias").c_str()), 0);
  ASSERT_EQ(::symlink(directory_.c_str(), (directory_ + "/here").c_str()), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(posix_.Lock(directory_ + "/alias").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(posix_.Lock(directory_ + "/here/LOCK").status()));
}

TEST_F(FileLockTest, AnotherProcessIsToldThePidOfTheHolder) {
  const auto first = posix_.Lock(path_);
  const std::string expected = OwnProcess();
  EXPECT_EQ(InChild([&] {
              const absl::Status second = posix_.Lock(path_).status();
              return absl::IsFailedPrecondition(second) &&
                             std::string(second.message()).find(expected) != std::string::npos
                         ? 0
                         : 1;
            }),
            0);
}

TEST_F(FileLockTest, AForkedChildDoesNotReleaseItsParentsLock) {
  auto first = posix_.Lock(path_);
  EXPECT_EQ(InChild([&] {
              first->reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(absl::IsFailedPrecondition(posix_.Lock(path_).status()));
  EXPECT_EQ(InChild([&] { return posix_.Lock(path_).ok() ? 1 : 0; }), 0);
}

TEST_F(FileLockTest, TheParentReleasesWhileAForkedChildLives) {
  auto first = posix_.Lock(path_);
  int end_child[2];
  ASSERT_EQ(::pipe(end_child), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end_child[1]);
    char byte;
    ::_exit(::read(end_child[0], &byte, 1) == 0 ? 0 : 1);
  }
  first->reset();
  EXPECT_TRUE(posix_.Lock(path_).ok());
  ::close(end_child[0]);
  ::close(end_child[1]);
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

TEST_F(FileLockTest, TheLockOfAProcessThatEndedIsFree) {
  EXPECT_EQ(InChild([&] {
              // Leaked on purpose: the process ends without releasing.
              return posix_.Lock(path_).value().release() != nullptr ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(posix_.Lock(path_).ok());
}

TEST_F(FileLockTest, WhereTheHolderHasEndedAChildOfItIsBlamed) {
  int end_child[2];
  ASSERT_EQ(::pipe(end_child), 0);
  // The holder leaves a child, which ends with the pipe.
  const pid_t holder = ::fork();
  if (holder == 0) {
    const bool is_held = posix_.Lock(path_).value().release() != nullptr;
    ::close(end_child[1]);
    char byte;
    if (::fork() == 0) ::_exit(::read(end_child[0], &byte, 1) == 0 ? 0 : 1);
    ::_exit(is_held ? 0 : 1);
  }
  int status;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
  ASSERT_EQ(status, 0);
  const absl::Status refused = posix_.Lock(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("held by process " + std::to_string(holder) + ", which has ended"));
  ::close(end_child[0]);
  ::close(end_child[1]);
}

// Whoever removed the lock file of an open database could open it a second time, and what one of
// the two wrote was lost.
TEST_F(FileLockTest, RemovingTheLockFileLetsNobodyIn) {
  auto first = posix_.Lock(path_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(posix_.Remove(path_).ok());
  const absl::Status second = posix_.Lock(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("its directory is locked"));
  EXPECT_EQ(InChild([&] { return posix_.Lock(path_).ok() ? 1 : 0; }), 0);
  first->reset();
  EXPECT_TRUE(posix_.Lock(path_).ok());
}

TEST_F(FileLockTest, FilesOfOtherNamesAreLockedByThemselves) {
  const auto first = posix_.Lock(directory_ + "/one.lock");
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(posix_.Lock(directory_ + "/another.lock").ok());
  EXPECT_TRUE(posix_.Lock(path_).ok());
}

TEST_F(FileLockTest, TheFileHoldsThePid) {
  const auto lock = posix_.Lock(path_);
  EXPECT_EQ(ReadFile(posix_, path_, 100).value(), std::to_string(::getpid()) + "\n");
}

// The process id is for messages alone. The limit on file sizes stands in for a full disk.
TEST_F(FileLockTest, AFullDiskShutsNobodyOut) {
  EXPECT_EQ(InChild([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit nothing = {0, 0};
              if (::setrlimit(RLIMIT_FSIZE, &nothing) != 0) return 2;
              return posix_.Lock(path_).ok() ? 0 : 1;
            }),
            0);
}

TEST_F(FileLockTest, AProgramThatLocksTheDirectoryIsThoughtOf) {
  const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(directory, 0);
  ASSERT_EQ(::flock(directory, LOCK_EX | LOCK_NB), 0);
  const absl::Status refused = posix_.Lock(path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("flock(1)"));
  ::close(directory);
  EXPECT_TRUE(posix_.Lock(path_).ok());
}

}  // namespace
}  // namespace winnow
