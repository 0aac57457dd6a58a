// Loaders that ask their guard for other keys, as one of a page does for its user.

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

class NestedLoadTest : public GuardTest {
 protected:
  // Asks for the user of the page, which the database has.
  Loader PageLoader(CacheGuard* guard) {
    return [this, guard](std::string_view page) -> absl::StatusOr<std::string> {
      const auto user = guard->Get(absl::StrCat("user of ", std::string(page)), database_.loader());
      return user.ok() ? absl::StatusOr<std::string>("page of " + *user) : user;
    };
  }
  void OpenTheBreaker(CacheGuard* guard, const Loader& load) {
    database_.Fail(absl::UnavailableError("down"));
    for (int i = 0; i < options_.breaker_failures; ++i) {
      EXPECT_FALSE(guard->Get("page", load).ok());
    }
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kOpen);
    database_.Fail(absl::OkStatus());
    clock_.Advance(options_.breaker_open_for);
  }
};

// The probe's own loader would be refused what it needs, and the breaker open for ever.
TEST_F(NestedLoadTest, WhatAProbesLoaderAsksForIsPartOfTheProbe) {
  options_.breaker_failures = 3;
  options_.negative_ttl = milliseconds(0);
  const auto guard = NewGuard();
  const Loader load = PageLoader(guard.get());
  database_.Write("user of page", "Ada");
  OpenTheBreaker(guard.get(), load);
  const uint64_t refusals = guard->statistics().breaker_refusals;
  EXPECT_EQ(guard->Get("page", load).value(), "page of Ada");
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
  EXPECT_EQ(guard->statistics().breaker_refusals, refusals);
}

// A part of a probe that fails decides nothing: its loader may do without.
TEST_F(NestedLoadTest, TheOuterLoadIsWhatTheProbeSays) {
  options_.breaker_failures = 1;
  const auto guard = NewGuard();
  OpenTheBreaker(guard.get(), database_.loader());
  const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
    const Loader failing = [](std::string_view) { return absl::InternalError("broken"); };
    EXPECT_TRUE(absl::IsInternal(guard->Get("user", failing).status()));
    EXPECT_EQ(guard->statistics().breaker, BreakerState::kHalfOpen);
    return "page of nobody";
  };
  EXPECT_EQ(guard->Get("page", load).value(), "page of nobody");
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
}

// On another thread the guard cannot tell that it is part of the probe.
TEST_F(NestedLoadTest, ThatTheBreakerRefusesIsNoFailureOfTheProbe) {
  options_.breaker_failures = 1;
  const auto guard = NewGuard();
  database_.Write("user of page", "Ada");
  const Loader page = PageLoader(guard.get());
  OpenTheBreaker(guard.get(), page);
  const Loader elsewhere = [&](std::string_view key) {
    absl::StatusOr<std::string> loaded = absl::UnknownError("");
    std::thread([&] { loaded = page(key); }).join();
    return loaded;
  };
  EXPECT_TRUE(absl::IsUnavailable(guard->Get("page", elsewhere).status()));
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kHalfOpen);
  EXPECT_EQ(guard->Get("page", page).value(), "page of Ada");  // without a wait
  EXPECT_EQ(guard->statistics().breaker, BreakerState::kClosed);
}

// All places are taken by loads that need one more each.
TEST_F(NestedLoadTest, RunsInThePlaceOfTheOuterLoad) {
  for (const size_t limit : {size_t{1}, size_t{16}}) {
    options_.max_concurrent_loads = limit;
    options_.max_wait = milliseconds(200);
    const auto guard = NewGuard();
    std::latch all_begun(static_cast<std::ptrdiff_t>(limit));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < limit; ++i) {
      const std::string page = absl::StrCat(limit, "/", i);
      database_.Write("user of " + page, "Ada");
      threads.emplace_back([&, page] {
        const auto value = guard->Get(page, [&](std::string_view key) {
          all_begun.arrive_and_wait();
          return PageLoader(guard.get())(key);
        });
        EXPECT_TRUE(value.ok()) << value.status();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(guard->statistics().limit_refusals, 0u);
    // And the places are free again, as many as there were.
    const Loader full = [&](std::string_view) -> absl::StatusOr<std::string> {
      absl::Status other;
      std::thread([&] { other = guard->Get("other", database_.loader()).status(); }).join();
      EXPECT_EQ(absl::IsResourceExhausted(other), limit == 1) << other;
      return "v";
    };
    EXPECT_TRUE(guard->Get(absl::StrCat("last", limit), full).ok());
  }
}

// The key that a loader asks for is being loaded by a caller that waits for the loader's place.
TEST_F(NestedLoadTest, LendsItsPlaceToTheLoadThatItWaitsFor) {
  options_.max_concurrent_loads = 1;
  options_.max_wait = seconds(20);
  const auto guard = NewGuard();
  database_.Write("user", "Ada");
  std::thread first;
  const Loader load = [&](std::string_view) {
    first = std::thread([&] { EXPECT_TRUE(guard->Get("user", database_.loader()).ok()); });
    // Its load has begun, or is about to: the rest is the same then.
    while (guard->statistics().requests < 2) std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds(20));
    return guard->Get("user", database_.loader());
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto value = guard->Get("page", load);
  EXPECT_TRUE(value.ok()) << value.status();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, options_.max_wait / 2);
  first.join();
}

}  // namespace
}  // namespace winnow::guard
