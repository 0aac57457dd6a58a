// Work that fails in the background, and what must go on beside it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "tests/support/fault_file_system.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

Options SmallOptions(FileSystem* file_system) {
  Options options;
  options.file_system = file_system;
  options.write_buffer_bytes = 64 << 10;
  options.target_file_bytes = 64 << 10;
  options.level_base_bytes = 256 << 10;
  options.compression = Compression::kNone;
  options.background_threads = 2;
  return options;
}

class BackgroundFailures : public testing::Test {
 protected:
  size_t NumFiles(std::string_view suffix) {
    size_t count = 0;
    const std::vector<std::string> names = *memory_->List("/db");
    for (const std::string& name : names) count += name.ends_with(suffix);
    return count;
  }
  size_t NumManifests() {
    size_t count = 0;
    const std::vector<std::string> names = *memory_->List("/db");
    for (const std::string& name : names) count += name.starts_with("MANIFEST-");
    return count;
  }
  std::string FirstSstable() {
    const std::vector<std::string> names = *memory_->List("/db");
    for (const std::string& name : names) {
      if (name.ends_with(".sst")) return absl::StrCat("/db/", name);
    }
    return "";
  }

  const std::unique_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  FaultFileSystem faults_{memory_.get(), 1};
};

// Writes of every family were once refused with DATA_LOSS wherever they would only have waited for
// a flush, and level 0 was never compacted again.
TEST_F(BackgroundFailures, WritesAndCompactionsGoOnBesideADamagedSstable) {
  Options options = SmallOptions(&faults_);
  options.level0_slowdown_trigger = 12;
  options.level0_stop_trigger = 16;
  const auto db = OpenOrFail(options, "/db");
  const auto other = db->CreateColumnFamily(ColumnFamilyOptions(options), "other");
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "damaged later").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "m", "damaged later").ok());
  ASSERT_TRUE(db->Flush().ok());
  const std::string damaged = FirstSstable();
  // Its blocks; what opening reads has been read.
  FaultRule rot = FaultRule::OfRead(FaultRule::Effect::kBitFlip);
  rot.path_pattern = damaged;
  faults_.Add(rot);

  const std::string value(2000, 'v');
  for (int i = 0; i < 3000; i++) {
    const std::string key = absl::StrCat(i % 3 == 0 ? "a" : i % 3 == 1 ? "k" : "z", i % 1000);
    ASSERT_TRUE(db->Put(WriteOptions(), key, value).ok()) << i;
    const absl::Status beside = db->Put(WriteOptions(), *other, key, value);
    ASSERT_TRUE(beside.ok()) << i << ": " << beside;
  }
  const absl::Status waited = db->WaitForBackgroundWork();
  EXPECT_TRUE(absl::IsDataLoss(waited)) << waited;
  // More if a second look, whose reads have other bits flipped, finds no culprit.
  EXPECT_GE(db->GetStatistics().Get(Ticker::kFilesQuarantined), 1u);
  const int files = std::stoi(*db->GetProperty("winnow.num-files-at-level0"));
  EXPECT_LT(files, options.level0_stop_trigger) << "what is sound is merged around it";
  std::string found;
  for (int i = 0; i < 1000; i++) {
    const std::string key = absl::StrCat(i % 3 == 0 ? "a" : i % 3 == 1 ? "k" : "z", i);
    ASSERT_TRUE(db->Get(ReadOptions(), *other, key, &found).ok()) << key;
  }
  EXPECT_TRUE(db->Get(ReadOptions(), "z2", &found).ok()) << "outside of the damaged file's keys";
  EXPECT_TRUE(*memory_->Exists(damaged));
}

// A compaction that did not fit once held up flushes too, and writes were refused though their
// flushes fitted.
TEST_F(BackgroundFailures, FlushesGoOnWhileACompactionDoesNotFit) {
  RecordingFileSystem recording;
  recording.set_recording(false);
  Options options = SmallOptions(&recording);
  options.target_file_bytes = 4 << 20;
  options.level0_compaction_trigger = 2;
  options.level0_slowdown_trigger = 60;
  options.level0_stop_trigger = 64;
  const auto db = OpenOrFail(options, "/db");
  const std::string value(1000, 'v');
  for (int i = 0; i < 500; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), absl::StrCat(i), value).ok());
  }
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  // Tables of flushes are small, and there is room for those.
  std::atomic<int> refused{0};
  recording.set_error_hook([&](const FileOperation& operation) {
    const bool large = operation.kind == Kind::kAppend && operation.path.ends_with(".sst") &&
                       operation.offset > 150'000;
    if (large) refused++;
    return large ? InjectedFullDisk() : absl::OkStatus();
  });
  for (int i = 0; i < 1500; i++) {
    const absl::Status put = db->Put(WriteOptions(), absl::StrCat(i % 500), value);
    ASSERT_TRUE(put.ok()) << i << ": " << put;
  }
  EXPECT_TRUE(db->Flush().ok());
  // A compaction is due, and comes to its first refusal when the machine lets it.
  for (int tries = 0; refused.load() == 0 && tries < 10'000; tries++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(refused.load(), 0);
  recording.set_error_hook(nullptr);
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
}

// They once stopped all writes until the database was opened again.
TEST_F(BackgroundFailures, AFullDiskDuringAChangeOfFamiliesIsAnErrorOfThatCallAlone) {
  auto db = OpenOrFail(SmallOptions(&faults_), "/db");
  for (const Kind where : {Kind::kAppend, Kind::kSync}) {
    const auto kept = db->CreateColumnFamily(ColumnFamilyOptions(), "kept");
    ASSERT_TRUE(kept.ok()) << kept.status();
    ASSERT_TRUE(db->Put(WriteOptions(), *kept, "key", "value").ok());
    faults_.Add(FaultRule::Error(InjectedFullDisk()).On({where}, "*MANIFEST*"));
    const auto created = db->CreateColumnFamily(ColumnFamilyOptions(), "new");
    EXPECT_TRUE(absl::IsResourceExhausted(created.status())) << created.status();
    const absl::Status set = db->SetFilter(*kept, "cuckoo:12", "");
    EXPECT_TRUE(absl::IsResourceExhausted(set)) << set;
    const absl::Status dropped = db->DropColumnFamily(*kept);
    EXPECT_TRUE(absl::IsResourceExhausted(dropped)) << dropped;
    EXPECT_TRUE(db->Put(WriteOptions(), "still", "writing").ok());
    faults_.Clear();
    EXPECT_TRUE(db->Put(WriteOptions(), "still", "writing").ok());
    EXPECT_TRUE(db->SetFilter(db->DefaultColumnFamily(), "cuckoo:12", "").ok());
    EXPECT_TRUE(absl::IsNotFound(db->FindColumnFamily("new").status()));
    EXPECT_TRUE(db->DropColumnFamily(*kept).ok()) << "asked for again, now that there is room";
    EXPECT_TRUE(absl::IsFailedPrecondition(db->DropColumnFamily(*kept)));
  }
  ASSERT_TRUE(db->Close().ok());
  db = OpenOrFail(SmallOptions(&faults_), "/db");
  EXPECT_EQ(db->ColumnFamilies().size(), 1u);
}

TEST_F(BackgroundFailures, AFullDiskLeavesOptionsAsTheyWere) {
  const Options options = SmallOptions(&faults_);
  auto db = OpenOrFail(options, "/db");
  const std::string block_bytes = *db->GetOption("block_bytes");
  const std::string threads = *db->GetOption("background_threads");
  const OptionSetting settings[] = {{"block_bytes", "8K"}, {"background_threads", "7"}};
  for (const Kind where : {Kind::kAppend, Kind::kSync}) {
    faults_.Add(FaultRule::Error(InjectedFullDisk()).On({where}, "*MANIFEST*"));
    const absl::Status set = db->SetOptions(db->DefaultColumnFamily(), settings);
    EXPECT_TRUE(absl::IsResourceExhausted(set)) << set;
    EXPECT_EQ(*db->GetOption("block_bytes"), block_bytes);
    EXPECT_EQ(*db->GetOption("background_threads"), threads);
    EXPECT_TRUE(db->Put(WriteOptions(), "still", "writing").ok());
    faults_.Clear();
    // The next edit begins a manifest that knows nothing of what failed.
    ASSERT_TRUE(db->SetOption("zstd_level", where == Kind::kSync ? "5" : "4").ok());
    Options loaded = options;
    ASSERT_TRUE(DB::LoadOptions("/db", &loaded).ok());
    EXPECT_EQ(*OptionText(loaded, "block_bytes"), block_bytes);
    EXPECT_EQ(*OptionText(loaded, "background_threads"), threads);
    EXPECT_EQ(loaded.zstd_level, where == Kind::kSync ? 5 : 4);
  }
  faults_.Add(FaultRule::Error(InjectedIoError()).On({Kind::kSync}, "*MANIFEST*"));
  EXPECT_FALSE(db->SetOptions(db->DefaultColumnFamily(), settings).ok());
  EXPECT_EQ(*db->GetOption("block_bytes"), block_bytes);
  EXPECT_FALSE(db->Put(WriteOptions(), "no", "more").ok()) << "until it is reopened";
}

// Each retry once left another table behind, and half a manifest, until the database was opened
// again.
TEST_F(BackgroundFailures, FlushesWhoseEditDoesNotFitLeaveNoTables) {
  const auto db = OpenOrFail(SmallOptions(&faults_), "/db");
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  faults_.Add(FaultRule::Error(InjectedFullDisk()).On({Kind::kSync, Kind::kAppend}, "*MANIFEST*"));
  for (int i = 0; i < 10; i++) {
    const absl::Status flushed = db->Flush();
    ASSERT_TRUE(absl::IsResourceExhausted(flushed)) << flushed;
    ASSERT_LE(NumFiles(".sst"), 1u) << "a retry decides about the last one first";
    ASSERT_LE(NumManifests(), 2u) << "one that has been begun may just be there";
  }
  faults_.Clear();
  ASSERT_TRUE(db->Flush().ok());
  EXPECT_EQ(NumFiles(".sst"), 1u);
  EXPECT_EQ(NumManifests(), 1u);
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "key", &value).ok());
}

// The drop is the edit that decides: by then no present version has the table.
TEST_F(BackgroundFailures, ATableWhoseNewFilterDidNotFitStaysWhileAnIteratorHoldsIt) {
  const auto db = OpenOrFail(SmallOptions(&faults_), "/db");
  ColumnFamily* const family = *db->CreateColumnFamily(SmallOptions(&faults_), "second");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  ASSERT_TRUE(db->SetFilter(family, "cuckoo:12", "").ok());
  faults_.Add(FaultRule::Error(InjectedFullDisk()).On({Kind::kSync, Kind::kAppend}, "*MANIFEST*"));
  const absl::Status refiltered = db->Refilter(family, RefilterOptions()).status();
  ASSERT_TRUE(absl::IsResourceExhausted(refiltered)) << refiltered;
  faults_.Clear();
  const auto iterator = db->NewIterator(ReadOptions(), family);
  ASSERT_EQ(NumFiles(".sst"), 1u);
  ASSERT_TRUE(db->DropColumnFamily(family).ok());
  EXPECT_EQ(NumFiles(".sst"), 1u);
  EXPECT_EQ(NumFiles(".flt"), 0u);
  iterator->SeekToFirst();
  EXPECT_TRUE(iterator->Valid()) << iterator->status();
}

// A Put of 0.65 s was seen where syncs took a second.
TEST_F(BackgroundFailures, AnUnsyncedWriteDoesNotWaitForTheSyncOfOlderLogs) {
  RecordingFileSystem recording;
  recording.set_recording(false);
  const auto db = OpenOrFail(SmallOptions(&recording), "/db");
  ColumnFamily* const second = *db->CreateColumnFamily(SmallOptions(&recording), "second");
  ASSERT_TRUE(db->Put(WriteOptions(), second, "needs", "the log").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "a", std::string(70 << 10, 'v')).ok());
  // The sync ends once the writes are done, or never, as far as they can tell.
  std::promise<void> syncing;
  std::promise<void> written;
  std::shared_future<void> may_end = written.get_future().share();
  std::atomic<bool> first{true};
  std::atomic<bool> writes_waited{false};
  recording.set_error_hook([&](const FileOperation& operation) {
    if (operation.kind != Kind::kSync || !operation.path.ends_with(".log")) return absl::OkStatus();
    if (!first.exchange(false)) return absl::OkStatus();
    syncing.set_value();
    writes_waited = may_end.wait_for(std::chrono::seconds(20)) == std::future_status::timeout;
    return absl::OkStatus();
  });
  std::thread flush([&] { EXPECT_TRUE(db->Flush().ok()); });
  syncing.get_future().wait();
  // Its own memtable fills, and switches with its log, while the older log is being synced.
  EXPECT_TRUE(db->Put(WriteOptions(), "b", std::string(70 << 10, 'v')).ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "c", "v").ok());
  EXPECT_TRUE(db->GetProperty("winnow.background-error").ok());
  written.set_value();
  flush.join();
  EXPECT_FALSE(writes_waited.load());
  recording.set_error_hook(nullptr);
}

// To unlink a log of 64 MiB, all of it in the page cache, takes ten milliseconds and more.
TEST_F(BackgroundFailures, AWriteDoesNotWaitForTheRemovalOfALog) {
  RecordingFileSystem recording;
  recording.set_recording(false);
  const auto db = OpenOrFail(SmallOptions(&recording), "/db");
  ASSERT_TRUE(db->Put(WriteOptions(), "a", "v").ok());
  std::promise<void> removing;
  std::promise<void> written;
  std::shared_future<void> may_end = written.get_future().share();
  std::atomic<bool> first{true};
  std::atomic<bool> writes_waited{false};
  recording.set_error_hook([&](const FileOperation& operation) {
    if (operation.kind != Kind::kRemove || !operation.path.ends_with(".log")) {
      return absl::OkStatus();
    }
    if (!first.exchange(false)) return absl::OkStatus();
    removing.set_value();
    writes_waited = may_end.wait_for(std::chrono::seconds(20)) == std::future_status::timeout;
    return absl::OkStatus();
  });
  std::thread flush([&] { EXPECT_TRUE(db->Flush().ok()); });
  removing.get_future().wait();
  // The first fills the memtable, the second begins another log.
  EXPECT_TRUE(db->Put(WriteOptions(), "b", std::string(70 << 10, 'v')).ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "c", "v").ok());
  written.set_value();
  flush.join();
  // The flush ends before its thread has removed the log: Close waits for the thread.
  EXPECT_TRUE(db->Close().ok());
  EXPECT_FALSE(writes_waited.load());
  recording.set_error_hook(nullptr);
}

// A disk that has much to write takes long to sync a directory: who switches memtable and log leads
// all writers.
TEST_F(BackgroundFailures, AnUnsyncedWriteSyncsNothingItself) {
  RecordingFileSystem recording;
  recording.set_recording(false);
  const auto db = OpenOrFail(SmallOptions(&recording), "/db");
  const auto writer = std::this_thread::get_id();
  std::atomic<int> syncs{0};
  recording.set_error_hook([&](const FileOperation& operation) {
    const bool is_sync = operation.kind == Kind::kSync || operation.kind == Kind::kSyncDirectory;
    if (is_sync && std::this_thread::get_id() == writer) syncs++;
    return absl::OkStatus();
  });
  for (const char* key : {"a", "b", "c"}) {  // each fills a memtable
    ASSERT_TRUE(db->Put(WriteOptions(), key, std::string(70 << 10, 'v')).ok());
  }
  EXPECT_EQ(syncs, 0);
  WriteOptions synced;
  synced.sync = true;
  ASSERT_TRUE(db->Put(synced, "d", "v").ok());
  EXPECT_GT(syncs, 0);
  recording.set_error_hook(nullptr);
}

// Each attempt writes tables of new numbers. They stayed until the database was opened again.
TEST_F(BackgroundFailures, TablesThatCannotBeOpenedDoNotPileUp) {
  auto db = OpenOrFail(SmallOptions(&faults_), "/db");
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), "a", "1").ok());
    ASSERT_TRUE(db->Put(WriteOptions(), "z", "1").ok());
    ASSERT_TRUE(db->Flush().ok());
  }
  ASSERT_EQ(NumFiles(".sst"), 2u);
  faults_.Add(FaultRule::Error(InjectedDescriptorLimit()).On({Kind::kOpenForReading}, "*.sst"));
  for (int i = 0; i < 5; i++) {
    EXPECT_FALSE(db->CompactRange(std::nullopt, std::nullopt).ok());
  }
  ASSERT_TRUE(db->Put(WriteOptions(), "k", "2").ok());
  EXPECT_FALSE(db->Flush().ok());
  db.reset();  // no attempt is under way any more
  EXPECT_EQ(NumFiles(".sst"), 2u);
  faults_.Clear();
  db = OpenOrFail(SmallOptions(&faults_), "/db");
  std::string found;
  EXPECT_TRUE(db->Get(ReadOptions(), "a", &found).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "k", &found).ok());
}

}  // namespace
}  // namespace winnow
