// The memory file system as a file system: the same calls, the same errors as the POSIX one.
#include "winnow/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace winnow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using Mode = WritableFileOptions::Mode;

class MemoryFileSystemTest : public testing::Test {
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

  std::unique_ptr<MemoryFileSystem> memory_ = NewMemoryFileSystem();
};

TEST_F(MemoryFileSystemTest, BufferedBytesAreSeenAfterFlushAndLogBytesAtOnce) {
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

TEST_F(MemoryFileSystemTest, AFileDestroyedWithoutCloseKeepsItsBytes) {
  { ASSERT_TRUE(Create("/file")->Append("data").ok()); }
  EXPECT_EQ(Content("/file"), "data");
}

TEST_F(MemoryFileSystemTest, CreateTruncates) {
  Write("/file", "long content");
  Write("/file", "new");
  EXPECT_EQ(Content("/file"), "new");
}

TEST_F(MemoryFileSystemTest, ReadsAreShortOnlyAtTheEnd) {
  Write("/file", "0123456789");
  const auto file = memory_->OpenRandomAccess("/file").value();
  char buffer[16];
  EXPECT_EQ(file->size(), 10u);
  ASSERT_EQ(file->Read(2, 4, buffer).value(), 4u);
  EXPECT_EQ(std::string(buffer, 4), "2345");
  EXPECT_EQ(file->Read(8, 16, buffer).value(), 2u);
  EXPECT_EQ(file->Read(10, 1, buffer).value(), 0u);
}

TEST_F(MemoryFileSystemTest, AnOpenFileOutlivesItsName) {
  Write("/file", "content");
  const auto file = memory_->OpenRandomAccess("/file").value();
  ASSERT_TRUE(memory_->Remove("/file").ok());
  Write("/file", "another");
  char buffer[7];
  ASSERT_EQ(file->Read(0, 7, buffer).value(), 7u);
  EXPECT_EQ(std::string(buffer, 7), "content");
}

TEST_F(MemoryFileSystemTest, PathsAreNormalised) {
  ASSERT_TRUE(memory_->CreateDirectories("/a/b").ok());
  Write("a//b/./c/../file", "x");
  EXPECT_EQ(Content("/a/b/file"), "x");
  EXPECT_THAT(memory_->List("/").value(), ElementsAre("a"));
}

TEST_F(MemoryFileSystemTest, WhatIsMissingIsNotFound) {
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

TEST_F(MemoryFileSystemTest, FilesAndDirectoriesAreNotConfused) {
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

TEST_F(MemoryFileSystemTest, RenameMovesFilesAndWholeDirectories) {
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

TEST_F(MemoryFileSystemTest, ASecondLockIsRefusedAndTheFirstReleases) {
  auto first = memory_->Lock("/LOCK");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(memory_->Exists("/LOCK").value());
  const absl::Status second = memory_->Lock("/./LOCK").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(std::string(second.message()), HasSubstr("locked by process"));
  first->reset();
  EXPECT_TRUE(memory_->Lock("/LOCK").ok());
}

TEST_F(MemoryFileSystemTest, OperationsAreRecordedInOrder) {
  ASSERT_TRUE(memory_->CreateDirectories("/a/b").ok());
  const auto file = Create("/a/b/file", Mode::kLog);
  ASSERT_TRUE(file->Append("12345").ok());
  ASSERT_TRUE(file->Append("678").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Close().ok());
  ASSERT_TRUE(memory_->Rename("/a/b/file", "/a/b/new").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/a/b").ok());
  ASSERT_TRUE(memory_->Remove("/a/b/new").ok());
  std::vector<std::string> texts;
  for (size_t i = 0; i < memory_->num_operations(); i++) {
    texts.push_back(memory_->operation(i).ToString());
  }
  EXPECT_THAT(texts, ElementsAre("create directory /a", "create directory /a/b", "create /a/b/file",
                                 "append /a/b/file: 5 bytes at offset 0",
                                 "append /a/b/file: 3 bytes at offset 5", "sync /a/b/file",
                                 "close /a/b/file", "rename /a/b/file to /a/b/new",
                                 "sync directory /a/b", "remove /a/b/new"));
  EXPECT_EQ(memory_->operation(4).data, "678");
}

TEST_F(MemoryFileSystemTest, RecordingCanBeSwitchedOff) {
  Write("/before", "x");
  memory_->set_recording(false);
  EXPECT_EQ(memory_->num_operations(), 0u);
  Write("/unrecorded", "y");
  EXPECT_EQ(memory_->num_operations(), 0u);
  memory_->set_recording(true);
  Write("/after", "z");
  const auto crashed = memory_->StateAfterCrash(100, CrashChoice::KeepNothingUnsynced());
  EXPECT_THAT(crashed->List("/").value(), UnorderedElementsAre("before", "unrecorded"));
}

TEST_F(MemoryFileSystemTest, TheErrorHookSeesEveryOperationAndCanFailIt) {
  Write("/file", "x");
  std::string seen;
  memory_->set_error_hook([&](const FileOperation& operation) {
    seen = operation.ToString();
    return absl::UnavailableError("injected");
  });
  const auto expect_injected = [&](const absl::Status& status, const std::string& text) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << text;
    EXPECT_EQ(seen, text);
  };
  const size_t recorded = memory_->num_operations();
  expect_injected(memory_->Create("/new", {}).status(), "create /new");
  expect_injected(memory_->OpenRandomAccess("/file").status(), "open /file");
  expect_injected(memory_->Rename("/file", "/b"), "rename /file to /b");
  expect_injected(memory_->Remove("/file"), "remove /file");
  expect_injected(memory_->CreateDirectories("/d"), "create directory /d");
  expect_injected(memory_->RemoveDirectory("/d"), "remove directory /d");
  expect_injected(memory_->List("/").status(), "list /");
  expect_injected(memory_->Exists("/file").status(), "inspect /file");
  expect_injected(memory_->FileSize("/file").status(), "inspect /file");
  expect_injected(memory_->SyncDirectory("/"), "sync directory /");
  expect_injected(memory_->Lock("/LOCK").status(), "lock /LOCK");
  EXPECT_EQ(memory_->num_operations(), recorded);
  memory_->set_error_hook(nullptr);
  EXPECT_THAT(memory_->List("/").value(), ElementsAre("file"));
}

TEST_F(MemoryFileSystemTest, AFailedAppendLeavesNothingAndIsFinal) {
  const auto file = Create("/log", Mode::kLog);
  ASSERT_TRUE(file->Append("one").ok());
  memory_->set_error_hook(
      [](const FileOperation&) { return absl::ResourceExhaustedError("disk full"); });
  const absl::Status failed = file->Append("two");
  EXPECT_TRUE(absl::IsResourceExhausted(failed));
  memory_->set_error_hook(nullptr);
  EXPECT_EQ(file->Append("three"), failed);
  EXPECT_TRUE(file->Sync().ok()) << "of what was appended before";
  EXPECT_EQ(file->Close(), failed);
  EXPECT_EQ(Content("/log"), "one");
  const auto synced =
      memory_->StateAfterCrash(memory_->num_operations(), CrashChoice::KeepNothingUnsynced());
  EXPECT_FALSE(synced->Exists("/log").value()) << "its directory was never synced";
}

TEST_F(MemoryFileSystemTest, AfterAFailedAppendABufferedFileIsLost) {
  const auto file = Create("/table", Mode::kBuffered);
  ASSERT_TRUE(file->Append("one").ok());
  memory_->set_error_hook(
      [](const FileOperation&) { return absl::ResourceExhaustedError("disk full"); });
  const absl::Status failed = file->Append("two");
  memory_->set_error_hook(nullptr);
  EXPECT_EQ(file->Sync(), failed);
}

TEST_F(MemoryFileSystemTest, ThreadsMayUseItTogether) {
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
        memory_->StateAfterCrash(5, CrashChoice::KeepAll());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace winnow
