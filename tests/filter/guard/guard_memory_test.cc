// A cache guard when the system has no memory to give: each request for memory fails once, in turn.

#include <stdexcept>

#include "tests/filter/guard/guard_fixture.h"
#include "tests/support/allocation_hook.h"

namespace winnow::guard {
namespace {

class GuardMemoryTest : public GuardTest {
 protected:
  // The status of `call` when its allocation number `fails` does; whether one did.
  template <typename Call>
  static absl::Status WhenOneFails(uint64_t fails, Call call, bool* did_fail) {
    const AllocationsOfThisThread may_fail(true);
    CountAllocations({}, fails, /*for_ever=*/false);
    const absl::Status status = call();
    uint64_t failed = 0;
    StopCountingAllocations(&failed);
    *did_fail = failed != 0;
    return status;
  }

  // Each allocation of the call in turn: no exception, and no other error than that there is no
  // memory. `check` is asked after each.
  template <typename Call, typename Check>
  static void FailEach(Call call, Check check) {
    bool did_fail = true;
    for (uint64_t i = 0; did_fail; ++i) {
      const absl::Status status = WhenOneFails(i, call, &did_fail);
      EXPECT_TRUE(status.ok() || (did_fail && absl::IsResourceExhausted(status)))
          << "allocation " << i << ": " << status;
      check();
      ASSERT_LT(i, 10'000u);
    }
  }
};

TEST_F(GuardMemoryTest, EachCallFailsAloneAndTheNextIsAnswered) {
  const auto filter = NewRebuildableFilter(*NewBloomKeyFilter(1000, 0.01));
  options_.filter = filter.get();
  const std::unique_ptr<CacheGuard> guard = NewGuard();
  // Longer than a string keeps within itself.
  const std::string key(100, 'k');
  const std::string value(100, 'v');
  const std::string newer(100, 'n');
  ASSERT_TRUE(filter->Add(key).ok());
  database_.Write(key, value);
  const Loader loader = database_.loader();
  std::string read;
  const auto get = [&] { return guard->Get(key, loader, &read); };
  const auto expect = [&](const std::string& expected) {
    EXPECT_TRUE(get().ok());
    EXPECT_EQ(read, expected);
  };

  FailEach(get, [&] {
    expect(value);
    EXPECT_TRUE(guard->Invalidate(key).ok());
  });
  EXPECT_GT(database_.loads(), 10) << "so many allocations has a load";
  FailEach([&] { return guard->Put(key, newer); }, [] {});
  expect(newer);
  database_.Write(key, value);
  FailEach([&] { return guard->Invalidate(key); }, [] {});
  expect(value);
  FailEach([&] { return guard->BeginInsert(key).status(); }, [] {});
  // No insertion was left open: a rebuild knows the scan's keys alone.
  ASSERT_TRUE(
      filter
          ->Rebuild(*NewBloomKeyFilter(1000, 0.0001), [](const auto&) { return absl::OkStatus(); })
          .ok());
  EXPECT_FALSE(filter->MayContain(key));
}

// Its refresh has to do without, and leaves nothing behind that later callers would wait for.
TEST_F(GuardMemoryTest, AValuePastItsTimeIsServedWithoutMemoryForItsRefresh) {
  options_.serve_stale_for = seconds(60);
  options_.max_wait = milliseconds(1);
  const std::unique_ptr<CacheGuard> guard = NewGuard();
  const std::string key(100, 'k');
  const std::string value(100, 'v');
  database_.Write(key, value);
  const Loader loader = database_.loader();
  std::string read;
  ASSERT_TRUE(guard->Get(key, loader, &read).ok());
  read.reserve(1000);
  clock_.Advance(seconds(601));
  bool did_fail = true;
  uint64_t num_failed = 0;
  for (; did_fail; ++num_failed) {
    const absl::Status status = WhenOneFails(
        num_failed, [&] { return guard->Get(key, loader, &read); }, &did_fail);
    EXPECT_TRUE(status.ok()) << "allocation " << num_failed << ": " << status;
    executor_.Drop();
    ASSERT_LT(num_failed, 1000u);
  }
  EXPECT_GT(num_failed, 3u);
  EXPECT_EQ(guard->statistics().stale_hits, num_failed);
  clock_.Advance(seconds(60));
  EXPECT_TRUE(guard->Get(key, loader, &read).ok());
  EXPECT_EQ(database_.loads(), 2);
}

TEST_F(GuardMemoryTest, ARenewalThatHasNoMemoryForTheNextOneIsTheLast) {
  const std::unique_ptr<CacheGuard> guard = NewGuard();
  bool did_fail = true;
  for (int i = 0; did_fail; ++i) {
    const Loader slow = [&](std::string_view) -> absl::StatusOr<std::string> {
      clock_.Advance(options_.lock_ttl / 3);
      const auto renew = [&] {
        EXPECT_GE(executor_.RunDue(), 1);
        return absl::OkStatus();
      };
      EXPECT_NO_THROW((void)WhenOneFails(static_cast<uint64_t>(i), renew, &did_fail));
      return "v";
    };
    EXPECT_EQ(guard->Get(Key(i), slow).value(), "v");
    ASSERT_LT(i, 1000);
  }
}

TEST_F(GuardMemoryTest, ALoaderThatThrowsGivesItsPlaceBack) {
  options_.max_concurrent_loads = 1;
  options_.max_wait = milliseconds(1);
  options_.breaker_failures = 0;
  const std::unique_ptr<CacheGuard> guard = NewGuard();
  database_.Write("other", "v");
  // Made before: what fails is to tell of it.
  const std::runtime_error thrown("a reason that is longer than what a string keeps within itself");
  const Loader throws = [&](std::string_view) -> absl::StatusOr<std::string> { throw thrown; };
  bool did_fail = true;
  for (uint64_t i = 0; did_fail; ++i) {
    const absl::Status status = WhenOneFails(
        i, [&] { return guard->Get("k", throws).status(); }, &did_fail);
    EXPECT_TRUE(did_fail ? absl::IsResourceExhausted(status) || absl::IsInternal(status)
                         : absl::IsInternal(status))
        << "allocation " << i << ": " << status;
    EXPECT_EQ(guard->Get("other", database_.loader()).value_or(""), "v");
    EXPECT_TRUE(guard->Invalidate("other").ok());
    ASSERT_LT(i, 1000u);
  }
}

TEST_F(GuardMemoryTest, AGuardIsMadeOrNot) {
  FailEach([&] { return CacheGuard::Create(cache_.get(), options_).status(); }, [] {});
}

TEST_F(GuardMemoryTest, ManyShardsTakeLittleMoreThanTheirCapacity) {
  const size_t before = AllocatedBytes();
  const auto cache = NewMemoryCache({.capacity_bytes = 8 << 20, .num_shards = 4096});
  EXPECT_LT(AllocatedBytes() - before, 4u << 20);
  for (int i = 0; i < 200'000; ++i) {
    ASSERT_TRUE(cache->Set(Key(i), std::string(100, 'v'), seconds(600)).ok());
  }
  EXPECT_LT(AllocatedBytes() - before, 12u << 20);
}

}  // namespace
}  // namespace winnow::guard
