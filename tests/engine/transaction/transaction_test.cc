// What one transaction sees and does, and what is there when it has ended, in whatever way.
#include "winnow/transaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/db_fixture.h"
#include "winnow/db.h"

namespace winnow {
namespace {

using testing::HasSubstr;
using Mode = TransactionOptions::Mode;

class TransactionTest : public testing::TestWithParam<Mode> {
 protected:
  std::unique_ptr<Transaction> Begin(bool snapshot_at_begin = true) {
    TransactionOptions options;
    options.mode = GetParam();
    options.snapshot_at_begin = snapshot_at_begin;
    options.lock_timeout = std::chrono::milliseconds(5);
    auto begun = db_->BeginTransaction(options);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return *std::move(begun);
  }
  static std::string Read(Transaction& transaction, std::string_view key) {
    std::string value;
    const absl::Status status = transaction.Get(ReadOptions(), key, &value);
    return status.ok() ? value : absl::IsNotFound(status) ? "(absent)" : status.ToString();
  }
  static std::string ReadForUpdate(Transaction& transaction, std::string_view key) {
    PinnedValue value;
    const absl::Status status = transaction.GetForUpdate(ReadOptions(), key, &value);
    return status.ok()                ? std::string(value.view())
           : absl::IsNotFound(status) ? "(absent)"
                                      : status.ToString();
  }
  uint64_t Count(Ticker ticker) { return db_->GetStatistics().Get(ticker); }

  MemoryDb db_;
};
INSTANTIATE_TEST_SUITE_P(Modes, TransactionTest,
                         testing::Values(Mode::kOptimistic, Mode::kPessimistic),
                         [](const auto& kind) {
                           return kind.param == Mode::kOptimistic ? "Optimistic" : "Pessimistic";
                         });

TEST_P(TransactionTest, WritesAreSeenByItselfAtOnceAndByOthersAfterCommit) {
  db_.Put("a", "1");
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("a", "2").ok());
  ASSERT_TRUE(transaction->Put("b", "2").ok());
  EXPECT_EQ(Read(*transaction, "a"), "2");
  EXPECT_EQ(db_.Get("a"), "1");
  ASSERT_TRUE(transaction->Delete("a").ok());
  EXPECT_EQ(Read(*transaction, "a"), "(absent)");
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(db_.Get("a"), "(absent)");
  EXPECT_EQ(db_.Get("b"), "2");
  EXPECT_EQ(Count(Ticker::kTransactionCommits), 1U);
}

TEST_P(TransactionTest, ReadsSeeTheMomentOfItsBeginning) {
  db_.Put("a", "1");
  db_.Put("b", "1");
  const auto transaction = Begin();
  const auto present = Begin(/*snapshot_at_begin=*/false);
  EXPECT_EQ(present->snapshot(), nullptr);
  ASSERT_NE(transaction->snapshot(), nullptr);
  db_.Put("a", "2");
  db_.Delete("b");
  db_.Put("c", "2");
  db_.Flush();
  db_.CompactAll();
  EXPECT_EQ(Read(*transaction, "a"), "1");
  EXPECT_EQ(Read(*transaction, "b"), "1");
  EXPECT_EQ(Read(*transaction, "c"), "(absent)");
  EXPECT_EQ(Read(*present, "a"), "2");
  EXPECT_EQ(Read(*present, "b"), "(absent)");
  const auto it = transaction->NewIterator(ReadOptions());
  std::string keys;
  for (it->SeekToFirst(); it->Valid(); it->Next()) keys += it->key();
  EXPECT_EQ(keys, "ab");
  // One's own snapshot may be given instead.
  ReadOptions later;
  const SnapshotGuard now(*db_);
  later.snapshot = now.get();
  std::string value;
  ASSERT_TRUE(transaction->Get(later, "a", &value).ok());
  EXPECT_EQ(value, "2");
}

TEST_P(TransactionTest, MultiGetReadsItsOwnWritesToo) {
  db_.Put("a", "1");
  db_.Put("b", "1");
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("b", "2").ok());
  db_.Put("a", "3");
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  std::vector<PinnedValue> values(3);
  std::vector<absl::Status> statuses(3);
  transaction->MultiGet(ReadOptions(), keys, values, statuses);
  EXPECT_EQ(values[0].view(), "1");
  EXPECT_EQ(values[1].view(), "2");
  EXPECT_TRUE(absl::IsNotFound(statuses[2]));
}

TEST_P(TransactionTest, RollbackAndDestructionLeaveNothing) {
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("a", "1").ok());
  ASSERT_TRUE(transaction->Rollback().ok());
  {
    const auto dropped = Begin();
    ASSERT_TRUE(dropped->Put("a", "1").ok());
  }
  EXPECT_EQ(db_.Get("a"), "(absent)");
  // Locks are gone too.
  const auto next = Begin();
  EXPECT_TRUE(next->Put("a", "2").ok());
  EXPECT_TRUE(next->Commit().ok());
}

TEST_P(TransactionTest, WhatIsOverRefusesEveryCall) {
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("a", "1").ok());
  const auto it = transaction->NewIterator(ReadOptions());
  ASSERT_TRUE(transaction->Commit().ok());
  constexpr auto kOver = absl::StatusCode::kFailedPrecondition;
  std::string value;
  EXPECT_EQ(transaction->Put("a", "2").code(), kOver);
  EXPECT_EQ(transaction->Delete("a").code(), kOver);
  EXPECT_EQ(transaction->Get(ReadOptions(), "a", &value).code(), kOver);
  EXPECT_EQ(transaction->GetForUpdate(ReadOptions(), "a", &value).code(), kOver);
  EXPECT_EQ(transaction->NewIterator(ReadOptions())->status().code(), kOver);
  EXPECT_EQ(transaction->SetSavepoint().code(), kOver);
  EXPECT_EQ(transaction->RollbackToSavepoint().code(), kOver);
  EXPECT_EQ(transaction->Commit().code(), kOver);
  EXPECT_EQ(transaction->Rollback().code(), kOver);
  EXPECT_EQ(transaction->snapshot(), nullptr);
  // An iterator from before goes on.
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "1");
}

TEST_P(TransactionTest, SavepointsUndoWritesAndKeepWhatItRestsOn) {
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("a", "1").ok());
  ASSERT_TRUE(transaction->SetSavepoint().ok());
  ASSERT_TRUE(transaction->Put("a", "2").ok());
  ASSERT_TRUE(transaction->Put("b", "2").ok());
  ASSERT_TRUE(transaction->RollbackToSavepoint().ok());
  EXPECT_EQ(Read(*transaction, "a"), "1");
  EXPECT_EQ(Read(*transaction, "b"), "(absent)");
  db_.Put("b", "another's");
  EXPECT_EQ(transaction->Commit().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(db_.Get("a"), "(absent)");
}

TEST_P(TransactionTest, CommitsInSeveralFamiliesAtOnce) {
  const auto other = db_->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  const auto transaction = Begin();
  ASSERT_TRUE(transaction->Put("a", "1").ok());
  ASSERT_TRUE(transaction->Put(*other, "a", "2").ok());
  std::string value;
  ASSERT_TRUE(transaction->Get(ReadOptions(), *other, "a", &value).ok());
  EXPECT_EQ(value, "2");
  ASSERT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(db_.Get("a"), "1");
  ASSERT_TRUE(db_->Get(ReadOptions(), *other, "a", &value).ok());
  EXPECT_EQ(value, "2");
}

TEST_P(TransactionTest, AFamilyThatIsDroppedRefusesTheCommit) {
  const auto other = db_->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  const auto writer = Begin();
  ASSERT_TRUE(writer->Put("a", "1").ok());
  ASSERT_TRUE(writer->Put(*other, "a", "2").ok());
  const auto reader = Begin();
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(reader->GetForUpdate(ReadOptions(), *other, "b", &value)));
  ASSERT_TRUE(db_->DropColumnFamily(*other).ok());
  EXPECT_EQ(writer->Commit().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reader->Commit().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(db_.Get("a"), "(absent)");
}

TEST_P(TransactionTest, BadInputIsRefusedAndTheTransactionGoesOn) {
  MemoryDb other;
  const auto transaction = Begin();
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  std::string value;
  EXPECT_EQ(transaction->Put(std::string(kMaxKeyBytes + 1, 'k'), "").code(), kBad);
  EXPECT_EQ(transaction->Put(nullptr, "a", "1").code(), kBad);
  EXPECT_EQ(transaction->Delete(other->DefaultColumnFamily(), "a").code(), kBad);
  EXPECT_EQ(transaction->Get(ReadOptions(), nullptr, "a", &value).code(), kBad);
  ReadOptions with_snapshot;
  const SnapshotGuard guard(*db_);
  with_snapshot.snapshot = guard.get();
  EXPECT_EQ(transaction->GetForUpdate(with_snapshot, "a", &value).code(), kBad);
  EXPECT_TRUE(transaction->Put("a", "1").ok());
  WriteOptions contradiction;
  contradiction.sync = contradiction.disable_wal = true;
  EXPECT_EQ(transaction->Commit(contradiction).code(), kBad);
  EXPECT_EQ(db_.Get("a"), "(absent)");

  TransactionOptions options;
  options.lock_timeout = std::chrono::milliseconds(-1);
  EXPECT_EQ(db_->BeginTransaction(options).status().code(), kBad);
  options.lock_timeout = std::chrono::hours(2);
  EXPECT_EQ(db_->BeginTransaction(options).status().code(), kBad);
  options = TransactionOptions();
  options.mode = static_cast<TransactionOptions::Mode>(77);
  EXPECT_EQ(db_->BeginTransaction(options).status().code(), kBad);
}

// Nothing rests on a write that was refused: neither the commit nor, by a lock, another
// transaction.
TEST_P(TransactionTest, ARefusedWriteLeavesNeitherLockNorReliance) {
  const auto transaction = Begin();
  EXPECT_TRUE(absl::IsFailedPrecondition(transaction->Merge("key", "operand")))
      << "the family has no operator";
  // Refused for its size, before anybody looks at its bytes.
  const std::string_view too_large("v", kMaxValueBytes + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(transaction->Put("key", too_large)));
  ASSERT_TRUE(transaction->Put("held", "1").ok());
  EXPECT_FALSE(transaction->Merge("held", "operand").ok());
  const auto other = Begin();
  ASSERT_TRUE(other->Put("key", "other").ok());
  // What was relied on before is relied on still.
  if (GetParam() == Mode::kPessimistic) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(other->Put("held", "2")));
  }
  ASSERT_TRUE(other->Commit().ok());
  EXPECT_TRUE(transaction->Commit().ok());
  EXPECT_EQ(db_.Get("key"), "other");
  EXPECT_EQ(db_.Get("held"), "1");
}

TEST_P(TransactionTest, AfterTheDatabaseClosesEveryCallSaysSo) {
  const auto transaction = Begin();
  const auto untouched = Begin();
  ASSERT_TRUE(transaction->Put("a", "1").ok());
  db_.CloseDb();
  constexpr auto kClosed = absl::StatusCode::kFailedPrecondition;
  std::string value;
  EXPECT_EQ(transaction->Put("b", "1").code(), kClosed);
  EXPECT_EQ(transaction->Get(ReadOptions(), "a", &value).code(), kClosed);
  EXPECT_EQ(transaction->GetForUpdate(ReadOptions(), "a", &value).code(), kClosed);
  EXPECT_EQ(transaction->NewIterator(ReadOptions())->status().code(), kClosed);
  EXPECT_EQ(transaction->SetSavepoint().code(), kClosed);
  const absl::Status committed = transaction->Commit();
  EXPECT_EQ(committed.code(), kClosed);
  EXPECT_THAT(std::string(committed.message()), HasSubstr("closed"));
  EXPECT_EQ(transaction->Rollback().code(), kClosed);
  db_.Reopen();
  EXPECT_EQ(db_.Get("a"), "(absent)");
}

TEST_P(TransactionTest, ReadOnlyDatabasesAreReadInTransactions) {
  db_.Put("a", "1");
  db_.options().read_only = true;
  db_.Reopen();
  const auto transaction = Begin();
  EXPECT_EQ(ReadForUpdate(*transaction, "a"), "1");
  EXPECT_TRUE(transaction->Commit().ok());
  const auto writer = Begin();
  ASSERT_TRUE(writer->Put("a", "2").ok());
  EXPECT_EQ(writer->Commit().code(), absl::StatusCode::kFailedPrecondition);
}

// --- Locks ---

class PessimisticTransactionTest : public testing::Test {
 protected:
  std::unique_ptr<Transaction> Begin(std::chrono::milliseconds lock_timeout = kForEver,
                                     bool snapshot_at_begin = true) {
    TransactionOptions options;
    options.mode = Mode::kPessimistic;
    options.snapshot_at_begin = snapshot_at_begin;
    options.lock_timeout = lock_timeout;
    return *db_->BeginTransaction(options);
  }

  static constexpr std::chrono::milliseconds kForEver = std::chrono::minutes(10);

  MemoryDb db_;
};

TEST_F(PessimisticTransactionTest, WaitsForALockAndThenSeesWhatItsOwnerLeft) {
  db_.Put("a", "1");
  const auto first = Begin(kForEver, /*snapshot_at_begin=*/false);
  ASSERT_TRUE(first->Put("a", "2").ok());
  std::string seen;
  std::thread second([&] {
    const auto transaction = Begin(kForEver, /*snapshot_at_begin=*/false);
    EXPECT_TRUE(transaction->GetForUpdate(ReadOptions(), "a", &seen).ok());
    EXPECT_TRUE(transaction->Put("a", seen + "3").ok());
    const absl::Status committed = transaction->Commit();
    EXPECT_TRUE(committed.ok()) << committed.ToString();
  });
  ASSERT_TRUE(first->Commit().ok());
  second.join();
  EXPECT_EQ(seen, "2");
  EXPECT_EQ(db_.Get("a"), "23");
}

TEST_F(PessimisticTransactionTest, ATimeOutNamesKeyAndHolderAndMayBeTriedAgain) {
  const auto first = Begin(std::chrono::milliseconds(0));
  const auto second = Begin(std::chrono::milliseconds(0));
  ASSERT_TRUE(first->Put("a", "1").ok());
  const absl::Status refused = second->Put("a", "2");
  EXPECT_EQ(refused.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("key \"a\""));
  EXPECT_EQ(second->writes().num_updates(), 0U);
  ASSERT_TRUE(first->Rollback().ok());
  EXPECT_TRUE(second->Put("a", "2").ok());
  EXPECT_TRUE(second->Commit().ok());
  EXPECT_EQ(db_->GetStatistics().Get(Ticker::kTransactionLockTimeouts), 1U);
}

TEST_F(PessimisticTransactionTest, OfTwoThatWaitForEachOtherOneIsRefused) {
  const auto first = Begin();
  const auto second = Begin();
  ASSERT_TRUE(first->Put("a", "1").ok());
  ASSERT_TRUE(second->Put("b", "2").ok());
  absl::Status from_first;
  std::thread waits([&] {
    from_first = first->Put("b", "1");
    if (!from_first.ok()) {
      EXPECT_TRUE(first->Rollback().ok());
    }
  });
  const absl::Status from_second = second->Put("a", "2");
  if (!from_second.ok()) {
    EXPECT_TRUE(second->Rollback().ok());
  }
  waits.join();
  EXPECT_NE(from_first.ok(), from_second.ok());
  const absl::Status& refused = from_first.ok() ? from_second : from_first;
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("deadlock"));
  EXPECT_EQ(db_->GetStatistics().Get(Ticker::kTransactionDeadlocks), 1U);
  EXPECT_EQ(db_->GetStatistics().Get(Ticker::kTransactionLockWaits), 1U);
}

TEST_F(PessimisticTransactionTest, AWaitEndsWhenTheDatabaseCloses) {
  const auto first = Begin();
  const auto second = Begin();
  ASSERT_TRUE(first->Put("a", "1").ok());
  absl::Status refused;
  std::thread waits([&] { refused = second->Put("a", "2"); });
  EXPECT_TRUE(db_->Close().ok());
  waits.join();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace winnow
