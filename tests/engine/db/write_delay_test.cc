// Writes that are slowed down because level 0 has many files, and what ends a delay before its
// time; and a limit of the background's rate, which must not slow them down.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/steady_clock_hook.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

class DelayListener final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != Event::Kind::kWriteStallBegin) return;
    began = true;
    began.notify_all();
  }
  std::atomic<bool> began{false};
};

// Three files in level 0 of which four would stop writes, and a compaction that does not end: each
// MiB that is written is delayed by a sixth of a second.
class WriteDelay : public testing::Test {
 protected:
  static constexpr int kFiles = 3;
  static constexpr size_t kValueBytes = size_t{128} << 20;  // twenty seconds
  static constexpr std::chrono::seconds kSoon{10};

  void SetUp() override {
    file_system_.set_recording(false);
    file_system_.set_error_hook([this](const FileOperation& operation) {
      if (operation.kind != FileOperation::Kind::kAppend || !operation.path.ends_with(".sst")) {
        return absl::OkStatus();
      }
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        tables_.insert(operation.path);
        if (tables_.size() <= kFiles) return absl::OkStatus();
      }
      compaction_waits_.wait(true);
      return absl::OkStatus();
    });
    Options options = MemoryDb::Quiet();
    options.file_system = &file_system_;
    options.listeners = {listener_};
    options.disable_auto_compactions = false;
    options.write_buffer_bytes = 4 * kValueBytes;
    options.level0_compaction_trigger = kFiles;
    options.level0_slowdown_trigger = kFiles;
    options.level0_stop_trigger = kFiles + 1;
    db_ = OpenOrFail(options, "/db");
    for (int i = 0; i < kFiles; i++) {
      ASSERT_TRUE(db_->Put(WriteOptions(), "key", "value").ok());
      ASSERT_TRUE(db_->Flush().ok());
    }
    write_ = std::async(std::launch::async, [this] {
      return db_->Put(WriteOptions(), "large", std::string(kValueBytes, 'v'));
    });
    listener_->began.wait(false);
  }
  void TearDown() override {
    EndCompaction();
    EXPECT_TRUE(db_->Close().ok());
  }
  bool WriteEndsSoon() { return write_.wait_for(kSoon) == std::future_status::ready; }
  void EndCompaction() {
    compaction_waits_ = false;
    compaction_waits_.notify_all();
  }

  RecordingFileSystem file_system_;
  const std::shared_ptr<DelayListener> listener_ = std::make_shared<DelayListener>();
  // Guards what follows.
  std::mutex mutex_;
  std::set<std::string> tables_;

  std::atomic<bool> compaction_waits_{true};
  std::unique_ptr<DB> db_;
  std::future<absl::Status> write_;
};

// Close once waited for as long as the batch was made to: at half a gigabyte 80 seconds.
TEST_F(WriteDelay, OfALargeWriteEndsWithTheDatabase) {
  auto closed = std::async(std::launch::async, [this] { return db_->Close(); });
  EXPECT_TRUE(WriteEndsSoon());
  EndCompaction();
  EXPECT_TRUE(closed.get().ok());
  const absl::Status written = write_.get();
  EXPECT_TRUE(written.ok() || absl::IsFailedPrecondition(written)) << written;
}

TEST_F(WriteDelay, OfALargeWriteEndsWithItsReason) {
  const OptionSetting triggers[] = {{"level0_slowdown_trigger", "100"},
                                    {"level0_stop_trigger", "100"}};
  EXPECT_TRUE(db_->SetOptions(db_->DefaultColumnFamily(), triggers).ok());
  EXPECT_TRUE(WriteEndsSoon());
  EXPECT_TRUE(write_.get().ok());
}

// Time stands still, so that what is paced waits for ever, unless those who wait for it end that.
void WriteUnderARateLimit(Options options) {
  const StoppedSteadyClock clock;
  options.background_bytes_per_second = 64 << 10;
  options.compression = Compression::kNone;
  MemoryDb db(options);
  for (int i = 0; i < 4000; i++) db.Put(absl::StrCat("key", i), std::string(1000, 'v'));
  EXPECT_GT(db->GetStatistics().Get(Ticker::kWriteStalls), 0u);
  for (int i = 0; i < 4000; i += 100) EXPECT_EQ(db.Get(absl::StrCat("key", i)).size(), 1000u);
}

TEST(WritesUnderARateLimit, WaitForNoPacedFlushWhereAllMemtablesAreFull) {
  Options options = MemoryDb::Quiet();
  options.db_write_buffer_bytes = 1 << 20;
  WriteUnderARateLimit(options);
}

TEST(WritesUnderARateLimit, WaitForNoPacedFlushWhereAFamilysMemtablesAreFull) {
  Options options = MemoryDb::Quiet();
  options.write_buffer_bytes = 256 << 10;
  options.max_write_buffers = 2;
  WriteUnderARateLimit(options);
}

}  // namespace
}  // namespace winnow
