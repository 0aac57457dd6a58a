// The index rules of go-zero, Jedis and Redisson against what the real programs, and real Redis,
// gave for the same keys.

#include "winnow/filter/redis_bitmap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/filter/dynamic/golden_data.h"

namespace winnow::filter {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<uint64_t> OffsetsOf(const RedisBitmapShape& shape, std::string_view key) {
  std::vector<uint64_t> offsets;
  AppendRedisOffsets(shape, key, &offsets);
  return offsets;
}

// "[1, 2]" or "1,2".
std::vector<uint64_t> Numbers(const std::string& text) {
  std::vector<uint64_t> numbers;
  std::string digits;
  for (const char letter : text + ",") {
    if (letter >= '0' && letter <= '9') {
      digits += letter;
    } else if (!digits.empty()) {
      numbers.push_back(std::stoull(digits));
      digits.clear();
    }
  }
  return numbers;
}

std::string StringOf(const RedisBitmapShape& shape, const std::vector<std::string>& keys) {
  absl::StatusOr<RedisBitmap> bitmap = RedisBitmap::Create(shape);
  EXPECT_TRUE(bitmap.ok()) << bitmap.status();
  for (const std::string& key : keys) bitmap->Add(key);
  for (const std::string& key : keys) EXPECT_TRUE(bitmap->Contains(key)) << key;
  return bitmap->ToString();
}

std::vector<std::string> NumberedKeys(const std::string& prefix, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

TEST(RedisBitmap, HasGoZerosOffsets) {
  const std::vector<std::string> lines = GoldenLines("gozero/offsets.tsv");
  ASSERT_EQ(lines.size(), 131u);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = Split(lines[i], '\t');
    const absl::StatusOr<RedisBitmapShape> shape = GoZeroShape(std::stoull(fields[0]));
    ASSERT_TRUE(shape.ok());
    EXPECT_THAT(OffsetsOf(*shape, FromHex(fields[1])), ElementsAreArray(Numbers(fields[2])))
        << lines[i];
  }
}

TEST(RedisBitmap, HasTheStringsThatGoZerosScriptsLeftInRedis) {
  const std::vector<std::string> lines = GoldenLines("gozero/keys.tsv");
  ASSERT_EQ(lines.size(), 6u);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = Split(lines[i], '\t');
    std::vector<std::string> keys;
    for (const std::string& hex : Split(fields[1], ',')) keys.push_back(FromHex(hex));
    EXPECT_EQ(ToHex(StringOf(*GoZeroShape(std::stoull(fields[0])), keys)), fields[4]) << fields[1];
  }
}

TEST(RedisBitmap, HasTheOffsetsAndTheStringOfTheProgramWithJedis) {
  const absl::StatusOr<RedisBitmapShape> shape = JedisShape(100, 0.01);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->num_bits, 958u);  // not rounded to bytes
  EXPECT_EQ(shape->num_probes, 7);
  std::string bytes;
  for (const std::string& line : GoldenLines("jedis/golden.txt")) {
    const size_t bracket = line.find("\t[");
    if (bracket != std::string::npos) {
      EXPECT_THAT(OffsetsOf(*shape, line.substr(0, bracket)),
                  ElementsAreArray(Numbers(line.substr(bracket))));
    }
    if (line.find("redis key bytes=") == 0) bytes = line.substr(16, line.find(" bitcount") - 16);
  }
  ASSERT_EQ(bytes.size(), 240u);
  EXPECT_EQ(ToHex(StringOf(*shape, NumberedKeys("", 100))), bytes);
}

TEST(RedisBitmap, HasRedissonsSizesHashesOffsetsAndString) {
  const std::vector<std::string> lines = GoldenLines("redisson/highwayhash_indexes.tsv");
  const RedisBitmapShape small = *RedissonShape(100, 0.03);
  const RedisBitmapShape large = *RedissonShape(55'000'000, 0.03);
  int num_sizes = 0;
  int num_keys = 0;
  for (const std::string& line : lines) {
    const std::vector<std::string> fields = Split(line, '\t');
    if (fields.size() == 3) {  // tryInit(n,p), size=, hashIterations=
      const size_t comma = fields[0].find(',');
      const uint64_t insertions = std::stoull(fields[0].substr(8, comma - 8));
      const auto shape = RedissonShape(insertions, std::stod(fields[0].substr(comma + 1)));
      ASSERT_TRUE(shape.ok()) << line;
      EXPECT_EQ("size=" + std::to_string(shape->num_bits), fields[1]);
      EXPECT_EQ("hashIterations=" + std::to_string(shape->num_probes), fields[2]);
      ++num_sizes;
    } else if (fields.size() == 5 && fields[0] != "hex") {
      const std::string key = FromHex(fields[0]);
      EXPECT_EQ(HashRedissonKey(key).first, std::stoull(fields[1], nullptr, 16)) << line;
      EXPECT_EQ(HashRedissonKey(key).second, std::stoull(fields[2], nullptr, 16)) << line;
      EXPECT_THAT(OffsetsOf(small, key), ElementsAreArray(Numbers(fields[3])));
      EXPECT_THAT(OffsetsOf(large, key), ElementsAreArray(Numbers(fields[4])));
      ++num_keys;
    } else if (line.find("redis string bytes=") != std::string::npos) {
      const std::string bytes = line.substr(line.find("bytes=") + 6);
      EXPECT_EQ(ToHex(StringOf(small, NumberedKeys("key", 100))), bytes.substr(0, bytes.find(' ')));
    }
  }
  EXPECT_EQ(num_sizes, 5);
  EXPECT_EQ(num_keys, 12);
}

TEST(RedisBitmap, EveryRuleReadsAStringBackAndKeepsItsRate) {
  for (const RedisBitmapShape& shape :
       {*GoZeroShape(10000, 0.01), *JedisShape(10000, 0.01), *RedissonShape(10000, 0.01)}) {
    SCOPED_TRACE(std::string(RedisBitmapRuleName(shape.rule)));
    RedisBitmap bitmap = *RedisBitmap::Create(shape);
    for (const std::string& key : NumberedKeys("key", 10000)) bitmap.Add(key);
    const auto again = RedisBitmap::FromString(shape, bitmap.ToString());
    ASSERT_TRUE(again.ok());
    const auto saved = RedisBitmap::Deserialize(bitmap.Serialize());
    ASSERT_TRUE(saved.ok()) << saved.status();
    EXPECT_EQ(saved->shape(), shape);
    for (const std::string& key : NumberedKeys("key", 10000)) {
      ASSERT_TRUE(again->Contains(key) && saved->Contains(key));
    }
    int maybe = 0;
    for (const std::string& key : NumberedKeys("absent", 100000)) maybe += again->Contains(key);
    EXPECT_NEAR(maybe / 100000.0, 0.0115, 0.004);
    EXPECT_NEAR(static_cast<double>(bitmap.ApproximateCount()), 10000, 300);
  }
}

// Redisson's positions are correlated: up to twice as many false positives as the textbook says, by
// what divides the number of bits.
TEST(RedisBitmap, TellsTheRateThatIsMet) {
  constexpr int kKeys = 50'000;
  constexpr int kAbsentKeys = 500'000;
  std::vector<RedisBitmapShape> shapes = {*JedisShape(kKeys, 0.01), *GoZeroShape(kKeys, 0.01),
                                          *RedissonShape(kKeys, 0.1), *RedissonShape(kKeys, 0.03)};
  for (const uint64_t more_bits : {0, 1, 2, 3, 7, 30}) {
    shapes.push_back({RedisBitmapRule::kRedisson, 479'640 + more_bits, 7});  // a multiple of 2520
    shapes.push_back({RedisBitmapRule::kRedisson, 604'800 + more_bits, 8});  // of 2520 as well
  }
  double highest = 0;
  for (const RedisBitmapShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << RedisBitmapRuleName(shape.rule) << ", " << shape.num_bits
                                    << " bits, " << shape.num_probes << " probes");
    RedisBitmap bitmap = *RedisBitmap::Create(shape);
    for (const std::string& key : NumberedKeys("key", kKeys)) bitmap.Add(key);
    int maybe = 0;
    for (const std::string& key : NumberedKeys("absent", kAbsentKeys)) {
      maybe += bitmap.Contains(key) ? 1 : 0;
    }
    const double expected = bitmap.ExpectedFpr() * kAbsentKeys;
    // Five standard deviations of what is counted, and 4 % for the model and for Jedis's rule.
    EXPECT_NEAR(maybe, expected, 5 * std::sqrt(expected) + 0.04 * expected);
    const double textbook = std::pow(-std::expm1(-static_cast<double>(kKeys) * shape.num_probes /
                                                 static_cast<double>(shape.num_bits)),
                                     shape.num_probes);
    highest = std::max(highest, maybe / (textbook * kAbsentKeys));
  }
  EXPECT_GT(highest, 1.5) << "the textbook's rate would do";
}

TEST(RedisBitmap, RateOfFewBitsAndOfAllOfThem) {
  for (const uint64_t num_bits : {uint64_t{1}, uint64_t{8}, uint64_t{4'294'967'294}}) {
    for (const int num_probes : {1, 4, 255}) {
      const RedisBitmapShape shape = {RedisBitmapRule::kRedisson, num_bits, num_probes};
      EXPECT_EQ(RedisBitmapFpr(shape, 0), 0);
      EXPECT_EQ(RedisBitmapFpr(shape, num_bits), 1);
      EXPECT_EQ(RedisBitmapFpr(shape, num_bits + 1), 1);
      EXPECT_LE(RedisBitmapFpr(shape, num_bits - 1), 1);
    }
  }
}

TEST(RedisBitmap, RefusesWhatTheOthersRefuseOrPanicAt) {
  EXPECT_THAT(GoZeroShape(0).status().message(), HasSubstr("not 0"));
  EXPECT_TRUE(GoZeroShape(kMaxRedisBits).ok());
  EXPECT_FALSE(GoZeroShape(kMaxRedisBits + 1).ok());
  EXPECT_EQ(GoZeroShape(100, 0.01)->num_bits, 958u);
  EXPECT_EQ(GoZeroShape(100, 0.01)->num_probes, 7);
  for (const double rate : {-0.1, 0.0, 1.0, 1.5, std::nan("")}) {
    EXPECT_FALSE(RedissonShape(100, rate).ok()) << rate;
  }
  EXPECT_FALSE(RedissonShape(1, 0.9).ok());  // no bits
  EXPECT_FALSE(RedissonShape(0, 0.01).ok());
  EXPECT_FALSE(RedissonShape(1'000'000'000, 0.01).ok());  // more than 4294967294
  EXPECT_TRUE(absl::IsDataLoss(RedisBitmap::FromString(*GoZeroShape(64), "nine byte").status()));
  // Bit 13 of 13, which no key has.
  EXPECT_TRUE(RedisBitmap::FromString(*GoZeroShape(13), "\x01\x08").ok());
  EXPECT_TRUE(absl::IsDataLoss(RedisBitmap::FromString(*GoZeroShape(13), "\x01\x04").status()));
}

TEST(RedisBitmap, UnionHasTheKeysOfBoth) {
  RedisBitmap one = *RedisBitmap::Create(*RedissonShape(100, 0.01));
  RedisBitmap other = *RedisBitmap::Create(*RedissonShape(100, 0.01));
  one.Add("apple");
  other.Add("plum");
  ASSERT_TRUE(one.Union(other).ok());
  EXPECT_TRUE(one.Contains("apple") && one.Contains("plum"));
  EXPECT_FALSE(one.Union(one).ok());
  EXPECT_FALSE(one.Union(*RedisBitmap::Create(*JedisShape(100, 0.01))).ok());
}

}  // namespace
}  // namespace winnow::filter
