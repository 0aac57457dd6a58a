// A conflict is found wherever the other write is by then; what is no conflict passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/transaction/transaction_kinds.h"
#include "tests/support/db_fixture.h"
#include "tests/support/test_clock.h"
#include "winnow/db.h"

namespace winnow {
namespace {

using testing::HasSubstr;
using Mode = TransactionOptions::Mode;

class ConflictTest : public testing::TestWithParam<TransactionKind> {
 protected:
  std::unique_ptr<Transaction> Begin() {
    auto begun = db_->BeginTransaction(GetParam().Options());
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return *std::move(begun);
  }
  // One that has read or written "key".
  std::unique_ptr<Transaction> BeginWithKey(bool writes) {
    auto transaction = Begin();
    std::string value;
    const absl::Status status = writes ? transaction->Put("key", "own")
                                       : transaction->GetForUpdate(ReadOptions(), "key", &value);
    EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status.ToString();
    if (!writes) {
      EXPECT_TRUE(transaction->Put("result", "of it").ok());
    }
    return transaction;
  }
  void ExpectConflict(Transaction& transaction) {
    const absl::Status status = transaction.Commit();
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status.ToString();
    EXPECT_THAT(std::string(status.message()), HasSubstr("key \"key\""));
    EXPECT_EQ(db_.Get("result"), "(absent)");
  }

  MemoryDb db_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ConflictTest, testing::ValuesIn(kTransactionKinds), NameOfKind);

// Where the other write goes after it was made.
void ToNothing(MemoryDb&) {}
void ToTable(MemoryDb& db) { db.Flush(); }
void ToLastLevel(MemoryDb& db) { db.CompactAll(); }

TEST_P(ConflictTest, AWriteOfAnotherIsFoundWhereverItIs) {
  for (const bool writes : {false, true}) {
    for (const auto move : {ToNothing, ToTable, ToLastLevel}) {
      for (const bool deletes : {false, true}) {
        for (const bool was_there : {false, true}) {
          was_there ? db_.Put("key", "before") : db_.Delete("key");
          db_.CompactAll();
          const auto transaction = BeginWithKey(writes);
          deletes ? db_.Delete("key") : db_.Put("key", "another's");
          move(db_);
          ExpectConflict(*transaction);
        }
      }
    }
  }
  EXPECT_EQ(db_->GetStatistics().Get(Ticker::kTransactionConflicts), 24U);
}

TEST_P(ConflictTest, ARangeDeletionOverTheKeyIsFoundWhereverItIs) {
  for (const bool is_there : {false, true}) {
    for (const auto move : {ToNothing, ToTable, ToLastLevel}) {
      if (is_there) {
        ASSERT_TRUE(db_->Put(WriteOptions(), "key", "before").ok());
      }
      const auto transaction = BeginWithKey(/*writes=*/false);
      ASSERT_TRUE(db_->DeleteRange(WriteOptions(), "k", "kez").ok());
      ASSERT_TRUE(db_->DeleteRange(WriteOptions(), "key", "key0").ok());
      move(db_);
      ExpectConflict(*transaction);
    }
  }
  const auto beside = BeginWithKey(/*writes=*/true);
  ASSERT_TRUE(db_->DeleteRange(WriteOptions(), "a", "key").ok());
  ASSERT_TRUE(db_->DeleteRange(WriteOptions(), "key0", "z").ok());
  EXPECT_TRUE(beside->Commit().ok()) << "the end is not deleted";
}

TEST_P(ConflictTest, TheWriteOfATransactionCountsAsMuch) {
  const auto first = BeginWithKey(false);
  const auto second = Begin();
  ASSERT_TRUE(second->Put("other", "1").ok());
  ASSERT_TRUE(second->Commit().ok());
  const auto third = Begin();
  if (GetParam().mode == Mode::kPessimistic) return;  // it would wait for the first one's lock
  ASSERT_TRUE(third->Put("key", "1").ok());
  ASSERT_TRUE(third->Commit().ok());
  ExpectConflict(*first);
}

TEST_P(ConflictTest, WritesOfOtherKeysAndEarlierOnesAreNone) {
  db_.Put("key", "before");
  db_.Flush();
  const auto transaction = BeginWithKey(true);
  for (int i = 0; i < 100; i++) db_.Put(absl::StrCat("key", i), "1");
  db_.CompactAll();
  db_.Put("kez", "1");
  const absl::Status committed = transaction->Commit();
  EXPECT_TRUE(committed.ok()) << committed.ToString();
  EXPECT_EQ(db_.Get("key"), "own");
}

TEST_P(ConflictTest, WhatWasOnlyReadIsNone) {
  db_.Put("key", "before");
  const auto transaction = Begin();
  std::string value;
  ASSERT_TRUE(transaction->Get(ReadOptions(), "key", &value).ok());
  ASSERT_TRUE(transaction->Put("result", "of it").ok());
  db_.Put("key", "another's");
  EXPECT_TRUE(transaction->Commit().ok());
}

TEST_P(ConflictTest, AWriteBetweenBeginningAndFirstUseIsOneForASnapshotOnly) {
  const auto transaction = Begin();
  db_.Put("key", "between");
  const absl::Status put = transaction->Put("key", "own");
  if (!GetParam().snapshot_at_begin) {
    ASSERT_TRUE(put.ok());
    EXPECT_TRUE(transaction->Commit().ok());
    EXPECT_EQ(db_.Get("key"), "own");
  } else if (GetParam().mode == Mode::kPessimistic) {
    EXPECT_EQ(put.code(), absl::StatusCode::kAborted);
    EXPECT_EQ(db_->GetStatistics().Get(Ticker::kTransactionConflicts), 1U);
  } else {
    ASSERT_TRUE(put.ok());
    ExpectConflict(*transaction);
  }
}

TEST_P(ConflictTest, ReadingForUpdateAloneIsCheckedToo) {
  const auto unchanged = Begin();
  const auto changed = Begin();
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(unchanged->GetForUpdate(ReadOptions(), "other", &value)));
  EXPECT_TRUE(absl::IsNotFound(changed->GetForUpdate(ReadOptions(), "key", &value)));
  db_.Put("key", "another's");
  EXPECT_TRUE(unchanged->Commit().ok());
  EXPECT_EQ(changed->Commit().code(), absl::StatusCode::kAborted);
}

TEST_P(ConflictTest, IngestedEntriesCount) {
  const auto transaction = BeginWithKey(true);
  auto writer = db_->NewSstWriter(db_->DefaultColumnFamily(), "/table.sst");
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  ASSERT_TRUE((*writer)->Put("key", "ingested").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  IngestFile file;
  file.path = "/table.sst";
  const auto ingested = db_->Ingest({file}, IngestOptions());
  ASSERT_TRUE(ingested.ok()) << ingested.status().ToString();
  ExpectConflict(*transaction);
  EXPECT_EQ(db_.Get("key"), "ingested");
}

// Two that may each commit, but not both: the classic of what snapshots allow.
TEST_P(ConflictTest, WriteSkewHappensWithGetAndNotWithGetForUpdate) {
  const auto withdraw = [&](Transaction& transaction, std::string_view from,
                            bool for_update) -> absl::Status {
    int64_t total = 0;
    for (const std::string_view key : {"x", "y"}) {
      std::string value;
      const absl::Status read = for_update ? transaction.GetForUpdate(ReadOptions(), key, &value)
                                           : transaction.Get(ReadOptions(), key, &value);
      if (!read.ok()) return read;
      total += std::stoll(value);
    }
    // The rule of both accounts: together not below zero.
    if (total < 100) return absl::FailedPreconditionError("not enough");
    return transaction.Put(from, "-50");
  };
  for (const bool for_update : {false, true}) {
    db_.Put("x", "50");
    db_.Put("y", "50");
    TransactionOptions options = GetParam().Options();
    options.lock_timeout = std::chrono::milliseconds(0);
    const auto first = *db_->BeginTransaction(options);
    const auto second = *db_->BeginTransaction(options);
    bool first_ok = withdraw(*first, "x", for_update).ok();
    bool second_ok = withdraw(*second, "y", for_update).ok();
    first_ok = first_ok && first->Commit().ok();
    second_ok = second_ok && second->Commit().ok();
    EXPECT_TRUE(first_ok);
    EXPECT_EQ(second_ok, !for_update);
    EXPECT_EQ(std::stoi(db_.Get("x")) + std::stoi(db_.Get("y")), for_update ? 0 : -100);
  }
}

TEST(Conflicts, AnOperandIsAWrite) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("append:,");
  MemoryDb db(options);
  for (const bool flush : {false, true}) {
    const auto transaction = *db->BeginTransaction();
    ASSERT_TRUE(transaction->Merge("key", "own").ok());
    ASSERT_TRUE(db->Merge(WriteOptions(), "key", "another's").ok());
    if (flush) db.Flush();
    EXPECT_EQ(transaction->Commit().code(), absl::StatusCode::kAborted);
  }
  EXPECT_EQ(db.Get("key"), "another's,another's");
}

TEST(Conflicts, KeysThatCompareEqualConflict) {
  MemoryDb db(CaseBlindOptions());
  const auto transaction = *db->BeginTransaction();
  ASSERT_TRUE(transaction->Put("key", "own").ok());
  db.Put("KEY", "another's");
  EXPECT_EQ(transaction->Commit().code(), absl::StatusCode::kAborted);
}

// Of a family whose files may go unread: `drop` makes those go that are there.
void ExpectConflictWithWhatWasDropped(MemoryDb& db, const std::function<void()>& drop) {
  for (const bool writes : {false, true}) {
    db.Put("before", "1");
    db.Flush();
    const auto begin = [&] {
      auto transaction = *db->BeginTransaction();
      std::string value;
      const absl::Status relied = writes ? transaction->Put("key", "own")
                                         : transaction->GetForUpdate(ReadOptions(), "key", &value);
      EXPECT_TRUE(relied.ok() || absl::IsNotFound(relied)) << relied.ToString();
      EXPECT_TRUE(transaction->Put("result", "of it").ok());
      return transaction;
    };
    const auto overtaken = begin();
    db.Put("key", "another's");
    db.Flush();
    drop();
    ASSERT_EQ(db.Get("key"), "(absent)");
    const auto later = begin();
    const absl::Status committed = overtaken->Commit();
    EXPECT_EQ(committed.code(), absl::StatusCode::kAborted) << committed.ToString();
    EXPECT_THAT(std::string(committed.message()), HasSubstr("key \"key\""));
    EXPECT_EQ(db.Get("result"), "(absent)");
    const absl::Status after = later->Commit();
    EXPECT_TRUE(after.ok()) << "all that was dropped is older: " << after.ToString();
  }
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kTransactionConflicts), 2U);
}

TEST(Conflicts, AWriteThatExpiredAndWasDroppedUnreadIsOne) {
  TestClock clock;
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 16;
  options.ttl_seconds = 100;
  options.clock = &clock;
  MemoryDb db(options);
  ExpectConflictWithWhatWasDropped(db, [&] {
    const uint64_t before = db->GetStatistics().Get(Ticker::kExpiredFilesDropped);
    clock.AdvanceSeconds(100);
    db.Put("other", "1");
    db.Flush();  // looks for work
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    ASSERT_GT(db->GetStatistics().Get(Ticker::kExpiredFilesDropped), before);
  });
}

TEST(Conflicts, AWriteThatFifoDroppedUnreadIsOne) {
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 16;
  options.compaction = CompactionStyle::Fifo(64 << 10);
  MemoryDb db(options);
  ExpectConflictWithWhatWasDropped(db, [&] {
    for (int i = 0; i < 2; i++) {
      db.Put("other", std::string(60 << 10, 'v'));
      db.Flush();
    }
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  });
}

// All increments are of one key, in groups of writers: those that lose are refused, and the others
// of their group are not. With a comparator of the user's own, too.
void CountTogether(Options options) {
  options.background_threads = 2;
  MemoryDb db(options);
  db.Put("count", "0");
  constexpr int kCounters = 8;
  const int increments = kFewerBy > 1 ? 20 : 100;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCounters; i++) {
    threads.emplace_back([&, i] {
      for (int done = 0; done < increments;) {
        const auto transaction = *db->BeginTransaction();
        std::string value;
        ASSERT_TRUE(transaction->Get(ReadOptions(), "count", &value).ok());
        ASSERT_TRUE(transaction->Put("count", absl::StrCat(std::stoi(value) + 1)).ok());
        // Some bytes, so that members insert on their own threads.
        ASSERT_TRUE(transaction->Put(absl::StrCat("own", i), std::string(600, 'x')).ok());
        const absl::Status committed = transaction->Commit();
        ASSERT_TRUE(committed.ok() || absl::IsAborted(committed)) << committed.ToString();
        if (committed.ok()) done++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(db.Get("count"), absl::StrCat(kCounters * increments));
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kTransactionCommits),
            static_cast<uint64_t>(kCounters * increments));
}

TEST(Conflicts, NoIncrementIsLost) { CountTogether(MemoryDb::Quiet()); }

TEST(Conflicts, NoIncrementIsLostBesideFlushesAndCompactions) { CountTogether(MemoryDb::Busy()); }

TEST(Conflicts, NoIncrementIsLostWhereEqualKeysHaveDifferentBytes) {
  CountTogether(CaseBlindOptions());
}

}  // namespace
}  // namespace winnow
