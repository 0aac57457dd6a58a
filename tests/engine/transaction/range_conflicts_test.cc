// Who deletes a range in a transaction relies on all of its keys: what others write into it is a
// conflict wherever it is by then, and nothing else is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/transaction/transaction_kinds.h"
#include "tests/support/db_fixture.h"
#include "winnow/db.h"

namespace winnow {
namespace {

constexpr auto kLocksNothing = TransactionOptions::Mode::kOptimistic;
constexpr auto kLocksKeys = TransactionOptions::Mode::kPessimistic;

constexpr auto kAborted = absl::StatusCode::kAborted;

class RangeConflictTest : public testing::TestWithParam<TransactionKind> {
 protected:
  std::unique_ptr<Transaction> Begin(MemoryDb& db) {
    TransactionOptions options = GetParam().Options();
    options.lock_timeout = std::chrono::milliseconds(0);
    auto begun = db->BeginTransaction(options);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return *std::move(begun);
  }
  std::unique_ptr<Transaction> Begin() { return Begin(db_); }
  // One that deletes the keys from "b" to before "d".
  std::unique_ptr<Transaction> BeginAndDelete() {
    auto transaction = Begin();
    EXPECT_TRUE(transaction->DeleteRange("b", "d").ok());
    return transaction;
  }
  static void ExpectConflict(Transaction& transaction, std::string_view named) {
    const absl::Status status = transaction.Commit();
    EXPECT_EQ(status.code(), kAborted) << status.ToString();
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(std::string(named)));
  }
  void DeleteRange(std::string_view begin, std::string_view end) {
    ASSERT_TRUE(db_->DeleteRange(WriteOptions(), begin, end).ok());
  }

  MemoryDb db_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, RangeConflictTest, testing::ValuesIn(kTransactionKinds),
                         NameOfKind);

// Where the other write goes after it was made.
struct Place {
  std::string_view name;
  void (*move)(MemoryDb& db);
};
constexpr Place kPlaces[] = {
    {"memtable", [](MemoryDb&) {}},
    {"level 0", [](MemoryDb& db) { db.Flush(); }},
    {"level 0, below another",
     [](MemoryDb& db) {
       db.Flush();
       db.Put("a", "newer");
       db.Put("z", "newer");
       db.Flush();
     }},
    {"the last level", [](MemoryDb& db) { db.CompactAll(); }},
    // A table that reaches out of the range on both sides.
    {"the last level, among others",
     [](MemoryDb& db) {
       db.Put("a", "newer");
       db.Put("z", "newer");
       db.CompactAll();
     }},
};

// The ways to write to "c".
const std::vector<std::function<absl::Status(DB&)>> kWritesToC = {
    [](DB& db) { return db.Put(WriteOptions(), "c", "another's"); },
    [](DB& db) { return db.Delete(WriteOptions(), "c"); },
    [](DB& db) { return db.DeleteRange(WriteOptions(), "c", "c0"); },
    [](DB& db) { return db.DeleteRange(WriteOptions(), "a", "m"); },
};

TEST_P(RangeConflictTest, AWriteIntoTheRangeIsFoundWhereverItIs) {
  uint64_t conflicts = 0;
  for (const Place& place : kPlaces) {
    for (const auto& write : kWritesToC) {
      for (const bool was_there : {false, true}) {
        SCOPED_TRACE(absl::StrCat(std::string(place.name), was_there ? ", was there" : ""));
        was_there ? db_.Put("c", "before") : db_.Delete("c");
        db_.CompactAll();
        const auto transaction = BeginAndDelete();
        ASSERT_TRUE(transaction->Put("result", "of it").ok());
        ASSERT_TRUE(write(*db_).ok());
        place.move(db_);
        ExpectConflict(*transaction, "the range from \"b\" to before \"d\"");
        EXPECT_EQ(db_.Get("result"), "(absent)");
        conflicts++;
      }
    }
  }
  EXPECT_EQ(db_->GetStatistics().Get(Ticker::kTransactionConflicts), conflicts);
}

TEST_P(RangeConflictTest, WhatIsBesideTheRangeIsNone) {
  for (const Place& place : kPlaces) {
    SCOPED_TRACE(place.name);
    for (const std::string_view key : {"a", "b", "c", "d", "e"}) db_.Put(key, "before");
    const auto transaction = BeginAndDelete();
    db_.Put("a", "another's");
    db_.Put("d", "another's");
    db_.Delete("e");
    DeleteRange("a0", "b");
    DeleteRange("d", "d0");
    DeleteRange("x", "y");
    place.move(db_);
    const absl::Status committed = transaction->Commit();
    EXPECT_TRUE(committed.ok()) << committed.ToString();
    EXPECT_EQ(db_.Get("b"), "(absent)");
    EXPECT_EQ(db_.Get("c"), "(absent)");
  }
}

TEST_P(RangeConflictTest, TheFirstKeyIsOfTheRangeAndTheEndIsNot) {
  const auto first = BeginAndDelete();
  db_.Put("b", "another's");
  ExpectConflict(*first, "the range");
  const auto reaches_in = BeginAndDelete();
  DeleteRange("a", "b0");
  ExpectConflict(*reaches_in, "the range");
  const auto last = BeginAndDelete();
  db_.Put(std::string_view("c\xff\xff", 3), "another's");
  ExpectConflict(*last, "the range");
  const auto end = BeginAndDelete();
  db_.Put("d", "another's");
  EXPECT_TRUE(end->Commit().ok());
}

TEST_P(RangeConflictTest, EarlierWritesAreNone) {
  for (const Place& place : kPlaces) {
    SCOPED_TRACE(place.name);
    db_.Put("b", "before");
    DeleteRange("c", "c5");
    const auto transaction = BeginAndDelete();
    place.move(db_);
    const absl::Status committed = transaction->Commit();
    EXPECT_TRUE(committed.ok()) << committed.ToString();
    EXPECT_EQ(db_.Get("b"), "(absent)");
  }
}

TEST_P(RangeConflictTest, ItsOwnWritesAreNone) {
  db_.Put("b", "before");
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("b", "own").ok());
  ASSERT_TRUE(transaction->DeleteRange("a", "z").ok());
  ASSERT_TRUE(transaction->DeleteRange("b", "c").ok());
  ASSERT_TRUE(transaction->Put("c", "own").ok());
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(transaction->Get(ReadOptions(), "b", &value)));
  EXPECT_TRUE(absl::IsNotFound(transaction->GetForUpdate(ReadOptions(), "b", &value)));
  const auto it = transaction->NewIterator(ReadOptions());
  it->SeekToFirst();
  EXPECT_EQ(it->key(), "c");
  const absl::Status committed = transaction->Commit();
  EXPECT_TRUE(committed.ok()) << committed.ToString();
  EXPECT_EQ(db_.Get("b"), "(absent)");
  EXPECT_EQ(db_.Get("c"), "own");
}

TEST_P(RangeConflictTest, OfTwoThatDeleteSomeKeyTheSecondIsRefused) {
  const auto first = BeginAndDelete();
  const auto beside = Begin();
  ASSERT_TRUE(beside->DeleteRange("d", "f").ok());
  const auto second = Begin();
  ASSERT_TRUE(second->DeleteRange("c", "e").ok());
  EXPECT_TRUE(first->Commit().ok());
  EXPECT_TRUE(beside->Commit().ok());
  ExpectConflict(*second, "the range from \"c\" to before \"e\"");
}

TEST_P(RangeConflictTest, AWriteBetweenBeginningAndDeletionIsOneForASnapshotOnly) {
  const auto transaction = Begin();
  db_.Put("c", "between");
  ASSERT_TRUE(transaction->DeleteRange("b", "d").ok());
  if (GetParam().snapshot_at_begin) {
    ExpectConflict(*transaction, "the range");
    return;
  }
  EXPECT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(db_.Get("c"), "(absent)");
  // What two ranges share is relied on since the first.
  const auto again = BeginAndDelete();
  db_.Put("c", "between");
  ASSERT_TRUE(again->DeleteRange("a", "e").ok());
  ExpectConflict(*again, "the range");
  // And what the second adds, since the second.
  const auto longer = BeginAndDelete();
  db_.Put("d", "between");
  ASSERT_TRUE(longer->DeleteRange("a", "e").ok());
  EXPECT_TRUE(longer->Commit().ok());
}

TEST_P(RangeConflictTest, WhatWasRolledBackToASavepointIsStillReliedOn) {
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("result", "of it").ok());
  ASSERT_TRUE(transaction->SetSavepoint().ok());
  ASSERT_TRUE(transaction->DeleteRange("b", "d").ok());
  ASSERT_TRUE(transaction->RollbackToSavepoint().ok());
  EXPECT_EQ(transaction->writes().num_updates(), 1U);
  db_.Put("c", "another's");
  ExpectConflict(*transaction, "the range");
}

TEST_P(RangeConflictTest, EmptyRangesRestOnNothingAndInvertedOnesAreRefused) {
  const auto transaction = Begin();
  EXPECT_TRUE(transaction->DeleteRange("c", "c").ok());
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(transaction->DeleteRange("d", "b").code(), kBad);
  EXPECT_EQ(transaction->DeleteRange(nullptr, "b", "d").code(), kBad);
  EXPECT_EQ(transaction->DeleteRange("b", std::string(kMaxKeyBytes + 1, 'k')).code(), kBad);
  EXPECT_EQ(transaction->writes().num_updates(), 0U);
  ASSERT_TRUE(transaction->Put("result", "of it").ok());
  db_.Put("c", "another's");
  EXPECT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(db_.Get("c"), "another's");
  EXPECT_EQ(transaction->DeleteRange("b", "d").code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(RangeConflictTest, OtherFamiliesAreOthers) {
  ColumnFamily* const other = *db_->CreateColumnFamily(ColumnFamilyOptions(), "other");
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->DeleteRange(other, "b", "d").ok());
  db_.Put("c", "another's");
  EXPECT_TRUE(transaction->Commit().ok());
  const auto overtaken = Begin();
  ASSERT_TRUE(overtaken->DeleteRange(other, "b", "d").ok());
  ASSERT_TRUE(db_->Put(WriteOptions(), other, "c", "another's").ok());
  ExpectConflict(*overtaken, "column family \"other\"");
  const auto of_dropped = Begin();
  ASSERT_TRUE(of_dropped->DeleteRange(other, "b", "d").ok());
  ASSERT_TRUE(db_->DropColumnFamily(other).ok());
  EXPECT_EQ(of_dropped->Commit().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(RangeConflictTest, IngestedEntriesCountToo) {
  for (const std::string_view key : {"c", "e"}) {
    const auto transaction = BeginAndDelete();
    IngestFile file;
    file.path = absl::StrCat("/", std::string(key), ".sst");
    auto writer = db_->NewSstWriter(db_->DefaultColumnFamily(), file.path);
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    ASSERT_TRUE((*writer)->Put("a", "ingested").ok());
    ASSERT_TRUE((*writer)->Put(key, "ingested").ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    const auto ingested = db_->Ingest({file}, IngestOptions());
    ASSERT_TRUE(ingested.ok()) << ingested.status().ToString();
    const absl::Status committed = transaction->Commit();
    EXPECT_EQ(committed.ok(), key == "e") << committed.ToString();
  }
}

// The lock of a key in the range is held; whoever commits first does, and the other does not.
TEST_P(RangeConflictTest, LocksAreNotWaitedForAndNoUpdateIsLost) {
  for (const bool deleter_first : {false, true}) {
    db_.Put("c", "before");
    const auto writer = Begin();
    std::string value;
    ASSERT_TRUE(writer->GetForUpdate(ReadOptions(), "c", &value).ok());
    ASSERT_TRUE(writer->Put("c", value + ", changed").ok());
    const auto deleter = BeginAndDelete();
    Transaction& first = deleter_first ? *deleter : *writer;
    Transaction& second = deleter_first ? *writer : *deleter;
    const absl::Status committed = first.Commit();
    EXPECT_TRUE(committed.ok()) << committed.ToString();
    EXPECT_EQ(second.Commit().code(), kAborted);
    EXPECT_EQ(db_.Get("c"), deleter_first ? "(absent)" : "before, changed");
  }
}

TEST(RangeConflicts, ReadsOfOthersForUpdateAreOvertakenByTheDeletion) {
  MemoryDb db;
  const auto reader = *db->BeginTransaction();
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(reader->GetForUpdate(ReadOptions(), "c", &value)));
  ASSERT_TRUE(reader->Put("result", "of it").ok());
  const auto deleter = *db->BeginTransaction();
  ASSERT_TRUE(deleter->DeleteRange("b", "d").ok());
  ASSERT_TRUE(deleter->Commit().ok());
  EXPECT_EQ(reader->Commit().code(), kAborted);
}

TEST(RangeConflicts, FollowTheOrderOfTheComparator) {
  MemoryDb db(CaseBlindOptions());
  for (const bool flush : {false, true}) {
    const auto transaction = *db->BeginTransaction();
    ASSERT_TRUE(transaction->DeleteRange("b", "D").ok());
    db.Put("C", "another's");
    if (flush) db.Flush();
    EXPECT_EQ(transaction->Commit().code(), kAborted);
  }
  const auto beside = *db->BeginTransaction();
  ASSERT_TRUE(beside->DeleteRange("b", "D").ok());
  db.Put("d", "another's");
  EXPECT_TRUE(beside->Commit().ok());
}

// A table that cannot be read may hold a conflict.
TEST(RangeConflicts, AWriteThatFifoDroppedUnreadIsOneToo) {
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 16;
  options.compaction = CompactionStyle::Fifo(64 << 10);
  MemoryDb db(options);
  db.Put("before", "1");
  db.Flush();
  const auto transaction = *db->BeginTransaction();
  ASSERT_TRUE(transaction->DeleteRange("b", "d").ok());
  db.Put("c", "another's");
  db.Flush();
  for (int i = 0; i < 2; i++) {
    db.Put("other", std::string(60 << 10, 'v'));
    db.Flush();
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  ASSERT_EQ(db.Get("c"), "(absent)");
  const absl::Status committed = transaction->Commit();
  EXPECT_EQ(committed.code(), kAborted) << committed.ToString();
  EXPECT_THAT(std::string(committed.message()), testing::HasSubstr("may have been written"));
}

// --- Many at once ---

// Coins come into a purse as keys of their own; collectors put all that they see into one coin, by
// deleting the range. Of two collectors, and of a coin that comes meanwhile, nothing is lost.
class Purse {
 public:
  Purse(Options options, TransactionOptions::Mode mode, bool snapshot_at_begin)
      : db_(std::move(options)) {
    options_.mode = mode;
    options_.snapshot_at_begin = snapshot_at_begin;
    options_.lock_timeout = std::chrono::seconds(60);
  }

  void Run(int tries) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
      threads.emplace_back([this, i, tries] {
        for (int n = 0; n < tries && !testing::Test::HasFailure(); n++) {
          // Two of three add, and some of these without a transaction.
          if ((i + n) % 3 == 0) {
            Collect(i);
          } else {
            Add(i, n);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(Sum(*db_->NewIterator(ReadOptions())), added_.load());
    EXPECT_GT(collected_.load(), 0);
  }

 private:
  static constexpr std::string_view kFrom = "coin/";
  static constexpr std::string_view kTo = "coin0";

  static int64_t Sum(Iterator& it) {
    int64_t sum = 0;
    for (it.Seek(kFrom); it.Valid() && it.key() < kTo; it.Next()) {
      sum += std::stoll(std::string(it.value()));
    }
    EXPECT_TRUE(it.status().ok()) << it.status().ToString();
    return sum;
  }

  void Add(int thread, int n) {
    const std::string key = absl::StrCat("coin/", thread, "/", n);
    if (n % 4 == 0) {
      ASSERT_TRUE(db_->Put(WriteOptions(), key, "1").ok());
      added_++;
      return;
    }
    const auto transaction = *db_->BeginTransaction(options_);
    const absl::Status put = transaction->Put(key, "1");
    ASSERT_TRUE(put.ok() || absl::IsAborted(put)) << put.ToString();
    if (put.ok() && Commits(*transaction)) added_++;
  }

  // Deletes first: from then on whatever comes is a conflict, and what is read is all.
  void Collect(int thread) {
    const auto transaction = *db_->BeginTransaction(options_);
    ASSERT_TRUE(transaction->SetSavepoint().ok());
    ASSERT_TRUE(transaction->DeleteRange(kFrom, kTo).ok());
    ASSERT_TRUE(transaction->RollbackToSavepoint().ok());
    const int64_t sum = Sum(*transaction->NewIterator(ReadOptions()));
    ASSERT_TRUE(transaction->DeleteRange(kFrom, kTo).ok());
    const absl::Status put = transaction->Put(absl::StrCat("coin/all", thread), absl::StrCat(sum));
    ASSERT_TRUE(put.ok() || absl::IsAborted(put)) << put.ToString();
    if (put.ok() && Commits(*transaction)) collected_++;
  }

  static bool Commits(Transaction& transaction) {
    const absl::Status committed = transaction.Commit();
    EXPECT_TRUE(committed.ok() || absl::IsAborted(committed)) << committed.ToString();
    return committed.ok();
  }

  MemoryDb db_;
  TransactionOptions options_;
  std::atomic<int64_t> added_{0};
  std::atomic<int64_t> collected_{0};
};

constexpr int kPurseTries = kFewerBy > 1 ? 40 : 300;

TEST(RangeConflictsOfMany, NoCoinIsLost) {
  for (const auto mode : {kLocksNothing, kLocksKeys}) {
    for (const bool snapshot_at_begin : {false, true}) {
      SCOPED_TRACE(absl::StrCat(mode == kLocksKeys, " ", snapshot_at_begin));
      Options quiet = MemoryDb::Quiet();
      quiet.background_threads = 2;
      Purse(quiet, mode, snapshot_at_begin).Run(kPurseTries);
      Purse(MemoryDb::Busy(), mode, snapshot_at_begin).Run(kPurseTries);
    }
  }
}

TEST(RangeConflictsOfMany, NoCoinIsLostWhereEqualKeysHaveDifferentBytes) {
  Purse(CaseBlindOptions(MemoryDb::Busy()), kLocksNothing, true).Run(kPurseTries);
}

}  // namespace
}  // namespace winnow
