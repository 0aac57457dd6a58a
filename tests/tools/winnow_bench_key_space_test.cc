#include "tools/winnow_bench/key_space.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tools/winnow_bench/random.h"
#include "tools/winnow_bench/zipfian.h"

namespace winnow::bench {
namespace {

TEST(KeySpaceTest, KeysAreDbBenchsBytes) {
  BenchConfig config;
  std::string key;
  KeySpace(config).Present(129, &key);
  EXPECT_EQ(key, std::string("\0\0\0\0\0\0\x01\x02", 8) + "00000000");
}

TEST(KeySpaceTest, AnAbsentKeyLiesBetweenTwoPresentOnes) {
  for (int64_t key_size : {4, 8, 16, 40}) {
    for (int64_t prefix_size : {0, 2}) {
      BenchConfig config;
      config.num = 1000;
      config.key_size = key_size;
      config.prefix_size = prefix_size;
      config.keys_per_prefix = 10;
      ASSERT_TRUE(KeySpace::Check(config).ok());
      const KeySpace keys(config);
      std::string before;
      std::string absent;
      std::string after;
      for (uint64_t i = 0; i + 1 < 1000; i++) {
        keys.Present(i, &before);
        keys.Absent(i, &absent);
        keys.Present(i + 1, &after);
        ASSERT_EQ(before.size(), static_cast<size_t>(key_size));
        ASSERT_LT(before, absent) << i;
        ASSERT_LT(absent, after) << i;
      }
    }
  }
}

std::string KeyOf(KeyShape shape, uint64_t number) {
  std::string key;
  WriteShapedKey(shape, 16, number, &key);
  return key;
}

// Keys are the same for ever: databases of earlier runs are read again with --use_existing_db.
TEST(KeyShapeTest, KeysAreTheseBytes) {
  EXPECT_EQ(KeyOf(KeyShape::kSharedPrefix, 12345), "user:00000012345");
  EXPECT_EQ(KeyOf(KeyShape::kUrl, 0), "https://www.bababa.com/archive/0000-quick-quick-quick.html");
  EXPECT_EQ(KeyOf(KeyShape::kUrl, 10'000'000),
            "https://www.bagule.org/blog/0640-block-key-level.html");
  EXPECT_EQ(KeyOf(KeyShape::kUuid, 0), "e220a839-7b1d-44bf-b3cd-cdaf48218226");
  EXPECT_EQ(KeyOf(KeyShape::kComposite, 5'007'321),
            std::string("\0\0\0\x05\0\0\0\0\0\0\0\x07\0\x06\x0a\x28\x94\x1a\x87\0", 20));
}

TEST(KeyShapeTest, OrderOfNumbersIsOrderOfKeysAndTheirLengthIsTold) {
  for (const KeyShapeName& named : KeyShapes()) {
    if (named.shape == KeyShape::kDbBench) continue;
    const size_t longest = LongestKeyBytes(named.shape);
    std::set<std::string> keys;
    std::string before;
    // Neighbours, and steps that cross every boundary inside a key.
    for (uint64_t number = 0; number < 300'000'000; number += number < 20'000 ? 1 : 9'973) {
      const std::string key = KeyOf(named.shape, number);
      ASSERT_TRUE(longest == 0 ? key.size() == 16 : key.size() <= longest) << key;
      ASSERT_TRUE(keys.insert(key).second) << key << " twice";
      if (named.shape != KeyShape::kUuid) {
        ASSERT_LT(before, key) << named.name << " " << number;
      }
      before = key;
    }
  }
}

TEST(KeyShapeTest, TheLastNumberStillHasAKeyOfItsOwn) {
  for (const KeyShape shape : {KeyShape::kSharedPrefix, KeyShape::kUrl, KeyShape::kComposite}) {
    const uint64_t last = static_cast<uint64_t>(NumbersOf(shape, 16)) - 1;
    EXPECT_LT(KeyOf(shape, last - 1), KeyOf(shape, last));
    EXPECT_LT(KeyOf(shape, 0), KeyOf(shape, last)) << "it has not begun anew";
  }
}

TEST(KeyShapeTest, UuidsAreRandomOnesOfVersionFour) {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  int ascents = 0;
  for (uint64_t number = 0; number < 1000; number++) {
    EXPECT_TRUE(std::regex_match(KeyOf(KeyShape::kUuid, number), form));
    ascents += KeyOf(KeyShape::kUuid, number) < KeyOf(KeyShape::kUuid, number + 1);
  }
  EXPECT_NEAR(ascents, 500, 60) << "their order tells nothing of the numbers";
}

TEST(KeySpaceTest, KeysPerPrefixKeysShareAPrefix) {
  BenchConfig config;
  config.prefix_size = 4;
  config.keys_per_prefix = 10;
  const KeySpace keys(config);
  std::string first;
  std::string key;
  keys.Present(30, &first);
  keys.Absent(39, &key);
  EXPECT_EQ(key.substr(0, 4), first.substr(0, 4));
  keys.Present(40, &key);
  EXPECT_NE(key.substr(0, 4), first.substr(0, 4));
}

TEST(PermutationTest, VisitsEachNumberOnce) {
  for (uint64_t n : {1, 2, 3, 7, 64, 1000, 4097, 100003}) {
    const Permutation permutation(n, n + 5);
    std::vector<bool> seen(n);
    for (uint64_t i = 0; i < n; i++) {
      const uint64_t number = permutation.At(i);
      ASSERT_LT(number, n);
      ASSERT_FALSE(seen[number]) << number << " of " << n << " twice";
      seen[number] = true;
    }
  }
}

TEST(PermutationTest, TheOrderIsFarFromSortedAndDependsOnTheSeed) {
  constexpr uint64_t kNum = 10000;
  const Permutation one(kNum, 1);
  const Permutation two(kNum, 2);
  uint64_t ascents = 0;
  uint64_t same = 0;
  for (uint64_t i = 0; i + 1 < kNum; i++) {
    ascents += one.At(i) < one.At(i + 1);
    same += one.At(i) == two.At(i);
  }
  // Of a random order half the steps go up (standard deviation 29) and one number keeps its place.
  EXPECT_NEAR(static_cast<double>(ascents), kNum / 2.0, 150);
  EXPECT_LT(same, 15u);
}

TEST(ValueSourceTest, ValuesCompressToTheWantedShare) {
  for (double ratio : {0.25, 0.5, 1.0}) {
    ValueSource source(4000, ratio, 7);
    std::string compressed;
    const std::string_view value = source.Next();
    snappy::Compress(value.data(), value.size(), &compressed);
    EXPECT_NEAR(static_cast<double>(compressed.size()) / 4000, ratio, 0.1);
  }
}

TEST(ValueSourceTest, EverySizeIsServedForEver) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{3} << 20}) {
    ValueSource source(bytes, 0.5, 1);
    for (int i = 0; i < 100; i++) ASSERT_EQ(source.Next().size(), bytes);
  }
}

TEST(ZipfianTest, RanksFollowTheLaw) {
  constexpr uint64_t kRanks = 1000;
  constexpr int kDraws = 200000;
  const Zipfian zipfian(kRanks);
  Random random(42);
  std::vector<int> counts(kRanks);
  for (int i = 0; i < kDraws; i++) counts[zipfian.Next(random)]++;
  double zeta = 0;
  for (uint64_t r = 1; r <= kRanks; r++) zeta += std::pow(static_cast<double>(r), -0.99);
  EXPECT_NEAR(counts[0] / (kDraws / zeta), 1, 0.05);
  EXPECT_NEAR(counts[1] / (kDraws / zeta * std::pow(2, -0.99)), 1, 0.05);
  int upper_half = 0;
  for (uint64_t r = kRanks / 2; r < kRanks; r++) upper_half += counts[r];
  EXPECT_NEAR(upper_half / (kDraws * 0.0935), 1, 0.1);
}

TEST(ZipfianTest, SmallAndLargeRangesStayInside) {
  Random random(1);
  for (uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{5'000'000'000}}) {
    const Zipfian zipfian(n);
    for (int i = 0; i < 1000; i++) {
      ASSERT_LT(zipfian.Next(random), n);
      ASSERT_LT(zipfian.NextScattered(random), n);
    }
  }
}

}  // namespace
}  // namespace winnow::bench
