// Many keys that expire at once, and a database that fails.

#include <algorithm>
#include <cmath>
#include <latch>
#include <thread>
#include <vector>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

class AvalancheTest : public GuardTest {
 protected:
  static constexpr int kKeys = 10'000;

  // Loads all keys within a second, and then asks for all of them once a second. Returns the loads
  // of each second.
  std::vector<int> LoadsOfSeconds(int num_seconds) {
    const auto guard = NewGuard();
    for (int i = 0; i < kKeys; ++i) {
      database_.Write(Key(i), "v");
      (void)guard->Get(Key(i), database_.loader());
      clock_.Advance(std::chrono::microseconds(100));
    }
    std::vector<int> loads;
    std::string value;
    const Loader load = database_.loader();
    // Nothing is due before. No whole second, so that no key is due exactly when it is asked for.
    clock_.Advance(seconds(590) - std::chrono::microseconds(1));
    for (int second = 590; second < num_seconds; ++second) {
      const int before = database_.loads();
      for (int i = 0; i < kKeys; ++i) (void)guard->Get(Key(i), load, &value);
      loads.push_back(database_.loads() - before);
      clock_.Advance(seconds(1));
    }
    return loads;
  }
};

TEST_F(AvalancheTest, WithoutJitterAllKeysAreLoadedInOneSecond) {
  const std::vector<int> loads = LoadsOfSeconds(620);
  EXPECT_EQ(*std::max_element(loads.begin(), loads.end()), kKeys);
}

TEST_F(AvalancheTest, WithJitterLoadsAreSpreadOverItsRange) {
  options_.min_jitter = seconds(60);
  options_.max_jitter = seconds(300);
  const std::vector<int> loads = LoadsOfSeconds(903);
  EXPECT_LE(*std::max_element(loads.begin(), loads.end()), 2 * kKeys / 240);
  int sum = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    sum += loads[i];
    // The first key was loaded a second before the first of these seconds.
    if (i + 590 + 1 < 660) {
      EXPECT_EQ(loads[i], 0) << i;
    }
  }
  EXPECT_EQ(sum, kKeys);  // none twice: a life is 660 s at least, and 900 s at most
}

// By the defaults, to the millisecond: what is loaded as well as what is put.
TEST_F(AvalancheTest, LivesAreUniformBetweenTheirBounds) {
  class RecordingCache final : public Cache {
   public:
    absl::StatusOr<bool> Get(std::string_view, std::string*) override { return false; }
    absl::Status Set(std::string_view, std::string_view, milliseconds ttl) override {
      lives.push_back(ttl.count());
      return absl::OkStatus();
    }
    absl::Status Remove(std::string_view) override { return absl::OkStatus(); }
    std::vector<int64_t> lives;
  } cache;
  options_.ttl = GuardOptions().ttl;
  options_.min_jitter = GuardOptions().min_jitter;
  options_.max_jitter = GuardOptions().max_jitter;
  auto guard = CacheGuard::Create(&cache, options_);
  ASSERT_TRUE(guard.ok());
  for (int i = 0; i < kKeys; ++i) {
    database_.Write(Key(i), "v");
    if (i % 2 == 0) {
      ASSERT_TRUE((*guard)->Get(Key(i), database_.loader()).ok());
    } else {
      ASSERT_TRUE((*guard)->Put(Key(i), "v").ok());
    }
  }
  ASSERT_EQ(cache.lives.size(), static_cast<size_t>(kKeys));
  constexpr int64_t kShortest = 660'000;
  constexpr int64_t kLongest = 900'000;
  constexpr int kBins = 24;
  std::vector<int> bins(kBins);
  for (const int64_t life : cache.lives) {
    ASSERT_GE(life, kShortest);
    ASSERT_LE(life, kLongest);
    ++bins[static_cast<size_t>((life - kShortest) * kBins / (kLongest + 1 - kShortest))];
  }
  EXPECT_LT(*std::min_element(cache.lives.begin(), cache.lives.end()), 661'000);
  EXPECT_GT(*std::max_element(cache.lives.begin(), cache.lives.end()), 899'000);
  const double expected = double{kKeys} / kBins;
  const double sigma = std::sqrt(expected * (1 - 1.0 / kBins));
  for (const int bin : bins) EXPECT_NEAR(bin, expected, 5 * sigma);
}

TEST_F(AvalancheTest, TheBreakerOpensProbesAndCloses) {
  options_.breaker_failures = 3;
  options_.breaker_open_for = seconds(10);
  const auto guard = NewGuard();
  database_.Fail(absl::InternalError("broken"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
    EXPECT_TRUE(absl::IsInternal(guard->Get(Key(i), database_.loader()).status()));
  }
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kOpen);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(guard->Get(Key(i), database_.loader()).status()));
  }
  EXPECT_EQ(database_.loads(), 3);
  EXPECT_EQ(guard->statistics().breaker_refusals, 1000u);
  // A probe that fails: open again, for as long.
  clock_.Advance(seconds(10));
  EXPECT_TRUE(absl::IsInternal(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kOpen);
  clock_.Advance(milliseconds(9999));
  EXPECT_TRUE(absl::IsUnavailable(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 4);
  // One that succeeds; that a row is absent is an answer.
  clock_.Advance(milliseconds(1));
  database_.Fail(absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
}

TEST_F(AvalancheTest, OnlyOneLoadIsTriedWhileTheBreakerIsHalfOpen) {
  options_.breaker_failures = 1;
  const auto guard = NewGuard();
  database_.Fail(absl::InternalError("broken"));
  EXPECT_TRUE(absl::IsInternal(guard->Get("a", database_.loader()).status()));
  database_.Fail(absl::OkStatus());
  database_.Write("a", "v");
  clock_.Advance(options_.breaker_open_for);
  int others_loads = 0;
  const Loader probe = [&](std::string_view) -> absl::StatusOr<std::string> {
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kHalfOpen);
    std::thread([&] {
      const auto other = guard->Get("b", [&](std::string_view) -> absl::StatusOr<std::string> {
        ++others_loads;
        return "x";
      });
      EXPECT_TRUE(absl::IsUnavailable(other.status()));
    }).join();
    return "v";
  };
  EXPECT_EQ(guard->Get("a", probe).value(), "v");
  EXPECT_EQ(others_loads, 0);
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
}

// The probe takes longer than the breaker was open: others need not wait for its end.
TEST_F(AvalancheTest, AProbeThatHangsLetsAnotherOneThrough) {
  options_.breaker_failures = 1;
  options_.breaker_open_for = seconds(10);
  const auto guard = NewGuard();
  const auto ask_elsewhere = [&](const std::string& key) {
    absl::StatusOr<std::string> answer = absl::UnknownError("");
    std::thread([&] { answer = guard->Get(key, database_.loader()); }).join();
    return answer.status();
  };
  database_.Fail(absl::InternalError("broken"));
  EXPECT_TRUE(absl::IsInternal(ask_elsewhere("a")));
  clock_.Advance(seconds(10));
  const Loader hanging = [&](std::string_view) -> absl::StatusOr<std::string> {
    clock_.Advance(milliseconds(9999));
    EXPECT_TRUE(absl::IsUnavailable(ask_elsewhere("b")));
    clock_.Advance(milliseconds(1));
    EXPECT_TRUE(absl::IsInternal(ask_elsewhere("b")));
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kOpen);
    clock_.Advance(seconds(10));
    database_.Fail(absl::OkStatus());
    EXPECT_TRUE(absl::IsNotFound(ask_elsewhere("b")));
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
    return absl::DeadlineExceededError("hung");
  };
  EXPECT_TRUE(absl::IsDeadlineExceeded(guard->Get("slow", hanging).status()));
}

TEST_F(AvalancheTest, AClockThatIsSetBackKeepsTheBreakerOpenForNoLonger) {
  options_.breaker_failures = 1;
  options_.breaker_open_for = seconds(10);
  const auto guard = NewGuard();
  const auto ask_elsewhere = [&] {
    absl::StatusOr<std::string> answer = absl::UnknownError("");
    std::thread([&] { answer = guard->Get("k", database_.loader()); }).join();
    return answer.status();
  };
  database_.Fail(absl::InternalError("broken"));
  EXPECT_TRUE(absl::IsInternal(ask_elsewhere()));
  clock_.Advance(-std::chrono::hours(1));
  EXPECT_TRUE(absl::IsUnavailable(ask_elsewhere()));
  clock_.Advance(milliseconds(9999));
  EXPECT_TRUE(absl::IsUnavailable(ask_elsewhere()));
  EXPECT_EQ(database_.loads(), 1);
  // Nor does a probe that hangs keep others out for longer.
  clock_.Advance(milliseconds(1));
  database_.Fail(absl::OkStatus());
  const Loader hanging = [&](std::string_view) -> absl::StatusOr<std::string> {
    clock_.Advance(-std::chrono::hours(1));
    EXPECT_TRUE(absl::IsUnavailable(ask_elsewhere()));
    clock_.Advance(seconds(10));
    EXPECT_TRUE(absl::IsNotFound(ask_elsewhere()));
    return "v";
  };
  EXPECT_EQ(guard->Get("slow", hanging).value(), "v");
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
}

// It is of the key, not of the database: neither a failure nor a sign that it is well again.
TEST_F(AvalancheTest, KeysThatMakeNoSenseToTheLoaderDoNotOpenTheBreaker) {
  options_.breaker_failures = 2;
  const auto guard = NewGuard();
  database_.Fail(absl::InvalidArgumentError("no such key can be"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(absl::IsInvalidArgument(guard->Get(Key(i), database_.loader()).status()));
  }
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
  EXPECT_EQ(guard->statistics().load_failures, 10u);
  database_.Fail(absl::InternalError("broken"));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(guard->Get(Key(i), database_.loader()).ok());
  clock_.Advance(options_.breaker_open_for);
  database_.Fail(absl::InvalidArgumentError("no such key can be"));
  EXPECT_TRUE(absl::IsInvalidArgument(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kHalfOpen);
}

// What it says is of the time before the breaker opened.
TEST_F(AvalancheTest, ALoadFromBeforeTheBreakerOpenedDoesNotDecideDuringAProbe) {
  options_.breaker_failures = 1;
  const auto guard = NewGuard();
  std::latch has_begun(2);
  std::latch fails(1);
  std::latch succeeds(1);
  const auto old_load = [&](const std::string& key, std::latch* end,
                            const absl::StatusOr<std::string>& result) {
    return std::thread([&, key, end, result] {
      (void)guard->Get(key, [&](std::string_view) {
        has_begun.count_down();
        end->wait();
        return result;
      });
    });
  };
  std::thread failing = old_load("failing", &fails, absl::InternalError("broken"));
  std::thread succeeding = old_load("succeeding", &succeeds, "v");
  has_begun.wait();
  database_.Fail(absl::InternalError("broken"));
  EXPECT_TRUE(absl::IsInternal(guard->Get("a", database_.loader()).status()));
  clock_.Advance(options_.breaker_open_for);
  const Loader probe = [&](std::string_view) -> absl::StatusOr<std::string> {
    succeeds.count_down();
    succeeding.join();
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kHalfOpen);
    fails.count_down();
    failing.join();
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kHalfOpen);
    return "v";
  };
  EXPECT_EQ(guard->Get("probe", probe).value(), "v");
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
}

TEST_F(AvalancheTest, ThereIsTheValuePastItsTimeWhileTheDatabaseFails) {
  options_.keep_stale_for = seconds(3600);
  options_.breaker_failures = 2;
  const auto guard = NewGuard();
  database_.Write("k", "old");
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "old");
  clock_.Advance(seconds(601));
  database_.Fail(absl::InternalError("broken"));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(guard->Get("k", database_.loader()).value(), "old");
  }
  EXPECT_EQ(database_.loads(), 1 + 2);
  EXPECT_EQ(guard->statistics().stale_fallbacks, 100u);
  clock_.Advance(seconds(3600));
  EXPECT_TRUE(absl::IsInternal(guard->Get("k", database_.loader()).status()));
}

// No failure of the database: an old value is no answer to a key that makes no sense.
TEST_F(AvalancheTest, ThatAKeyIsRefusedByTheLoaderIsTheAnswerThoughThereIsAnOldValue) {
  options_.keep_stale_for = seconds(3600);
  const auto guard = NewGuard();
  ASSERT_TRUE(guard->Put("k", "old").ok());
  clock_.Advance(seconds(601));
  database_.Fail(absl::InvalidArgumentError("no such key can be"));
  EXPECT_TRUE(absl::IsInvalidArgument(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(guard->statistics().stale_fallbacks, 0u);
}

TEST_F(AvalancheTest, SoManyLoadsRunAtATime) {
  options_.max_concurrent_loads = 2;
  options_.max_wait = milliseconds(20);
  options_.keep_stale_for = seconds(3600);
  const auto guard = NewGuard();
  database_.Write("stale", "old");
  EXPECT_EQ(guard->Get("stale", database_.loader()).value(), "old");
  clock_.Advance(seconds(601));
  std::latch running(2);
  std::latch may_end(1);
  const Loader slow = [&](std::string_view) -> absl::StatusOr<std::string> {
    running.count_down();
    may_end.wait();
    return "v";
  };
  std::thread first([&] { EXPECT_TRUE(guard->Get("a", slow).ok()); });
  std::thread second([&] { EXPECT_TRUE(guard->Get("b", slow).ok()); });
  running.wait();
  EXPECT_TRUE(absl::IsResourceExhausted(guard->Get("c", database_.loader()).status()));
  EXPECT_EQ(guard->Get("stale", database_.loader()).value(), "old");
  EXPECT_EQ(guard->statistics().limit_refusals, 2u);
  may_end.count_down();
  first.join();
  second.join();
  EXPECT_TRUE(absl::IsNotFound(guard->Get("c", database_.loader()).status()));
}

// A cache that fails is as one that has nothing.
TEST_F(AvalancheTest, WithoutTheCacheTheDatabaseIsAsked) {
  class FailingCache final : public Cache {
   public:
    absl::StatusOr<bool> Get(std::string_view, std::string*) override { return error_; }
    absl::Status Set(std::string_view, std::string_view, milliseconds) override { return error_; }
    absl::Status Remove(std::string_view) override { return error_; }
    bool HasLocks() const override { return true; }
    absl::StatusOr<bool> TryLock(std::string_view, std::string_view, milliseconds) override {
      return error_;
    }

   private:
    const absl::Status error_ = absl::UnavailableError("no server");
  };
  FailingCache failing;
  auto guard = CacheGuard::Create(&failing, options_);
  ASSERT_TRUE(guard.ok());
  database_.Write("k", "v");
  EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "v");
  EXPECT_EQ((*guard)->Get("k", database_.loader()).value(), "v");
  EXPECT_EQ(database_.loads(), 2);
  EXPECT_GE((*guard)->statistics().cache_errors, 4u);
  EXPECT_TRUE(absl::IsUnavailable((*guard)->Put("k", "w")));
  EXPECT_TRUE(absl::IsUnavailable((*guard)->Invalidate("k")));
}

// Bytes that are not the guard's are not taken for a value.
TEST_F(AvalancheTest, ForeignBytesAreLoadedAnew) {
  const auto guard = NewGuard();
  database_.Write("k", "v");
  for (const std::string& foreign : {std::string(), std::string("short"), std::string(64, 'x')}) {
    ASSERT_TRUE(cache_->Set("k", foreign, seconds(60)).ok());
    EXPECT_EQ(guard->Get("k", database_.loader()).value(), "v");
  }
  EXPECT_EQ(database_.loads(), 3);
}

}  // namespace
}  // namespace winnow::guard
