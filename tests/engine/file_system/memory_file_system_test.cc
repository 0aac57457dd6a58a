// The memory file system as a file system: the same calls, the same errors as the POSIX one. The
// recording one, which tests put in its place, behaves no differently.
#include "winnow/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"

namespace winnow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Mode = WritableFileOptions::Mode;

enum class Kind { kMemory, kRecording };

class MemoryFileSystemTest : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<WritableFile> Create(const std::string& path, Mode mode = Mode::kBuffered) {
    WritableFileOptions options;
    options.mode = mode;
    return memory_->Create(path, options).value();
  }
  void Write(const std::string& path, std::string_view data) {
    const auto file = Create(path);
    ASSERT_TRUE(file->Append(data).ok());
    ASSERT_TRUE(file->Close().ok());
  }
  std::string Content(const std::string& path) { return ReadFile(*memory_, path, 1 << 30).value(); }

  static std::unique_ptr<FileSystem> NewFileSystem() {
    if (GetParam() == Kind::kRecording) return std::make_unique<RecordingFileSystem>();
    return NewMemoryFileSystem();
  }

  const std::unique_ptr<FileSystem> memory_ = NewFileSystem();
};

INSTANTIATE_TEST_SUITE_P(Both, MemoryFileSystemTest,
                         testing::Values(Kind::kMemory, Kind::kRecording),
                         [](const testing::TestParamInfo<Kind>& tested) {
                           return tested.param == Kind::kMemory ? "Memory" : "Recording";
                         });

TEST_P(MemoryFileSystemTest, BufferedBytesAreSeenAfterFlushAndLogBytesAtOnce) {
  const auto buffered = Create("/buffered");
  const auto log = Create("/log", Mode::kLog);
  ASSERT_TRUE(buffered->Append("data").ok());
  ASSERT_TRUE(log->Append("data").ok());
  EXPECT_EQ(buffered->size(), 4u);
  EXPECT_EQ(Content("/buffered"), "");
  EXPECT_EQ(Content("/log"), "data");
  ASSERT_TRUE(buffered->Flush().ok());
  EXPECT_EQ(Content("/buffered"), "data");
}

TEST_P(MemoryFileSystemTest, AFileDestroyedWithoutCloseKeepsItsBytes) {
  { ASSERT_TRUE(Create("/file")->Append("data").ok()); }
  EXPECT_EQ(Content("/file"), "data");
}

TEST_P(MemoryFileSystemTest, CreateTruncates) {
  Write("/file", "long content");
  Write("/file", "new");
  EXPECT_EQ(Content("/file"), "new");
}

TEST_P(MemoryFileSystemTest, ReadsAreShortOnlyAtTheEnd) {
  Write("/file", "0123456789");
  const auto file = memory_->OpenRandomAccess("/file").value();
  char buffer[16];
  EXPECT_EQ(file->size(), 10u);
  ASSERT_EQ(file->Read(2, 4, buffer).value(), 4u);
  EXPECT_EQ(std::string(buffer, 4), "2345");
  EXPECT_EQ(file->Read(8, 16, buffer).value(), 2u);
  EXPECT_EQ(file->Read(10, 1, buffer).value(), 0u);
}

TEST_P(MemoryFileSystemTest, AnOpenFileOutlivesItsName) {
  Write("/file", "content");
  const auto file = memory_->OpenRandomAccess("/file").value();
  ASSERT_TRUE(memory_->Remove("/file").ok());
  Write("/file", "another");
  char buffer[7];
  ASSERT_EQ(file->Read(0, 7, buffer).value(), 7u);
  EXPECT_EQ(std::string(buffer, 7), "content");
}

TEST_P(MemoryFileSystemTest, PathsAreNormalised) {
  ASSERT_TRUE(memory_->CreateDirectories("/a/b").ok());
  Write("a//b/./c/../file", "x");
  EXPECT_EQ(Content("/a/b/file"), "x");
  EXPECT_THAT(memory_->List("/").value(), ElementsAre("a"));
}

TEST_P(MemoryFileSystemTest, WhatIsMissingIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(memory_->OpenRandomAccess("/x").status()));
  EXPECT_TRUE(absl::IsNotFound(memory_->Create("/x/file", {}).status()));
  EXPECT_TRUE(absl::IsNotFound(memory_->Rename("/x", "/y")));
  EXPECT_TRUE(absl::IsNotFound(memory_->Remove("/x")));
  EXPECT_TRUE(absl::IsNotFound(memory_->RemoveDirectory("/x")));
  EXPECT_TRUE(absl::IsNotFound(memory_->List("/x").status()));
  EXPECT_TRUE(absl::IsNotFound(memory_->FileSize("/x").status()));
  EXPECT_TRUE(absl::IsNotFound(memory_->SyncDirectory("/x")));
  EXPECT_FALSE(memory_->Exists("/x").value());
}

TEST_P(MemoryFileSystemTest, FilesAndDirectoriesAreNotConfused) {
  Write("/file", "x");
  ASSERT_TRUE(memory_->CreateDirectories("/folder").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->OpenRandomAccess("/folder").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->Create("/folder", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->Create("/file/below", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->Remove("/folder")));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->RemoveDirectory("/file")));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->List("/file").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->SyncDirectory("/file")));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->CreateDirectories("/file/below")));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->Rename("/file", "/folder")));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->Rename("/folder", "/file")));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->Rename("/folder", "/folder/below")));
  EXPECT_TRUE(memory_->IsDirectory("/folder").value());
  EXPECT_FALSE(memory_->IsDirectory("/file").value());
}

TEST_P(MemoryFileSystemTest, RenameMovesFilesAndWholeDirectories) {
  ASSERT_TRUE(memory_->CreateDirectories("/from/deep").ok());
  Write("/from/deep/file", "x");
  Write("/one", "1");
  Write("/two", "2");
  ASSERT_TRUE(memory_->Rename("/from", "/to").ok());
  ASSERT_TRUE(memory_->Rename("/one", "/two").ok());
  EXPECT_EQ(Content("/to/deep/file"), "x");
  EXPECT_EQ(Content("/two"), "1");
  EXPECT_THAT(memory_->List("/").value(), UnorderedElementsAre("to", "two"));
  EXPECT_TRUE(absl::IsInvalidArgument(memory_->RemoveDirectory("/to")));
}

TEST_P(MemoryFileSystemTest, ASecondLockIsRefusedAndTheFirstReleases) {
  auto first = memory_->Lock("/LOCK");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(memory_->Exists("/LOCK").value());
  const absl::Status second = memory_->Lock("/./LOCK").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(std::string(second.message()), HasSubstr("held by process"));
  first->reset();
  EXPECT_TRUE(memory_->Lock("/LOCK").ok());
}

TEST_P(MemoryFileSystemTest, ThreadsMayUseItTogether) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&, t] {
      const std::string directory = "/" + std::to_string(t % 2);
      for (int i = 0; i < 200; i++) {
        const std::string path = directory + "/" + std::to_string(t);
        failures += !memory_->CreateDirectories(directory).ok();
        failures += !WriteFileAtomically(*memory_, path, std::to_string(i)).ok();
        failures += ReadFile(*memory_, path, 100).value() != std::to_string(i);
        failures += !memory_->List(directory).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace winnow
