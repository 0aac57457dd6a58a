// A hot key that expires.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

class BreakdownTest : public GuardTest {
 protected:
  static constexpr int kThreads = 64;

  // Asks for one expired key from all threads; the load ends when all others wait for it.
  std::vector<absl::StatusOr<std::string>> AskFromAll(CacheGuard* guard, const Loader& load) {
    std::vector<absl::StatusOr<std::string>> answers(kThreads, absl::UnknownError(""));
    const Loader when_all_wait = [&](std::string_view key) {
      while (guard->statistics().joined < kThreads - 1) std::this_thread::yield();
      return load(key);
    };
    std::vector<std::thread> threads;
    for (absl::StatusOr<std::string>& answer : answers) {
      threads.emplace_back([&] { answer = guard->Get("hot", when_all_wait); });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  }

  void LoadAndExpire(CacheGuard* guard) {
    database_.Write("hot", "v1");
    ASSERT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
    clock_.Advance(seconds(601));
    database_.Write("hot", "v2");
  }
};

TEST_F(BreakdownTest, OneLoadForAllThreads) {
  const auto guard = NewGuard();
  LoadAndExpire(guard.get());
  for (const auto& answer : AskFromAll(guard.get(), database_.loader())) {
    EXPECT_EQ(answer.value(), "v2");
  }
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_EQ(guard->statistics().loads, 2u);
  EXPECT_EQ(guard->statistics().joined, kThreads - 1u);
}

TEST_F(BreakdownTest, ItsErrorReachesAll) {
  const auto guard = NewGuard();
  LoadAndExpire(guard.get());
  database_.Fail(absl::DataLossError("bad page"));
  for (const auto& answer : AskFromAll(guard.get(), database_.loader())) {
    EXPECT_EQ(answer.status(), absl::DataLossError("bad page"));
  }
  EXPECT_EQ(database_.loads(), 2);
  // Neither the key nor the cache's lock stays taken.
  database_.Fail(absl::OkStatus());
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v2");
}

TEST_F(BreakdownTest, AnExceptionReachesAllAsAnError) {
  const auto guard = NewGuard();
  LoadAndExpire(guard.get());
  const Loader throws = [](std::string_view) -> absl::StatusOr<std::string> {
    throw std::runtime_error("no connection");
  };
  for (const auto& answer : AskFromAll(guard.get(), throws)) {
    EXPECT_EQ(answer.status(), absl::InternalError("the loader threw: no connection"));
  }
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v2");
}

TEST_F(BreakdownTest, KeysDoNotWaitForEachOther) {
  const auto guard = NewGuard();
  database_.Write("other", "o");
  // Would wait for itself for ever, were there one lock for both.
  const Loader nested = [&](std::string_view) { return guard->Get("other", database_.loader()); };
  EXPECT_EQ(guard->Get("hot", nested).value(), "o");
}

TEST_F(BreakdownTest, WhoWaitsTooLongGivesUp) {
  options_.max_wait = milliseconds(10);
  const auto guard = NewGuard();
  std::latch running(1);
  std::latch may_end(1);
  std::thread first([&] {
    EXPECT_TRUE(guard
                    ->Get("hot",
                          [&](std::string_view) -> absl::StatusOr<std::string> {
                            running.count_down();
                            may_end.wait();
                            return "v";
                          })
                    .ok());
  });
  running.wait();
  EXPECT_TRUE(absl::IsDeadlineExceeded(guard->Get("hot", database_.loader()).status()));
  may_end.count_down();
  first.join();
}

// Two processes, as it were: two guards that share nothing but the cache. The second one looks for
// the value again and again, and it is there when the first one's load has ended.
// By its token a load shows that the lock is still its own.
TEST_F(BreakdownTest, LoadsInForkedProcessesHaveTokensOfTheirOwn) {
  class TokenCache final : public Cache {
   public:
    absl::StatusOr<bool> Get(std::string_view, std::string*) override { return false; }
    absl::Status Set(std::string_view, std::string_view, milliseconds) override {
      return absl::OkStatus();
    }
    absl::Status Remove(std::string_view) override { return absl::OkStatus(); }
    bool HasLocks() const override { return true; }
    absl::StatusOr<bool> TryLock(std::string_view, std::string_view token, milliseconds) override {
      // To where the parent reads it, if it comes from a child.
      if (pipe >= 0) std::ignore = ::write(pipe, token.data(), token.size());
      return true;
    }
    int pipe = -1;
  } cache;
  options_.random = nullptr;
  const auto guard = *CacheGuard::Create(&cache, options_);
  ASSERT_TRUE(absl::IsNotFound(guard->Get("before", database_.loader()).status()));
  std::set<std::string> tokens;
  for (int i = 0; i < 2; ++i) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t worker = ::fork();
    if (worker == 0) {
      cache.pipe = pipe[1];
      ::_exit(absl::IsNotFound(guard->Get("key", database_.loader()).status()) ? 0 : 1);
    }
    ::close(pipe[1]);
    std::string token(100, '\0');
    const ssize_t length = ::read(pipe[0], token.data(), token.size());
    ::close(pipe[0]);
    ASSERT_GT(length, 0);
    tokens.insert(token.substr(0, static_cast<size_t>(length)));
    ASSERT_EQ(::waitpid(worker, nullptr, 0), worker);
  }
  EXPECT_EQ(tokens.size(), 2u);
}

// Whoever sees the cache sees them: they must not tell what else came from that source, as the
// seeds of filters.
TEST_F(BreakdownTest, TokensAreNotNumbersOfTheRandomSource) {
  class LastToken final : public Cache {
   public:
    absl::StatusOr<bool> Get(std::string_view, std::string*) override { return false; }
    absl::Status Set(std::string_view, std::string_view, milliseconds) override {
      return absl::OkStatus();
    }
    absl::Status Remove(std::string_view) override { return absl::OkStatus(); }
    bool HasLocks() const override { return true; }
    absl::StatusOr<bool> TryLock(std::string_view, std::string_view token, milliseconds) override {
      last = token;
      return true;
    }
    std::string last;
  };
  std::set<std::string> tokens;
  for (int i = 0; i < 2; ++i) {
    FixedRandom same_numbers;
    LastToken cache;
    options_.random = &same_numbers;
    const auto guard = *CacheGuard::Create(&cache, options_);
    EXPECT_TRUE(absl::IsNotFound(guard->Get("key", database_.loader()).status()));
    tokens.insert(cache.last);
  }
  EXPECT_EQ(tokens.size(), 2u);
}

TEST_F(BreakdownTest, OneLoadForAllProcesses) {
  class SleepingClock final : public Clock {
   public:
    TimePoint Now() override { return TimePoint(std::chrono::seconds(1'700'000'000)); }
    void SleepFor(std::chrono::microseconds) override {
      if (++sleeps == 3) third.count_down();
      std::this_thread::yield();
    }
    std::atomic<int> sleeps{0};
    std::latch third{1};
  } clock;
  cache_ = NewMemoryCache({.clock = &clock});
  options_.clock = &clock;
  const auto guard = NewGuard();
  const auto other = NewGuard();
  std::latch running(1);
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    running.count_down();
    clock.third.wait();
    return "v";
  };
  std::thread first([&] { EXPECT_EQ(guard->Get("hot", load).value(), "v"); });
  running.wait();
  EXPECT_EQ(other->Get("hot", database_.loader()).value(), "v");
  first.join();
  EXPECT_EQ(database_.loads(), 0);
  EXPECT_EQ(other->statistics().found_by_others, 1u);
}

TEST_F(BreakdownTest, ALoadOfAnotherProcessIsWaitedForNoLongerThanThat) {
  options_.max_wait = milliseconds(500);
  const auto guard = NewGuard();
  ASSERT_TRUE(*cache_->TryLock("hot", "another", seconds(100)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(guard->Get("hot", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 0);
}

TEST_F(BreakdownTest, AClockThatIsSetBackProlongsTheWaitByNoMoreThanThat) {
  class ClockThatIsSetBack final : public Clock {
   public:
    TimePoint Now() override { return TimePoint(std::chrono::microseconds(micros_)); }
    void SleepFor(std::chrono::microseconds time) override {
      micros_ += time.count();
      if (sleeps++ == 0) micros_ -= std::chrono::microseconds(std::chrono::hours(1)).count();
    }
    int sleeps = 0;

   private:
    int64_t micros_ = 1'700'000'000'000'000;
  } clock;
  options_.clock = &clock;
  options_.max_wait = milliseconds(500);
  options_.lock_poll = milliseconds(20);
  const auto guard = NewGuard();
  ASSERT_TRUE(*cache_->TryLock("hot", "another", seconds(100)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(guard->Get("hot", database_.loader()).status()));
  EXPECT_LE(clock.sleeps, 2 * 25);
}

TEST_F(BreakdownTest, ALockIsRenewedWhileTheLoadGoesOn) {
  options_.lock_ttl = seconds(3);
  const auto guard = NewGuard();
  const Loader slow = [&](std::string_view key) -> absl::StatusOr<std::string> {
    for (int i = 0; i < 10; ++i) {
      clock_.Advance(seconds(1));
      executor_.RunDue();
    }
    EXPECT_FALSE(*cache_->TryLock(key, "another", seconds(1)));
    return "v";
  };
  EXPECT_EQ(guard->Get("hot", slow).value(), "v");
  EXPECT_EQ(guard->statistics().lost_locks, 0u);
  // It is stored, and the lock is free.
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v");
  EXPECT_TRUE(*cache_->TryLock("hot", "another", seconds(1)));
}

// The renewals come too late: another process loads a newer value, which stays.
TEST_F(BreakdownTest, ALoadThatOutlivesItsLockStoresNothing) {
  options_.lock_ttl = seconds(3);
  const auto guard = NewGuard();
  const auto other = NewGuard();
  database_.Write("hot", "new");
  const Loader slow = [&](std::string_view) -> absl::StatusOr<std::string> {
    clock_.Advance(seconds(4));
    EXPECT_EQ(other->Get("hot", database_.loader()).value(), "new");
    return "old";
  };
  EXPECT_EQ(guard->Get("hot", slow).value(), "old");  // its caller came before
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "new");
  EXPECT_EQ(other->Get("hot", database_.loader()).value(), "new");
  EXPECT_EQ(guard->statistics().lost_locks, 1u);
  EXPECT_EQ(guard->statistics().discarded_loads, 1u);
}

TEST_F(BreakdownTest, AHotKeyIsServedPastItsTimeAndRefreshedOnce) {
  options_.serve_stale_for = seconds(60);
  const auto guard = NewGuard();
  LoadAndExpire(guard.get());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  EXPECT_EQ(database_.loads(), 1);
  EXPECT_GE(executor_.RunDue(), 1);
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v2");
  EXPECT_EQ(guard->statistics().stale_hits, 100u);
  EXPECT_EQ(guard->statistics().refreshes, 1u);
}

TEST_F(BreakdownTest, ARefreshThatIsRefusedOrDroppedDoesNotKeepTheKey) {
  options_.serve_stale_for = seconds(60);
  const auto guard = NewGuard();
  LoadAndExpire(guard.get());
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  executor_.Drop();
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  executor_.Drop();
  executor_.Refuse();
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  clock_.Advance(seconds(60));
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v2");
}

// Its task finds the work done.
TEST_F(BreakdownTest, ACallerDoesNotWaitForARefreshThatIsOnlyInTheQueue) {
  options_.serve_stale_for = seconds(60);
  options_.max_wait = seconds(60);
  const auto guard = NewGuard();
  LoadAndExpire(guard.get());
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  clock_.Advance(seconds(60));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v2");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_GE(executor_.RunDue(), 1);
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_EQ(guard->statistics().refreshes, 0u);
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v2");
}

// Stops one thread as it looks for a key.
class GatedCache final : public Cache {
 public:
  explicit GatedCache(Cache* target) : target_(*target) {}
  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
    if (std::this_thread::get_id() == stopped.load()) {
      is_inside = true;
      while (!may_go) std::this_thread::yield();
    }
    return target_.Get(key, value);
  }
  absl::Status Set(std::string_view key, std::string_view value, milliseconds ttl) override {
    return target_.Set(key, value, ttl);
  }
  absl::Status Remove(std::string_view key) override { return target_.Remove(key); }

  std::atomic<std::thread::id> stopped{std::thread::id()};
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_go{false};

 private:
  Cache& target_;
};

TEST_F(BreakdownTest, WhoJoinsARefreshThatGivesUpWaitsForAPlaceAllTheSame) {
  options_.serve_stale_for = seconds(60);
  options_.max_wait = seconds(60);
  options_.max_concurrent_loads = 1;
  GatedCache cache(cache_.get());
  auto guard = *CacheGuard::Create(&cache, options_);
  LoadAndExpire(guard.get());
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  std::thread refreshing([&] {
    cache.stopped = std::this_thread::get_id();
    executor_.RunDue();
  });
  while (!cache.is_inside) std::this_thread::yield();
  clock_.Advance(seconds(60));
  // Another load has the only place until the refresh has given up.
  std::atomic<bool> has_place{false};
  std::atomic<bool> may_end{false};
  std::thread other([&] {
    const auto loaded = guard->Get("other", [&](std::string_view) -> absl::StatusOr<std::string> {
      has_place = true;
      while (!may_end) std::this_thread::yield();
      return "o";
    });
    EXPECT_TRUE(loaded.ok()) << loaded.status();
  });
  while (!has_place) std::this_thread::yield();
  std::thread joining([&] {
    const auto loaded = guard->Get("hot", database_.loader());
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (loaded.ok()) {
      EXPECT_EQ(*loaded, "v2");
    }
  });
  while (guard->statistics().joined == 0) std::this_thread::yield();
  cache.may_go = true;
  refreshing.join();
  may_end = true;
  other.join();
  joining.join();
}

TEST_F(BreakdownTest, ARefreshThatComesAfterTheGuardDoesNothing) {
  options_.serve_stale_for = seconds(60);
  auto guard = NewGuard();
  LoadAndExpire(guard.get());
  EXPECT_EQ(guard->Get("hot", database_.loader()).value(), "v1");
  guard.reset();
  executor_.RunDue();
  EXPECT_EQ(database_.loads(), 1);
}

// XFetch: with a load of 100 ms and beta 1 the chance is exp(-10 x) at x seconds before the end.
TEST_F(BreakdownTest, ASlowLoadIsRefreshedBeforeItsEndByChance) {
  options_.early_refresh = 1;
  const auto guard = NewGuard();
  const Loader slow = [&](std::string_view key) {
    clock_.Advance(milliseconds(100));
    return database_.Read(key);
  };
  database_.Write("hot", "v");
  ASSERT_TRUE(guard->Get("hot", slow).ok());
  clock_.Advance(seconds(590));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(guard->Get("hot", slow).ok());
  executor_.RunDue();
  EXPECT_EQ(guard->statistics().early_refreshes, 0u);  // exp(-100) a question
  clock_.Advance(milliseconds(9800));
  // exp(-2) a question: not one in 500 is out of the question.
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(guard->Get("hot", slow).ok());
  EXPECT_EQ(database_.loads(), 1);
  EXPECT_GE(executor_.RunDue(), 1);
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_EQ(guard->statistics().early_refreshes, 1u);
  // It has a new life.
  clock_.Advance(seconds(500));
  ASSERT_TRUE(guard->Get("hot", slow).ok());
  EXPECT_EQ(database_.loads(), 2);
}

}  // namespace
}  // namespace winnow::guard
