// Removal, counters that stick, and the two unions of the counting Bloom filter.

#include "winnow/filter/counting_bloom_filter.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/filter/dynamic/application_filters.h"

namespace winnow::filter {
namespace {

TEST(CountingBloomFilterTest, AKeyIsThereAsOftenAsItWasAdded) {
  CountingBloomFilter filter = MakeFilter<CountingBloomFilter>(1000, 0.001);
  for (int i = 0; i < 5; ++i) filter.Add("five");
  EXPECT_EQ(filter.CountOf("five"), 5);
  for (int left = 4; left >= 0; --left) {
    EXPECT_TRUE(filter.Remove("five"));
    EXPECT_EQ(filter.CountOf("five"), left);
    EXPECT_EQ(filter.Contains("five"), left > 0);
  }
  EXPECT_FALSE(filter.Remove("five"));
}

TEST(CountingBloomFilterTest, RemovingWhatIsNotThereIsRefusedAndChangesNothing) {
  CountingBloomFilter filter = MakeFilter<CountingBloomFilter>(1000, 0.01);
  for (uint64_t i = 0; i < 1000; ++i) filter.AddHash(MemberHash(1, i));
  const std::string before = filter.Serialize();
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    // Those that Contains is wrong about would do the documented harm.
    if (filter.ContainsHash(AbsentHash(1, i))) continue;
    refused += filter.RemoveHash(AbsentHash(1, i)) ? 0 : 1;
  }
  EXPECT_GT(refused, 19'000u);
  EXPECT_EQ(filter.Serialize(), before);
}

// A library lost keys when counters wrapped or when a saturated counter was lowered.
TEST(CountingBloomFilterTest, CountersStickAtFifteenAndNoOtherKeyIsLost) {
  CountingBloomFilter filter = MakeFilter<CountingBloomFilter>(50, 0.01);
  for (uint64_t i = 0; i < 50; ++i) filter.AddHash(MemberHash(2, i));
  for (int i = 0; i < 100; ++i) filter.Add("hot");
  EXPECT_EQ(filter.CountOf("hot"), 15);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(filter.Remove("hot"));
  EXPECT_EQ(filter.CountOf("hot"), 15);
  EXPECT_EQ(CountContained(filter, MemberHashes(2, 50)), 50u);
  for (uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(filter.RemoveHash(MemberHash(2, i)));
  EXPECT_TRUE(filter.Contains("hot"));
}

// In a filter of 64 counters many keys have two probes at one counter.
TEST(CountingBloomFilterTest, ProbesThatMeetAreTakenBackTogether) {
  CountingBloomFilter filter = MakeFilter<CountingBloomFilter>(1, 1e-9);
  ASSERT_EQ(filter.num_counters(), 64u);
  ASSERT_GE(filter.num_probes(), 20);
  const std::string empty = filter.Serialize();
  for (uint64_t i = 0; i < 200; ++i) {
    filter.AddHash(MemberHash(3, i));
    ASSERT_TRUE(filter.RemoveHash(MemberHash(3, i)));
    ASSERT_EQ(filter.Serialize(), empty);
  }
}

class CounterUnionTest : public testing::Test {
 protected:
  CountingBloomFilter a_ = MakeFilter<CountingBloomFilter>(200, 0.001);
  CountingBloomFilter b_ = MakeFilter<CountingBloomFilter>(200, 0.001);
};

TEST_F(CounterUnionTest, BySumCountsBothAndAllowsRemoval) {
  for (uint64_t i = 0; i < 100; ++i) a_.AddHash(MemberHash(4, i));
  for (uint64_t i = 50; i < 150; ++i) b_.AddHash(MemberHash(4, i));
  ASSERT_TRUE(a_.Union(b_, CounterUnion::kSum).ok());
  EXPECT_TRUE(a_.supports_remove());
  EXPECT_GE(a_.CountOfHash(MemberHash(4, 75)), 2);
  // All of b's keys taken out again leaves a's.
  for (uint64_t i = 50; i < 150; ++i) ASSERT_TRUE(a_.RemoveHash(MemberHash(4, i)));
  EXPECT_EQ(CountContained(a_, MemberHashes(4, 100)), 100u);
  EXPECT_LT(a_.ApproximateCount(), 105u);
}

TEST_F(CounterUnionTest, ByMaximumCountsTheLargerAndForbidsRemoval) {
  for (int i = 0; i < 2; ++i) a_.Add("p");
  for (int i = 0; i < 3; ++i) b_.Add("p");
  b_.Add("q");
  ASSERT_TRUE(a_.Union(b_, CounterUnion::kMaximum).ok());
  EXPECT_EQ(a_.CountOf("p"), 3);
  EXPECT_EQ(a_.CountOf("q"), 1);
  EXPECT_FALSE(a_.supports_remove());
  EXPECT_FALSE(a_.Remove("p"));
  EXPECT_EQ(a_.CountOf("p"), 3);
  // The ban is remembered when it is saved, and spreads.
  EXPECT_FALSE(CountingBloomFilter::Deserialize(a_.Serialize())->supports_remove());
  ASSERT_TRUE(b_.Union(a_).ok());
  EXPECT_FALSE(b_.supports_remove());
  b_.Clear();
  EXPECT_TRUE(b_.supports_remove());
}

TEST_F(CounterUnionTest, IntersectionKeepsEveryCommonKeyAndItsRemoval) {
  for (uint64_t i = 0; i < 150; ++i) a_.AddHash(MemberHash(5, i));
  for (uint64_t i = 50; i < 200; ++i) b_.AddHash(MemberHash(5, i));
  ASSERT_TRUE(a_.Intersect(b_).ok());
  for (uint64_t i = 50; i < 150; ++i) ASSERT_TRUE(a_.ContainsHash(MemberHash(5, i)));
  for (uint64_t removed = 50; removed < 150; ++removed) {
    ASSERT_TRUE(a_.RemoveHash(MemberHash(5, removed)));
    for (uint64_t i = removed + 1; i < 150; ++i) ASSERT_TRUE(a_.ContainsHash(MemberHash(5, i)));
  }
}

TEST_F(CounterUnionTest, SumsStickAtFifteen) {
  for (int i = 0; i < 9; ++i) a_.Add("p");
  for (int i = 0; i < 9; ++i) b_.Add("p");
  ASSERT_TRUE(a_.Union(b_).ok());
  EXPECT_EQ(a_.CountOf("p"), 15);
  ASSERT_TRUE(a_.Union(b_).ok());
  EXPECT_EQ(a_.CountOf("p"), 15);
}

}  // namespace
}  // namespace winnow::filter
