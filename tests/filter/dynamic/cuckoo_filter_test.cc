// Full tables, copies and removal of the cuckoo filter.

#include "winnow/filter/cuckoo_filter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/filter/dynamic/application_filters.h"

namespace winnow::filter {
namespace {

// The algorithm as printed in the paper loses an older key when it gives up.
TEST(CuckooFilterTest, FillingToRefusalLosesNoKey) {
  for (const uint64_t capacity : {10u, 100u, 1000u, 30'000u}) {
    for (uint64_t run = 0; run < 20; ++run) {
      CuckooFilter filter = MakeFilter<CuckooFilter>(capacity, 0.001);
      std::vector<uint64_t> accepted;
      uint64_t refused = 0;
      for (uint64_t i = 0; refused < 100; ++i) {
        ASSERT_LT(i, 3 * capacity + 1000) << "it never says that it is full";
        const uint64_t hash = MemberHash(run, i);
        const absl::Status status = filter.AddHash(hash);
        if (status.ok()) {
          accepted.push_back(hash);
          continue;
        }
        ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
        ++refused;
      }
      ASSERT_GE(accepted.size(), capacity);
      ASSERT_EQ(filter.ApproximateCount(), accepted.size());
      ASSERT_EQ(CountContained(filter, accepted), accepted.size());
      for (const uint64_t hash : accepted) ASSERT_TRUE(filter.RemoveHash(hash));
      ASSERT_EQ(filter.ApproximateCount(), 0u);
      ASSERT_EQ(CountContained(filter, accepted), 0u);
    }
  }
}

TEST(CuckooFilterTest, FourSlotsReachNinetyFivePerCent) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(100'000, 0.001);
  uint64_t added = 0;
  while (filter.AddHash(MemberHash(1, added)).ok()) ++added;
  EXPECT_GE(filter.load(), 0.95);
  EXPECT_GE(added, 100'000u);
}

TEST(CuckooFilterTest, ARefusedAddChangesNothing) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(100, 0.01);
  uint64_t i = 0;
  while (filter.AddHash(MemberHash(2, i)).ok()) ++i;
  const std::string before = filter.Serialize();
  EXPECT_FALSE(filter.AddHash(MemberHash(2, i)).ok());
  EXPECT_EQ(filter.Serialize(), before);
}

// After a removal anywhere the one beside the table is housed, and keys are taken again.
TEST(CuckooFilterTest, AFullTableTakesKeysAgainAfterRemovals) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(1000, 0.001);
  uint64_t added = 0;
  while (filter.AddHash(MemberHash(3, added)).ok()) ++added;
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(filter.RemoveHash(MemberHash(3, i)));
  for (uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(4, i)).ok());
  for (uint64_t i = 100; i < added; ++i) ASSERT_TRUE(filter.ContainsHash(MemberHash(3, i)));
}

TEST(CuckooFilterTest, CopiesAreBoundedAndCounted) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(1000, 0.001);
  uint64_t copies = 0;
  absl::Status status = filter.Add("again");
  for (; status.ok(); status = filter.Add("again")) ++copies;
  EXPECT_LE(copies, 2 * CuckooFilter::kSlotsPerBucket + 1);
  EXPECT_GE(copies, CuckooFilter::kSlotsPerBucket);
  EXPECT_EQ(status.message(), "CuckooFilter: too many copies of one key");
  // The others do not suffer.
  for (uint64_t i = 0; i < 900; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(5, i)).ok()) << i;
  for (uint64_t left = copies; left > 0; --left) {
    ASSERT_TRUE(filter.Contains("again"));
    ASSERT_TRUE(filter.Remove("again"));
  }
  EXPECT_FALSE(filter.Remove("again"));
  EXPECT_EQ(CountContained(filter, MemberHashes(5, 900)), 900u);
}

TEST(CuckooFilterTest, AddIfAbsentStoresAKeyOnce) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(100, 0.001);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(filter.AddIfAbsent("once").ok());
  EXPECT_EQ(filter.ApproximateCount(), 1u);
}

TEST(CuckooFilterTest, RemovingWhatIsCertainlyNotThereIsRefused) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(1000, 0.001);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(6, i)).ok());
  for (uint64_t i = 0; i < 20'000; ++i) {
    if (filter.ContainsHash(AbsentHash(6, i))) continue;
    ASSERT_FALSE(filter.RemoveHash(AbsentHash(6, i)));
  }
  EXPECT_EQ(filter.ApproximateCount(), 1000u);
}

// The documented harm: removing false positives takes other keys' fingerprints away.
TEST(CuckooFilterTest, RemovingFalsePositivesCanLoseKeys) {
  CuckooFilter filter = MakeFilter<CuckooFilter>(10'000, 0.03);
  for (uint64_t i = 0; i < 10'000; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(7, i)).ok());
  uint64_t removed = 0;
  for (uint64_t i = 0; i < 20'000; ++i) removed += filter.RemoveHash(AbsentHash(7, i)) ? 1 : 0;
  const uint64_t lost = 10'000 - CountContained(filter, MemberHashes(7, 10'000));
  EXPECT_GT(removed, 100u);
  EXPECT_GT(lost, 0u);
  EXPECT_LE(lost, removed);
}

TEST(CuckooFilterTest, AUnionThatFindsNoRoomChangesNothing) {
  CuckooFilter one = MakeFilter<CuckooFilter>(1000, 0.01);
  CuckooFilter two = MakeFilter<CuckooFilter>(1000, 0.01);
  for (uint64_t i = 0; i < 900; ++i) {
    ASSERT_TRUE(one.AddHash(MemberHash(8, i)).ok());
    ASSERT_TRUE(two.AddHash(MemberHash(9, i)).ok());
  }
  const std::string before = one.Serialize();
  EXPECT_EQ(one.Union(two).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(one.Serialize(), before);
}

TEST(CuckooFilterTest, FingerprintsAreWideEnoughForTheRate) {
  EXPECT_EQ(MakeFilter<CuckooFilter>(1000, 0.5).fingerprint_bits(), 4);
  EXPECT_EQ(MakeFilter<CuckooFilter>(1000, 0.01).fingerprint_bits(), 10);
  EXPECT_EQ(MakeFilter<CuckooFilter>(1000, 0.001).fingerprint_bits(), 13);
  EXPECT_EQ(MakeFilter<CuckooFilter>(1000, 1e-8).fingerprint_bits(), 30);
}

// A library moved eviction bits with 32-bit shifts and lost keys with wide fingerprints.
TEST(CuckooFilterTest, EveryWidthOfFingerprintKeepsItsKeys) {
  for (double fpr = 0.5; fpr >= 1e-8; fpr /= 2) {
    CuckooFilter filter = MakeFilter<CuckooFilter>(5000, fpr);
    for (uint64_t i = 0; i < 5000; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(10, i)).ok());
    ASSERT_EQ(CountContained(filter, MemberHashes(10, 5000)), 5000u) << filter.fingerprint_bits();
    for (uint64_t i = 0; i < 2500; ++i) ASSERT_TRUE(filter.RemoveHash(MemberHash(10, i)));
    for (uint64_t i = 2500; i < 5000; ++i) ASSERT_TRUE(filter.ContainsHash(MemberHash(10, i)));
  }
}

}  // namespace
}  // namespace winnow::filter
