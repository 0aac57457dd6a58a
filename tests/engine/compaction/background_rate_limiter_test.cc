// The limiter under a clock that moves only while somebody sleeps or writes.
#include "engine/compaction/background_rate_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

using std::chrono::microseconds;
using Priority = BackgroundRateLimiter::Priority;

constexpr uint64_t kRate = 10'000'000;

struct Paced {
  SteadyTime now{};
  BackgroundLoad load;
  BackgroundRateLimiter limiter{kRate, [this] { return now; },
                                [this](microseconds duration) { now += duration; }};

  Paced() {
    limiter.SetLoadSource([this] { return load; });
  }
  // Bytes a second of `megabytes` requests of 1 MB.
  double RateOf(int megabytes, Priority priority) {
    const SteadyTime begin = now;
    for (int i = 0; i < megabytes; i++) limiter.Request(1'000'000, priority, {});
    const double seconds = std::chrono::duration<double>(now - begin).count();
    return seconds == 0 ? 1e18 : megabytes * 1e6 / seconds;
  }
};

TEST(BackgroundRateLimiter, KeepsTheRate) {
  for (const Priority priority : {Priority::kFlush, Priority::kCompaction}) {
    Paced paced;
    EXPECT_NEAR(paced.RateOf(100, priority), kRate, kRate * 0.02);
  }
}

TEST(BackgroundRateLimiter, IdleTimeIsNotSavedUp) {
  Paced paced;
  paced.RateOf(1, Priority::kCompaction);
  paced.now += std::chrono::seconds(100);
  EXPECT_NEAR(paced.RateOf(100, Priority::kCompaction), kRate, kRate * 0.02);
}

TEST(BackgroundRateLimiter, TheRateRisesWithTheDebtAndEndsBeforeWritesWait) {
  double before = 0;
  for (const double debt : {0.0, 0.25, 0.5, 0.75, 0.85}) {
    Paced paced;
    paced.load.debt = debt;
    const double rate = paced.RateOf(100, Priority::kCompaction);
    EXPECT_GT(rate, before * 1.2) << debt;
    EXPECT_NEAR(rate, kRate / (1 - debt), kRate / (1 - debt) * 0.05);
    before = rate;
  }
  Paced paced;
  paced.load.debt = 0.9;
  EXPECT_EQ(paced.RateOf(100, Priority::kCompaction), 1e18);
  EXPECT_EQ(paced.RateOf(100, Priority::kFlush), 1e18);
}

TEST(BackgroundRateLimiter, CompactionsWaitBehindFlushesAndFlushesBehindNoCompaction) {
  Paced paced;
  // Compactions have reserved ahead: a flush starts at once all the same.
  paced.limiter.Request(500'000, Priority::kCompaction, {});
  EXPECT_EQ(paced.limiter.Request(1, Priority::kFlush, {}), microseconds(0));
  // Whatever flushes write, compactions write less.
  const SteadyTime begin = paced.now;
  for (int i = 0; i < 10; i++) {
    paced.limiter.Request(500'000, Priority::kFlush, {});
    paced.limiter.Request(500'000, Priority::kCompaction, {});
  }
  EXPECT_GT(std::chrono::duration<double>(paced.now - begin).count(), 0.9);
}

TEST(BackgroundRateLimiter, ReadersHaveHalfOfTheRateWhileLittleIsDue) {
  Paced paced;
  paced.load.has_readers = true;
  EXPECT_NEAR(paced.RateOf(100, Priority::kCompaction), kRate / 2, kRate * 0.02);
  EXPECT_NEAR(paced.RateOf(100, Priority::kFlush), kRate, kRate * 0.02);
  Paced pressed;
  pressed.load = {0.5, true};
  EXPECT_NEAR(pressed.RateOf(100, Priority::kCompaction), kRate * 2, kRate * 0.1);
}

TEST(BackgroundRateLimiter, NothingHoldsACancelledJobAClosingDatabaseOrOneWithoutALimit) {
  Paced paced;
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(paced.limiter.Request(1 << 30, Priority::kCompaction, {&cancelled, nullptr}),
            microseconds(0));
  BackgroundRateLimiter unlimited(0);
  EXPECT_EQ(unlimited.Request(1 << 30, Priority::kCompaction, {}), microseconds(0));
  paced.limiter.Stop();
  EXPECT_EQ(paced.limiter.Request(1 << 30, Priority::kCompaction, {}), microseconds(0));
}

// Not only what is asked for from then on: a flush that they wait for has reserved long before.
TEST(BackgroundRateLimiter, NothingIsHeldWhileWritesWaitForIt) {
  Paced paced;
  int sleeps = 0;
  BackgroundRateLimiter limiter(
      1000, [&] { return paced.now; },
      [&](microseconds duration) {
        paced.now += duration;
        if (++sleeps == 3) limiter.SetWritesWait(true);
      });
  EXPECT_LE(limiter.Request(1 << 30, Priority::kFlush, {}), microseconds(40'000));
  EXPECT_EQ(sleeps, 3);
  EXPECT_EQ(limiter.Request(1 << 30, Priority::kCompaction, {}), microseconds(0));
  limiter.SetWritesWait(false);
  limiter.Request(50, Priority::kFlush, {});
  EXPECT_GT(limiter.Request(50, Priority::kFlush, {}), microseconds(40'000));
}

TEST(BackgroundRateLimiter, LooksThatTakeLongAreFew) {
  Paced paced;
  int looks = 0;
  paced.limiter.SetLoadSource([&] {
    looks++;
    paced.now += std::chrono::milliseconds(20);
    return BackgroundLoad();
  });
  const SteadyTime begin = paced.now;
  paced.RateOf(100, Priority::kFlush);
  EXPECT_GT(looks, 1);
  EXPECT_LE(looks * std::chrono::seconds(1), paced.now - begin + std::chrono::seconds(1));
}

TEST(BackgroundRateLimiter, AWaitEndsWhenItsReasonDoes) {
  Paced paced;
  std::atomic<bool> cancelled{false};
  int sleeps = 0;
  BackgroundRateLimiter limiter(
      1000, [&] { return paced.now; },
      [&](microseconds duration) {
        paced.now += duration;
        if (++sleeps == 3) cancelled = true;
      });
  EXPECT_LE(limiter.Request(1 << 30, Priority::kCompaction, {&cancelled, nullptr}),
            microseconds(40'000));
  EXPECT_EQ(sleeps, 3);
}

TEST(PacedFile, WritesWhatItIsGivenAndPaysForIt) {
  const auto file_system = NewMemoryFileSystem();
  Paced paced;
  microseconds waited{0};
  auto file = NewPacedFile(*file_system->Create("/file", {}),
                           {&paced.limiter, Priority::kFlush, {}}, &waited);
  const std::string piece(100'000, 'p');
  for (int i = 0; i < 100; i++) ASSERT_TRUE(file->Append(piece).ok());
  EXPECT_EQ(file->size(), 10'000'000u);
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_NEAR(std::chrono::duration<double>(waited).count(), 1.0, 0.1);
}

}  // namespace
}  // namespace winnow
