#include "winnow/filter/sizing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace winnow::filter {
namespace {

constexpr uint64_t kMany = 100'000'000;

TEST(SizingTest, BlockedBloomIsThePoissonMixture) {
  // Bits per key, probes, FPR: from the sum over Poisson block loads, confirmed by simulation.
  struct Row {
    double bits_per_key;
    int probes;
    double fpr;
  };
  for (const Row& row : std::vector<Row>{{8, 5, .02326},
                                         {10, 6, .00967},
                                         {10, 7, .00969},
                                         {12, 7, .00415},
                                         {14, 8, .00184},
                                         {16, 9, .00084}}) {
    const auto num_blocks = static_cast<uint64_t>(kMany * row.bits_per_key / 512);
    EXPECT_NEAR(BlockedBloomFpr(num_blocks, kMany, row.probes), row.fpr, row.fpr * 0.006);
  }
}

TEST(SizingTest, BloomIsNearTheTextbookForManyKeys) {
  for (const int probes : {1, 3, 7, 14}) {
    const double textbook = std::pow(1 - std::exp(-probes / 10.0), probes);
    EXPECT_NEAR(BloomFpr(10.0 * kMany, kMany, probes), textbook, textbook * 1e-4);
  }
}

// Two balls, two bins, counted by hand: 2 keys of 1 probe in 4 bits fill 1 bit with probability
// 1/4, else 2; an absent key hits with 1/4 * 1/4 + 3/4 * 2/4.
TEST(SizingTest, BloomIsExactWhereItCanBeCountedByHand) {
  EXPECT_NEAR(BloomFpr(4, 2, 1), 7.0 / 16, 1e-12);
  // Two probes: squares of the shares.
  EXPECT_NEAR(BloomFpr(4, 1, 2), 0.25 / 16 + 0.75 / 4, 1e-12);
}

// Of one block the load is not random.
TEST(SizingTest, OneBlockIsABloomFilterOf512Bits) {
  EXPECT_DOUBLE_EQ(BlockedBloomFpr(1, 40, 6), BloomFpr(512, 40, 6));
}

TEST(SizingTest, TwoBlocksAreTheBinomialMixture) {
  double expected = 0;
  const double choose[] = {1, 4, 6, 4, 1};
  for (int load = 0; load <= 4; ++load) expected += choose[load] / 16 * BloomFpr(512, load, 6);
  EXPECT_NEAR(BlockedBloomFpr(2, 4, 6), expected, expected * 1e-9);
}

TEST(SizingTest, CuckooIsNearTwiceTheSlotsOverTwoToTheFingerprint) {
  EXPECT_NEAR(CuckooFpr(8, 0.95, kMany), 0.0294, 0.0001);
  EXPECT_NEAR(CuckooFpr(12, 0.95, kMany), 0.00185, 0.00001);
  EXPECT_NEAR(CuckooFpr(32, 0.95, kMany), 7.6 / 4294967295.0, 1e-15);
  EXPECT_EQ(CuckooFpr(8, 0, kMany), 0);
  // The textbook's form, from which sharing of slots leads away only where rates are high.
  EXPECT_NEAR(CuckooFpr(10, 0.95, kMany), 1 - std::pow(1 - 1 / 1023.0, 7.6), 1e-5);
  // One key in one bucket: one slot is used, and both its buckets are that one.
  EXPECT_NEAR(CuckooFpr(10, 0.25, 1), 1 / 1023.0, 1e-6);
}

// Counts that only a damaged header holds must not make the sum endless.
TEST(SizingTest, AbsurdLoadsAreFull) {
  EXPECT_NEAR(BlockedBloomFpr(2, ~uint64_t{0}, 6), 1, 1e-9);
  EXPECT_NEAR(BlockedBloomFpr(1'000'000, uint64_t{1} << 60, 6), 1, 1e-9);
}

TEST(SizingTest, BestProbesHaveNoBetterNeighbour) {
  for (double bits = 1; bits <= 64; bits += 0.7) {
    const int probes = BestBloomProbes(bits);
    const double best = BloomFpr(bits * 1e6, 1e6, probes);
    EXPECT_LE(best, BloomFpr(bits * 1e6, 1e6, probes + 1));
    if (probes > 1) {
      EXPECT_LE(best, BloomFpr(bits * 1e6, 1e6, probes - 1));
    }
    EXPECT_NEAR(probes, std::max(1.0, bits * std::log(2.0)), 1.0) << bits;
  }
  EXPECT_EQ(BestBlockedBloomProbes(10), 6);
  EXPECT_EQ(BestBlockedBloomProbes(16), 9);
  EXPECT_GE(BestBlockedBloomProbes(24), 12);
}

// A budget that is spread over files asks for the FPR of many amounts: it must not rise with them.
TEST(SizingTest, MoreBitsNeverRaiseTheRate) {
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kBlockedBloom, FilterKind::kCuckoo,
                                FilterKind::kBinaryFuse, FilterKind::kRibbon}) {
    const BitsPerKeyRange range = AllowedBitsPerKey(kind);
    double previous = 1;
    for (double bits = range.min; bits <= range.max; bits += 0.25) {
      const double fpr = ExpectedFpr(kind, bits, 1'000'000);
      EXPECT_LE(fpr, previous * 1.02) << KindName(kind) << ":" << bits;
      previous = fpr;
    }
    EXPECT_LT(previous, 1e-6);
  }
}

TEST(SizingTest, BitsForARateReachItAndNoMore) {
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kBlockedBloom}) {
    for (const double fpr : {0.5, 0.1, 0.01, 0.001, 1e-5, 1e-6}) {
      const double bits = BitsPerKeyForFpr(kind, fpr);
      EXPECT_LE(ExpectedFpr(kind, bits, 1'000'000), fpr) << KindName(kind);
      if (bits > 1.1) {
        EXPECT_GT(ExpectedFpr(kind, bits - 0.05, 1'000'000), fpr) << KindName(kind);
      }
    }
  }
  EXPECT_NEAR(BitsPerKeyForFpr(FilterKind::kBloom, 0.01), 9.59, 0.05);
  EXPECT_NEAR(BitsPerKeyForFpr(FilterKind::kCuckoo, 0.01), 10 / 0.973, 0.01);
  EXPECT_NEAR(BitsPerKeyForFpr(FilterKind::kCuckoo, 0.001), 13 / 0.973, 0.01);
}

// The same rate for a bit less in each slot, or half the rate for the same bits.
TEST(SizingTest, SemiSortedBucketsSaveOneBit) {
  const FilterSpec plain = *ParseFilterSpec("cuckoo");
  const FilterSpec semi_sorted = *ParseFilterSpec("cuckoo:semi_sorted");
  for (const double fpr : {0.1, 0.01, 0.001, 1e-6}) {
    EXPECT_NEAR(BitsPerKeyForFpr(plain, fpr) - BitsPerKeyForFpr(semi_sorted, fpr), 1 / 0.973, 1e-9);
  }
  for (const double bits : {10.3, 15.0, 30.0}) {
    EXPECT_NEAR(ExpectedFpr(plain, bits, kMany) / ExpectedFpr(semi_sorted, bits, kMany), 2, 0.02);
  }
  double previous = 1;
  for (double bits = 4; bits <= 32; bits += 0.25) {
    const double fpr = ExpectedFpr(semi_sorted, bits, kMany);
    EXPECT_LE(fpr, previous * 1.02) << bits;
    previous = fpr;
  }
  EXPECT_NEAR(SpecBitsPerKey(*ParseFilterSpec("cuckoo:1%:semi_sorted")), 9 / 0.973, 1e-9);
  EXPECT_EQ(ExpectedFpr(semi_sorted, 10, 0), 0);
}

TEST(SizingTest, NoneCostsNothingAndRefutesNothing) {
  EXPECT_EQ(BitsPerKeyForFpr(FilterKind::kNone, 0.01), 0);
  EXPECT_EQ(ExpectedFpr(FilterKind::kNone, 10, 100), 1);
  EXPECT_EQ(SpecBitsPerKey(FilterSpec{}), 0);
}

TEST(SizingTest, SpecsComeToBitsPerKeyWhicheverWayTheyAreGiven) {
  EXPECT_EQ(SpecBitsPerKey(*ParseFilterSpec("bloom")), kDefaultBitsPerKey);
  EXPECT_EQ(SpecBitsPerKey(*ParseFilterSpec("bloom:7.5")), 7.5);
  EXPECT_NEAR(SpecBitsPerKey(*ParseFilterSpec("bloom:1%")), 9.59, 0.05);
}

TEST(SizingTest, ExtremeCountsStayFinite) {
  for (const uint64_t keys : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{1} << 40}) {
    for (const FilterKind kind :
         {FilterKind::kBloom, FilterKind::kBlockedBloom, FilterKind::kCuckoo,
          FilterKind::kBinaryFuse, FilterKind::kRibbon}) {
      const double fpr = ExpectedFpr(kind, 10, keys);
      EXPECT_GE(fpr, 0) << keys;
      EXPECT_LT(fpr, 0.03) << keys;
    }
  }
}

}  // namespace
}  // namespace winnow::filter
