// Each position of a large filter is as likely as any other. A library that reduced a 31-bit hash
// to a filter of 3 * 2^29 bits by its remainder reached some bits twice as often as others, and had
// three to five times the false positives (Guava issue 1119).

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "filter/kinds/cuckoo/cuckoo_table.h"
#include "filter/kinds/fuse/fuse_slots.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/internal/block_probe.h"
#include "winnow/filter/internal/probe_sequence.h"

namespace winnow::filter::internal {
namespace {

constexpr uint64_t kLargeSize = 3 * (uint64_t{1} << 29);
constexpr uint64_t kNumKeys = 1'000'000;
// Positions are counted in so many ranges, or one by one where there are few.
constexpr uint64_t kNumRanges = 3 * 256;
constexpr uint64_t kFewPositions = 8192;

uint64_t HashOfNumber(uint64_t number) {
  return HashKey(std::string_view(reinterpret_cast<const char*>(&number), sizeof(number)), 7);
}

// The statistic of Pearson's chi-square test against a uniform distribution.
double ChiSquare(const std::vector<uint64_t>& counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  const double expected = static_cast<double>(sum) / static_cast<double>(counts.size());
  double statistic = 0;
  for (const uint64_t count : counts) {
    statistic += std::pow(static_cast<double>(count) - expected, 2) / expected;
  }
  return statistic;
}

// The same, as the standard deviations that it lies above what a uniform distribution gives (Wilson
// and Hilferty, 1931).
double DeviationsFromUniform(const std::vector<uint64_t>& counts) {
  const double freedom = static_cast<double>(counts.size() - 1);
  const double variance = 2 / (9 * freedom);
  return (std::cbrt(ChiSquare(counts) / freedom) - (1 - variance)) / std::sqrt(variance);
}

// position(hash), below `size`, over many keys.
double DeviationsOf(uint64_t size, const std::function<uint64_t(uint64_t hash)>& position) {
  std::vector<uint64_t> counts(size <= kFewPositions ? size : kNumRanges, 0);
  for (uint64_t i = 0; i < kNumKeys; ++i) {
    const uint64_t at = position(HashOfNumber(i));
    EXPECT_LT(at, size);
    if (at >= size) return INFINITY;
    ++counts[at * counts.size() / size];
  }
  return DeviationsFromUniform(counts);
}

constexpr double kMaxDeviations = 4;

TEST(PositionDistributionTest, TheTestSeesARemainderOf31Bits) {
  EXPECT_GT(DeviationsOf(kLargeSize, [](uint64_t hash) { return (hash >> 33) % kLargeSize; }), 100);
}

TEST(PositionDistributionTest, EveryProbeOfABloomFilter) {
  for (int probe = 0; probe < 10; ++probe) {
    EXPECT_LT(DeviationsOf(kLargeSize,
                           [probe](uint64_t hash) {
                             ProbeSequence probes(hash);
                             for (int i = 0; i < probe; ++i) (void)probes.Next(kLargeSize);
                             return probes.Next(kLargeSize);
                           }),
              kMaxDeviations)
        << "probe " << probe;
  }
}

// Together they are neither less even nor more so than chance. The statistic is below 1,173 in 999
// of 1,000 cases, and above 884.
TEST(PositionDistributionTest, AllProbesOfABloomFilter) {
  constexpr size_t kParts = 1024;
  constexpr int kProbes = 7;
  std::vector<uint64_t> counts(kParts, 0);
  for (uint64_t i = 0; i < 300'000; ++i) {
    ProbeSequence probes(MemberHash(6, i));
    for (int probe = 0; probe < kProbes; ++probe) {
      const uint64_t bit = probes.Next(kLargeSize);
      ASSERT_LT(bit, kLargeSize);
      ++counts[bit / (kLargeSize / kParts)];
    }
  }
  EXPECT_LT(ChiSquare(counts), 1173);
  EXPECT_GT(ChiSquare(counts), 884);
}

TEST(PositionDistributionTest, ProbesByNumberAreThoseInTurn) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const ProbeSequence by_number(HashOfNumber(i));
    ProbeSequence in_turn = by_number;
    for (uint64_t probe = 0; probe < 64; ++probe) {
      ASSERT_EQ(by_number.At(probe, kLargeSize), in_turn.Next(kLargeSize)) << "probe " << probe;
    }
  }
}

TEST(PositionDistributionTest, BlocksAndTheirBits) {
  constexpr uint64_t kNumBlocks = kLargeSize / kBlockBits;
  EXPECT_LT(DeviationsOf(kNumBlocks, [](uint64_t hash) { return MultiplyHigh(hash, kNumBlocks); }),
            kMaxDeviations);
  for (int probe = 0; probe < kMaxBlockProbes; ++probe) {
    EXPECT_LT(DeviationsOf(kBlockBits, [probe](uint64_t hash) { return BlockBit(hash, probe); }),
              kMaxDeviations)
        << "probe " << probe;
  }
}

TEST(PositionDistributionTest, BothBucketsAndTheFingerprintOfACuckooFilter) {
  constexpr int kFingerprintBits = 12;
  const auto locate = [](uint64_t hash) { return Locate(hash, 1, kLargeSize, kFingerprintBits); };
  EXPECT_LT(DeviationsOf(kLargeSize, [&](uint64_t hash) { return locate(hash).first_bucket; }),
            kMaxDeviations);
  EXPECT_LT(DeviationsOf(kLargeSize, [&](uint64_t hash) { return locate(hash).second_bucket; }),
            kMaxDeviations);
  EXPECT_LT(DeviationsOf((1 << kFingerprintBits) - 1,
                         [&](uint64_t hash) { return locate(hash).fingerprint - uint64_t{1}; }),
            kMaxDeviations);
}

TEST(PositionDistributionTest, SlotsOfAFuseFilter) {
  const FusePlaces places = FuseShape{18, uint64_t{6} << 18}.Places();
  const uint64_t segment = places.segment_mask + 1;
  for (uint64_t wanted = 0; wanted < kFuseArity; ++wanted) {
    const auto slot_of = [&](uint64_t hash) {
      uint64_t found = 0;
      VisitFuseSlots(hash, hash, places, [&](uint8_t index, uint64_t slot) {
        if (index == wanted) found = slot - wanted * segment;
      });
      return found;
    };
    EXPECT_LT(DeviationsOf(places.start_slots, slot_of), kMaxDeviations) << "slot " << wanted;
  }
}

}  // namespace
}  // namespace winnow::filter::internal
