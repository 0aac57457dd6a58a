// What must be on disk before what: short stories in which the order of the steps is held fast by
// stopping the background thread where it matters.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

constexpr char kDatabase[] = "/db";

Options SmallOptions(FileSystem* file_system) {
  Options options = MemoryDb::Quiet();
  options.file_system = file_system;
  options.write_buffer_bytes = size_t{64} << 10;
  return options;
}

// Makes the operation that creates the next SSTable wait.
class HeldFlush {
 public:
  explicit HeldFlush(RecordingFileSystem* file_system) : file_system_(file_system) {
    file_system_->set_error_hook([this](const FileOperation& operation) {
      if (operation.kind == Kind::kCreate && operation.path.ends_with(".sst")) Wait();
      return absl::OkStatus();
    });
  }
  void AwaitFlush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_waiting_; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  void Wait() {
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
  }

  RecordingFileSystem* const file_system_;
  // Guards the two flags; std::mutex knows no annotations.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_waiting_ = false;
  bool released_ = false;
};

size_t NumLogs(RecordingFileSystem& file_system) {
  size_t logs = 0;
  const std::vector<std::string> names = *file_system.List(kDatabase);
  for (const std::string& name : names) logs += name.ends_with(".log") ? 1 : 0;
  return logs;
}

std::string ValueOf(DB& db, ColumnFamily* family, std::string_view key) {
  std::string value;
  const absl::Status status = db.Get(ReadOptions(), family, key, &value);
  return status.ok() ? value : absl::IsNotFound(status) ? "(absent)" : status.ToString();
}

// LevelDB lost the older log's writes in this place (its pull request 193).
TEST(CrashOrder, ASyncedWriteInANewLogSurvivesWithAllThatWasWrittenBefore) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  const auto db = OpenOrFail(SmallOptions(memory.get()), kDatabase);
  ColumnFamily* const second = *db->CreateColumnFamily(SmallOptions(memory.get()), "second");
  ASSERT_TRUE(db->Put(WriteOptions(), second, "key", "value").ok());
  HeldFlush held(memory.get());
  std::thread flusher([&] { EXPECT_TRUE(db->Flush(second).ok()); });
  held.AwaitFlush();

  // The only background thread is held: nobody syncs the log that these fill.
  const size_t logs_before = NumLogs(*memory);
  int written = 0;
  while (NumLogs(*memory) == logs_before && written < 1000) {
    ASSERT_TRUE(
        db->Put(WriteOptions(), absl::StrCat("key", written++), std::string(900, 'v')).ok());
  }
  ASSERT_EQ(NumLogs(*memory), logs_before + 1);
  WriteOptions synced;
  synced.sync = true;
  ASSERT_TRUE(db->Put(synced, "last", "value").ok());
  const auto disk =
      memory->StateAfterCrash(memory->num_operations(), CrashChoice::KeepNothingUnsynced());
  held.Release();
  flusher.join();

  const auto recovered = OpenOrFail(SmallOptions(disk.get()), kDatabase);
  ASSERT_NE(recovered, nullptr);
  EXPECT_EQ(ValueOf(*recovered, recovered->DefaultColumnFamily(), "last"), "value");
  for (int i = 0; i < written; i++) {
    ASSERT_EQ(ValueOf(*recovered, recovered->DefaultColumnFamily(), absl::StrCat("key", i)),
              std::string(900, 'v'))
        << i << " of " << written;
  }
}

// What a flush puts into tables need not be made durable in logs first; what it leaves in memory
// must.
TEST(CrashOrder, AFlushSyncsOlderLogsOnlyForWritesThatItLeavesInMemory) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<int> log_syncs = 0;
  memory->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == Kind::kSync && operation.path.ends_with(".log")) log_syncs++;
    return absl::OkStatus();
  });
  const auto db = OpenOrFail(SmallOptions(memory.get()), kDatabase);
  ColumnFamily* const first = db->DefaultColumnFamily();
  ColumnFamily* const second = *db->CreateColumnFamily(SmallOptions(memory.get()), "second");
  const auto after_power_failure = [&] {
    return memory->StateAfterCrash(memory->num_operations(), CrashChoice::KeepNothingUnsynced());
  };
  ASSERT_TRUE(db->Put(WriteOptions(), first, "key", "1").ok());
  ASSERT_TRUE(db->Flush(first).ok());
  EXPECT_EQ(log_syncs, 0);
  {
    const auto disk = after_power_failure();
    const auto recovered = OpenOrFail(SmallOptions(disk.get()), kDatabase);
    EXPECT_EQ(ValueOf(*recovered, recovered->DefaultColumnFamily(), "key"), "1");
  }

  ASSERT_TRUE(db->Put(WriteOptions(), second, "earlier", "2").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), first, "key", "3").ok());
  ASSERT_TRUE(db->Flush(first).ok());
  EXPECT_GT(log_syncs, 0);
  const auto disk = after_power_failure();
  const auto recovered = OpenOrFail(SmallOptions(disk.get()), kDatabase);
  EXPECT_EQ(ValueOf(*recovered, recovered->DefaultColumnFamily(), "key"), "3");
  EXPECT_EQ(ValueOf(*recovered, *recovered->FindColumnFamily("second"), "earlier"), "2");
  memory->set_error_hook(nullptr);
}

// A log that another column family still needs holds a value whose deletion has been compacted away
// together with it: replaying the log must not bring it back.
TEST(CrashOrder, ALogKeptForAnotherFamilyBringsNoDeletedKeyBack) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  const auto db = OpenOrFail(SmallOptions(memory.get()), kDatabase);
  ColumnFamily* const second = *db->CreateColumnFamily(SmallOptions(memory.get()), "second");
  ColumnFamily* const family = db->DefaultColumnFamily();
  ASSERT_TRUE(db->Put(WriteOptions(), second, "keeps", "the log").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "other", "value").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  WriteOptions unlogged;  // so that no log has the deletion
  unlogged.disable_wal = true;
  ASSERT_TRUE(db->Delete(unlogged, "key").ok());
  ASSERT_TRUE(db->CompactRange(family, std::nullopt, std::nullopt).ok());
  const auto disk = memory->StateAfterCrash(memory->num_operations(), CrashChoice::KeepAll());
  const auto recovered = OpenOrFail(SmallOptions(disk.get()), kDatabase);
  ASSERT_NE(recovered, nullptr);
  EXPECT_EQ(ValueOf(*recovered, recovered->DefaultColumnFamily(), "key"), "(absent)");
  EXPECT_EQ(ValueOf(*recovered, recovered->DefaultColumnFamily(), "other"), "value");
  EXPECT_EQ(ValueOf(*recovered, *recovered->FindColumnFamily("second"), "keeps"), "the log");
}

// What reached the disk of a write that failed is unknown, so nothing else may have its number.
TEST(CrashOrder, TheSequenceNumbersOfAFailedWriteAreNotUsedAgain) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  const auto db = OpenOrFail(SmallOptions(memory.get()), kDatabase);
  const auto last_sequence = [&] { return *db->GetProperty("winnow.last-sequence"); };
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
  EXPECT_EQ(last_sequence(), "1");
  memory->set_error_hook([](const FileOperation& operation) {
    return operation.kind == Kind::kAppend && operation.path.ends_with(".log")
               ? absl::ResourceExhaustedError("injected: no space left on device")
               : absl::OkStatus();
  });
  WriteBatch batch;
  batch.Put("failed", "1");
  batch.Put("failed", "2");
  EXPECT_TRUE(absl::IsResourceExhausted(db->Write(WriteOptions(), batch)));
  memory->set_error_hook(nullptr);
  ASSERT_TRUE(db->Put(WriteOptions(), "after", "4").ok());
  EXPECT_EQ(last_sequence(), "4");
  EXPECT_EQ(ValueOf(*db, db->DefaultColumnFamily(), "failed"), "(absent)");
}

}  // namespace
}  // namespace winnow
