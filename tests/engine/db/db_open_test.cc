// Opening, closing, listing and destroying databases, with every error that these calls document.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/before_lock.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr char kPath[] = "/db";

class DbOpen : public testing::Test {
 protected:
  DbOpen() { options_.file_system = file_system_.get(); }

  absl::Status TryOpen() { return DB::Open(options_, kPath).status(); }
  std::unique_ptr<DB> Open() { return OpenOrFail(options_, kPath); }
  void WriteFile(const std::string& path) {
    ASSERT_TRUE(WriteFileAtomically(*file_system_, path, "not ours").ok());
  }
  std::vector<std::string> Names() {
    auto names = file_system_->List(kPath);
    EXPECT_TRUE(names.ok());
    std::sort(names->begin(), names->end());
    return *names;
  }

  const std::unique_ptr<RecordingFileSystem> file_system_ = NewUnrecordedFileSystem();
  Options options_ = MemoryDb::Quiet();
};

void ExpectMentions(const absl::Status& status, absl::StatusCode code, std::string_view text) {
  EXPECT_EQ(status.code(), code) << status.ToString();
  EXPECT_NE(std::string(status.message()).find(text), std::string::npos) << status.ToString();
}

TEST_F(DbOpen, AMissingDatabaseIsCreatedOnlyIfWanted) {
  options_.create_if_missing = false;
  ExpectMentions(TryOpen(), absl::StatusCode::kNotFound, kPath);
  EXPECT_FALSE(*file_system_->Exists(kPath));
  options_.create_if_missing = true;
  EXPECT_TRUE(TryOpen().ok());
  options_.create_if_missing = false;
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(DbOpen, AnExistingDatabaseIsRefusedIfItMustNotExist) {
  options_.error_if_exists = true;
  EXPECT_TRUE(TryOpen().ok());
  ExpectMentions(TryOpen(), absl::StatusCode::kAlreadyExists, kPath);
}

TEST_F(DbOpen, APathThatIsAFileIsInvalid) {
  WriteFile(kPath);
  ExpectMentions(TryOpen(), absl::StatusCode::kInvalidArgument, "is a file");
  ExpectMentions(DB::Destroy(options_, kPath), absl::StatusCode::kInvalidArgument, "is a file");
  EXPECT_TRUE(*file_system_->Exists(kPath));
  EXPECT_TRUE(absl::IsInvalidArgument(DB::Open(options_, "").status()));
}

TEST_F(DbOpen, ASecondOpenerIsRefusedUntilTheFirstHasClosed) {
  auto first = Open();
  EXPECT_EQ(TryOpen().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(DB::Destroy(options_, kPath).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(first->Put(WriteOptions(), "key", "value").ok()) << "the first is not disturbed";
  ASSERT_TRUE(first->Close().ok());
  EXPECT_TRUE(TryOpen().ok());
}

TEST_F(DbOpen, AnotherComparatorIsRefusedAndNamed) {
  EXPECT_TRUE(TryOpen().ok());
  static const ReverseComparator reverse;
  options_.comparator = &reverse;
  ExpectMentions(TryOpen(), absl::StatusCode::kFailedPrecondition, "test.reverse");
  ExpectMentions(TryOpen(), absl::StatusCode::kFailedPrecondition, BytewiseComparator()->Name());
}

TEST_F(DbOpen, AFilterNeedsTheComparatorsWordThatEqualKeysHaveEqualBytes) {
  static const CaseBlindComparator case_blind;
  options_.comparator = &case_blind;
  options_.filter = "bloom:10";
  ExpectMentions(TryOpen(), absl::StatusCode::kInvalidArgument, "EqualKeysHaveEqualBytes");
  options_.filter = "";
  EXPECT_TRUE(TryOpen().ok()) << "without a filter it works";
  static const ReverseComparator reverse;
  options_.comparator = &reverse;
  options_.filter_key = "prefix:4";
  ExpectMentions(TryOpen(), absl::StatusCode::kInvalidArgument, "bytewise");
}

TEST_F(DbOpen, BadOptionsAreNamedAndNothingIsCreated) {
  const auto expect_named = [&](auto change, const std::string& name) {
    Options options = options_;
    change(&options);
    ExpectMentions(DB::Open(options, kPath).status(), absl::StatusCode::kInvalidArgument, name);
  };
  expect_named([](Options* o) { o->filter = "blum:10"; }, "filter");
  expect_named([](Options* o) { o->filter = "bloom:100000"; }, "filter");
  expect_named([](Options* o) { o->filter_key = "prefix:0"; }, "filter_key");
  expect_named([](Options* o) { o->comparator = nullptr; }, "comparator");
  expect_named([](Options* o) { o->write_buffer_bytes = 1; }, "write_buffer_bytes");
  expect_named([](Options* o) { o->max_write_buffers = 1; }, "max_write_buffers");
  expect_named([](Options* o) { o->memtable_filter_ratio = 0.3; }, "memtable_filter_ratio");
  expect_named([](Options* o) { o->key_hashes_ratio = 1.1; }, "key_hashes_ratio");
  expect_named([](Options* o) { o->key_hashes_ratio = -0.1; }, "key_hashes_ratio");
  expect_named([](Options* o) { o->block_bytes = 255; }, "block_bytes");
  expect_named([](Options* o) { o->block_restart_interval = 0; }, "block_restart_interval");
  expect_named([](Options* o) { o->target_file_bytes = 0; }, "target_file_bytes");
  expect_named([](Options* o) { o->level0_compaction_trigger = 0; }, "level0_compaction_trigger");
  expect_named([](Options* o) { o->level0_slowdown_trigger = 3; }, "level0_slowdown_trigger");
  expect_named([](Options* o) { o->level0_stop_trigger = 19; }, "level0_stop_trigger");
  expect_named([](Options* o) { o->level_base_bytes = 0; }, "level_base_bytes");
  expect_named([](Options* o) { o->level_size_multiplier = 1.5; }, "level_size_multiplier");
  expect_named([](Options* o) { o->zstd_level = 23; }, "zstd_level");
  expect_named([](Options* o) { o->compression_per_level.resize(kNumLevels + 1); },
               "compression_per_level");
  expect_named([](Options* o) { o->background_threads = 0; }, "background_threads");
  expect_named([](Options* o) { o->max_open_files = -1; }, "max_open_files");
  expect_named([](Options* o) { o->max_open_files = 15; }, "max_open_files");
  expect_named([](Options* o) { o->max_open_files = 10'000'001; }, "max_open_files");
  expect_named([](Options* o) { o->max_log_bytes = 1; }, "max_log_bytes");
  expect_named([](Options* o) { o->column_families["default"] = {}; }, "column_families");
  expect_named([](Options* o) { o->column_families["x"].block_bytes = 1; }, "'x'");
  EXPECT_FALSE(*file_system_->Exists(kPath));
}

TEST_F(DbOpen, NotANumberIsOutsideEveryRange) {
  options_.memtable_filter_ratio = std::nan("");
  EXPECT_TRUE(absl::IsInvalidArgument(TryOpen()));
  options_.memtable_filter_ratio = 0.02;
  options_.level_size_multiplier = std::nan("");
  EXPECT_TRUE(absl::IsInvalidArgument(TryOpen()));
}

TEST_F(DbOpen, ReadOnlyShowsTheLogButTakesNoWriteAndTouchesNothing) {
  auto writer = Open();
  ASSERT_TRUE(writer->Put(WriteOptions(), "in table", "1").ok());
  ASSERT_TRUE(writer->Flush().ok());
  ASSERT_TRUE(writer->Put(WriteOptions(), "in log", "2").ok());
  ASSERT_TRUE(writer->Close().ok());
  const std::vector<std::string> before = Names();

  options_.read_only = true;
  std::vector<std::string> touched;
  file_system_->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind <= FileOperation::Kind::kSyncDirectory ||
        operation.kind == FileOperation::Kind::kLock) {
      touched.push_back(operation.ToString());
    }
    return absl::OkStatus();
  });
  auto reader = Open();
  auto second_reader = Open();  // no lock is taken
  std::string value;
  EXPECT_TRUE(reader->Get(ReadOptions(), "in table", &value).ok());
  EXPECT_TRUE(reader->Get(ReadOptions(), "in log", &value).ok());
  EXPECT_EQ(value, "2");
  ColumnFamily* family = reader->DefaultColumnFamily();
  for (const absl::Status& status :
       {reader->Put(WriteOptions(), "key", "value"), reader->Delete(WriteOptions(), "in log"),
        reader->Flush(family), reader->CompactRange(family, std::nullopt, std::nullopt),
        reader->CreateColumnFamily({}, "new").status(), reader->SetFilter(family, "none", "")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status.ToString();
  }
  EXPECT_TRUE(reader->WaitForBackgroundWork().ok());
  EXPECT_TRUE(reader->Close().ok());
  second_reader.reset();
  file_system_->set_error_hook(nullptr);
  EXPECT_TRUE(touched.empty()) << touched[0];
  EXPECT_EQ(Names(), before);
}

// Between the reader's look at the manifest and at the logs a writer opens the database: it begins
// another manifest and log, and removes those that the reader knows of.
TEST_F(DbOpen, AReaderThatMeetsAnOpeningWriterLooksAgain) {
  auto db = Open();
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  ASSERT_TRUE(db->Close().ok());
  std::unique_ptr<DB> writer;
  bool met = false;
  file_system_->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == FileOperation::Kind::kList && !met) {
      met = true;
      writer = Open();
    }
    return absl::OkStatus();
  });
  Options read_only = options_;
  read_only.read_only = true;
  const auto reader = OpenOrFail(read_only, kPath);
  file_system_->set_error_hook(nullptr);
  EXPECT_TRUE(met);
  ASSERT_NE(reader, nullptr);
  std::string value;
  EXPECT_TRUE(reader->Get(ReadOptions(), "key", &value).ok());
}

TEST_F(DbOpen, ReadOnlyNeedsADatabase) {
  options_.read_only = true;
  EXPECT_TRUE(absl::IsNotFound(TryOpen()));
  EXPECT_FALSE(*file_system_->Exists(kPath));
}

TEST_F(DbOpen, DestroyRemovesOurFilesOnlyAndThenTheEmptyDirectory) {
  EXPECT_TRUE(DB::Destroy(options_, kPath).ok()) << "a missing database is no error";
  auto db = Open();
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  ASSERT_TRUE(db->Flush().ok());
  ASSERT_TRUE(db->Close().ok());
  db.reset();
  WriteFile("/db/notes.txt");
  WriteFile("/db/000001.sst.backup");
  ASSERT_TRUE(DB::Destroy(options_, kPath).ok());
  EXPECT_EQ(Names(), (std::vector<std::string>{"000001.sst.backup", "notes.txt"}));
  EXPECT_TRUE(absl::IsNotFound(DB::ListColumnFamilies(options_, kPath).status()));
  ASSERT_TRUE(file_system_->Remove("/db/notes.txt").ok());
  ASSERT_TRUE(file_system_->Remove("/db/000001.sst.backup").ok());
  EXPECT_TRUE(TryOpen().ok());
  ASSERT_TRUE(DB::Destroy(options_, kPath).ok());
  EXPECT_FALSE(*file_system_->Exists(kPath));
}

TEST_F(DbOpen, ADirectoryWithTablesButWithoutCurrentIsNotBuriedUnderANewDatabase) {
  auto db = Open();
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  ASSERT_TRUE(db->Flush().ok());
  ASSERT_TRUE(db->Close().ok());
  db.reset();
  ASSERT_TRUE(file_system_->Remove("/db/CURRENT").ok());
  ExpectMentions(TryOpen(), absl::StatusCode::kDataLoss, "CURRENT");
}

// Another opener, which writes a key, flushes and closes, on the file system as it is.
void WriteMeanwhile(Options options, FileSystem* file_system, std::string_view key) {
  options.file_system = file_system;
  const auto db = OpenOrFail(options, kPath);
  ASSERT_NE(db, nullptr);
  EXPECT_TRUE(db->Put(WriteOptions(), key, "value").ok());
  EXPECT_TRUE(db->Flush().ok());
  EXPECT_TRUE(db->Close().ok());
}

TEST_F(DbOpen, ADatabaseThatIsCreatedBeforeTheLockIsTakenIsOpened) {
  ActingFileSystem acting(file_system_.get());
  options_.file_system = &acting;
  acting.before_lock = [&] { WriteMeanwhile(options_, file_system_.get(), "key"); };
  const auto db = Open();
  ASSERT_NE(db, nullptr);
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "key", &value).ok()) << "it was acknowledged, and closed";
}

TEST_F(DbOpen, ADatabaseThatIsCreatedBeforeTheLockIsTakenExistsAlready) {
  ActingFileSystem acting(file_system_.get());
  options_.file_system = &acting;
  acting.before_lock = [&] { WriteMeanwhile(options_, file_system_.get(), "key"); };
  options_.error_if_exists = true;
  EXPECT_TRUE(absl::IsAlreadyExists(TryOpen()));
}

TEST_F(DbOpen, ADatabaseThatIsDestroyedBeforeTheLockIsTakenIsCreatedOrNotFound) {
  ActingFileSystem acting(file_system_.get());
  options_.file_system = &acting;
  Options plain = options_;
  plain.file_system = file_system_.get();
  for (const bool keeps_directory : {false, true}) {
    SCOPED_TRACE(keeps_directory);
    WriteMeanwhile(options_, file_system_.get(), "key");
    if (keeps_directory) WriteFile("/db/notes.txt");
    acting.before_lock = [&] { EXPECT_TRUE(DB::Destroy(plain, kPath).ok()); };
    options_.create_if_missing = false;
    EXPECT_TRUE(absl::IsNotFound(TryOpen()));
    options_.create_if_missing = true;
    WriteMeanwhile(options_, file_system_.get(), "key");
    acting.before_lock = [&] { EXPECT_TRUE(DB::Destroy(plain, kPath).ok()); };
    const auto db = Open();
    ASSERT_NE(db, nullptr);
    std::string value;
    EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), "key", &value)));
  }
}

TEST_F(DbOpen, DestroyRemovesWhatWasWrittenBeforeTheLockIsTaken) {
  ActingFileSystem acting(file_system_.get());
  options_.file_system = &acting;
  WriteMeanwhile(options_, file_system_.get(), "key");
  acting.before_lock = [&] { WriteMeanwhile(options_, file_system_.get(), "another"); };
  EXPECT_TRUE(DB::Destroy(options_, kPath).ok());
  EXPECT_FALSE(*file_system_->Exists(kPath));
}

TEST_F(DbOpen, WhoOpensWhatIsBeingDestroyedIsToldOfTheHolder) {
  ActingFileSystem acting(file_system_.get());
  WriteMeanwhile(options_, file_system_.get(), "key");
  Options plain = options_;
  options_.file_system = &acting;
  absl::Status opened;
  // CURRENT has gone first, and the tables are still there.
  acting.before_remove = [&] {
    acting.before_remove = [&] { opened = DB::Open(plain, kPath).status(); };
  };
  EXPECT_TRUE(DB::Destroy(options_, kPath).ok());
  ExpectMentions(opened, absl::StatusCode::kFailedPrecondition, "held by process");
}

TEST_F(DbOpen, DestroyingTwiceAtOnceIsNoError) {
  ActingFileSystem acting(file_system_.get());
  WriteMeanwhile(options_, file_system_.get(), "key");
  Options plain = options_;
  options_.file_system = &acting;
  acting.before_lock = [&] { EXPECT_TRUE(DB::Destroy(plain, kPath).ok()); };
  const absl::Status destroyed = DB::Destroy(options_, kPath);
  EXPECT_TRUE(destroyed.ok()) << destroyed;
  EXPECT_FALSE(*file_system_->Exists(kPath));
}

// RocksDB 6c0c8dee7b: a new file got the number of an orphan.
TEST_F(DbOpen, TheNumbersOfOrphansAreNotGivenAgain) {
  for (const std::string name : {"000900.sst", "001000.log", "MANIFEST-001100"}) {
    SCOPED_TRACE(name);
    const std::string path = absl::StrCat(kPath, "/", name);
    std::unique_ptr<DB> db = Open();
    ASSERT_TRUE(db->Put(WriteOptions(), name, "value").ok());
    ASSERT_TRUE(db->Close().ok());
    // Of the log no byte reached the disk.
    ASSERT_TRUE(WriteFileAtomically(*file_system_, path, name.ends_with(".log") ? "" : "x").ok());
    db = Open();
    ASSERT_NE(db, nullptr);
    ASSERT_TRUE(db->Flush().ok());
    std::string value;
    EXPECT_TRUE(db->Get(ReadOptions(), name, &value).ok());
    EXPECT_FALSE(*file_system_->Exists(path)) << "nobody needs it";
    const std::string digits = name.substr(name.find_first_of("0123456789"), 6);
    const std::vector<std::string> names = Names();
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& file) {
      return file.starts_with("00") && file.substr(0, 6) > digits;
    })) << "new files have higher numbers";
    EXPECT_TRUE(db->Close().ok());
  }
}

TEST_F(DbOpen, CallsAfterCloseFailAndTheSecondCloseIsQuiet) {
  auto db = Open();
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  ASSERT_TRUE(db->Close().ok());
  EXPECT_TRUE(db->Close().ok());
  ColumnFamily* family = db->DefaultColumnFamily();
  std::string value;
  for (const absl::Status& status :
       {db->Put(WriteOptions(), "key", "value"), db->Get(ReadOptions(), "key", &value),
        db->Exists(ReadOptions(), family, "key").status(), db->NewIterator(ReadOptions())->status(),
        db->Flush(family), db->CompactRange(family, std::nullopt, std::nullopt),
        db->SetFilter(family, "none", ""), db->CreateColumnFamily({}, "new").status(),
        db->Explain(family, "key").status(), db->GetProperty(family, "winnow.stats").status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status.ToString();
  }
  std::vector<std::string_view> keys{"key"};
  std::vector<PinnedValue> values(1);
  std::vector<absl::Status> statuses(1);
  db->MultiGet(ReadOptions(), family, keys, values, statuses);
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DbOpen, WritesWithoutLogSurviveACloseAndSyncedWritesAnything) {
  auto db = Open();
  WriteOptions no_log;
  no_log.disable_wal = true;
  WriteOptions sync;
  sync.sync = true;
  ASSERT_TRUE(db->Put(no_log, "without log", "1").ok());
  ASSERT_TRUE(db->Put(sync, "synced", "2").ok());
  no_log.sync = true;
  EXPECT_TRUE(absl::IsInvalidArgument(db->Put(no_log, "key", "value")));
  ASSERT_TRUE(db->Close().ok());
  db = Open();
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "without log", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "synced", &value).ok());
}

// Holds whoever compares "held" until it is let go.
class HoldingComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.holding"; }
  bool EqualKeysHaveEqualBytes() const override { return true; }
  int Compare(std::string_view a, std::string_view b) const override {
    if (a == "held" || b == "held") {
      reached.store(true);
      reached.notify_all();
      let_go.wait(false);
    }
    return a.compare(b);
  }

  mutable std::atomic<bool> reached{false};
  std::atomic<bool> let_go{false};
};

// The second write waits behind the first one, which holds the queue until Close has begun.
TEST_F(DbOpen, AWriteWithoutLogBesideACloseIsRefusedOrSurvives) {
  HoldingComparator comparator;
  options_.comparator = &comparator;
  auto db = Open();
  ASSERT_TRUE(db->Put(WriteOptions(), "first", "").ok());
  std::thread holder([&] { db->Put(WriteOptions(), "held", "").IgnoreError(); });
  comparator.reached.wait(false);
  WriteOptions no_log;
  no_log.disable_wal = true;
  absl::Status written;
  std::thread writer([&] { written = db->Put(no_log, "without log", ""); });
  // Time for the write to join and for Close to look at what was written. Too little of it only
  // makes the test weaker.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  absl::Status closed;
  std::thread closer([&] { closed = db->Close(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  comparator.let_go.store(true);
  comparator.let_go.notify_all();
  for (std::thread* thread : {&holder, &writer, &closer}) thread->join();
  EXPECT_TRUE(closed.ok()) << closed;
  db = Open();
  EXPECT_EQ(*db->Exists(ReadOptions(), "without log"), written.ok()) << written;
}

TEST_F(DbOpen, ForMemoryGivesOptionsThatOpenAndStayWithinTheMemory) {
  for (const size_t memory : {size_t{0}, size_t{16} << 20, size_t{1} << 30, size_t{1} << 40}) {
    for (const int threads : {-1, 1, 4, 1000}) {
      Options options = Options::ForMemory(memory, threads);
      EXPECT_TRUE(ValidateOptions(options).ok()) << memory << " " << threads;
      const uint64_t most = std::max<uint64_t>(memory, 16 << 20);
      EXPECT_LE(options.db_write_buffer_bytes + options.block_cache_bytes, most);
      EXPECT_LE(options.write_buffer_bytes * static_cast<uint64_t>(options.max_write_buffers),
                options.db_write_buffer_bytes);
    }
  }
}

TEST_F(DbOpen, TheNumberOfOpenFilesIsTakenAtBothEndsOfItsRange) {
  Options options;
  for (const int most : {0, 16, 10'000'000}) {
    options.max_open_files = most;
    EXPECT_TRUE(ValidateOptions(options).ok()) << most;
  }
}

// Tables were once opened one after the other: here the first waits until another is being opened.
TEST_F(DbOpen, ManyTablesAreOpenedByManyThreads) {
  MemoryDb db;
  for (int i = 0; i < 100; i++) {
    db.Put(std::to_string(i), "value");
    db.Flush();
  }
  db.CloseDb();
  std::mutex mutex;
  std::condition_variable another;
  std::set<std::thread::id> threads;
  db.file_system().set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == FileOperation::Kind::kOpenForReading &&
        operation.path.ends_with(".sst")) {
      std::unique_lock lock(mutex);
      const bool is_first = threads.empty();
      threads.insert(std::this_thread::get_id());
      another.notify_all();
      if (!is_first) return absl::OkStatus();
      another.wait_for(lock, std::chrono::seconds(20), [&] { return threads.size() > 1; });
    }
    return absl::OkStatus();
  });
  const auto opened = OpenOrFail(db.options(), MemoryDb::kPath);
  EXPECT_GT(threads.size(), 1u);
  db.file_system().set_error_hook(nullptr);
  std::string value;
  for (int i = 0; i < 100; i++) {
    EXPECT_TRUE(opened->Get(ReadOptions(), std::to_string(i), &value).ok());
  }
}

// A power failure may bring removed names back that no sync of the directory has followed.
TEST(DbDestroy, TakesCurrentAwayForGoodBeforeAnyTable) {
  MemoryDb db;
  db.Put("k", "v");
  db.Flush();
  db.CloseDb();
  db.file_system().set_recording(true);
  ASSERT_TRUE(DB::Destroy(db.options(), MemoryDb::kPath).ok());
  bool current_is_gone = false;
  bool is_synced = false;
  for (size_t i = 0; i < db.file_system().num_operations(); i++) {
    const FileOperation operation = db.file_system().operation(i);
    is_synced =
        is_synced || (current_is_gone && operation.kind == FileOperation::Kind::kSyncDirectory);
    if (operation.kind != FileOperation::Kind::kRemove) continue;
    if (operation.path.ends_with("CURRENT")) {
      current_is_gone = true;
    } else {
      EXPECT_TRUE(is_synced) << operation.ToString();
    }
  }
  EXPECT_TRUE(current_is_gone);
}

}  // namespace
}  // namespace winnow
