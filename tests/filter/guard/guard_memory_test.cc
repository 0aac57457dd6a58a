// A cache guard when the system has no memory to give: each request for memory fails once, in turn.

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
