// The textbook's claims about Bloom filters, right ones and wrong ones, beside exact computation
// and the filters themselves.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "tests/filter/dynamic/application_filters.h"
#include "winnow/filter/guava_bloom_filter.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// The exact rate: the distribution of the number of set bits after keys * probes throws, step by
// step, and the power of each.
double ExactFpr(int num_bits, int keys, int probes) {
  std::vector<double> chance(static_cast<size_t>(num_bits) + 1, 0.0);
  chance[0] = 1;
  for (int thrown = 0; thrown < keys * probes; ++thrown) {
    for (int set = num_bits; set >= 0; --set) {
      const auto i = static_cast<size_t>(set);
      chance[i] = chance[i] * set / num_bits +
                  (set > 0 ? chance[i - 1] * (num_bits - set + 1) / num_bits : 0);
    }
  }
  double fpr = 0;
  for (int set = 0; set <= num_bits; ++set) {
    fpr += chance[static_cast<size_t>(set)] * std::pow(static_cast<double>(set) / num_bits, probes);
  }
  return fpr;
}

// The example of the encyclopedias: 18 bits, three probes, x, y and z are in.
TEST(BloomTheoryTest, EighteenBitsThreeProbesThreeKeys) {
  EXPECT_NEAR(ExactFpr(18, 3, 3), 0.0686, 0.00005);
  EXPECT_NEAR(std::pow(1 - std::pow(1 - 1 / 18.0, 9), 3), 0.0650, 0.00005);
  EXPECT_NEAR(std::pow(1 - std::exp(-0.5), 3), 0.0609, 0.00005);
  EXPECT_NEAR(BloomFpr(18, 3, 3), 0.0686, 0.0003);
}

// The textbook formula is too low, ours is not.
TEST(BloomTheoryTest, TheFormulaIsTheExactRate) {
  for (const auto& [bits, keys, probes, exact] :
       {std::tuple{64, 6, 7, 0.006859}, {1024, 102, 7, 0.008110}}) {
    EXPECT_NEAR(ExactFpr(bits, keys, probes), exact, 1e-6);
    EXPECT_NEAR(BloomFpr(bits, keys, probes), exact, 0.03 * exact);
    const double textbook = std::pow(1 - std::exp(-1.0 * keys * probes / bits), probes);
    EXPECT_LT(textbook, exact);
  }
}

TEST(BloomTheoryTest, BitsPerKeyOfTheUsualRates) {
  constexpr uint64_t kKeys = 1'000'000'000;
  for (const auto& [fpr, bits, whole] :
       {std::tuple{0.1, 4.79253, 5}, {0.01, 9.58506, 10}, {0.001, 14.37759, 15}}) {
    const double bits_per_key = static_cast<double>(GuavaOptimalBits(kKeys, fpr)) / kKeys;
    EXPECT_NEAR(bits_per_key, bits, 0.000005);
    EXPECT_EQ(std::ceil(bits_per_key), whole);
    EXPECT_NEAR(BitsPerKeyForFpr(FilterKind::kBloom, fpr), bits, 0.04);
  }
}

// k = 0.7 * bits per key, f = 0.6185 ^ bits per key: what whole numbers of probes leave of it.
TEST(BloomTheoryTest, TheRateFallsByThirtyEightPerCentABit) {
  EXPECT_NEAR(std::pow(0.6185, 8), 0.02141, 0.00001);
  EXPECT_NEAR(BloomFpr(8e6, 1e6, 5), 0.02168, 0.00001);
  EXPECT_NEAR(BloomFpr(8e6, 1e6, 6), 0.02158, 0.00001);
  for (int bits = 4; bits <= 24; ++bits) {
    const double best = BloomFpr(bits * 1e6, 1e6, BestBloomProbes(bits));
    EXPECT_GE(best, std::pow(0.6185, bits) * 0.999);
    EXPECT_LE(best, std::pow(0.6185, bits) * 1.05);
    EXPECT_NEAR(BestBloomProbes(bits), 0.7 * bits, 1);
  }
}

// "The more hash functions, the fewer false positives" is wrong: seven are best for ten bits a key.
TEST(BloomTheoryTest, MoreProbesHelpOnlyUpToTheBestNumber) {
  const auto rate = [](int probes) { return BloomFpr(10e6, 1e6, probes); };
  for (int probes = 1; probes < 7; ++probes) EXPECT_GT(rate(probes), rate(probes + 1));
  for (int probes = 7; probes < 30; ++probes) EXPECT_LT(rate(probes), rate(probes + 1));
  EXPECT_NEAR(rate(1), 0.095, 0.0005);
  EXPECT_NEAR(rate(3), 0.0174, 0.00005);
  EXPECT_NEAR(rate(7), 0.00819, 0.00001);
  EXPECT_NEAR(rate(14), 0.0190, 0.0001);
  EXPECT_NEAR(rate(30), 0.216, 0.001);
}

// Nor are "three to five" enough: log2(1 / rate) are.
TEST(BloomTheoryTest, ProbesAreTheLogarithmOfTheRate) {
  EXPECT_EQ(BloomFilter::Create(1'000'000, 0.03)->num_probes(), 5);
  EXPECT_NEAR(BloomFilter::Create(1'000'000, 0.01)->num_probes(), 6.64, 0.5);
  EXPECT_EQ(BloomFilter::Create(1'000'000, 0.001)->num_probes(), 10);
}

// With probes = log2(1 / rate), t times the keys give (1 - 0.5^t)^probes.
TEST(BloomTheoryTest, OverfullFilters) {
  const auto overfull = [](double fpr, double times) {
    return std::pow(1 - std::pow(0.5, times), std::log2(1 / fpr));
  };
  EXPECT_NEAR(overfull(0.1, 2), 0.3846, 0.0001);
  EXPECT_NEAR(overfull(0.01, 2), 0.1479, 0.0001);
  EXPECT_NEAR(overfull(0.001, 2), 0.0569, 0.0001);
  constexpr uint64_t kKeys = 50'000;
  for (const double fpr : {0.1, 0.01, 0.001}) {
    BloomFilter filter = MakeFilter<BloomFilter>(kKeys, fpr);
    uint64_t added = 0;
    for (const int times : {1, 2, 3, 4}) {
      for (; added < times * kKeys; ++added) filter.AddHash(MemberHash(1, added));
      const double theory = BloomFpr(static_cast<double>(filter.num_bits()),
                                     static_cast<double>(added), filter.num_probes());
      EXPECT_NEAR(filter.ExpectedFpr(), theory, 0.02 * theory);
      EXPECT_NEAR(filter.ExpectedFpr(), overfull(fpr, times), 0.08 * theory);
      constexpr double kProbes = 100'000;
      const double measured =
          static_cast<double>(CountAbsentContained(filter, 1, 100'000)) / kProbes;
      EXPECT_NEAR(measured, theory, 4 * std::sqrt(theory / kProbes) + 0.02 * theory);
    }
  }
}

template <typename Filter>
concept Removes = requires(Filter& filter) {
  filter.Remove("key");
};

// There is no removal, and this is why: clearing one key's bits loses others.
TEST(BloomTheoryTest, ClearingTheBitsOfOneKeyLosesOthers) {
  EXPECT_FALSE(Removes<BloomFilter>);
  EXPECT_FALSE(Removes<ScalableBloomFilter>);
  EXPECT_TRUE(Removes<CuckooFilter>);
  BloomFilter filter = MakeFilter<BloomFilter>(1000, 0.01);
  for (uint64_t i = 0; i < 1000; ++i) filter.AddHash(MemberHash(2, i));
  BloomFilter one = MakeFilter<BloomFilter>(1000, 0.01);
  one.AddHash(MemberHash(2, 0));

  std::string bytes = filter.Serialize();
  const std::string cleared = one.Serialize();
  constexpr size_t kPayload = 128;
  for (size_t i = kPayload; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(bytes[i] & ~cleared[i]);
  }
  const uint64_t checksum = HashKey(std::string_view(bytes).substr(16), 0);
  std::memcpy(bytes.data() + 8, &checksum, sizeof(checksum));
  const absl::StatusOr<BloomFilter> damaged = BloomFilter::Deserialize(bytes);
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_LT(CountContained(*damaged, MemberHashes(2, 1000)), 999u);
}

// The fill is counted, never remembered.
TEST(BloomTheoryTest, RateIsThatOfTheBitsThatAreSet) {
  const auto rate_of_bits = [](const BloomFilter& filter) {
    const std::string bytes = filter.Serialize();
    int ones = 0;
    for (size_t i = 128; i < bytes.size(); ++i) {
      ones += std::popcount(static_cast<uint8_t>(bytes[i]));
    }
    return std::pow(ones / static_cast<double>(filter.num_bits()), filter.num_probes());
  };
  BloomFilter filter = MakeFilter<BloomFilter>(5000, 0.01);
  BloomFilter other = MakeFilter<BloomFilter>(5000, 0.01);
  for (uint64_t i = 0; i < 3000; ++i) {
    filter.AddHash(MemberHash(3, i));
    filter.AddHash(MemberHash(3, i));
    other.AddHash(MemberHash(4, i));
  }
  EXPECT_DOUBLE_EQ(filter.ExpectedFpr(), rate_of_bits(filter));
  ASSERT_TRUE(filter.Union(other).ok());
  EXPECT_DOUBLE_EQ(filter.ExpectedFpr(), rate_of_bits(filter));
  EXPECT_DOUBLE_EQ(BloomFilter::Deserialize(filter.Serialize())->ExpectedFpr(),
                   rate_of_bits(filter));
}

// "True means 99 % sure" is wrong: it depends on how many of the keys asked are members.
TEST(BloomTheoryTest, HowSureAYesIsDependsOnTheShareOfMembers) {
  BloomFilter filter = MakeFilter<BloomFilter>(10'000, 0.01);
  for (uint64_t i = 0; i < 10'000; ++i) filter.AddHash(MemberHash(5, i));
  const auto sureness = [&](double absent) {
    const auto wrong = static_cast<double>(
        CountAbsentContained(filter, 5, static_cast<uint64_t>(absent * 10'000)));
    return 10'000 / (10'000 + wrong);
  };
  EXPECT_NEAR(sureness(1), 0.99, 0.003);
  EXPECT_NEAR(sureness(9), 0.917, 0.01);
  EXPECT_NEAR(sureness(99), 0.50, 0.02);
}

}  // namespace
}  // namespace winnow::filter
