// What one seed does to one filter. The rate that is promised is a mean over seeds, and a file has
// one: none may let much more through than the mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "winnow/filter/range_filter.h"

namespace winnow::filter {
namespace {

std::string KeyOf(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  return bytes;
}

// The share of ranges of `length` numbers, each the same `offset` behind a key, that hold nothing
// and are let through nonetheless.
double WrongRate(const std::vector<uint64_t>& numbers, double bits, uint64_t seed, uint64_t offset,
                 uint64_t length) {
  auto builder = RangeFilterBuilder::Create(bits, seed);
  for (const uint64_t number : numbers) builder->Add(KeyOf(number));
  const std::string block = builder->Finish();
  const RangeFilterReader reader = RangeFilterReader::Open(block, nullptr);
  size_t asked = 0;
  size_t wrong = 0;
  for (size_t i = 0; i + 1 < numbers.size(); ++i) {
    EXPECT_TRUE(reader.MayContain(KeyOf(numbers[i]), KeyOf(numbers[i] + 1))) << seed;
    const uint64_t first = numbers[i] + offset;
    if (first + length > numbers[i + 1]) continue;
    ++asked;
    wrong += reader.MayContain(KeyOf(first), KeyOf(first + length)) ? 1 : 0;
  }
  EXPECT_GT(asked, numbers.size() / 2) << "too few ranges between keys";
  return static_cast<double>(wrong) / static_cast<double>(asked);
}

constexpr size_t kNumKeys = 2400;

std::vector<uint64_t> EquallyDistant(uint64_t distance) {
  std::vector<uint64_t> numbers;
  for (size_t i = 0; i < kNumKeys; ++i) numbers.push_back((uint64_t{1} << 60) + i * distance);
  return numbers;
}

// Nine bits: a universe of 2^7 numbers a key, so that even keys at distances of 2^8 are hashed. Of
// four numbers 2^-5 is promised.
constexpr double kBits = 9;
constexpr uint64_t kLength = 4;
constexpr double kPromised = 1.0 / 32;

// At most so much for each of 500 seeds. A piece is hit with the promised probability, and has at
// most a 1024th of the keys, so that 1024 or more are drawn: 32 hits are expected, and more than 80
// come to one filter in 10^12. As numbers of a piece are hit together or not at all, and each hit
// is seen from both sides, it is half of them that are drawn: 16, and more than 40 are one in 10^6.
constexpr double kMostOfOne = 2.5 * kPromised;

class SeedsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SeedsTest, NoneLetsMuchMoreThroughThanIsPromised) {
  const std::vector<uint64_t> numbers = EquallyDistant(GetParam());
  constexpr int kSeeds = 500;
  double worst = 0;
  double sum = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const double rate =
        WrongRate(numbers, kBits, static_cast<uint64_t>(seed), 1 + seed % 60, kLength);
    worst = std::max(worst, rate);
    sum += rate;
  }
  EXPECT_LE(worst, kMostOfOne);
  // The mean is below what is promised, which adds up what may come together; but close to it: of
  // a filter that rejects everything all else here would hold.
  EXPECT_LE(sum / kSeeds, 1.05 * kPromised);
  EXPECT_GE(sum / kSeeds, 0.85 * kPromised);
}

std::vector<uint64_t> Distances() {
  std::vector<uint64_t> distances;
  for (int k = 8; k <= 40; ++k) distances.push_back(uint64_t{1} << k);
  for (const uint64_t odd : {261u, 1001u, 65537u, 1000003u}) distances.push_back(odd);
  distances.push_back((uint64_t{1} << 33) + 12345);
  return distances;
}
INSTANTIATE_TEST_SUITE_P(Distances, SeedsTest, testing::ValuesIn(Distances()));

TEST(SeedsOfScatteredKeysTest, NoneLetsMuchMoreThroughThanIsPromised) {
  std::mt19937_64 random(9);
  std::vector<uint64_t> numbers;
  while (numbers.size() < kNumKeys) numbers.push_back(random());
  std::sort(numbers.begin(), numbers.end());
  for (uint64_t seed = 0; seed < 500; ++seed) {
    EXPECT_LE(WrongRate(numbers, kBits, seed, 1 + seed % 60, kLength), kMostOfOne) << seed;
  }
}

// Clusters of keys at one distance, as devices that report each minute are.
TEST(SeedsOfClusteredKeysTest, NoneLetsMuchMoreThroughThanIsPromised) {
  std::mt19937_64 random(10);
  std::vector<uint64_t> numbers;
  for (int cluster = 0; cluster < 20; ++cluster) {
    const uint64_t begin = random();
    for (uint64_t i = 0; i < kNumKeys / 20; ++i) numbers.push_back(begin + i * 60);
  }
  std::sort(numbers.begin(), numbers.end());
  for (uint64_t seed = 0; seed < 500; ++seed) {
    EXPECT_LE(WrongRate(numbers, kBits, seed, 1 + seed % 50, kLength), kMostOfOne) << seed;
  }
}

// Ranges as long as a promise goes, and longer: across one border of pieces and across many.
TEST(PiecesTest, RangesAcrossTheirBordersFindEveryKey) {
  std::mt19937_64 random(11);
  for (const double bits : {3.0, 9.0, 20.0}) {
    for (const uint64_t distance : {uint64_t{40}, uint64_t{3000}, uint64_t{1} << 21}) {
      const std::vector<uint64_t> numbers = EquallyDistant(distance);
      auto builder = RangeFilterBuilder::Create(bits, 5);
      for (const uint64_t number : numbers) builder->Add(KeyOf(number));
      const std::string block = builder->Finish();
      const RangeFilterReader reader = RangeFilterReader::Open(block, nullptr);
      for (int i = 0; i < 20000; ++i) {
        const uint64_t number = numbers[random() % numbers.size()];
        const uint64_t before = random() >> (random() % 60 + 4);
        const uint64_t after = random() >> (random() % 60 + 4);
        const uint64_t lower = number - std::min(before, number);
        ASSERT_TRUE(reader.MayContain(KeyOf(lower), KeyOf(number + 1))) << lower;
        ASSERT_TRUE(reader.MayContain(KeyOf(number), KeyOf(number + 1 + after))) << after;
        ASSERT_TRUE(reader.MayContain(KeyOf(lower), KeyOf(number + 1 + after)));
      }
    }
  }
}

}  // namespace
}  // namespace winnow::filter
