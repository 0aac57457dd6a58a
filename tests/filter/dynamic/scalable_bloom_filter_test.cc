// Growth and the promised rate of the scalable Bloom filter.

#include "winnow/filter/scalable_bloom_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tests/filter/dynamic/application_filters.h"

namespace winnow::filter {
namespace {

ScalableBloomFilter MakeScalable(const ScalableBloomOptions& options) {
  absl::StatusOr<ScalableBloomFilter> filter = ScalableBloomFilter::Create(options);
  EXPECT_TRUE(filter.ok()) << filter.status();
  return *std::move(filter);
}

TEST(ScalableBloomFilterTest, HundredTimesTheFirstCapacityKeepsThePromise) {
  for (const double tightening : {0.5, 0.8, 0.9}) {
    for (const double growth : {2.0, 4.0}) {
      for (const double fpr : {0.05, 0.01, 0.001}) {
        ScalableBloomOptions options;
        options.fpr = fpr;
        options.growth = growth;
        options.tightening = tightening;
        ScalableBloomFilter filter = MakeScalable(options);
        const uint64_t keys = 100 * options.first_capacity;
        for (uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(1, i)).ok());
        ASSERT_EQ(CountContained(filter, MemberHashes(1, keys)), keys);
        constexpr double kProbes = 200'000;
        const double measured =
            static_cast<double>(CountAbsentContained(filter, 1, 200'000)) / kProbes;
        EXPECT_LE(measured, fpr + 3.29 * std::sqrt(fpr / kProbes));
        EXPECT_LE(filter.ExpectedFpr(), fpr);
        EXPECT_GE(filter.num_layers(), 3u);
        // False positives among the added keys are not stored: within the rate all are counted.
        EXPECT_NEAR(static_cast<double>(filter.ApproximateCount()), static_cast<double>(keys),
                    (0.01 + fpr) * static_cast<double>(keys));
      }
    }
  }
}

TEST(ScalableBloomFilterTest, LayersGrowAndTighten) {
  ScalableBloomOptions options;
  options.first_capacity = 100;
  options.fpr = 0.01;
  ScalableBloomFilter filter = MakeScalable(options);
  for (uint64_t i = 0; i < 10'000; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(2, i)).ok());
  ASSERT_EQ(filter.num_layers(), 7u);
  for (size_t i = 0; i < filter.num_layers(); ++i) {
    EXPECT_GE(filter.layer(i).capacity(), 100u << i);
    EXPECT_LE(filter.layer(i).capacity(), (100u << i) * 1.13);
    EXPECT_DOUBLE_EQ(filter.layer(i).fpr(), 0.005 / static_cast<double>(1 << i));
  }
  // One more probe for each halving of the rate, whole numbers apart.
  EXPECT_NEAR(filter.layer(6).num_probes(), filter.layer(0).num_probes() + 6, 1);
}

// Almeida et al., 2007: layer i keeps fpr * (1 - r) * r^i, and the sum of all layers the promise.
TEST(ScalableBloomFilterTest, TenLayersKeepTheSumOfTheirRates) {
  ScalableBloomOptions options;
  options.first_capacity = 100;
  ScalableBloomFilter filter = MakeScalable(options);
  uint64_t num_added = 0;
  while (filter.num_layers() < 10) ASSERT_TRUE(filter.AddHash(MemberHash(8, num_added++)).ok());
  EXPECT_LE(filter.ExpectedFpr(), options.fpr);
  uint64_t positives = 0;
  constexpr uint64_t kAsked = 200'000;
  for (uint64_t i = 0; i < kAsked; ++i) positives += filter.ContainsHash(AbsentHash(8, i)) ? 1 : 0;
  // One in a thousand of such measurements would be more than 3.3 deviations above the promise.
  const double most = kAsked * options.fpr;
  EXPECT_LT(static_cast<double>(positives), most + 3.3 * std::sqrt(most));
  EXPECT_GT(positives, 0u);
  for (size_t i = 1; i < filter.num_layers(); ++i) {
    EXPECT_LT(filter.layer(i).fpr(), filter.layer(i - 1).fpr());
    EXPECT_GT(filter.layer(i).memory_bytes(), filter.layer(i - 1).memory_bytes());
  }
}

TEST(ScalableBloomFilterTest, LayersAreAskedFromTheLastToTheFirst) {
  ScalableBloomOptions options;
  options.first_capacity = 100;
  ScalableBloomFilter filter = MakeScalable(options);
  std::vector<std::pair<uint64_t, size_t>> layer_of;  // hashes, and where each was added
  for (uint64_t i = 0; filter.num_layers() < 6; ++i) {
    const uint64_t hash = MemberHash(9, i);
    if (filter.ContainsHash(hash)) continue;  // by chance: it would not be added
    ASSERT_TRUE(filter.AddHash(hash).ok());
    layer_of.emplace_back(hash, filter.num_layers() - 1);
  }
  uint64_t answered_by_another = 0;
  for (const auto& [hash, layer] : layer_of) {
    const size_t asked = filter.CountAskedLayersOfHash(hash);
    // A later layer may hold it by chance, an earlier one is not asked.
    ASSERT_LE(asked, filter.num_layers() - layer) << "layer " << layer;
    answered_by_another += asked == filter.num_layers() - layer ? 0 : 1;
  }
  EXPECT_LE(answered_by_another, layer_of.size() / 50);
  uint64_t asked_for_absent = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    asked_for_absent += filter.CountAskedLayersOfHash(AbsentHash(9, i));
  }
  EXPECT_GE(asked_for_absent, 990 * filter.num_layers());
}

TEST(ScalableBloomFilterTest, RepetitionsTakeNoRoom) {
  ScalableBloomFilter filter = MakeFilter<ScalableBloomFilter>(100, 0.01);
  for (int round = 0; round < 100; ++round) {
    for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(filter.AddHash(MemberHash(3, i)).ok());
  }
  EXPECT_EQ(filter.num_layers(), 1u);
}

TEST(ScalableBloomFilterTest, GrowsOnAfterItWasSavedAndLoaded) {
  ScalableBloomFilter grown = MakeFilter<ScalableBloomFilter>(100, 0.01);
  ScalableBloomFilter reloaded = MakeFilter<ScalableBloomFilter>(100, 0.01);
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(grown.AddHash(MemberHash(4, i)).ok());
    ASSERT_TRUE(reloaded.AddHash(MemberHash(4, i)).ok());
    if (i % 97 == 0) reloaded = *ScalableBloomFilter::Deserialize(reloaded.Serialize());
  }
  EXPECT_EQ(grown.Serialize(), reloaded.Serialize());
}

TEST(ScalableBloomFilterTest, OptionsOutsideTheirRangesAreNamed) {
  const auto refusal = [](auto change) {
    ScalableBloomOptions options;
    change(&options);
    return std::string(ScalableBloomFilter::Create(options).status().message());
  };
  EXPECT_EQ(refusal([](auto* options) { options->growth = 1.9; }),
            "ScalableBloomFilter: growth must be from 2 to 16, got 1.9");
  EXPECT_EQ(refusal([](auto* options) { options->growth = 17; }),
            "ScalableBloomFilter: growth must be from 2 to 16, got 17");
  EXPECT_EQ(refusal([](auto* options) { options->tightening = 0.95; }),
            "ScalableBloomFilter: tightening must be from 0.1 to 0.9, got 0.95");
  EXPECT_EQ(refusal([](auto* options) { options->tightening = std::nan(""); }),
            "ScalableBloomFilter: tightening must be from 0.1 to 0.9, got nan");
  EXPECT_EQ(refusal([](auto* options) { options->fpr = 0.6; }),
            "ScalableBloomFilter: false-positive rate must be from 1e-09 to 0.5, got 0.6");
}

}  // namespace
}  // namespace winnow::filter
