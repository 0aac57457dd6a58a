// Time to live: what has expired is absent for every reader, is dropped, and never lets an older
// version show.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/test_clock.h"
#include "winnow/ingest.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

class DbExpiryTest : public ::testing::Test {
 protected:
  DbExpiryTest() : db_(WithTtl(100, &clock_)) {}

  static Options WithTtl(uint64_t seconds, const Clock* clock) {
    Options options = MemoryDb::Quiet();
    options.ttl_seconds = seconds;
    options.clock = clock;
    return options;
  }
  void SetTtl(std::optional<uint64_t> seconds) {
    db_.options().ttl_seconds = seconds;
    db_.Reopen();
  }
  std::string Scan(const ReadOptions& read = ReadOptions()) {
    std::string forward;
    std::string backward;
    const auto iterator = db_->NewIterator(read);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      absl::StrAppend(&forward, std::string(iterator->key()), "=", std::string(iterator->value()),
                      " ");
    }
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      backward = absl::StrCat(std::string(iterator->key()), "=", std::string(iterator->value()),
                              " ", backward);
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status().ToString();
    EXPECT_EQ(forward, backward);
    return forward;
  }
  // What all calls say of a key, which must agree.
  std::string Read(const std::string& key, const Snapshot* snapshot = nullptr) {
    const std::string value = db_.Get(key, snapshot);
    ReadOptions read;
    read.snapshot = snapshot;
    PinnedValue pinned;
    const absl::Status status = db_->Get(read, key, &pinned);
    EXPECT_EQ(status.ok() ? std::string(pinned.view()) : "(absent)", value);
    EXPECT_EQ(*db_->Exists(read, key), value != "(absent)");
    EXPECT_TRUE(value == "(absent)" || db_->MayExist(read, key));
    if (snapshot == nullptr) {
      EXPECT_EQ(db_.MultiGet({key})[0], value);
      EXPECT_EQ(db_->Explain(key)->found, value != "(absent)");
    }
    const auto iterator = db_->NewIterator(read);
    iterator->Seek(key);
    const bool shown = iterator->Valid() && iterator->key() == key;
    EXPECT_EQ(shown ? std::string(iterator->value()) : "(absent)", value);
    iterator->SeekForPrev(key);
    const bool shown_backward = iterator->Valid() && iterator->key() == key;
    EXPECT_EQ(shown_backward ? std::string(iterator->value()) : "(absent)", value);
    return value;
  }
  uint64_t Ticked(Ticker ticker) { return db_->GetStatistics().Get(ticker); }
  size_t NumTables() {
    size_t count = 0;
    const std::vector<std::string> names = *db_.file_system().List(MemoryDb::kPath);
    for (const std::string& name : names) count += name.ends_with(".sst") ? 1 : 0;
    return count;
  }
  // The thread that has dropped a file may still be about to remove it when its work counts as
  // done.
  void ExpectTablesSoon(size_t wanted) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (NumTables() != wanted && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(NumTables(), wanted);
  }
  void ExpectSound() {
    const auto problems = db_->Verify();
    ASSERT_TRUE(problems.ok());
    for (const VerifyProblem& problem : *problems) ADD_FAILURE() << problem.status.ToString();
  }

  TestClock clock_;
  MemoryDb db_;
};

TEST_F(DbExpiryTest, AValueIsAbsentFromTheMomentOnForEveryReaderInMemoryAndInFiles) {
  for (const std::string where : {"memtable", "level 0", "last level", "reopened"}) {
    db_.Put("a", where);
    clock_.AdvanceSeconds(60);
    db_.Put("b", where);
    if (where != "memtable") db_.Flush();
    if (where == "last level") db_.CompactAll();
    if (where == "reopened") db_.Reopen();
    clock_.AdvanceMicros(39'999'999);
    EXPECT_EQ(Read("a"), where);
    EXPECT_EQ(Scan(), absl::StrCat("a=", where, " b=", where, " "));
    clock_.AdvanceMicros(1);
    EXPECT_EQ(Read("a"), "(absent)") << where;
    EXPECT_EQ(Read("b"), where);
    EXPECT_EQ(Scan(), absl::StrCat("b=", where, " "));
    clock_.AdvanceSeconds(60);
    EXPECT_EQ(Scan(), "");
    ExpectSound();
  }
}

TEST_F(DbExpiryTest, WriteTimesAreInTheLog) {
  db_.Put("a", "1");
  clock_.AdvanceSeconds(99);
  db_.Reopen();  // replays
  EXPECT_EQ(Read("a"), "1");
  clock_.AdvanceSeconds(1);
  EXPECT_EQ(Read("a"), "(absent)") << "it lives from its write, not from the replay";
}

TEST_F(DbExpiryTest, ABatchMayHoldTimedAndTimelessFamilies) {
  ColumnFamilyOptions forever = MemoryDb::Quiet();
  ColumnFamily* other = *db_->CreateColumnFamily(forever, "forever");
  ColumnFamilyOptions shorter = MemoryDb::Quiet();
  shorter.ttl_seconds = 10;
  ColumnFamily* brief = *db_->CreateColumnFamily(shorter, "brief");
  WriteBatch batch;
  batch.Put("k", "default");
  batch.Put(other, "k", "forever");
  batch.Put(brief, "k", "brief");
  batch.Delete(other, "gone");
  ASSERT_TRUE(db_->Write(WriteOptions(), batch).ok());
  const auto get = [&](ColumnFamily* family) {
    std::string value;
    const absl::Status status = db_->Get(ReadOptions(), family, "k", &value);
    return status.ok() ? value : status.ToString();
  };
  EXPECT_EQ(get(brief), "brief");
  clock_.AdvanceSeconds(10);
  EXPECT_NE(get(brief), "brief");
  EXPECT_EQ(get(db_->DefaultColumnFamily()), "default");
  clock_.AdvanceSeconds(1'000'000);
  EXPECT_NE(get(db_->DefaultColumnFamily()), "default");
  EXPECT_EQ(get(other), "forever");
}

TEST_F(DbExpiryTest, ADatabaseWithoutTtlNeverAsksTheClock) {
  MemoryDb plain(WithTtl(0, &clock_));
  const uint64_t before = clock_.asked();
  plain.Put("a", "1");
  plain.Flush();
  plain.CompactAll();
  EXPECT_EQ(plain.Get("a"), "1");
  const auto iterator = plain->NewIterator(ReadOptions());
  iterator->SeekToFirst();
  EXPECT_EQ(clock_.asked(), before);
}

TEST_F(DbExpiryTest, SnapshotsFreezeDataAndNotTheClock) {
  db_.Put("a", "1");
  const Snapshot* snapshot = db_->GetSnapshot();
  clock_.AdvanceSeconds(50);
  db_.Put("a", "2");
  EXPECT_EQ(Read("a", snapshot), "1");
  clock_.AdvanceSeconds(50);
  EXPECT_EQ(Read("a", snapshot), "(absent)");
  EXPECT_EQ(Read("a"), "2");
  db_.CompactAll();
  EXPECT_EQ(Read("a", snapshot), "(absent)");
  EXPECT_EQ(Read("a"), "2");
  db_->ReleaseSnapshot(snapshot);
}

TEST_F(DbExpiryTest, AnIteratorAsksTheClockAtEachSeek) {
  db_.Put("a", "1");
  db_.Put("b", "1");
  const auto iterator = db_->NewIterator(ReadOptions());
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  clock_.AdvanceSeconds(100);
  iterator->Next();
  ASSERT_TRUE(iterator->Valid()) << "one moment for the whole walk";
  EXPECT_EQ(iterator->key(), "b");
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
}

TEST_F(DbExpiryTest, AnExpiredValueHidesWhatItReplaced) {
  // An older version without a time, which never expires, and one that is dropped with its file.
  SetTtl(0);
  db_.Put("a", "timeless");
  db_.Put("z", "timeless");
  db_.Flush();
  db_.CompactAll();
  SetTtl(100);
  db_.Put("a", "timed");
  clock_.AdvanceSeconds(100);
  EXPECT_EQ(Read("a"), "(absent)");
  db_.Flush();
  EXPECT_EQ(Read("a"), "(absent)");
  db_.options().disable_auto_compactions = false;
  db_.Reopen();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredFilesDropped), 0u) << "it hides what lies below it";
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 1u);
  EXPECT_EQ(Read("a"), "(absent)");
  db_.CompactAll();
  EXPECT_EQ(Scan(), "z=timeless ");
  SetTtl(0);
  EXPECT_EQ(Scan(), "z=timeless ");
}

// The newer version was written at an earlier time than the older one: with the clock set back it
// expires first.
TEST_F(DbExpiryTest, AClockThatWentBackUncoversNothing) {
  db_.Put("a", "older");
  db_.Flush();
  db_.CompactAll();
  clock_.SetSeconds(999'950);
  db_.Put("a", "newer");
  db_.Flush();
  EXPECT_EQ(Read("a"), "newer");
  clock_.SetSeconds(1'000'060);  // the newer has expired, the older has not
  EXPECT_EQ(Read("a"), "(absent)");
  db_.options().disable_auto_compactions = false;
  db_.Reopen();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredFilesDropped), 0u);
  EXPECT_EQ(Read("a"), "(absent)");
  db_.CompactAll();
  EXPECT_EQ(Read("a"), "(absent)");
  clock_.SetSeconds(1'000'000);
  EXPECT_EQ(Read("a"), "(absent)");
}

TEST_F(DbExpiryTest, AClockThatWentBackShowsAgainWhatWasNotDropped) {
  db_.Put("a", "1");
  clock_.AdvanceSeconds(100);
  EXPECT_EQ(Read("a"), "(absent)");
  clock_.SetSeconds(1'000'010);
  EXPECT_EQ(Read("a"), "1");
  clock_.SetSeconds(1);  // long before it was written
  EXPECT_EQ(Read("a"), "1");
  db_.CompactAll();
  EXPECT_EQ(Read("a"), "1");
}

TEST_F(DbExpiryTest, TtlIsRecordedAndMayChange) {
  db_.Put("a", "1");
  SetTtl(std::nullopt);
  clock_.AdvanceSeconds(100);
  EXPECT_EQ(Read("a"), "(absent)") << "as recorded";
  SetTtl(1000);
  EXPECT_EQ(Read("a"), "1") << "longer";
  SetTtl(50);
  EXPECT_EQ(Read("a"), "(absent)") << "shorter";
  SetTtl(0);
  EXPECT_EQ(Read("a"), "1") << "off";
  EXPECT_EQ(Scan(), "a=1 ");
  db_.Put("b", "without");
  SetTtl(std::nullopt);
  clock_.AdvanceSeconds(1'000'000);
  EXPECT_EQ(Scan(), "a=1 b=without ") << "off is recorded too";
  SetTtl(50);
  EXPECT_EQ(Scan(), "b=without ") << "what was written without a time never expires";
  db_.CompactAll();
  SetTtl(0);
  EXPECT_EQ(Scan(), "b=without ") << "what was dropped is gone";
}

TEST_F(DbExpiryTest, TtlOfOneFamilyIsNotThatOfOthers) {
  ColumnFamily* other = *db_->CreateColumnFamily(MemoryDb::Quiet(), "other");
  const auto put_and_wait = [&] {
    ASSERT_TRUE(db_->Put(WriteOptions(), other, "k", "v").ok());
    clock_.AdvanceSeconds(1000);
  };
  put_and_wait();
  EXPECT_TRUE(*db_->Exists(ReadOptions(), other, "k"));
  SetTtl(50);
  other = *db_->FindColumnFamily("other");
  put_and_wait();
  EXPECT_TRUE(*db_->Exists(ReadOptions(), other, "k")) << "it was not named";
  db_.options().column_families["other"] = MemoryDb::Quiet();
  db_.options().column_families["other"].ttl_seconds = 50;
  db_.Reopen();
  other = *db_->FindColumnFamily("other");
  put_and_wait();
  EXPECT_FALSE(*db_->Exists(ReadOptions(), other, "k"));
  db_.options().column_families.clear();
  SetTtl(0);
  other = *db_->FindColumnFamily("other");
  EXPECT_FALSE(*db_->Exists(ReadOptions(), other, "k")) << "as recorded";
}

TEST_F(DbExpiryTest, AFamilyExpiresOrMergesAndNotBoth) {
  Options both = db_.options();
  both.merge_operator = *ParseMergeOperator("append:+");
  EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(both)));
  EXPECT_TRUE(absl::IsInvalidArgument(db_->CreateColumnFamily(both, "both").status()));
  EXPECT_FALSE(db_->Merge(WriteOptions(), db_->DefaultColumnFamily(), "k", "1").ok());
  // The options' operator is not that of a family that they do not name.
  ColumnFamilyOptions timed = MemoryDb::Quiet();
  timed.ttl_seconds = 100;
  ASSERT_TRUE(db_->CreateColumnFamily(timed, "timed").ok());
  db_.Put("k", "timed");
  db_.options().merge_operator = both.merge_operator;
  SetTtl(0);
  ASSERT_TRUE(db_->FindColumnFamily("timed").ok());
  // A value with a time is what operands are merged with, wherever it lies.
  ASSERT_TRUE(db_->Merge(WriteOptions(), db_->DefaultColumnFamily(), "k", "1").ok());
  EXPECT_EQ(Read("k"), "timed+1");
  db_.Flush();
  ASSERT_TRUE(db_->Merge(WriteOptions(), db_->DefaultColumnFamily(), "k", "2").ok());
  EXPECT_EQ(Read("k"), "timed+1+2");
  db_.CompactAll();
  EXPECT_EQ(Read("k"), "timed+1+2");
  db_.CloseDb();
  db_.options().merge_operator = nullptr;
  db_.options().ttl_seconds = 100;
  const auto opened = DB::Open(db_.options(), MemoryDb::kPath);
  EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << opened.status();
  db_.options().ttl_seconds = std::nullopt;
  db_.Reopen();
  EXPECT_EQ(Read("k"), "timed+1+2");
}

TEST_F(DbExpiryTest, ReadOnlyCheckpointBackupAndIngestedDataExpireToo) {
  db_.Put("a", "1");
  ASSERT_TRUE(db_->Checkpoint("/copy").ok());
  ColumnFamilyOptions timed = MemoryDb::Quiet();
  timed.ttl_seconds = 100;
  auto writer = db_->NewSstWriter(db_->DefaultColumnFamily(), "/t.sst");
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  ASSERT_TRUE((*writer)->Put("ingested", "1").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  clock_.AdvanceSeconds(50);
  ASSERT_TRUE(db_->Ingest({{.path = "/t.sst"}}, {}).ok());
  EXPECT_EQ(Read("ingested"), "1");
  clock_.AdvanceSeconds(49);
  EXPECT_EQ(Scan(), "a=1 ingested=1 ");
  clock_.AdvanceSeconds(1);
  EXPECT_EQ(Scan(), "");
  ExpectSound();
  db_.options().read_only = true;
  SetTtl(std::nullopt);
  EXPECT_EQ(Read("a"), "(absent)");
  Options copy = db_.options();
  copy.read_only = false;
  copy.ttl_seconds = std::nullopt;
  auto copied = OpenOrFail(copy, "/copy");
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(copied->Get(ReadOptions(), "a", &value)));
}

TEST_F(DbExpiryTest, CompactionDropsWhatHasExpired) {
  for (int i = 0; i < 100; i++) db_.Put(absl::StrCat("old", i), "v");
  clock_.AdvanceSeconds(50);
  for (int i = 0; i < 10; i++) db_.Put(absl::StrCat("new", i), "v");
  db_.Flush();
  db_.CompactAll();
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 0u);
  clock_.AdvanceSeconds(50);
  db_.CompactAll();
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 100u);
  uint64_t entries = 0;
  for (const LevelStatistics& row : db_->GetStatistics().levels) entries += row.num_entries;
  EXPECT_EQ(entries, 10u);
  ExpectSound();
}

TEST_F(DbExpiryTest, FilesThatHaveExpiredGoByThemselvesWithoutBeingRead) {
  db_.options().disable_auto_compactions = false;
  db_.options().level0_compaction_trigger = 100;
  db_.options().level0_slowdown_trigger = 200;
  db_.options().level0_stop_trigger = 300;
  db_.Reopen();
  for (int file = 0; file < 3; file++) {
    for (int i = 0; i < 100; i++) db_.Put(absl::StrCat("key", i), "v");
    db_.Delete("key0");
    db_.Flush();
  }
  clock_.AdvanceSeconds(10);
  db_.Put("late", "v");
  db_.Flush();
  clock_.AdvanceSeconds(90);
  const uint64_t read = Ticked(Ticker::kCompactionBytesRead);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredFilesDropped), 3u);
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 297u) << "values, and not deletions";
  EXPECT_EQ(Ticked(Ticker::kCompactionBytesRead), read);
  ExpectTablesSoon(1);
  EXPECT_EQ(Scan(), "late=v ");
  clock_.AdvanceSeconds(10);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  ExpectTablesSoon(0);
  EXPECT_EQ(Scan(), "");
}

// Values written over the whole time to live, in one file: half of them have expired when it is
// rewritten.
TEST_F(DbExpiryTest, TheOldestExpiredDataIsDroppedThoughNobodyWrites) {
  db_.options().disable_auto_compactions = false;
  db_.Reopen();
  for (int i = 0; i < 100; i++) {
    db_.Put(absl::StrCat("key", i), "v");
    clock_.AdvanceSeconds(1);
  }
  db_.CompactAll();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 1u) << "the first, by CompactAll";
  clock_.AdvanceSeconds(40);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 1u) << "not for every entry anew";
  clock_.AdvanceSeconds(10);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 51u);
  clock_.AdvanceSeconds(50);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredEntriesDropped), 100u);
  EXPECT_EQ(NumTables(), 0u);
}

TEST_F(DbExpiryTest, NothingIsDroppedUnreadWhereOlderDataMayComeBehind) {
  db_.options().disable_auto_compactions = false;
  db_.options().allow_ingest_behind = true;
  db_.Reopen();
  db_.Put("a", "1");
  db_.Flush();
  clock_.AdvanceSeconds(100);
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(Ticked(Ticker::kExpiredFilesDropped), 0u);
  auto writer = db_->NewSstWriter(db_->DefaultColumnFamily(), "/t.sst");
  ASSERT_TRUE((*writer)->Put("a", "behind").ok());
  ASSERT_TRUE((*writer)->Put("b", "behind").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  ASSERT_TRUE(db_->Ingest({{.path = "/t.sst"}}, {.behind = true}).ok());
  EXPECT_EQ(Scan(), "b=behind ");
}

TEST_F(DbExpiryTest, ExplainSaysWhen) {
  db_.Put("a", "1");
  const auto before = db_->Explain("a");
  EXPECT_EQ(before->steps.back().detail, "expires at 1970-01-12T13:48:20Z");
  EXPECT_EQ(before->steps.back().answer, ExplainStep::Answer::kValue);
  clock_.AdvanceSeconds(100);
  db_.Flush();
  const auto after = db_->Explain("a");
  EXPECT_FALSE(after->found);
  EXPECT_EQ(after->steps.back().answer, ExplainStep::Answer::kExpired);
  EXPECT_EQ(after->steps.back().detail, "expired at 1970-01-12T13:48:20Z");
  EXPECT_EQ(after->steps.back().write_time_micros, 1'000'000'000'000u);
  EXPECT_NE(after->ToString().find("expired at 1970-01-12"), std::string::npos);
}

TEST_F(DbExpiryTest, OptionIsCheckedInEveryForm) {
  Options options;
  EXPECT_TRUE(SetOption(&options, "ttl_seconds", "3600").ok());
  EXPECT_EQ(options.ttl_seconds, 3600u);
  for (const char* bad : {"", "-1", "1h", "3153600001", "18446744073709551616", "1.5"}) {
    const absl::Status status = SetOption(&options, "ttl_seconds", bad);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_NE(status.message().find("ttl_seconds"), std::string::npos);
  }
  EXPECT_EQ(options.ttl_seconds, 3600u);
  options.ttl_seconds = UINT64_MAX;
  EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(options)));
  db_.CloseDb();
  db_.options().ttl_seconds = kMaxTtlSeconds;
  db_.Reopen();
  db_.Put("a", "1");
  clock_.SetSeconds(1'000'000 + kMaxTtlSeconds - 1);
  EXPECT_EQ(Read("a"), "1");
  clock_.AdvanceSeconds(1);
  EXPECT_EQ(Read("a"), "(absent)");
}

TEST_F(DbExpiryTest, AClockAtItsEndOverflowsNothing) {
  class EndOfTime final : public Clock {
   public:
    uint64_t NowMicros() const override { return UINT64_MAX; }
  };
  const EndOfTime end;
  MemoryDb db(WithTtl(kMaxTtlSeconds, &end));
  db.Put("a", "1");
  EXPECT_EQ(db.Get("a"), "1");
  db.CompactAll();
  EXPECT_EQ(db.Get("a"), "1");
  EXPECT_TRUE(db->Explain("a").ok());
}

// Every order of writes, deletions, clocks set forth and back, flushes and compactions gives what a
// map of (value, time) gives, as long as what has expired stays expired.
TEST_F(DbExpiryTest, RandomHistoriesAgreeWithAModel) {
  for (const uint64_t seed : Seeds(20)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    std::mt19937_64 random(seed);
    TestClock clock;
    Options options = MemoryDb::Busy();
    options.ttl_seconds = 100;
    options.clock = &clock;
    MemoryDb db(options);
    std::map<std::string, std::pair<std::string, uint64_t>> model;
    for (int step = 0; step < 2000; step++) {
      const std::string key = absl::StrCat("k", random() % 50);
      const uint64_t what = random() % 100;
      if (what < 50) {
        const std::string value = absl::StrCat(step, std::string(random() % 300, 'v'));
        db.Put(key, value);
        model[key] = {value, clock.seconds()};
      } else if (what < 60) {
        db.Delete(key);
        model.erase(key);
      } else if (what < 80) {
        clock.AdvanceSeconds(random() % 20);
      } else if (what < 83) {
        db.Flush();
      } else if (what < 84) {
        db.CompactAll();
      } else if (what < 85) {
        db.Reopen();
      } else {
        const auto found = model.find(key);
        const bool alive = found != model.end() && clock.seconds() < found->second.second + 100;
        ASSERT_EQ(db.Get(key), alive ? found->second.first : "(absent)") << key << " at " << step;
      }
    }
    std::string expected;
    for (const auto& [key, written] : model) {
      if (clock.seconds() < written.second + 100) absl::StrAppend(&expected, key, " ");
    }
    std::string shown;
    const auto iterator = db->NewIterator(ReadOptions());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      absl::StrAppend(&shown, std::string(iterator->key()), " ");
    }
    EXPECT_EQ(shown, expected);
  }
}

}  // namespace
}  // namespace winnow
