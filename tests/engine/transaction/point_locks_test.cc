// Locks go to one owner after the other; who waits in vain is told why.
#include "engine/transaction/point_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/column_family/column_family_state.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

using testing::HasSubstr;

constexpr PointLocks::Patience kNone{std::chrono::milliseconds(0), true};
constexpr PointLocks::Patience kLong{std::chrono::minutes(10), true};

const ColumnFamilyState& Default(MemoryDb& db) {
  return *static_cast<const ColumnFamilyState*>(db->DefaultColumnFamily());
}

// Waits even where that closes a circle: see AwaitWaiter.
constexpr PointLocks::Patience kStubborn{std::chrono::minutes(10), false};

// A thread that waits for a lock.
class WaitingThread {
 public:
  WaitingThread(PointLocks* locks, const ColumnFamilyState& family, uint64_t id, std::string key,
                PointLocks::Patience patience = kStubborn)
      : thread_([this, locks, &family, id, key, patience] {
          result_ = locks->Lock(id, family, key, patience);
          done_.store(true);
        }) {}
  ~WaitingThread() {
    if (thread_.joinable()) thread_.join();
  }
  LockResult Result() {
    thread_.join();
    return result_;
  }
  bool done() const { return done_.load(); }

 private:
  LockResult result_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

class PointLocksTest : public testing::Test {
 protected:
  const ColumnFamilyState& family() { return Default(db_); }

  LockResult Lock(uint64_t id, std::string_view key, const PointLocks::Patience& patience = kNone) {
    return locks_.Lock(id, family(), key, patience);
  }
  LockOutcome Try(uint64_t id, std::string_view key, const PointLocks::Patience& patience = kNone) {
    return Lock(id, key, patience).outcome;
  }
  void Unlock(std::string_view key) { locks_.Unlock(family(), key); }
  // Transaction 1 has the first key, 2 the second, and so on.
  void GiveEachItsOwn(std::initializer_list<std::string_view> keys) {
    uint64_t id = 0;
    for (const std::string_view key : keys) EXPECT_EQ(Try(++id, key), LockOutcome::kGranted);
  }

  // Until somebody is in the queue of a lock that `owner` holds: then a wait of the owner for what
  // that one has is a deadlock.
  void AwaitWaiter(uint64_t owner, std::string_view held_by_waiter) {
    for (;;) {
      const LockOutcome outcome = Try(owner, held_by_waiter, {std::chrono::milliseconds(1), true});
      if (outcome == LockOutcome::kDeadlock) return;
      ASSERT_EQ(outcome, LockOutcome::kTimedOut);
    }
  }

  MemoryDb db_;
  PointLocks locks_;
};

TEST_F(PointLocksTest, AFreeLockIsGrantedAndAHeldOneIsNot) {
  EXPECT_EQ(Try(1, "a"), LockOutcome::kGranted);
  EXPECT_EQ(Try(2, "b"), LockOutcome::kGranted);
  const LockResult refused = Lock(2, "a");
  EXPECT_EQ(refused.outcome, LockOutcome::kTimedOut);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("key \"a\""));
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("transaction 1 holds"));
  Unlock("a");
  EXPECT_EQ(Try(2, "a"), LockOutcome::kGranted);
}

TEST_F(PointLocksTest, FamiliesHaveLocksOfTheirOwn) {
  MemoryDb db;
  const auto other = db_->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  const auto& other_state = *static_cast<const ColumnFamilyState*>(*other);
  PointLocks locks;
  EXPECT_EQ(Try(1, "a"), LockOutcome::kGranted);
  EXPECT_EQ(locks_.Lock(2, other_state, "a", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks_.Lock(3, other_state, "a", kNone).outcome, LockOutcome::kTimedOut);
}

TEST_F(PointLocksTest, WhoWaitsGetsTheLockWhenItsOwnerGivesItBack) {
  GiveEachItsOwn({"a", "b"});
  WaitingThread waiting(&locks_, family(), 2, "a");
  AwaitWaiter(1, "b");
  EXPECT_FALSE(waiting.done());
  Unlock("a");
  const LockResult result = waiting.Result();
  EXPECT_EQ(result.outcome, LockOutcome::kGranted);
  EXPECT_TRUE(result.waited);
  EXPECT_EQ(Try(3, "a"), LockOutcome::kTimedOut);
}

TEST_F(PointLocksTest, ADeadlockIsToldWithItsWholeCircle) {
  GiveEachItsOwn({"a", "b", "c"});
  WaitingThread second(&locks_, family(), 2, "a");
  AwaitWaiter(1, "b");
  WaitingThread third(&locks_, family(), 3, "b");
  AwaitWaiter(1, "c");
  const LockResult result = Lock(1, "c", kLong);
  EXPECT_EQ(result.outcome, LockOutcome::kDeadlock);
  EXPECT_EQ(result.status.message(),
            "deadlock: transaction 1 waits for key \"c\" of column family \"default\", held by "
            "transaction 3, which waits for key \"b\" of column family \"default\", held by "
            "transaction 2, which waits for key \"a\" of column family \"default\", held by "
            "transaction 1");
  EXPECT_EQ(result.status.code(), absl::StatusCode::kAborted);
  // The others still wait, and go on once the one who was refused gives up.
  Unlock("a");
  EXPECT_EQ(second.Result().outcome, LockOutcome::kGranted);
  Unlock("b");
  EXPECT_EQ(third.Result().outcome, LockOutcome::kGranted);
}

TEST_F(PointLocksTest, WithoutDetectionADeadlockEndsByTimeOut) {
  GiveEachItsOwn({"a", "b"});
  WaitingThread second(&locks_, family(), 2, "a");
  AwaitWaiter(1, "b");
  EXPECT_EQ(Try(1, "b", {std::chrono::milliseconds(5), false}), LockOutcome::kTimedOut);
  Unlock("a");
  EXPECT_EQ(second.Result().outcome, LockOutcome::kGranted);
}

TEST_F(PointLocksTest, WhoGivesUpLeavesTheQueueToTheOthers) {
  ASSERT_EQ(Try(1, "a"), LockOutcome::kGranted);
  ASSERT_EQ(Try(3, "c"), LockOutcome::kGranted);
  EXPECT_EQ(Try(2, "a", {std::chrono::milliseconds(1), true}), LockOutcome::kTimedOut);
  WaitingThread third(&locks_, family(), 3, "a");
  AwaitWaiter(1, "c");
  EXPECT_EQ(Try(4, "a", {std::chrono::milliseconds(1), true}), LockOutcome::kTimedOut);
  Unlock("a");
  EXPECT_EQ(third.Result().outcome, LockOutcome::kGranted);
}

TEST_F(PointLocksTest, CloseEndsWaitsAndRefusesLaterOnes) {
  GiveEachItsOwn({"a", "b"});
  WaitingThread second(&locks_, family(), 2, "a");
  AwaitWaiter(1, "b");
  locks_.Close();
  EXPECT_EQ(second.Result().outcome, LockOutcome::kClosed);
  EXPECT_EQ(Lock(1, "c").status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PointLocks, KeysThatCompareEqualHaveOneLock) {
  MemoryDb db(CaseBlindOptions());
  PointLocks locks;
  ASSERT_EQ(locks.Lock(1, Default(db), "key", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks.Lock(2, Default(db), "KEY", kNone).outcome, LockOutcome::kTimedOut);
  locks.Unlock(Default(db), "Key");
  EXPECT_EQ(locks.Lock(2, Default(db), "KEY", kNone).outcome, LockOutcome::kGranted);
}

// Each thread counts under a lock without any other protection; all wait for the same few.
TEST_F(PointLocksTest, OneOwnerAtATime) {
  constexpr uint64_t kThreads = 8;
  constexpr int kRounds = 300;
  uint64_t counts[2] = {0, 0};
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= kThreads; id++) {
    threads.emplace_back([&, id] {
      for (int round = 0; round < kRounds; round++) {
        const size_t which = (id + static_cast<uint64_t>(round)) % 2;
        const std::string key(1, static_cast<char>('a' + which));
        ASSERT_EQ(Try(id, key, kLong), LockOutcome::kGranted);
        counts[which]++;
        Unlock(key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts[0] + counts[1], kThreads * kRounds);
}

}  // namespace
}  // namespace winnow
