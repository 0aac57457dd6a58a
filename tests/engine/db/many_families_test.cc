// Many column families: what those cost that nobody writes to, and who is served.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

uint64_t BytesOf(RecordingFileSystem& file_system, std::string_view part) {
  uint64_t bytes = 0;
  const std::vector<std::string> names = *file_system.List("/db");
  for (const std::string& name : names) {
    if (name.find(part) != std::string::npos) {
      bytes += file_system.FileSize(absl::StrCat("/db/", name)).value_or(0);  // 0: removed now
    }
  }
  return bytes;
}

auto NumFiles(FileSystem& file_system, std::string_view suffix) {
  const std::vector<std::string> names = *file_system.List("/db");
  return std::count_if(names.begin(), names.end(),
                       [&](const std::string& name) { return name.ends_with(suffix); });
}

std::vector<ColumnFamily*> CreateFamilies(MemoryDb& db, int count) {
  std::vector<ColumnFamily*> families;
  ColumnFamilyOptions options;
  options.write_buffer_bytes = db.options().write_buffer_bytes;
  for (int i = 0; i < count; i++) {
    auto created = db->CreateColumnFamily(options, absl::StrCat("family", i));
    EXPECT_TRUE(created.ok()) << created.status();
    families.push_back(*created);
  }
  return families;
}

// Ten families with a limit of 1 MiB once had a log of 403 MiB: it was looked at only when a
// memtable filled.
TEST(ManyFamilies, LogsStayWithinTheirLimit) {
  Options options = MemoryDb::Quiet();
  options.max_log_bytes = 1 << 20;
  options.background_threads = 2;
  MemoryDb db(options);
  const std::vector<ColumnFamily*> families = CreateFamilies(db, 10);
  const std::string value(1000, 'v');
  uint64_t most = 0;
  for (int i = 0; i < 12'000; i++) {
    const absl::Status put =
        db->Put(WriteOptions(), families[static_cast<size_t>(i) % 10], absl::StrCat(i), value);
    ASSERT_TRUE(put.ok()) << put;
    if (i % 100 == 0) most = std::max(most, BytesOf(db.file_system(), ".log"));
    // However slow the machine is, flushes keep up.
    if (i % 500 == 0) {
      ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    }
  }
  // What is being flushed is there for a while beside what has been written since.
  EXPECT_LT(most, 4 * options.max_log_bytes);
  EXPECT_GT(most, options.max_log_bytes / 2);
  std::string found;
  EXPECT_TRUE(db->Get(ReadOptions(), families[3], "3", &found).ok());
  db.Reopen();
  EXPECT_TRUE(db->Get(ReadOptions(), *db->FindColumnFamily("family3"), "3", &found).ok());
}

// Each of them once took memory of megabytes, and again with each switch of another one's memtable,
// and a place in each edit of the manifest.
TEST(ManyFamilies, IdleOnesCostNextToNothing) {
  MemoryDb db;
  uint64_t memory = 0;
  for (ColumnFamily* family : CreateFamilies(db, 300)) {
    memory += std::stoull(*db->GetProperty(family, "winnow.memtable-memory"));
  }
  EXPECT_EQ(memory, 0u);
  db.Put("key", "value");
  db.Flush();
  const uint64_t before = BytesOf(db.file_system(), "MANIFEST");
  db.Put("key", "another");
  db.Flush();
  EXPECT_LT(BytesOf(db.file_system(), "MANIFEST") - before, 500u);
}

TEST(ManyFamilies, LogsThatIdleOnesOnceNeededAreRemoved) {
  MemoryDb db;
  const std::vector<ColumnFamily*> families = CreateFamilies(db, 3);
  ASSERT_TRUE(db->Put(WriteOptions(), families[0], "idle", "from now on").ok());
  ASSERT_TRUE(db->Flush(families[0]).ok());
  for (int i = 0; i < 5; i++) {
    db.Put("key", std::to_string(i));
    db.Flush();
  }
  EXPECT_EQ(NumFiles(db.file_system(), ".log"), 1);
  db.Reopen();
  EXPECT_EQ(db.Get("key"), "4");
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), *db->FindColumnFamily("family0"), "idle", &value).ok());
}

TEST(ManyFamilies, AHandleOfAnotherDatabaseIsRefused) {
  MemoryDb db;
  MemoryDb other;
  ColumnFamily* const foreign = CreateFamilies(other, 1)[0];
  EXPECT_TRUE(absl::IsInvalidArgument(db->Put(WriteOptions(), foreign, "key", "value")));
  std::string value;
  EXPECT_TRUE(absl::IsInvalidArgument(db->Get(ReadOptions(), foreign, "key", &value)));
  EXPECT_TRUE(absl::IsInvalidArgument(db->DropColumnFamily(foreign)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      db->Put(WriteOptions(), other->DefaultColumnFamily(), "key", "value")));
  EXPECT_TRUE(other->Put(WriteOptions(), foreign, "key", "value").ok()) << "and is not harmed";
}

// A batch keeps ids alone, and each of these families has the id of one here.
TEST(ManyFamilies, ABatchForAnotherDatabaseIsRefused) {
  MemoryDb db;
  MemoryDb other;
  ColumnFamily* const own = CreateFamilies(db, 1)[0];
  ColumnFamily* const foreign = CreateFamilies(other, 1)[0];
  ASSERT_EQ(own->id(), foreign->id());
  WriteBatch with_own;
  with_own.Put(own, "own", "value");
  with_own.Put("default", "value");
  const auto check_refused = [&](const WriteBatch& batch, const char* what) {
    EXPECT_TRUE(absl::IsInvalidArgument(db->Write(WriteOptions(), batch))) << what;
  };
  for (ColumnFamily* family :
       {foreign, other->DefaultColumnFamily(), static_cast<ColumnFamily*>(nullptr)}) {
    WriteBatch put, deletion, mixed, appended;
    put.Put(family, "key", "value");
    check_refused(put, "put");
    deletion.Delete(family, "key");
    check_refused(deletion, "delete");
    mixed.Put(own, "key", "value");
    mixed.Put(family, "key", "value");
    mixed.Put(own, "key2", "value");
    check_refused(mixed, "mixed");
    appended.Append(with_own);
    appended.Append(put);
    check_refused(appended, "appended");
  }
  std::string value;
  for (const char* key : {"key", "key2"}) {
    EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), own, key, &value)));
    EXPECT_EQ(db.Get(key), "(absent)");
  }

  // What was cleared, moved from or encoded is bound to no database.
  WriteBatch batch;
  batch.Put(foreign, "key", "value");
  EXPECT_TRUE(other->Write(WriteOptions(), batch).ok());
  const WriteBatch encoded = WriteBatch::FromEncoded(batch.encoded());
  EXPECT_TRUE(db->Write(WriteOptions(), encoded).ok());
  const WriteBatch moved = std::move(batch);
  check_refused(moved, "moved to");
  batch.Append(with_own);
  EXPECT_TRUE(db->Write(WriteOptions(), batch).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), own, "own", &value).ok());
  batch.Clear();
  batch.Put(foreign, "key", "value");
  EXPECT_TRUE(other->Write(WriteOptions(), batch).ok());
}

TEST(ManyFamilies, ASnapshotOfAnotherDatabaseIsRefused) {
  MemoryDb db;
  MemoryDb other;
  db.Put("key", "value");
  const SnapshotGuard snapshot(*other);
  ReadOptions options;
  options.snapshot = snapshot.get();
  std::string value;
  EXPECT_TRUE(absl::IsInvalidArgument(db->Get(options, "key", &value)));
  EXPECT_TRUE(absl::IsInvalidArgument(db->Exists(options, "key").status()));
  EXPECT_TRUE(db->MayExist(options, "key")) << "what cannot be asked may exist";
  const std::string_view key = "key";
  PinnedValue pinned;
  absl::Status status;
  db->MultiGet(options, {&key, 1}, {&pinned, 1}, {&status, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  const auto iterator = db->NewIterator(options);
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(absl::IsInvalidArgument(iterator->status())) << iterator->status();
  EXPECT_TRUE(absl::IsNotFound(other->Get(options, "key", &value)));
}

// Holds back the jobs that begin a table until they are let through, by their order.
class TableGate {
 public:
  explicit TableGate(RecordingFileSystem& file_system) {
    file_system.set_error_hook([this](const FileOperation& operation) {
      if (operation.kind == FileOperation::Kind::kCreate && operation.path.ends_with(".sst")) {
        std::unique_lock<std::mutex> lock(mutex_);
        const int turn = arrived_++;
        changed_.notify_all();
        changed_.wait(lock, [&] { return all_pass_ || passing_ == turn; });
      }
      return absl::OkStatus();
    });
  }
  void AwaitArrivals(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void LetThrough(int turn) {
    const std::lock_guard<std::mutex> lock(mutex_);
    passing_ = turn;
    changed_.notify_all();
  }
  void LetAllThrough() {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_pass_ = true;
    changed_.notify_all();
  }

 private:
  // Guards what follows.
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int passing_ = -1;
  bool all_pass_ = false;
};

// The beginnings of jobs, in their order.
class JobList final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kFlushBegin) jobs += "flush " + event.column_family + "; ";
    if (event.kind == Event::Kind::kCompactionBegin)
      jobs += "compact " + event.column_family + "; ";
  }
  std::string jobs;  // to be read when the database is closed
};

// Families were once served in the order of their ids, and a busy one kept the others waiting.
TEST(ManyFamilies, TheOneThatWaitsLongestIsFlushedFirst) {
  Options options = MemoryDb::Quiet();
  options.background_threads = 1;
  const auto list = std::make_shared<JobList>();
  options.listeners.push_back(list);
  MemoryDb db(options);
  const std::vector<ColumnFamily*> families = CreateFamilies(db, 2);
  TableGate gate(db.file_system());
  std::vector<std::thread> callers;
  const auto num_logs = [&] { return NumFiles(db.file_system(), ".log"); };
  const auto flush = [&](ColumnFamily* family) {
    ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
    const auto before = num_logs();
    callers.emplace_back([&db, family] { EXPECT_TRUE(db->Flush(family).ok()); });
    while (num_logs() == before) std::this_thread::yield();
    // Behind whoever begins the log, which leads until its memtable waits for the flush.
    db.Put("key", "value");
  };
  flush(db->DefaultColumnFamily());
  gate.AwaitArrivals(1);
  flush(families[1]);
  flush(families[0]);
  gate.LetAllThrough();
  for (std::thread& caller : callers) caller.join();
  db.file_system().set_error_hook(nullptr);
  db.CloseDb();
  EXPECT_EQ(list->jobs, "flush default; flush family1; flush family0; ");
}

TEST(ManyFamilies, TheOneThatNeedsItMostIsCompactedFirst) {
  MemoryDb db;
  for (const auto& [name, num_files] : {std::pair("less", 2), std::pair("more", 4)}) {
    ColumnFamily* const family = *db->CreateColumnFamily(db.options(), name);
    for (int i = 0; i < num_files; i++) {
      ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
      ASSERT_TRUE(db->Flush(family).ok());
    }
  }
  const auto list = std::make_shared<JobList>();
  db.options().listeners.push_back(list);
  db.options().background_threads = 1;
  db.options().disable_auto_compactions = false;
  db.options().level0_compaction_trigger = 2;
  db.Reopen();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  db.CloseDb();
  EXPECT_EQ(list->jobs, "compact more; compact less; ");
}

// Both threads flushed for as long as any memtable waited for it. Where a thousand families share
// 16 MiB one always does: level 0 of each grew to its stop trigger.
TEST(ManyFamilies, FlushesLeaveAThreadToCompactions) {
  Options options = MemoryDb::Quiet();
  options.background_threads = 2;
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 2;
  const auto list = std::make_shared<JobList>();
  options.listeners.push_back(list);
  MemoryDb db(options);
  std::vector<ColumnFamily*> families;
  for (const char* const name : {"a", "due", "c"}) {
    families.push_back(*db->CreateColumnFamily(options, name));
    ASSERT_TRUE(db->Put(WriteOptions(), families.back(), "key", "value").ok());
  }
  ASSERT_TRUE(db->Flush(families[1]).ok());
  ASSERT_TRUE(db->Put(WriteOptions(), families[1], "key", "value").ok());
  TableGate gate(db.file_system());
  std::vector<std::thread> callers;
  const auto flush = [&](size_t family) {
    callers.emplace_back([&, family] { EXPECT_TRUE(db->Flush(families[family]).ok()); });
  };
  flush(0);
  gate.AwaitArrivals(1);
  flush(1);
  gate.AwaitArrivals(2);
  const auto num_logs = [&] { return NumFiles(db.file_system(), ".log"); };
  db.Put("key", "value");  // or the log that the last flush began would serve the next as well
  const auto before = num_logs();
  flush(2);
  while (num_logs() == before) std::this_thread::yield();
  gate.LetThrough(1);
  gate.AwaitArrivals(3);
  gate.LetAllThrough();
  for (std::thread& caller : callers) caller.join();
  db.file_system().set_error_hook(nullptr);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  db.CloseDb();
  EXPECT_EQ(list->jobs, "flush due; flush a; flush due; compact due; flush c; ");
}

// Ratios of times, which show what would be many times as slow.
class TimesOfManyFamilies : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "of ThreadSanitizer's own work, which grows with all that there ever was";
#endif
  }
};

using FamilyTime = std::chrono::steady_clock::duration;

template <typename Call>
FamilyTime TimeOfCall(Call call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::steady_clock::now() - begin;
}

// Of many writes while a family is near a limit, since its flush does not come to an end.
FamilyTime TimeOfWritesNearALimit(int num_families) {
  MemoryDb db;
  CreateFamilies(db, num_families - 1);
  ColumnFamilyOptions options;
  options.max_write_buffers = 2;
  ColumnFamily* const near_limit = *db->CreateColumnFamily(options, "near");
  TableGate gate(db.file_system());
  EXPECT_TRUE(db->Put(WriteOptions(), near_limit, "key", "value").ok());
  std::thread flush([&] { EXPECT_TRUE(db->Flush(near_limit).ok()); });
  gate.AwaitArrivals(1);
  const FamilyTime time = TimeOfCall([&] {
    for (int i = 0; i < 20'000; i++) db.Put("key", "value");
  });
  gate.LetAllThrough();
  flush.join();
  db.file_system().set_error_hook(nullptr);
  return time;
}

// Each write once looked at every family for as long as any was near a limit: 2,000 of them made it
// 550 times as slow.
TEST_F(TimesOfManyFamilies, AWriteLooksAtThoseNearALimitAlone) {
  FamilyTime few = FamilyTime::max();
  FamilyTime many = FamilyTime::max();
  for (int round = 0; round < 3; round++) {
    few = std::min(few, TimeOfWritesNearALimit(2));
    many = std::min(many, TimeOfWritesNearALimit(2000));
  }
  EXPECT_LT(many, 10 * few);
}

// Families that come and go, each with a key and a table if it is flushed.
FamilyTime TimeOfComingAndGoing(MemoryDb& db, int count, bool flushes) {
  return TimeOfCall([&] {
    for (int i = 0; i < count; i++) {
      const auto family = db->CreateColumnFamily(ColumnFamilyOptions(), "short-lived");
      ASSERT_TRUE(family.ok()) << family.status();
      ASSERT_TRUE(db->Put(WriteOptions(), *family, "key", "value").ok());
      if (flushes) {
        ASSERT_TRUE(db->Flush(*family).ok());
      }
      ASSERT_TRUE(db->DropColumnFamily(*family).ok());
    }
  });
}

// Each job, and each drop, once looked at all that there had been since the database was opened.
TEST_F(TimesOfManyFamilies, ThoseThatWereDroppedAreNotLookedAt) {
  MemoryDb db;
  const auto least_time = [&] {
    FamilyTime least = FamilyTime::max();
    for (int i = 0; i < 4; i++) least = std::min(least, TimeOfComingAndGoing(db, 100, true));
    return least;
  };
  const FamilyTime first = least_time();
  TimeOfComingAndGoing(db, 20'000, false);
  EXPECT_LT(least_time(), 4 * first);
}

// It once released what other families had replaced as well.
TEST_F(TimesOfManyFamilies, ADropLooksAtNoOtherFamily) {
  constexpr size_t kDropped = 250;
  const auto time_of_drops_among = [&](int num_families) {
    MemoryDb db;
    const std::vector<ColumnFamily*> families = CreateFamilies(db, num_families);
    return TimeOfCall([&] {
      for (size_t i = 0; i < kDropped; i++) {
        ASSERT_TRUE(db->DropColumnFamily(families[families.size() - 1 - i]).ok());
      }
    });
  };
  FamilyTime few = FamilyTime::max();
  FamilyTime many = FamilyTime::max();
  for (int round = 0; round < 3; round++) {
    few = std::min(few, time_of_drops_among(kDropped));
    many = std::min(many, time_of_drops_among(9000));
  }
  EXPECT_LT(many, 5 * few);
}

}  // namespace
}  // namespace winnow
