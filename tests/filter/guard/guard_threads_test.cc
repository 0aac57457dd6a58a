// The guard's own threads and clock, and many callers at a time.

#include <atomic>
#include <latch>
#include <stdexcept>
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
