// What a recording file system records, what it forgets, and what its error hook can do.
#include "engine/file_system/testing/recording_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace winnow {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Mode = WritableFileOptions::Mode;

class RecordingFileSystemTest : public testing::Test {
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

  const std::unique_ptr<RecordingFileSystem> memory_ = std::make_unique<RecordingFileSystem>();
};

TEST_F(RecordingFileSystemTest, OperationsAreRecordedInOrder) {
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

TEST_F(RecordingFileSystemTest, RecordingCanBeSwitchedOff) {
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

TEST_F(RecordingFileSystemTest, TheErrorHookSeesEveryOperationAndCanFailIt) {
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

TEST_F(RecordingFileSystemTest, AFailedAppendLeavesNothingAndIsFinal) {
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

TEST_F(RecordingFileSystemTest, AfterAFailedAppendABufferedFileIsLost) {
  const auto file = Create("/table", Mode::kBuffered);
  ASSERT_TRUE(file->Append("one").ok());
  memory_->set_error_hook(
      [](const FileOperation&) { return absl::ResourceExhaustedError("disk full"); });
  const absl::Status failed = file->Append("two");
  memory_->set_error_hook(nullptr);
  EXPECT_EQ(file->Sync(), failed);
}

TEST_F(RecordingFileSystemTest, ThreadsMayUseItWhileStatesAreBuilt) {
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
