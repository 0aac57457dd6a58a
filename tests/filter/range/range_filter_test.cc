#include "winnow/filter/range_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace winnow::filter {
namespace {

constexpr uint64_t kSeed = 0x5eed;

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (56 - 8 * i));
  return bytes;
}

std::string Built(double bits, const std::set<std::string>& keys) {
  auto builder = RangeFilterBuilder::Create(bits, kSeed);
  EXPECT_TRUE(builder.ok()) << builder.status();
  for (const std::string& key : keys) builder->Add(key);
  return builder->Finish();
}

// Is a number from `first` to `last`, which is included, among the keys?
bool MayContainNumbers(const RangeFilterReader& reader, uint64_t first, uint64_t last) {
  if (last == ~uint64_t{0}) return reader.MayContain(BigEndian(first), std::nullopt);
  return reader.MayContain(BigEndian(first), BigEndian(last + 1));
}

RangeFilterReader Opened(std::string_view block) {
  FilterState state;
  const RangeFilterReader reader = RangeFilterReader::Open(block, &state);
  EXPECT_EQ(state.code, FilterStateCode::kOk) << state.reason;
  return reader;
}

bool HasKey(const std::set<std::string>& keys, const std::string& lower,
            const std::optional<std::string>& upper) {
  const auto first = keys.lower_bound(lower);
  return first != keys.end() && (!upper.has_value() || *first < *upper);
}

TEST(RangeFilterTest, BitsOutsideTheBoundsAreRefused) {
  for (const double bits : {-1.0, 0.0, 2.99, 34.01, std::nan(""), 1e300}) {
    const auto builder = RangeFilterBuilder::Create(bits, kSeed);
    ASSERT_FALSE(builder.ok()) << bits;
    EXPECT_EQ(builder.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(RangeFilterTest, WithoutKeysEverythingIsRefuted) {
  const std::string block = Built(10, {});
  const RangeFilterReader reader = Opened(block);
  EXPECT_FALSE(reader.MayContain("", std::nullopt));
  EXPECT_FALSE(MayContainNumbers(reader, 0, ~uint64_t{0}));
  EXPECT_FALSE(reader.always_true());
}

TEST(RangeFilterTest, OneKeyIsFoundByEveryRangeAroundIt) {
  for (const std::string key :
       {"", "key", "a key of many bytes", "\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    const std::string block = Built(10, {key});
    const RangeFilterReader reader = Opened(block);
    EXPECT_TRUE(reader.MayContain(key, std::nullopt)) << key;
    EXPECT_TRUE(reader.MayContain(key, key + std::string(1, '\0'))) << key;
    EXPECT_TRUE(reader.MayContain("", std::nullopt)) << key;
    EXPECT_FALSE(reader.MayContain("", key)) << key;
    EXPECT_FALSE(reader.MayContain(key, key)) << "an empty range";
  }
  const std::string block = Built(10, {"key"});
  const RangeFilterReader reader = Opened(block);
  EXPECT_FALSE(reader.MayContain("kez", std::nullopt));
  EXPECT_FALSE(reader.MayContain("a", "b"));
  EXPECT_FALSE(reader.MayContain("keya", "keyb"));
}

TEST(RangeFilterTest, RangesOutsideTheCommonPrefixAreRefuted) {
  const std::string block = Built(10, {"user:1", "user:2", "user:9"});
  const RangeFilterReader reader = Opened(block);
  EXPECT_EQ(reader.Describe().prefix, "user:");
  EXPECT_FALSE(reader.MayContain("a", "user:"));
  EXPECT_FALSE(reader.MayContain("a", "us"));
  EXPECT_FALSE(reader.MayContain("user;", std::nullopt));
  EXPECT_FALSE(reader.MayContain("usez", "z"));
  EXPECT_TRUE(reader.MayContain("use", "user:1a"));
  EXPECT_TRUE(reader.MayContain("user", "z"));
}

// Keys of few letters, so that prefixes, zeros and what lies between are met often; every range is
// compared with the set.
TEST(RangeFilterTest, NoRangeWithAKeyIsRefuted) {
  std::mt19937_64 random(3);
  const std::string alphabets[] = {std::string("\0a\xff", 3), "ab", "0123456789"};
  for (int round = 0; round < 300; ++round) {
    const std::string& alphabet = alphabets[round % 3];
    const auto text = [&](size_t most) {
      std::string made(random() % 4 == 0 ? "pre" : round % 2 == 0 ? "prefix/" : "");
      for (size_t i = random() % (most + 1); i > 0; --i) {
        made += alphabet[random() % alphabet.size()];
      }
      return made;
    };
    std::set<std::string> keys;
    for (size_t i = random() % 200; i > 0; --i) keys.insert(text(round % 5 == 0 ? 20 : 6));
    const std::string block = Built(3 + static_cast<double>(random() % 20) / 2, keys);
    const RangeFilterReader reader = Opened(block);
    size_t refuted = 0;
    for (int question = 0; question < 500; ++question) {
      const std::string lower = text(7);
      std::optional<std::string> upper;
      if (random() % 10 != 0) upper = random() % 2 == 0 ? text(7) : lower + text(2);
      if (reader.MayContain(lower, upper)) continue;
      ++refuted;
      ASSERT_FALSE(HasKey(keys, lower, upper))
          << testing::PrintToString(lower) << " to " << testing::PrintToString(*upper);
    }
    EXPECT_GT(refuted, 0u) << "round " << round;
  }
}

// Numbers in shapes that break hashes and codes: dense, clusters, powers, ends of the universe.
std::vector<uint64_t> Shape(int shape, size_t count, std::mt19937_64* random) {
  std::set<uint64_t> numbers;
  uint64_t cluster = 0;
  while (numbers.size() < count) {
    const uint64_t index = numbers.size();
    switch (shape) {
      case 0:
        numbers.insert((*random)());
        break;
      case 1:
        numbers.insert(index * 3 + (uint64_t{1} << 40) + (index == 0 ? ~uint64_t{0} << 60 : 0));
        break;
      case 2:
        if (index % 1000 == 0) cluster = (*random)();
        numbers.insert(cluster + (*random)() % 5000);
        break;
      default:
        numbers.insert(index % 2 == 0 ? (*random)() >> ((*random)() % 64)
                                      : ~((*random)() >> ((*random)() % 64)));
    }
  }
  return {numbers.begin(), numbers.end()};
}

class ShapesTest : public testing::TestWithParam<int> {};

TEST_P(ShapesTest, NumbersAreFoundAndTheirNeighboursAtTheRateOfTheory) {
  std::mt19937_64 random(GetParam());
  const bool is_long = std::getenv("WINNOW_LONG_TESTS") != nullptr;
  for (const double bits : {5.0, 10.5, 16.0, 33.0}) {
    const std::vector<uint64_t> numbers = Shape(GetParam(), is_long ? 1000000 : 20000, &random);
    auto builder = RangeFilterBuilder::Create(bits, kSeed);
    for (const uint64_t number : numbers) builder->Add(BigEndian(number));
    const std::string block = builder->Finish();
    const RangeFilterReader reader = Opened(block);
    const double rate_of_one = reader.Describe().expected_fpr_of_one;
    for (const uint64_t length : {1u, 16u, 1024u}) {
      size_t empty = 0;
      size_t wrong = 0;
      const int questions = is_long ? 1000000 : 20000;
      for (int i = 0; i < questions; ++i) {
        // Close to a key: where filters that cut keys short are wrong most.
        uint64_t first = numbers[random() % numbers.size()] + random() % 64 - 32;
        if (i % 4 == 0) first = random();
        if (first > ~uint64_t{0} - length) continue;
        const uint64_t last = first + length - 1;
        const auto found = std::lower_bound(numbers.begin(), numbers.end(), first);
        const bool has_key = found != numbers.end() && *found <= last;
        const bool maybe = MayContainNumbers(reader, first, last);
        if (has_key) {
          ASSERT_TRUE(maybe) << first << " to " << last;
          continue;
        }
        ++empty;
        wrong += maybe ? 1 : 0;
      }
      if (empty < 1000) continue;
      const double rate = std::min(1.0, rate_of_one * static_cast<double>(length));
      const double expected = rate * static_cast<double>(empty);
      EXPECT_LE(static_cast<double>(wrong), expected + 5 * std::sqrt(expected) + 5)
          << "shape " << GetParam() << ", " << bits << " bits, ranges of " << length;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ShapesTest, testing::Range(0, 4));

TEST(RangeFilterTest, TakesTheBitsThatWereAskedFor) {
  std::mt19937_64 random(5);
  const std::vector<uint64_t> numbers = Shape(0, 100000, &random);
  for (const double bits : {3.0, 4.5, 8.0, 12.25, 20.0, 34.0}) {
    auto builder = RangeFilterBuilder::Create(bits, kSeed);
    for (const uint64_t number : numbers) builder->Add(BigEndian(number));
    const uint64_t estimate = builder->EstimatedBlockBytes();
    const std::string block = builder->Finish();
    const RangeFilterInfo info = Opened(block).Describe();
    // Where codes are short many are equal, and are kept once.
    const double taken = 8.0 * static_cast<double>(block.size()) / 100000;
    EXPECT_LE(taken, bits + 0.2) << bits;
    EXPECT_GE(taken, bits < 8 ? 0.8 * bits : bits + 0.05) << bits;
    EXPECT_GE(static_cast<double>(estimate), static_cast<double>(block.size()));
    EXPECT_LE(static_cast<double>(estimate), 1.2 * static_cast<double>(block.size()));
    // No universe of so many bits has a smaller rate.
    EXPECT_LE(info.expected_fpr_of_one, std::exp2(2.1 - bits)) << bits;
    EXPECT_EQ(info.hash_seed, kSeed);
  }
}

TEST(RangeFilterTest, NumbersCloseTogetherAreExact) {
  std::set<std::string> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.insert(BigEndian(7000000 + i * 10));
  const std::string block = Built(8, keys);
  const RangeFilterReader reader = Opened(block);
  EXPECT_EQ(reader.Describe().expected_fpr_of_one, 0);
  for (uint64_t i = 0; i < 10000; ++i) {
    const uint64_t number = 7000000 - 5000 + i;
    EXPECT_EQ(MayContainNumbers(reader, number, number), keys.contains(BigEndian(number)));
  }
}

TEST(RangeFilterTest, AnotherSeedIsWrongElsewhere) {
  std::mt19937_64 random(6);
  const std::vector<uint64_t> numbers = Shape(0, 5000, &random);
  std::vector<uint64_t> wrong[2];
  for (const uint64_t seed : {1u, 2u}) {
    auto builder = RangeFilterBuilder::Create(6, seed);
    for (const uint64_t number : numbers) builder->Add(BigEndian(number));
    const std::string block = builder->Finish();
    const RangeFilterReader reader = Opened(block);
    for (uint64_t i = 0; i < 2000; ++i) {
      const uint64_t asked = i * 0x9e3779b97f4a7c15;
      if (MayContainNumbers(reader, asked, asked)) wrong[seed - 1].push_back(asked);
    }
  }
  EXPECT_GT(wrong[0].size(), 50u);
  EXPECT_NE(wrong[0], wrong[1]);
}

}  // namespace
}  // namespace winnow::filter
