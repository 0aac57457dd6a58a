// What listeners are told, and when: every kind of event is made to happen.
#include "winnow/event_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/events/event_queue.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/ingest.h"
#include "winnow/merge_operator.h"
#include "winnow/transaction.h"

namespace winnow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Event::Kind;

// Keeps what it is told; may do something besides.
class Collector final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (also_do) also_do(event);
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
    delivered_.notify_all();
  }

  std::vector<Event> OfKind(Kind kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Event> chosen;
    for (const Event& event : events_) {
      if (event.kind == kind) chosen.push_back(event);
    }
    return chosen;
  }
  // Waits for the first of a kind; a test that waits for ever is a failure by its timeout.
  Event WaitFor(Kind kind) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      for (const Event& event : events_) {
        if (event.kind == kind) return event;
      }
      delivered_.wait(lock);
    }
  }
  std::vector<std::string> Names() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string> names;
    for (const Event& event : events_) names.emplace_back(EventKindName(event.kind));
    return names;
  }

  std::function<void(const Event&)> also_do;  // set before the database is opened

 private:
  // Guards what follows.
  std::mutex mutex_;
  std::condition_variable delivered_;
  std::vector<Event> events_;
};

class EventListenerTest : public testing::Test {
 protected:
  MemoryDb MakeDb(Options options = MemoryDb::Quiet()) {
    options.listeners = {collector_};
    return MemoryDb(std::move(options));
  }
  const std::shared_ptr<Collector> collector_ = std::make_shared<Collector>();
};

TEST_F(EventListenerTest, AFlushAndACompactionAreToldInOrderWithTheirFigures) {
  MemoryDb db = MakeDb();
  db.Put("a", "1");
  db.Flush();
  collector_->WaitFor(Kind::kFlushEnd);  // Flush returns a moment before that is told
  db.CompactAll();
  db.CloseDb();
  std::vector<std::string> jobs = collector_->Names();
  std::erase_if(jobs, [](const std::string& name) { return absl::StartsWith(name, "file-"); });
  EXPECT_THAT(jobs, ElementsAre("database-opened", "flush-begin", "flush-end", "compaction-begin",
                                "compaction-end", "database-closed"));
  // Two logs, the manifest, the flushed table and the compacted one; the first log and the first
  // table go.
  EXPECT_EQ(collector_->OfKind(Kind::kFileCreated).size(), 5u);
  EXPECT_EQ(collector_->OfKind(Kind::kFileRemoved).size(), 2u);
  const Event flushed = collector_->OfKind(Kind::kFlushEnd).at(0);
  EXPECT_EQ(flushed.column_family, "default");
  EXPECT_EQ(flushed.num_inputs, 1u);
  EXPECT_EQ(flushed.num_outputs, 1u);
  EXPECT_GT(flushed.bytes_written, 0u);
  EXPECT_THAT(flushed.ToString(), HasSubstr("flush of default ends"));
  const Event compacted = collector_->OfKind(Kind::kCompactionEnd).at(0);
  EXPECT_EQ(compacted.input_level, 0);
  EXPECT_GT(compacted.output_level, 0);
  EXPECT_EQ(compacted.num_inputs, 1u);
  EXPECT_GT(compacted.bytes_read, 0u);
  EXPECT_TRUE(compacted.status.ok());
}

TEST_F(EventListenerTest, AnIngestionIsToldWithItsFigures) {
  MemoryDb db = MakeDb();
  for (const char* path : {"/first.sst", "/second.sst"}) {
    const auto writer = *db->NewSstWriter(db->DefaultColumnFamily(), path);
    ASSERT_TRUE(writer->Put(path, "value").ok());
    ASSERT_TRUE(writer->Finish().ok());
  }
  const auto done = db->Ingest({{.path = "/first.sst"}, {.path = "/second.sst"}}, {.move = true});
  ASSERT_TRUE(done.ok()) << done.status();
  db.CloseDb();
  const std::vector<Event> told = collector_->OfKind(Kind::kIngestEnd);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].status.ok());
  EXPECT_EQ(told[0].num_inputs, 2u);
  EXPECT_EQ(told[0].bytes_written, done->bytes);
  EXPECT_THAT(told[0].message, absl::StrCat("level ", done->levels[0], ", ", done->levels[1]));
  EXPECT_THAT(told[0].ToString(), HasSubstr("ingestion of 2 files"));
}

// The tables have come in by then, but nothing of them may be seen: the manifest cannot be written.
TEST_F(EventListenerTest, AnIngestionThatFailsIsToldWithItsError) {
  MemoryDb db = MakeDb();
  const auto writer = *db->NewSstWriter(db->DefaultColumnFamily(), "/table.sst");
  ASSERT_TRUE(writer->Put("key", "value").ok());
  ASSERT_TRUE(writer->Finish().ok());
  db.file_system().set_error_hook([](const FileOperation& operation) {
    return absl::StrContains(operation.path, "MANIFEST-") ? absl::UnavailableError("planted")
                                                          : absl::OkStatus();
  });
  const auto failed = db->Ingest({{.path = "/table.sst"}}, {});
  db.file_system().set_error_hook(nullptr);
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(db.Get("key"), "(absent)");
  db.CloseDb();
  const std::vector<Event> told = collector_->OfKind(Kind::kIngestEnd);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.code(), failed.status().code());
  EXPECT_EQ(told[0].bytes_written, 0u);
}

TEST_F(EventListenerTest, AListenerMayCallTheDatabase) {
  MemoryDb* called = nullptr;
  std::atomic<int> calls = 0;
  collector_->also_do = [&](const Event& event) {
    if (event.kind != Kind::kFlushBegin && event.kind != Kind::kFlushEnd) return;
    EXPECT_EQ(called->Get("a"), "1");
    EXPECT_TRUE((*called)->Put(WriteOptions(), "told", event.ToString()).ok());
    (*called)->GetStatistics();
    calls++;
  };
  MemoryDb db = MakeDb();
  called = &db;
  db.Put("a", "1");
  db.Flush();
  collector_->WaitFor(Kind::kFlushEnd);
  db.CloseDb();
  EXPECT_EQ(calls, 2);
}

// Close delivers what waits before it returns, to a listener that would be waiting for that.
TEST_F(EventListenerTest, AListenerCannotCloseTheDatabaseButMayWaitForItsWork) {
  MemoryDb* called = nullptr;
  std::atomic<int> calls = 0;
  collector_->also_do = [&](const Event& event) {
    if (event.kind != Kind::kFlushEnd || calls++ > 0) return;
    EXPECT_TRUE(absl::IsFailedPrecondition((*called)->Close()));
    EXPECT_TRUE((*called)->Put(WriteOptions(), "b", "2").ok());
    EXPECT_TRUE((*called)->Flush().ok());
    EXPECT_TRUE((*called)->CompactRange(std::nullopt, std::nullopt).ok());
    EXPECT_TRUE((*called)->WaitForBackgroundWork().ok());
    EXPECT_TRUE((*called)->Verify().ok());
  };
  MemoryDb db = MakeDb();
  called = &db;
  db.Put("a", "1");
  db.Flush();
  collector_->WaitFor(Kind::kCompactionEnd);
  db.CloseDb();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(collector_->OfKind(Kind::kDatabaseClosed).size(), 1u);
}

TEST_F(EventListenerTest, AListenersCallsWhileTheDatabaseIsBeingClosedAreWholeOrRefused) {
  for (int round = 0; round < 20; round++) {
    DB* called = nullptr;
    std::atomic<int> done = 0;
    std::atomic<int> refused = 0;
    const auto listener = std::make_shared<Collector>();
    listener->also_do = [&](const Event& event) {
      if (event.kind == Kind::kDatabaseOpened || event.kind == Kind::kFileCreated) return;
      const absl::Status put =
          called->Put(WriteOptions(), absl::StrCat("told", done.load()), std::string(1000, 'v'));
      put.ok() ? done++ : refused++;
      EXPECT_TRUE(put.ok() || absl::IsFailedPrecondition(put)) << put.ToString();
    };
    Options options = MemoryDb::Quiet();
    options.listeners = {listener};
    MemoryDb db(options);
    called = db.get();
    for (int i = 0; i < 3; i++) {
      db.Put("a", "1");
      db.Flush();
    }
    EXPECT_TRUE(db->Close().ok());
    EXPECT_GT(refused, 0);  // kDatabaseClosed at least
    db.options().listeners.clear();
    db.Reopen();
    for (int i = 0; i < done; i++) {
      EXPECT_EQ(db.Get(absl::StrCat("told", i)), std::string(1000, 'v'));
    }
  }
}

TEST_F(EventListenerTest, BackgroundErrorsSayWhetherTheyAreTriedAgain) {
  MemoryDb db = MakeDb();
  std::atomic<bool> full = true;
  std::atomic<bool> broken = false;
  db.file_system().set_error_hook([&](const FileOperation& operation) -> absl::Status {
    if (operation.kind != FileOperation::Kind::kCreate || !operation.path.ends_with(".sst")) {
      return absl::OkStatus();
    }
    if (full) return absl::ResourceExhaustedError("no space left");
    return broken ? absl::UnavailableError("broken") : absl::OkStatus();
  });
  db.Put("a", "1");
  EXPECT_FALSE(db->Flush().ok());
  const Event retried = collector_->WaitFor(Kind::kBackgroundError);
  EXPECT_TRUE(retried.will_retry);
  EXPECT_THAT(retried.ToString(), HasSubstr("a flush failed, is tried again"));
  EXPECT_THAT(retried.ToString(), HasSubstr("no space left"));
  full = false;
  db.Flush();

  broken = true;
  db.Put("b", "2");
  while (db->Put(WriteOptions(), "c", "3").ok()) {
    EXPECT_FALSE(db->Flush().ok());
  }
  EXPECT_FALSE(db->Close().ok());
  const Event final = collector_->OfKind(Kind::kBackgroundError).back();
  EXPECT_FALSE(final.will_retry);
  EXPECT_TRUE(absl::IsUnavailable(final.status));
  EXPECT_TRUE(absl::IsUnavailable(collector_->OfKind(Kind::kDatabaseClosed).at(0).status));
  db.file_system().set_error_hook(nullptr);
}

// A flush stands still until the listener has been told that writers wait for it.
TEST_F(EventListenerTest, AStallBeginsAndEnds) {
  std::latch stalled(1);
  std::atomic<bool> begun = false;
  collector_->also_do = [&](const Event& event) {
    if (event.kind == Kind::kWriteStallBegin && !begun.exchange(true)) stalled.count_down();
  };
  Options options = MemoryDb::Quiet();
  options.write_buffer_bytes = 64 << 10;
  options.max_write_buffers = 2;
  MemoryDb db = MakeDb(options);
  db.file_system().set_error_hook([&](const FileOperation& operation) {
    const bool table = operation.path.ends_with(".sst");
    if (operation.kind == FileOperation::Kind::kCreate && table) stalled.wait();
    return absl::OkStatus();
  });
  for (int i = 0; i < 30; i++) db.Put(absl::StrCat("key", i), std::string(10000, 'v'));
  db.Flush();
  db.Put("after", "the stall");
  db.CloseDb();
  const std::vector<Event> begins = collector_->OfKind(Kind::kWriteStallBegin);
  ASSERT_FALSE(begins.empty());
  EXPECT_EQ(begins[0].column_family, "default");
  EXPECT_THAT(begins[0].ToString(), HasSubstr("writes wait"));
  EXPECT_EQ(collector_->OfKind(Kind::kWriteStallEnd).size(), begins.size());
  db.file_system().set_error_hook(nullptr);
}

// Flips a bit in the first block of a kind.
void Damage(RecordingFileSystem& file_system, const std::string& path, BlockKind kind) {
  std::string bytes = *ReadFile(file_system, path, 1 << 26);
  uint64_t offset = UINT64_MAX;
  {
    const auto reader = SstableReader::Open({}, *file_system.OpenRandomAccess(path), path);
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)
                    ->ForEachBlock([&](const SstableBlockInfo& block) {
                      if (block.kind == kind && offset == UINT64_MAX) offset = block.offset;
                    })
                    .ok());
  }
  ASSERT_LT(offset, bytes.size());
  bytes[offset + 3] = static_cast<char>(bytes[offset + 3] ^ 1);
  const auto file = file_system.Create(path, {});
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append(bytes).ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Close().ok());
}

TEST_F(EventListenerTest, DamageIsToldOnceWithTheFile) {
  MemoryDb db = MakeDb();
  db.Put("a", "1");
  db.CompactAll();
  db.CloseDb();
  const std::string path = collector_->OfKind(Kind::kFileCreated).back().path;
  Damage(db.file_system(), path, BlockKind::kData);
  db.Reopen();
  for (int i = 0; i < 3; i++) {
    std::string value;
    EXPECT_TRUE(absl::IsDataLoss(db->Get(ReadOptions(), "a", &value)));
  }
  {
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->SeekToFirst();
    EXPECT_TRUE(absl::IsDataLoss(iterator->status()));
  }
  EXPECT_TRUE(absl::IsDataLoss(db->CompactRange("a", "b")));
  EXPECT_FALSE(VerifyMessages(*db).empty());
  db.CloseDb();
  const std::vector<Event> found = collector_->OfKind(Kind::kCorruptionFound);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0].ToString(), HasSubstr(path));
  for (size_t i = 1; i < found.size(); i++) {
    EXPECT_NE(found[i].status.message(), found[i - 1].status.message());
  }
}

TEST_F(EventListenerTest, ADamagedFilterIsToldWhenTheDatabaseIsOpened) {
  MemoryDb db = MakeDb();
  for (int i = 0; i < 1000; i++) db.Put(absl::StrCat("key", i), "1");
  db.CompactAll();
  db.CloseDb();
  EXPECT_TRUE(collector_->OfKind(Kind::kFilterDegraded).empty());
  const std::string path = collector_->OfKind(Kind::kFileCreated).back().path;
  Damage(db.file_system(), path, BlockKind::kFilter);
  db.Reopen();
  db.CloseDb();
  const std::vector<Event> degraded = collector_->OfKind(Kind::kFilterDegraded);
  ASSERT_EQ(degraded.size(), 1u);
  EXPECT_EQ(degraded[0].path, path);
  EXPECT_FALSE(degraded[0].message.empty());
}

TEST(EventTextTest, CountsAreInTheirNumber) {
  Event event;
  event.column_family = "default";
  const auto text = [&event](Kind kind, uint64_t count) {
    event.kind = kind;
    event.num_inputs = event.num_outputs = event.bytes_read = event.bytes_written = count;
    return event.ToString();
  };
  EXPECT_EQ(text(Kind::kFlushBegin, 1), "flush of default begins: 1 memtable");
  EXPECT_EQ(text(Kind::kFlushBegin, 2), "flush of default begins: 2 memtables");
  EXPECT_EQ(text(Kind::kFlushEnd, 1),
            "flush of default ends after 0.000 s: 1 file, 1 byte written");
  EXPECT_EQ(text(Kind::kFlushEnd, 0),
            "flush of default ends after 0.000 s: 0 files, 0 bytes written");
  event.input_level = 0;
  event.output_level = 1;
  EXPECT_EQ(text(Kind::kCompactionBegin, 1),
            "compaction of default from level 0 to 1 begins: 1 file");
  EXPECT_EQ(text(Kind::kCompactionEnd, 2),
            "compaction of default from level 0 to 1 ends after 0.000 s: 2 files, 2 bytes written, "
            "2 bytes read");
}

// --- Merge operators that fail ---

// A key whose value is no number, with an operand that adds to it.
void PutSumOfNoNumber(DB& db, ColumnFamily* family, std::string_view key) {
  EXPECT_TRUE(db.Put(WriteOptions(), family, key, "no number").ok());
  EXPECT_TRUE(db.Merge(WriteOptions(), family, key, std::string(8, '\1')).ok());
}

TEST(MergeFailureEvents, AFloodOfThemIsOneOfEachFamilyAndAllAreCounted) {
  const auto collector = std::make_shared<Collector>();
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("uint64_add");
  options.listeners = {collector};
  options.info_log_bytes = 1 << 20;
  MemoryDb db(options);
  ColumnFamily* other = *db->CreateColumnFamily(options, "other");
  PutSumOfNoNumber(*db, db->DefaultColumnFamily(), "bad\n");
  PutSumOfNoNumber(*db, other, "worse");
  std::string value;
  for (int i = 0; i < 1000; i++) {
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Get(ReadOptions(), "bad\n", &value)));
  }
  const std::unique_ptr<Iterator> iterator = db->NewIterator(ReadOptions(), other);
  for (int i = 0; i < 1000; i++) {
    iterator->SeekToFirst();
    EXPECT_TRUE(absl::IsFailedPrecondition(iterator->status()));
  }
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kMergeFailures), 2000u);
  ASSERT_TRUE(db->Close().ok());
  const std::vector<Event> failures = collector->OfKind(Kind::kMergeFailed);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].column_family, "default");
  EXPECT_EQ(failures[0].message, "get");
  EXPECT_EQ(failures[0].num_inputs, 1u);
  EXPECT_THAT(failures[0].ToString(),
              HasSubstr("get of default meets operands without a value: key 'bad\\n': merge "
                        "operator 'uint64_add' gives no value: "));
  EXPECT_EQ(failures[1].column_family, "other");
  EXPECT_EQ(failures[1].message, "iterator");
  const std::string log = *ReadFile(db.file_system(), "/db/LOG", 1 << 20);
  EXPECT_THAT(log, HasSubstr(failures[0].ToString()));
}

TEST(DeadlockEvents, OneNamesTheCircleAndTheRestAreCounted) {
  const auto collector = std::make_shared<Collector>();
  Options options = MemoryDb::Quiet();
  options.listeners = {collector};
  MemoryDb db(options);
  TransactionOptions pessimistic;
  pessimistic.mode = TransactionOptions::Mode::kPessimistic;
  for (int i = 0; i < 3; i++) {
    const auto first = *db->BeginTransaction(pessimistic);
    const auto second = *db->BeginTransaction(pessimistic);
    ASSERT_TRUE(first->Put("a", "1").ok());
    ASSERT_TRUE(second->Put("b", "2").ok());
    const auto put = [](Transaction& transaction, const char* key) {
      if (!transaction.Put(key, "3").ok()) {
        EXPECT_TRUE(transaction.Rollback().ok());
      }
    };
    std::thread waits([&] { put(*first, "b"); });
    put(*second, "a");
    waits.join();
  }
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kTransactionDeadlocks), 3u);
  ASSERT_TRUE(db->Close().ok());
  const std::vector<Event> deadlocks = collector->OfKind(Kind::kDeadlockFound);
  ASSERT_EQ(deadlocks.size(), 1u);
  EXPECT_EQ(deadlocks[0].column_family, "default");
  EXPECT_EQ(deadlocks[0].num_inputs, 1u);
  EXPECT_TRUE(absl::IsAborted(deadlocks[0].status)) << deadlocks[0].status;
  EXPECT_THAT(deadlocks[0].ToString(), HasSubstr("deadlock: transaction "));
  EXPECT_THAT(deadlocks[0].ToString(), HasSubstr("waits for key \"a\""));
  EXPECT_THAT(deadlocks[0].ToString(), HasSubstr("waits for key \"b\""));
}

TEST(MergeFailureEvents, EachCallThatMeetsOneIsNamed) {
  const auto call_of = [](const std::function<void(MemoryDb&)>& call) {
    const auto collector = std::make_shared<Collector>();
    Options options = MemoryDb::Quiet();
    options.merge_operator = *ParseMergeOperator("uint64_add");
    options.listeners = {collector};
    MemoryDb db(options);
    call(db);
    EXPECT_TRUE(db->Close().ok());
    const std::vector<Event> failures = collector->OfKind(Kind::kMergeFailed);
    EXPECT_EQ(failures.size(), 1u);
    return failures.empty() ? "" : failures.front().message;
  };
  const std::string operand(8, '\1');
  EXPECT_EQ(call_of([](MemoryDb& db) {
              PutSumOfNoNumber(*db, db->DefaultColumnFamily(), "key");
              db.MultiGet({"key"});
            }),
            "multi-get");
  EXPECT_EQ(call_of([](MemoryDb& db) {
              PutSumOfNoNumber(*db, db->DefaultColumnFamily(), "key");
              db.Flush();
            }),
            "flush");
  EXPECT_EQ(call_of([&](MemoryDb& db) {
              db.Put("key", "no number");
              db.Flush();
              EXPECT_TRUE(db->Merge(WriteOptions(), "key", operand).ok());
              db.CompactAll();
            }),
            "compaction");
}

TEST(EventQueueTest, ASlowListenerLosesTheNewestEventsAndIsToldHowMany) {
  constexpr size_t kAdded = EventQueue::kMaxWaiting + 500;
  std::latch reached(1);
  std::latch may_go_on(1);
  const auto collector = std::make_shared<Collector>();
  collector->also_do = [&, first = true](const Event&) mutable {
    if (!first) return;
    first = false;
    reached.count_down();
    may_go_on.wait();
  };
  EventQueue queue({collector});
  ASSERT_TRUE(queue.Start({}, {}).ok());
  queue.Add(Event());
  reached.wait();
  for (size_t i = 0; i < kAdded; i++) queue.Add(Event());
  may_go_on.count_down();
  // One more gets through once there is room, and carries the number of those that did not.
  while (collector->Names().size() < EventQueue::kMaxWaiting + 1) std::this_thread::yield();
  queue.Add(Event());
  queue.Stop();
  const std::vector<Event> told = collector->OfKind(Kind::kDatabaseOpened);
  ASSERT_EQ(told.size(), EventQueue::kMaxWaiting + 2);
  EXPECT_EQ(told.back().num_lost_before, 500u);
}

// A queue that is full by the time that anything else is added, and takes it again once it is let
// go.
class FullQueue {
 public:
  FullQueue() {
    collector_->also_do = [this, first = true](const Event&) mutable {
      if (!first) return;
      first = false;
      reached_.count_down();
      may_go_on_.wait();
    };
    EXPECT_TRUE(queue_.Start({}, {}).ok());
    EXPECT_TRUE(queue_.Add(Event()));
    reached_.wait();
    for (size_t i = 0; i < EventQueue::kMaxWaiting; i++) EXPECT_TRUE(queue_.Add(Event()));
    EXPECT_FALSE(queue_.Add(Event()));
  }
  void LetGo() {
    may_go_on_.count_down();
    queue_.Drain();
  }
  EventQueue& queue() { return queue_; }
  std::vector<Event> ToldAtTheEnd(Kind kind) {
    queue_.Stop();
    return collector_->OfKind(kind);
  }

 private:
  const std::shared_ptr<Collector> collector_ = std::make_shared<Collector>();
  std::latch reached_{1};
  std::latch may_go_on_{1};
  EventQueue queue_{{collector_}};
};

TEST(EventQueueTest, DamageOfWhichTheEventWasLostIsToldTheNextTime) {
  FullQueue full;
  const absl::Status damage = absl::DataLossError("000007.sst: damaged");
  full.queue().AddIfCorruption(damage);
  full.LetGo();
  for (int i = 0; i < 3; i++) full.queue().AddIfCorruption(damage);
  const std::vector<Event> told = full.ToldAtTheEnd(Kind::kCorruptionFound);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.message(), damage.message());
}

TEST(EventQueueTest, MergeFailuresOfWhichTheEventWasLostAreCountedInTheNextOne) {
  FullQueue full;
  const absl::Status failure = absl::FailedPreconditionError("no value");
  full.queue().AddMergeFailures("default", "get", failure, 3);
  full.LetGo();
  full.queue().AddMergeFailures("default", "get", failure, 1);
  const std::vector<Event> told = full.ToldAtTheEnd(Kind::kMergeFailed);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].num_inputs, 4u);
}

TEST(EventQueueTest, GarbageOfWhichTheEventWasLostIsToldWithTheNextOne) {
  FullQueue full;
  full.queue().AddGarbage("default", 3000);
  full.LetGo();
  full.queue().AddGarbage("default", 2000);
  full.queue().AddGarbage("default", 9000);
  full.queue().AddGarbage("other", 1000);
  const std::vector<Event> told = full.ToldAtTheEnd(Kind::kGarbageMet);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].num_inputs, 3000u);
  EXPECT_EQ(told[1].column_family, "other");
}

TEST(EventQueueTest, OptionsWithANullListenerAreRefused) {
  Options options;
  options.listeners.push_back(nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(options)));
}

}  // namespace
}  // namespace winnow
