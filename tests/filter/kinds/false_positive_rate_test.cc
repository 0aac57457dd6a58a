// The measured false-positive rate lies within the 99.9 % interval of the rate that theory gives.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <tuple>

#include "tests/filter/filter_fixture.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// Filters of one size and spec differ from each other (block loads, bits set), so each class is
// measured on several, and the interval comes from how much their rates differ: Student's t at
// 99.9 %, two-sided, for one degree of freedom less than there are filters.
struct SizeClass {
  uint64_t num_keys;
  uint64_t num_filters;
  double student_t;
};

constexpr uint64_t kProbesOfClass = 1'000'000;

class FalsePositiveRateTest : public testing::TestWithParam<std::tuple<const char*, SizeClass>> {};

TEST_P(FalsePositiveRateTest, LiesWithinTheIntervalOfTheory) {
  const auto& [spec, size] = GetParam();
  const uint64_t probes = kProbesOfClass / size.num_filters;
  double sum = 0;
  double sum_of_squares = 0;
  for (uint64_t run = 0; run < size.num_filters; ++run) {
    const std::vector<uint64_t> hashes = MemberHashes(run, size.num_keys);
    const BuiltFilter built = BuildFrom(spec, hashes);
    const FilterReader reader = OpenSound(built.block);
    ASSERT_EQ(CountFound(reader, hashes), hashes.size());
    const double measured =
        static_cast<double>(CountFalsePositives(reader, run, probes)) / static_cast<double>(probes);
    const double difference = measured - built.expected_fpr;
    sum += difference;
    sum_of_squares += difference * difference;
  }
  const auto filters = static_cast<double>(size.num_filters);
  const double mean = sum / filters;
  const double variance = (sum_of_squares - sum * mean) / (filters - 1);
  EXPECT_LE(std::abs(mean), size.student_t * std::sqrt(variance / filters))
      << spec << ", " << size.num_keys << " keys: measured minus expected rate " << mean;
}

INSTANTIATE_TEST_SUITE_P(
    KindsAndSizes, FalsePositiveRateTest,
    testing::Combine(testing::Values("bloom:6", "bloom:10", "bloom:8", "bloom:1%",  //
                                     "blocked_bloom:6", "blocked_bloom:10",         //
                                     "blocked_bloom:14.5", "blocked_bloom:1%",      //
                                     "cuckoo:6", "cuckoo:8.5", "cuckoo:10", "cuckoo:1%",
                                     "cuckoo:5:semi_sorted", "cuckoo:7:semi_sorted",
                                     "cuckoo:9.3:semi_sorted", "cuckoo:1%:semi_sorted",
                                     "binary_fuse:5", "binary_fuse:7", "binary_fuse:9",
                                     "binary_fuse:1%",  //
                                     "ribbon:5", "ribbon:7.3", "ribbon:9", "ribbon:1%"),
                     testing::Values(SizeClass{100, 4000, 3.293}, SizeClass{1000, 1000, 3.300},
                                     SizeClass{30'000, 100, 3.392},
                                     SizeClass{300'000, 20, 3.883})));

class WantedRateTest : public testing::TestWithParam<const char*> {};

// What was asked for is what is promised, and no more memory is spent than that takes.
TEST_P(WantedRateTest, IsPromisedAndNotFarBeaten) {
  const FilterSpec spec = *ParseFilterSpec(GetParam());
  const BuiltFilter built = BuildFrom(GetParam(), MemberHashes(3, 200'000));
  EXPECT_LE(built.expected_fpr, spec.fpr * 1.001);
  // The rate of fingerprints halves with each of their bits, and has nothing between.
  const bool has_whole_bits =
      spec.kind == FilterKind::kCuckoo || spec.kind == FilterKind::kBinaryFuse;
  EXPECT_GE(built.expected_fpr, spec.fpr * (has_whole_bits ? 0.45 : 0.99));
}

INSTANTIATE_TEST_SUITE_P(Specs, WantedRateTest,
                         testing::Values("bloom:10%", "bloom:1%", "bloom:0.1%", "blocked_bloom:10%",
                                         "blocked_bloom:1%", "blocked_bloom:0.1%", "cuckoo:10%",
                                         "cuckoo:1%", "cuckoo:0.1%", "cuckoo:0.01%",
                                         "cuckoo:1%:semi_sorted", "cuckoo:0.001%:semi_sorted",
                                         "binary_fuse:10%", "binary_fuse:1%", "binary_fuse:0.1%",
                                         "ribbon:10%", "ribbon:1%", "ribbon:0.1%"));

// Many probes leave a 32-bit remix of the hash little to choose from: rates near one in a hundred
// thousand must still be had.
TEST(ManyProbesTest, BlockedBloomReachesItsSmallRates) {
  for (const char* spec : {"blocked_bloom:20", "blocked_bloom:24", "blocked_bloom:32"}) {
    const std::vector<uint64_t> hashes = MemberHashes(5, 200'000);
    const BuiltFilter built = BuildFrom(spec, hashes);
    const FilterReader reader = OpenSound(built.block);
    ASSERT_EQ(CountFound(reader, hashes), hashes.size());
    constexpr double kProbes = 10'000'000;
    const double expected = built.expected_fpr * kProbes;
    const auto measured = static_cast<double>(CountFalsePositives(reader, 5, 10'000'000));
    // Poisson counts; the block loads of one filter add a little.
    EXPECT_LE(measured, expected + 4 * std::sqrt(expected) + 0.05 * expected) << spec;
    EXPECT_GE(measured, expected - 4 * std::sqrt(expected) - 0.05 * expected) << spec;
  }
}

// RocksDB #6007, FilterPassword #2: 32 bits of hash raise the rate from millions of keys on.
TEST(LargeFilterTest, TenMillionKeysKeepTheRateOfTheory) {
  for (const char* spec : {"bloom:10", "blocked_bloom:10"}) {
    auto builder = MakeBuilder(spec);
    constexpr uint64_t kKeys = 10'000'000;
    for (uint64_t i = 0; i < kKeys; ++i) builder->Add(MemberHash(9, i));
    const BuiltFilter built = builder->Finish();
    const FilterReader reader = OpenSound(built.block);
    uint64_t missing = 0;
    for (uint64_t i = 0; i < kKeys; ++i) missing += reader.MayContain(MemberHash(9, i)) ? 0 : 1;
    ASSERT_EQ(missing, 0u) << spec;
    constexpr double kProbes = 2'000'000;
    const auto measured = static_cast<double>(CountFalsePositives(reader, 9, 2'000'000)) / kProbes;
    const double deviation = std::sqrt(built.expected_fpr * (1 - built.expected_fpr) / kProbes);
    // One filter: its own deviation from the mean of all filters is a third of the sampling one.
    EXPECT_NEAR(measured, built.expected_fpr, 3.29 * 1.1 * deviation) << spec;
  }
}

// No key of MemberHash(run, 0) and on is missing, and the rate is as expected, give or take a share
// of it.
void ExpectMembersAndRate(const BuiltFilter& built, uint64_t run, uint64_t num_keys,
                          double tolerance, const std::string& spec) {
  const FilterReader reader = OpenSound(built.block);
  uint64_t missing = 0;
  for (uint64_t i = 0; i < num_keys; ++i) missing += reader.MayContain(MemberHash(run, i)) ? 0 : 1;
  EXPECT_EQ(missing, 0u) << spec;
  constexpr uint64_t kProbes = 10'000'000;
  const double measured = static_cast<double>(CountFalsePositives(reader, run, kProbes)) / kProbes;
  EXPECT_NEAR(measured, built.expected_fpr, built.expected_fpr * tolerance) << spec;
}

// The most keys that one file is thought to have: each kind is built, in bounded memory, and keeps
// its rate. 2 GiB of memory and some minutes.
TEST(LargeFilterTest, AHundredMillionKeysOfEachKindLoseNone) {
  if (std::getenv("WINNOW_LONG_TESTS") == nullptr) {
    GTEST_SKIP() << "set WINNOW_LONG_TESTS to run";
  }
  constexpr uint64_t kKeys = 100'000'000;
  for (const FilterSpec& spec : BuildableSpecs()) {
    const std::string text = ToString(spec);
    auto builder = MakeBuilder(text);
    for (uint64_t i = 0; i < kKeys; ++i) builder->Add(MemberHash(12, i));
    const BuiltFilter built = builder->Finish();
    EXPECT_FALSE(built.fell_back) << text;
    EXPECT_LT(built.peak_temporary_bytes, kKeys * 9 + (uint64_t{64} << 20)) << text;
    ExpectMembersAndRate(built, 12, kKeys, 0.05, text);
  }
}

// RocksDB #7726 and others: counts of bits in 32 bits. 4 GiB of memory and a minute.
TEST(LargeFilterTest, MoreThanFourBillionBitsLoseNoKey) {
  if (std::getenv("WINNOW_LONG_TESTS") == nullptr) {
    GTEST_SKIP() << "set WINNOW_LONG_TESTS to run";
  }
  for (const char* spec : {"bloom:10", "blocked_bloom:10"}) {
    auto builder = MakeBuilder(spec);
    constexpr uint64_t kKeys = 430'000'000;
    for (uint64_t i = 0; i < kKeys; ++i) builder->Add(MemberHash(11, i));
    const BuiltFilter built = builder->Finish();
    ASSERT_GT(built.block.size() * 8, uint64_t{1} << 32);
    ExpectMembersAndRate(built, 11, kKeys, 0.02, spec);
  }
}

}  // namespace
}  // namespace winnow::filter
