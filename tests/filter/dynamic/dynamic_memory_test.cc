// Filters of other systems when the system has no memory to give: each request for memory fails
// once, in turn, and costs no key that is there.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/allocation_hook.h"
#include "tests/support/fail_each_allocation.h"
#include "winnow/filter/hadoop_counting_bloom_filter.h"
#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter {
namespace {

void ExpectNoOtherError(const absl::Status& status) {
  EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
}

std::vector<std::string> SomeKeys(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back("key" + std::to_string(i));
  return keys;
}

// Once some of its counters are lowered, the rest must be, or other keys are lost.
TEST(DynamicMemoryTest, RemovingAKeyOfHadoopsFilterTakesNoMemory) {
  HadoopCountingBloomFilter filter =
      *HadoopCountingBloomFilter::Create(1000, 20, HadoopHash::kMurmur);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(filter.Add("key").ok());
  uint64_t failed = 0;
  CountAllocations({}, UINT64_MAX, /*for_ever=*/false);
  const bool is_removed = filter.Remove("key").ok();
  EXPECT_EQ(StopCountingAllocations(&failed), 0u);
  EXPECT_TRUE(is_removed);
  EXPECT_EQ(filter.CountOf("key"), 1);
}

TEST(DynamicMemoryTest, AddingToRedisBloomsFiltersCostsNoOtherKey) {
  RedisBloomCuckooFilter cuckoo = *RedisBloomCuckooFilter::Create({.capacity = 64, .expansion = 1});
  RedisBloomFilter bloom = *RedisBloomFilter::Create({0.01, 16, 2});
  const std::vector<std::string> keys = SomeKeys(300);
  for (size_t added = 0; added < keys.size(); ++added) {
    const auto all_are_there = [&](const absl::Status& status) {
      ExpectNoOtherError(status);
      for (size_t i = 0; i < added; ++i) {
        ASSERT_TRUE(cuckoo.Contains(keys[i]) && bloom.Contains(keys[i])) << keys[i];
      }
    };
    FailEachAllocation([&] { return cuckoo.Add(keys[added]); }, all_are_there);
    FailEachAllocation([&] { return bloom.Add(keys[added]).status(); }, all_are_there);
    ASSERT_EQ(cuckoo.ApproximateCount(), added + 1) << "a key is added once";
  }
  EXPECT_GT(cuckoo.num_tables(), 1u);
  EXPECT_GT(bloom.num_layers(), 1u);
}

template <typename Filter>
void ExpectReadOrNot(const Filter& filter) {
  const std::vector<RedisBloomChunk> chunks = filter.Dump();
  const std::string bytes = filter.Serialize();
  FailEachAllocation([&] { return Filter::Load(chunks).status(); }, ExpectNoOtherError);
  FailEachAllocation([&] { return Filter::Deserialize(bytes).status(); }, ExpectNoOtherError);
}

TEST(DynamicMemoryTest, ADumpOfRedisBloomIsReadOrNot) {
  RedisBloomCuckooFilter cuckoo = *RedisBloomCuckooFilter::Create({.capacity = 64});
  RedisBloomFilter bloom = *RedisBloomFilter::Create({0.01, 16, 2});
  for (const std::string& key : SomeKeys(100)) {
    ASSERT_TRUE(cuckoo.Add(key).ok() && bloom.Add(key).ok());
  }
  ExpectReadOrNot(cuckoo);
  ExpectReadOrNot(bloom);
}

TEST(DynamicMemoryTest, AFilterOfRedisBloomsIsMadeOrNot) {
  FailEachAllocation([] { return RedisBloomCuckooFilter::Create({.capacity = 64}).status(); },
                     ExpectNoOtherError);
  FailEachAllocation(
      [] {
        return RedisBloomFilter::Create({0.01, 16, 2}).status();
      },
      ExpectNoOtherError);
}

}  // namespace
}  // namespace winnow::filter
