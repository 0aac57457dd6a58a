// The guard's own threads and clock, and many callers at a time.

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

TEST(ThreadExecutorTest, RunsTasksWhenTheyAreDueAndRefusesTooMany) {
  auto executor = NewThreadExecutor(2, 2);
  ASSERT_TRUE(executor.ok());
  std::latch ran(1);
  ASSERT_TRUE((*executor)->Run(std::chrono::microseconds(100), [&] { ran.count_down(); }));
  ran.wait();
  const std::chrono::hours long_from_now(1);
  EXPECT_TRUE((*executor)->Run(long_from_now, [] { ADD_FAILURE(); }));
  EXPECT_TRUE((*executor)->Run(long_from_now, [] { ADD_FAILURE(); }));
  EXPECT_FALSE((*executor)->Run(long_from_now, [] { ADD_FAILURE(); }));
  EXPECT_TRUE(absl::IsInvalidArgument(NewThreadExecutor(0, 1).status()));
}

// What a task holds may be the program's, and give the executor another task as it goes.
TEST(ThreadExecutorTest, WhatATaskHoldsMayCallTheExecutorAsItIsDestroyed) {
  std::promise<bool> given;
  std::future<bool> is_given = given.get_future();
  auto executor = NewThreadExecutor(1, 2);
  ASSERT_TRUE(executor.ok());
  std::shared_ptr<void> held(&given, [&](void*) {
    given.set_value((*executor)->Run(std::chrono::microseconds(0), [] {}));
  });
  ASSERT_TRUE((*executor)->Run(std::chrono::microseconds(0), [held = std::move(held)] {}));
  if (is_given.wait_for(seconds(60)) != std::future_status::ready) {
    (void)executor->release();  // its thread waits for itself
    FAIL();
  }
  EXPECT_TRUE(is_given.get());
}

// One caller is held up in the midst of a hit, by the validator, the filter or the cache: callers
// of other keys have to do with no lock that it holds.
TEST(GuardThreadsTest, AHitWaitsForNoHitOfAnotherKey) {
  struct Hold {
    void At(std::string_view where, std::string_view key) {
      if (key != "slow" || where != holds_at) return;
      is_held.count_down();
      may_go_on.wait();
    }
    std::string holds_at;
    std::latch is_held{1};
    std::latch may_go_on{1};
  };
  class HoldingCache final : public Cache {
   public:
    HoldingCache(Cache* cache, Hold* hold) : cache_(cache), hold_(hold) {}
    absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
      hold_->At("cache", key);
      return cache_->Get(key, value);
    }
    absl::Status Set(std::string_view key, std::string_view value, milliseconds ttl) override {
      return cache_->Set(key, value, ttl);
    }
    absl::Status Remove(std::string_view key) override { return cache_->Remove(key); }

   private:
    Cache* const cache_;
    Hold* const hold_;
  };
  class HoldingFilter final : public KeyFilter {
   public:
    explicit HoldingFilter(Hold* hold) : hold_(hold) {}
    bool MayContain(std::string_view key) override {
      hold_->At("filter", key);
      return true;
    }
    absl::Status Add(std::string_view) override { return absl::OkStatus(); }

   private:
    Hold* const hold_;
  };
  const auto memory = NewMemoryCache();
  for (const char* const where : {"validator", "filter", "cache"}) {
    Hold hold;
    HoldingCache cache(memory.get(), &hold);
    const auto filter = NewRebuildableFilter(std::make_unique<HoldingFilter>(&hold));
    GuardOptions options;
    options.is_valid = [&](std::string_view key) {
      hold.At("validator", key);
      return true;
    };
    options.filter = filter.get();
    auto guard = CacheGuard::Create(&cache, options);
    ASSERT_TRUE(guard.ok());
    ASSERT_TRUE((*guard)->Put("slow", "s").ok());
    ASSERT_TRUE((*guard)->Put("quick", "q").ok());
    hold.holds_at = where;
    const Loader none = [](std::string_view) { return absl::InternalError("not a hit"); };
    auto slow = std::async(std::launch::async, [&] { return (*guard)->Get("slow", none); });
    hold.is_held.wait();
    auto quick = std::async(std::launch::async, [&] { return (*guard)->Get("quick", none); });
    EXPECT_EQ(quick.wait_for(seconds(60)), std::future_status::ready) << where;
    hold.may_go_on.count_down();
    EXPECT_EQ(quick.get().value(), "q");
    EXPECT_EQ(slow.get().value(), "s");
    EXPECT_EQ((*guard)->statistics().hits, 2u);
  }
}

// All mechanisms at once, under real threads: every answer is one that the key has had.
TEST(GuardThreadsTest, ManyCallersOfManyKeys) {
  constexpr int kThreads = 8;
  constexpr int kKeys = 500;
  const auto cache = NewMemoryCache({.capacity_bytes = 40'000, .num_shards = 8});
  auto filter = NewBloomKeyFilter(kKeys, 0.01);
  ASSERT_TRUE(filter.ok());
  GuardOptions options;
  options.filter = filter->get();
  options.ttl = milliseconds(2);
  options.min_jitter = options.max_jitter = milliseconds(1);
  options.serve_stale_for = milliseconds(2);
  options.keep_stale_for = milliseconds(5);
  options.negative_ttl = milliseconds(1);
  options.max_concurrent_loads = 3;
  options.lock_ttl = milliseconds(50);
  options.breaker_open_for = milliseconds(1);
  options.breaker_failures = 3;
  auto guard = CacheGuard::Create(cache.get(), options);
  ASSERT_TRUE(guard.ok());
  for (int i = 0; i < kKeys; ++i) ASSERT_TRUE((*guard)->BeginInsert(absl::StrCat(i)).ok());
  std::atomic<uint64_t> num_loads{0};
  const Loader load = [&](std::string_view key) -> absl::StatusOr<std::string> {
    const uint64_t load_number = ++num_loads;
    if (load_number % 97 == 0) return absl::InternalError("now and then");
    if (load_number % 101 == 0) throw std::runtime_error("now and then");
    if (key.ends_with("7")) return absl::NotFoundError("absent");
    return "value of " + std::string(key);
  };
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      FixedRandom random;
      std::string value;
      for (int i = 0; i < 5000; ++i) {
        const std::string key = absl::StrCat(random.Next() % (i % 2 == 0 ? 10 : kKeys));
        if (i % 50 == 0) {
          if (!(*guard)->Invalidate(key).ok()) ++num_wrong;
        } else if (i % 51 == 0 && !key.ends_with("7")) {
          if (!(*guard)->Put(key, absl::StrCat("value of ", key)).ok()) ++num_wrong;
        } else {
          const absl::Status status = (*guard)->Get(key, load, &value);
          if (status.ok() && value != absl::StrCat("value of ", key)) ++num_wrong;
          if (status.ok() && key.ends_with("7")) ++num_wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
  const GuardStatistics statistics = (*guard)->statistics();
  guard->reset();
  EXPECT_LE(statistics.loads, num_loads.load());
  EXPECT_GT(statistics.hits, 0u);
}

}  // namespace
}  // namespace winnow::guard
