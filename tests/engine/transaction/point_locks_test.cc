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

// Until `id` is in the queue of a lock that `owner` holds: then a wait of the owner for what `id`
// has is a deadlock.
void AwaitWaiter(PointLocks* locks, const ColumnFamilyState& family, uint64_t owner,
                 std::string_view held_by_waiter) {
  for (;;) {
    const LockResult result =
        locks->Lock(owner, family, held_by_waiter, {std::chrono::milliseconds(1), true});
    if (result.outcome == LockOutcome::kDeadlock) return;
    ASSERT_EQ(result.outcome, LockOutcome::kTimedOut);
  }
}

TEST(PointLocks, AFreeLockIsGrantedAndAHeldOneIsNot) {
  MemoryDb db;
  PointLocks locks;
  EXPECT_EQ(locks.Lock(1, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks.Lock(2, Default(db), "b", kNone).outcome, LockOutcome::kGranted);
  const LockResult refused = locks.Lock(2, Default(db), "a", kNone);
  EXPECT_EQ(refused.outcome, LockOutcome::kTimedOut);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("key \"a\""));
  EXPECT_THAT(std::string(refused.status.message()), HasSubstr("transaction 1 holds"));
  locks.Unlock(Default(db), "a");
  EXPECT_EQ(locks.Lock(2, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
}

TEST(PointLocks, FamiliesHaveLocksOfTheirOwn) {
  MemoryDb db;
  const auto other = db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  const auto& other_state = *static_cast<const ColumnFamilyState*>(*other);
  PointLocks locks;
  EXPECT_EQ(locks.Lock(1, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks.Lock(2, other_state, "a", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks.Lock(3, other_state, "a", kNone).outcome, LockOutcome::kTimedOut);
}

TEST(PointLocks, WhoWaitsGetsTheLockWhenItsOwnerGivesItBack) {
  MemoryDb db;
  PointLocks locks;
  ASSERT_EQ(locks.Lock(1, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
  ASSERT_EQ(locks.Lock(2, Default(db), "b", kNone).outcome, LockOutcome::kGranted);
  WaitingThread waiting(&locks, Default(db), 2, "a");
  AwaitWaiter(&locks, Default(db), 1, "b");
  EXPECT_FALSE(waiting.done());
  locks.Unlock(Default(db), "a");
  const LockResult result = waiting.Result();
  EXPECT_EQ(result.outcome, LockOutcome::kGranted);
  EXPECT_TRUE(result.waited);
  EXPECT_EQ(locks.Lock(3, Default(db), "a", kNone).outcome, LockOutcome::kTimedOut);
}

TEST(PointLocks, ADeadlockIsToldWithItsWholeCircle) {
  MemoryDb db;
  PointLocks locks;
  for (const auto& [id, key] : {std::pair{1, "a"}, {2, "b"}, {3, "c"}}) {
    ASSERT_EQ(locks.Lock(static_cast<uint64_t>(id), Default(db), key, kNone).outcome,
              LockOutcome::kGranted);
  }
  WaitingThread second(&locks, Default(db), 2, "a");
  AwaitWaiter(&locks, Default(db), 1, "b");
  WaitingThread third(&locks, Default(db), 3, "b");
  AwaitWaiter(&locks, Default(db), 1, "c");
  const LockResult result = locks.Lock(1, Default(db), "c", kLong);
  EXPECT_EQ(result.outcome, LockOutcome::kDeadlock);
  EXPECT_EQ(result.status.message(),
            "deadlock: transaction 1 waits for key \"c\" of column family \"default\", held by "
            "transaction 3, which waits for key \"b\" of column family \"default\", held by "
            "transaction 2, which waits for key \"a\" of column family \"default\", held by "
            "transaction 1");
  EXPECT_EQ(result.status.code(), absl::StatusCode::kAborted);
  // The others still wait, and go on once the one who was refused gives up.
  locks.Unlock(Default(db), "a");
  EXPECT_EQ(second.Result().outcome, LockOutcome::kGranted);
  locks.Unlock(Default(db), "b");
  EXPECT_EQ(third.Result().outcome, LockOutcome::kGranted);
}

TEST(PointLocks, WithoutDetectionADeadlockEndsByTimeOut) {
  MemoryDb db;
  PointLocks locks;
  ASSERT_EQ(locks.Lock(1, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
  ASSERT_EQ(locks.Lock(2, Default(db), "b", kNone).outcome, LockOutcome::kGranted);
  WaitingThread second(&locks, Default(db), 2, "a");
  AwaitWaiter(&locks, Default(db), 1, "b");
  EXPECT_EQ(locks.Lock(1, Default(db), "b", {std::chrono::milliseconds(5), false}).outcome,
            LockOutcome::kTimedOut);
  locks.Unlock(Default(db), "a");
  EXPECT_EQ(second.Result().outcome, LockOutcome::kGranted);
}

TEST(PointLocks, WhoGivesUpLeavesTheQueueToTheOthers) {
  MemoryDb db;
  PointLocks locks;
  ASSERT_EQ(locks.Lock(1, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
  ASSERT_EQ(locks.Lock(3, Default(db), "c", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks.Lock(2, Default(db), "a", {std::chrono::milliseconds(1), true}).outcome,
            LockOutcome::kTimedOut);
  WaitingThread third(&locks, Default(db), 3, "a");
  AwaitWaiter(&locks, Default(db), 1, "c");
  EXPECT_EQ(locks.Lock(4, Default(db), "a", {std::chrono::milliseconds(1), true}).outcome,
            LockOutcome::kTimedOut);
  locks.Unlock(Default(db), "a");
  EXPECT_EQ(third.Result().outcome, LockOutcome::kGranted);
}

TEST(PointLocks, CloseEndsWaitsAndRefusesLaterOnes) {
  MemoryDb db;
  PointLocks locks;
  ASSERT_EQ(locks.Lock(1, Default(db), "a", kNone).outcome, LockOutcome::kGranted);
  ASSERT_EQ(locks.Lock(2, Default(db), "b", kNone).outcome, LockOutcome::kGranted);
  WaitingThread second(&locks, Default(db), 2, "a");
  AwaitWaiter(&locks, Default(db), 1, "b");
  locks.Close();
  EXPECT_EQ(second.Result().outcome, LockOutcome::kClosed);
  EXPECT_EQ(locks.Lock(1, Default(db), "c", kNone).status.code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(PointLocks, KeysThatCompareEqualHaveOneLock) {
  const CaseBlindComparator case_blind;
  Options options = MemoryDb::Quiet();
  options.comparator = &case_blind;
  options.filter = "none";
  options.memtable_filter_ratio = 0;
  MemoryDb db(options);
  PointLocks locks;
  ASSERT_EQ(locks.Lock(1, Default(db), "key", kNone).outcome, LockOutcome::kGranted);
  EXPECT_EQ(locks.Lock(2, Default(db), "KEY", kNone).outcome, LockOutcome::kTimedOut);
  locks.Unlock(Default(db), "Key");
  EXPECT_EQ(locks.Lock(2, Default(db), "KEY", kNone).outcome, LockOutcome::kGranted);
}

// Each thread counts under a lock without any other protection; all wait for the same few.
TEST(PointLocks, OneOwnerAtATime) {
  MemoryDb db;
  PointLocks locks;
  constexpr uint64_t kThreads = 8;
  constexpr int kRounds = 300;
  uint64_t counts[2] = {0, 0};
  std::vector<std::thread> threads;
  for (uint64_t id = 1; id <= kThreads; id++) {
    threads.emplace_back([&, id] {
      for (int round = 0; round < kRounds; round++) {
        const size_t which = (id + static_cast<uint64_t>(round)) % 2;
        const std::string key(1, static_cast<char>('a' + which));
        ASSERT_EQ(locks.Lock(id, Default(db), key, kLong).outcome, LockOutcome::kGranted);
        counts[which]++;
        locks.Unlock(Default(db), key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts[0] + counts[1], kThreads * kRounds);
}

}  // namespace
}  // namespace winnow
