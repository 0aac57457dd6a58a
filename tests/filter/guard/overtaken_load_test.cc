// A load that began before its key was written.

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

// The cache in memory without its locks, as a plain cache has none.
class PlainCache : public Cache {
 public:
  explicit PlainCache(Cache* cache) : cache_(cache) {}
  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
    return cache_->Get(key, value);
  }
  absl::Status Set(std::string_view key, std::string_view value, milliseconds ttl) override {
    if (before_set) before_set();
    return cache_->Set(key, value, ttl);
  }
  absl::Status Remove(std::string_view key) override { return cache_->Remove(key); }

  std::function<void()> before_set;

 protected:
  Cache* const cache_;
};

// With the cache's locks and without.
class OvertakenLoadTest : public GuardTest, public testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<CacheGuard> NewGuardOfParam() {
    if (GetParam()) return NewGuard();
    auto guard = CacheGuard::Create(&plain_, options_);
    EXPECT_TRUE(guard.ok());
    return *std::move(guard);
  }

  PlainCache plain_{cache_.get()};
};

TEST_P(OvertakenLoadTest, PutStays) {
  const auto guard = NewGuardOfParam();
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    EXPECT_TRUE(guard->Put("k", "new").ok());
    return "old";
  };
  EXPECT_EQ(guard->Get("k", load).value(), "old");
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "new");
  EXPECT_EQ(database_.loads(), 0);
  EXPECT_EQ(guard->statistics().discarded_loads, 1u);
}

TEST_P(OvertakenLoadTest, AfterInvalidateTheKeyIsLoadedAgain) {
  const auto guard = NewGuardOfParam();
  database_.Write("k", "new");
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    EXPECT_TRUE(guard->Invalidate("k").ok());
    // A later caller does not join this load.
    EXPECT_EQ(guard->Get("k", database_.loader()).value(), "new");
    return "old";
  };
  EXPECT_EQ(guard->Get("k", load).value(), "old");
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "new");
  EXPECT_EQ(database_.loads(), 1);
}

TEST_P(OvertakenLoadTest, ThatTheKeyIsAbsentIsNotStoredEither) {
  const auto guard = NewGuardOfParam();
  database_.Write("k", "new");
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    EXPECT_TRUE(guard->Invalidate("k").ok());
    return absl::NotFoundError("not yet");
  };
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", load).status()));
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "new");
}

TEST_P(OvertakenLoadTest, ARefreshIsOvertakenToo) {
  options_.serve_stale_for = seconds(60);
  const auto guard = NewGuardOfParam();
  EXPECT_EQ(
      guard->Get("k", [](std::string_view) -> absl::StatusOr<std::string> { return "1"; }).value(),
      "1");
  clock_.Advance(seconds(601));
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    EXPECT_TRUE(guard->Put("k", "3").ok());
    return "2";
  };
  EXPECT_EQ(guard->Get("k", load).value(), "1");
  executor_.RunDue();
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "3");
}

// In another process: only the lock, which the write ends, can tell.
TEST_F(GuardTest, AWriteOfAnotherProcessOvertakesALoad) {
  const auto guard = NewGuard();
  const auto other = NewGuard();
  database_.Write("k", "new");
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    EXPECT_TRUE(other->Invalidate("k").ok());
    return "old";
  };
  EXPECT_EQ(guard->Get("k", load).value(), "old");
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "new");
}

// The cache in memory, whose locks are out of reach now and then: no other call is.
class CacheOfFailingLocks final : public PlainCache {
 public:
  using PlainCache::PlainCache;
  bool HasLocks() const override { return true; }
  absl::StatusOr<bool> TryLock(std::string_view key, std::string_view token,
                               milliseconds ttl) override {
    if (Fails(&failing_locks)) return error_;
    const absl::StatusOr<bool> taken = cache_->TryLock(key, token, ttl);
    return Fails(&lost_answers) ? error_ : taken;
  }
  absl::StatusOr<bool> SetAndUnlock(std::string_view key, std::string_view token,
                                    std::string_view value, milliseconds ttl) override {
    if (Fails(&failing_stores)) return error_;
    return cache_->SetAndUnlock(key, token, value, ttl);
  }
  absl::StatusOr<bool> Unlock(std::string_view key, std::string_view token) override {
    if (Fails(&failing_unlocks)) return error_;
    return cache_->Unlock(key, token);
  }

  // So many calls fail.
  std::atomic<int> failing_locks{0};
  std::atomic<int> lost_answers{0};  // that a lock was taken
  std::atomic<int> failing_stores{0};
  std::atomic<int> failing_unlocks{0};

 private:
  static bool Fails(std::atomic<int>* left) { return *left > 0 && (*left)-- > 0; }

  const absl::Status error_ = absl::DeadlineExceededError("the server is slow");
};

// Another process writes the key while its load goes on, and then a caller comes that waits for it.
class FailingLocksTest : public GuardTest {
 protected:
  absl::StatusOr<std::string> GetAfterAWriteInMidLoad(const absl::StatusOr<std::string>& old) {
    auto guard = CacheGuard::Create(&failing_, options_);
    EXPECT_TRUE(guard.ok());
    const auto other = NewGuard();
    absl::StatusOr<std::string> later = absl::UnknownError("");
    std::thread later_caller;
    const Loader load = [&](std::string_view) {
      database_.Write("k", "new");
      EXPECT_TRUE(other->Invalidate("k").ok());
      later_caller = std::thread([&] { later = (*guard)->Get("k", database_.loader()); });
      // Time to join this load; one that may not be joined is waited for without a sign.
      for (int i = 0; i < 200 && (*guard)->statistics().joined == 0; ++i) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return old;
    };
    EXPECT_EQ((*guard)->Get("k", load), old);  // its caller came before
    later_caller.join();
    EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "new");
    EXPECT_EQ(other->Get("k", database_.loader()).value(), "new");
    EXPECT_EQ((*guard)->statistics().discarded_loads, 1u);
    return later;
  }

  CacheOfFailingLocks failing_{cache_.get()};
};

TEST_F(FailingLocksTest, WithoutTheLockAnOlderValueIsNotStored) {
  failing_.failing_locks = 1;
  EXPECT_EQ(GetAfterAWriteInMidLoad("old").value(), "new");
}

TEST_F(FailingLocksTest, WithoutTheLockThatTheKeyIsAbsentIsNotStored) {
  failing_.failing_locks = 1;
  EXPECT_EQ(GetAfterAWriteInMidLoad(absl::NotFoundError("no row")).value(), "new");
}

TEST_F(FailingLocksTest, AValueThatMayNotHaveBeenStoredIsNotGivenToLaterCallers) {
  failing_.failing_stores = 1;
  EXPECT_EQ(GetAfterAWriteInMidLoad("old").value(), "new");
}

TEST_F(FailingLocksTest, NorThatTheKeyIsAbsentIfItsLockMayHaveEnded) {
  options_.negative_ttl = seconds(0);
  failing_.failing_unlocks = 1;
  EXPECT_EQ(GetAfterAWriteInMidLoad(absl::NotFoundError("no row")).value(), "new");
}

// Nobody's load stands behind a lock that could not be released: it is not waited for.
TEST_F(FailingLocksTest, WhereNothingIsStoredOrReleasedEachCallLoadsAtOnce) {
  failing_.failing_stores = failing_.failing_unlocks = 1000;
  auto guard = CacheGuard::Create(&failing_, options_);
  ASSERT_TRUE(guard.ok());
  database_.Write("k", "v");
  const TimePoint begin = clock_.Now();
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "v");
    EXPECT_EQ(database_.loads(), i);
    EXPECT_EQ((*guard)->statistics().discarded_loads, static_cast<uint64_t>(i));
    EXPECT_GE((*guard)->statistics().cache_errors, 2u);
  }
  EXPECT_EQ(clock_.Now(), begin);
  // When the cache is well, and the lock has ended, it is as before.
  failing_.failing_stores = failing_.failing_unlocks = 0;
  clock_.Advance(options_.lock_ttl);
  EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "v");
  EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "v");
  EXPECT_EQ(database_.loads(), 4);
}

TEST_F(FailingLocksTest, ALockThatWasTakenThoughTheCacheFailedIsReleased) {
  failing_.lost_answers = 1;
  auto guard = CacheGuard::Create(&failing_, options_);
  ASSERT_TRUE(guard.ok());
  database_.Write("k", "v");
  const TimePoint begin = clock_.Now();
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "v");
  EXPECT_EQ(clock_.Now(), begin);   // nobody waited
  EXPECT_EQ(database_.loads(), 2);  // the second one was stored
}

TEST_F(FailingLocksTest, AClockThatIsSetBackKeepsNobodyFromWaitingForALock) {
  failing_.failing_stores = failing_.failing_unlocks = 1;
  auto guard = CacheGuard::Create(&failing_, options_);
  ASSERT_TRUE(guard.ok());
  EXPECT_TRUE(absl::IsNotFound((*guard)->Get("k", database_.loader()).status()));
  clock_.Advance(-std::chrono::hours(1));
  ASSERT_TRUE(*cache_->TryLock("other", "another", seconds(100)));
  EXPECT_TRUE(absl::IsNotFound((*guard)->Get("other", database_.loader()).status()));
  clock_.Advance(options_.lock_ttl);
  EXPECT_TRUE(absl::IsDeadlineExceeded((*guard)->Get("other", database_.loader()).status()));
}

// The cache's failure must not send every caller to the database: those who came too late for a
// load share the next one.
TEST_F(FailingLocksTest, WithoutTheLockThereIsOneLoadAtATime) {
  constexpr int kLater = 32;
  failing_.failing_locks = 1000;
  auto guard = CacheGuard::Create(&failing_, options_);
  ASSERT_TRUE(guard.ok());
  database_.Write("k", "v");
  std::atomic<int> running{0};
  std::atomic<int> most_running{0};
  const Loader load = [&](std::string_view key) {
    most_running = std::max<int>(most_running, ++running);
    auto value = database_.Read(key);
    --running;
    return value;
  };
  std::vector<std::thread> later;
  const Loader first = [&](std::string_view key) {
    ++running;
    for (int i = 0; i < kLater; ++i) {
      later.emplace_back([&] { EXPECT_EQ((*guard)->Get("k", load).value(), "v"); });
    }
    // One of them owns the next load, the others wait for it.
    while ((*guard)->statistics().joined < kLater - 1) std::this_thread::yield();
    auto value = database_.Read(key);
    --running;
    return value;
  };
  EXPECT_EQ((*guard)->Get("k", first).value(), "v");
  for (std::thread& thread : later) thread.join();
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_EQ(most_running, 1);
}

// Invalidate comes while the load's value is on its way into the cache.
TEST_F(GuardTest, InvalidateWaitsForAValueThatIsBeingStored) {
  PlainCache plain(cache_.get());
  auto created = CacheGuard::Create(&plain, options_);
  ASSERT_TRUE(created.ok());
  CacheGuard* const guard = created->get();
  std::thread writer;
  std::atomic<bool> has_begun{false};
  plain.before_set = [&] {
    if (has_begun) return;
    writer = std::thread([&] {
      has_begun = true;
      EXPECT_TRUE(guard->Invalidate("k").ok());
    });
    while (!has_begun) std::this_thread::yield();
  };
  EXPECT_EQ(guard->Get("k", [](std::string_view) -> absl::StatusOr<std::string> { return "old"; })
                .value(),
            "old");
  writer.join();
  database_.Write("k", "new");
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "new");
}

// Readers compare what they get with what was committed and announced before they asked.
TEST_P(OvertakenLoadTest, NoReaderSeesAnOlderValueThanTheLastWrite) {
  constexpr int kKeys = 4;
  constexpr int kWrites = 3000;
  const auto guard = NewGuardOfParam();
  struct Row {
    std::atomic<int64_t> committed{0};
    std::atomic<int64_t> announced{0};
  };
  std::array<Row, kKeys> rows;
  std::atomic<bool> ends{false};
  std::atomic<int> num_older{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      for (int i = reader; !ends; ++i) {
        Row& row = rows[static_cast<size_t>(i % kKeys)];
        const int64_t at_least = row.announced;
        const auto value = guard->Get(Key(i % kKeys), [&](std::string_view) {
          const int64_t read = row.committed;
          if (i % 3 == 0) std::this_thread::yield();
          return absl::StatusOr<std::string>(absl::StrCat(read));
        });
        if (value.ok() && std::stoll(*value) < at_least) ++num_older;
      }
    });
  }
  for (int i = 1; i <= kWrites; ++i) {
    const int key = i % kKeys;
    Row& row = rows[static_cast<size_t>(key)];
    row.committed = i;
    if (i % 2 == 0) {
      ASSERT_TRUE(guard->Put(Key(key), absl::StrCat(i)).ok());
    } else {
      ASSERT_TRUE(guard->Invalidate(Key(key)).ok());
    }
    row.announced = i;
    if (i % 16 == 0) std::this_thread::yield();
  }
  ends = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(num_older, 0);
}

INSTANTIATE_TEST_SUITE_P(LocksOrNot, OvertakenLoadTest, testing::Bool());

}  // namespace
}  // namespace winnow::guard
