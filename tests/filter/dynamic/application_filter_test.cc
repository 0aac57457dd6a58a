// What every application filter promises, whichever kind.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/filter/dynamic/application_filters.h"

namespace winnow::filter {
namespace {

template <typename Filter>
class ApplicationFilterTest : public testing::Test {};
TYPED_TEST_SUITE(ApplicationFilterTest, ApplicationFilters);

TYPED_TEST(ApplicationFilterTest, IsMovedAndNeverCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<TypeParam>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<TypeParam>);
  TypeParam filter = MakeFilter<TypeParam>(100, 0.01);
  AddKeyHash(MemberHash(0, 1), &filter);
  const TypeParam moved = std::move(filter);
  EXPECT_TRUE(moved.ContainsHash(MemberHash(0, 1)));
}

TYPED_TEST(ApplicationFilterTest, AnEmptyOneContainsNothing) {
  const TypeParam filter = MakeFilter<TypeParam>(1000, 0.01);
  EXPECT_EQ(CountAbsentContained(filter, 0, 10'000), 0u);
  EXPECT_FALSE(filter.Contains(""));
  EXPECT_EQ(filter.ApproximateCount(), 0u);
  EXPECT_EQ(filter.ExpectedFpr(), 0);
}

TYPED_TEST(ApplicationFilterTest, FindsKeysOfEveryForm) {
  TypeParam filter = MakeFilter<TypeParam>(1000, 0.001);
  std::vector<std::string> keys = {
      "",           std::string(1, '\0'),     "a", std::string("a\0b", 3), "手机号",
      "布隆过滤器", std::string(1 << 20, 'x')};
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t length = 1; length < 4; ++length) {
      keys.push_back(std::string(length, 'k') + static_cast<char>(byte));
    }
  }
  for (const std::string& key : keys) ASSERT_TRUE(AddKey(key, &filter));
  for (const std::string& key : keys) EXPECT_TRUE(filter.Contains(key));
  EXPECT_TRUE(filter.ContainsHash(HashKey("a", filter.hash_seed())));
}

TYPED_TEST(ApplicationFilterTest, KeepsThePromisedRateAtItsCapacity) {
  for (const double fpr : {0.2, 0.03, 0.01, 0.001}) {
    for (const uint64_t capacity : {1000u, 50'000u}) {
      TypeParam filter = MakeFilter<TypeParam>(capacity, fpr);
      for (uint64_t i = 0; i < capacity; ++i) {
        ASSERT_TRUE(AddKeyHash(MemberHash(1, i), &filter)) << capacity << " at " << fpr;
      }
      EXPECT_EQ(CountContained(filter, MemberHashes(1, capacity)), capacity);
      // A filter's own rate varies a little with the keys that it happens to hold.
      EXPECT_LE(filter.ExpectedFpr(), fpr * (1 + 6 / std::sqrt(static_cast<double>(capacity))))
          << capacity << " at " << fpr;
      EXPECT_NEAR(static_cast<double>(filter.ApproximateCount()), static_cast<double>(capacity),
                  0.03 * static_cast<double>(capacity) + 1);
    }
  }
}

// Filters of one size differ from each other, so several are measured, and the interval comes from
// how much: Student's t at 99.9 %, two-sided, for 19 degrees of freedom.
TYPED_TEST(ApplicationFilterTest, MeasuredRateLiesWithinTheIntervalOfTheory) {
  constexpr uint64_t kFilters = 20;
  constexpr double kStudentT = 3.883;
  constexpr uint64_t kProbes = 30'000;
  for (const double fpr : {0.1, 0.03, 0.01, 0.001}) {
    for (const uint64_t capacity : {300u, 3000u, 15'000u, 40'000u}) {
      double sum = 0;
      double sum_of_squares = 0;
      for (uint64_t run = 0; run < kFilters; ++run) {
        TypeParam filter = MakeFilter<TypeParam>(capacity, fpr);
        for (uint64_t i = 0; i < capacity; ++i) AddKeyHash(MemberHash(run, i), &filter);
        const double difference =
            static_cast<double>(CountAbsentContained(filter, run, kProbes)) / kProbes -
            filter.ExpectedFpr();
        sum += difference;
        sum_of_squares += difference * difference;
      }
      const double mean = sum / kFilters;
      const double variance = (sum_of_squares - sum * mean) / (kFilters - 1);
      EXPECT_LE(std::abs(mean), kStudentT * std::sqrt(variance / kFilters))
          << capacity << " keys at " << fpr << ": measured minus expected " << mean;
    }
  }
}

TYPED_TEST(ApplicationFilterTest, SmallestCapacitiesWork) {
  for (uint64_t capacity = 1; capacity <= 200; ++capacity) {
    TypeParam filter = MakeFilter<TypeParam>(capacity, 0.01);
    for (uint64_t i = 0; i < capacity; ++i) {
      ASSERT_TRUE(AddKeyHash(MemberHash(capacity, i), &filter)) << capacity;
    }
    ASSERT_EQ(CountContained(filter, MemberHashes(capacity, capacity)), capacity);
  }
}

// A library set bits by addition, so that adding a key twice took it out again.
TYPED_TEST(ApplicationFilterTest, AddingTwiceLosesNothing) {
  TypeParam filter = MakeFilter<TypeParam>(3000, 0.01);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(AddKeyHash(MemberHash(6, i), &filter));
    EXPECT_EQ(CountContained(filter, MemberHashes(6, 1000)), 1000u);
  }
}

TYPED_TEST(ApplicationFilterTest, ClearForgetsEverything) {
  TypeParam filter = MakeFilter<TypeParam>(100, 0.01);
  for (uint64_t i = 0; i < 100; ++i) AddKeyHash(MemberHash(3, i), &filter);
  filter.Clear();
  EXPECT_EQ(CountContained(filter, MemberHashes(3, 100)), 0u);
  EXPECT_EQ(filter.ApproximateCount(), 0u);
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(AddKeyHash(MemberHash(3, i), &filter));
  EXPECT_EQ(CountContained(filter, MemberHashes(3, 100)), 100u);
}

TYPED_TEST(ApplicationFilterTest, RefusesWhatItCannotBe) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double fpr : {0.0, -0.5, 0.51, 1.0, 1.5, 1e-30, nan}) {
    const absl::Status status = TypeParam::Create(100, fpr).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fpr;
    EXPECT_NE(std::string(status.message()).find("false-positive rate must be from"),
              std::string::npos)
        << status;
  }
  for (const uint64_t capacity : {uint64_t{0}, (uint64_t{1} << 40) + 1, ~uint64_t{0}}) {
    const absl::Status status = TypeParam::Create(capacity, 0.01).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << capacity;
    EXPECT_NE(std::string(status.message()).find("capacity must be from 1 to 1099511627776"),
              std::string::npos)
        << status;
  }
}

// What cannot be had is an error, not the end of the program: 2^40 keys at a rate of a
// hundred-thousandth take more than three terabytes.
TYPED_TEST(ApplicationFilterTest, RefusesWhatTheMachineCannotHold) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the program on allocations of this size";
#else
  EXPECT_EQ(TypeParam::Create(uint64_t{1} << 40, 1e-5).status().code(),
            absl::StatusCode::kResourceExhausted);
#endif
}

TYPED_TEST(ApplicationFilterTest, UniteOnlyWithTheirLike) {
  if constexpr (kCanUnite<TypeParam>) {
    TypeParam filter = MakeFilter<TypeParam>(1000, 0.01);
    TypeParam same = MakeFilter<TypeParam>(1000, 0.01);
    const TypeParam larger = MakeFilter<TypeParam>(2000, 0.01);
    const TypeParam finer = MakeFilter<TypeParam>(1000, 0.0001);
    const TypeParam seeded = *TypeParam::Create(1000, 0.01, /*hash_seed=*/7);
    for (const TypeParam* other : {&larger, &finer, &seeded}) {
      EXPECT_EQ(filter.Union(*other).code(), absl::StatusCode::kInvalidArgument);
    }
    EXPECT_EQ(filter.Union(filter).code(), absl::StatusCode::kInvalidArgument);
    for (uint64_t i = 0; i < 500; ++i) {
      AddKeyHash(MemberHash(4, i), &filter);
      AddKeyHash(MemberHash(5, i), &same);
    }
    ASSERT_TRUE(filter.Union(same).ok());
    EXPECT_EQ(CountContained(filter, MemberHashes(4, 500)), 500u);
    EXPECT_EQ(CountContained(filter, MemberHashes(5, 500)), 500u);
    EXPECT_NEAR(static_cast<double>(filter.ApproximateCount()), 1000, 40);
    EXPECT_EQ(CountContained(same, MemberHashes(5, 500)), 500u);
  } else {
    GTEST_SKIP() << "has no Union";
  }
}

// A key's hash depends on the seed, so that nobody can prepare keys without knowing it.
TYPED_TEST(ApplicationFilterTest, SeedsGiveDifferentFalsePositives) {
  if constexpr (kCanUnite<TypeParam>) {
    TypeParam one = *TypeParam::Create(1000, 0.1, 1);
    TypeParam two = *TypeParam::Create(1000, 0.1, 2);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(AddKey("member" + std::to_string(i), &one));
      ASSERT_TRUE(AddKey("member" + std::to_string(i), &two));
    }
    int in_one = 0;
    int in_both = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::string absent = "absent" + std::to_string(i);
      in_one += one.Contains(absent) ? 1 : 0;
      in_both += one.Contains(absent) && two.Contains(absent) ? 1 : 0;
    }
    EXPECT_GT(in_one, 400);
    EXPECT_LT(in_both, in_one / 4);
  } else {
    GTEST_SKIP() << "tested through its layers";
  }
}

}  // namespace
}  // namespace winnow::filter
