// RedisBloom's two kinds against dumps of the real module, and as filters.

#include "winnow/filter/redisbloom_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/filter/dynamic/golden_data.h"

namespace winnow::filter {
namespace {

using ::testing::HasSubstr;

using Dumps = std::map<std::string, std::vector<RedisBloomChunk>>;

Dumps GoldenDumps() {
  Dumps dumps;
  for (const std::string& line : GoldenLines("redisbloom/scandump.tsv")) {
    const std::vector<std::string> fields = Split(line, '\t');  // name, iter=, len=, hex
    const std::string data = FromHex(fields[3]);
    EXPECT_EQ("len=" + std::to_string(data.size()), fields[2]);
    dumps[fields[0]].push_back({std::stoull(fields[1].substr(5)), data});
  }
  return dumps;
}

std::string ChunkText(const std::vector<RedisBloomChunk>& chunks) {
  std::string text;
  for (const RedisBloomChunk& chunk : chunks) {
    text += std::to_string(chunk.iterator) + " " + ToHex(chunk.data) + "\n";
  }
  return text;
}

std::vector<std::string> KeysUpTo(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back("key" + std::to_string(i));
  return keys;
}

void ExpectBloom(const std::vector<RedisBloomChunk>& golden, const RedisBloomOptions& options,
                 const std::vector<std::string>& keys) {
  auto filter = RedisBloomFilter::Create(options);
  ASSERT_TRUE(filter.ok()) << filter.status();
  for (const std::string& key : keys) ASSERT_TRUE(filter->Add(key).ok());
  EXPECT_EQ(ChunkText(filter->Dump()), ChunkText(golden));
  const auto loaded = RedisBloomFilter::Load(golden);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(ChunkText(loaded->Dump()), ChunkText(golden));
  for (const std::string& key : keys) EXPECT_TRUE(loaded->Contains(key)) << key;
  const auto saved = RedisBloomFilter::Deserialize(loaded->Serialize());
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(ChunkText(saved->Dump()), ChunkText(golden));
}

TEST(RedisBloomFilter, MakesAndReadsTheModulesDumps) {
  Dumps dumps = GoldenDumps();
  ASSERT_EQ(dumps.size(), 6u);
  ExpectBloom(dumps["default(0.01,100,x2) key0..key99"], {}, KeysUpTo(100));
  ExpectBloom(dumps["reserve 0.01 100 NONSCALING key0.."], {0.01, 100, 0}, KeysUpTo(100));
  ExpectBloom(dumps["reserve 0.03 16: '',a,手机号,hello,x*40"], {0.03, 16, 2},
              {"", "a", "手机号", "hello", std::string(40, 'x')});
  ExpectBloom(dumps["reserve 0.01 10 (scaled) key0..key99"], {0.01, 10, 2}, KeysUpTo(100));
}

void ExpectCuckoo(const std::vector<RedisBloomChunk>& golden, const RedisBloomCuckooFilter& made,
                  const std::vector<std::string>& keys) {
  EXPECT_EQ(ChunkText(made.Dump()), ChunkText(golden));
  const auto loaded = RedisBloomCuckooFilter::Load(golden);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(ChunkText(loaded->Dump()), ChunkText(golden));
  for (const std::string& key : keys) EXPECT_TRUE(loaded->Contains(key)) << key;
  const auto saved = RedisBloomCuckooFilter::Deserialize(loaded->Serialize());
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(ChunkText(saved->Dump()), ChunkText(golden));
}

TEST(RedisBloomCuckooFilter, MakesAndReadsTheModulesDumps) {
  Dumps dumps = GoldenDumps();
  RedisBloomCuckooFilter small = *RedisBloomCuckooFilter::Create({.capacity = 64});
  for (const std::string& key : KeysUpTo(5)) ASSERT_TRUE(small.Add(key).ok());
  ASSERT_TRUE(small.Add("key1").ok());
  EXPECT_EQ(small.Count("key1"), 2u);
  EXPECT_TRUE(small.Remove("key1"));
  EXPECT_EQ(small.Count("key1"), 1u);
  EXPECT_FALSE(small.Remove("never"));
  ExpectCuckoo(dumps["CF reserve 64: key0..key4, +key1 -key1"], small, KeysUpTo(5));
  RedisBloomCuckooFilter wide = *RedisBloomCuckooFilter::Create({.capacity = 64, .bucket_size = 4});
  for (const std::string& key : KeysUpTo(50)) ASSERT_TRUE(wide.Add(key).ok());
  ExpectCuckoo(dumps["CF reserve 64 BUCKETSIZE 4: key0..key49"], wide, KeysUpTo(50));
}

TEST(RedisBloomFilter, GrowsAndKeepsItsRate) {
  RedisBloomFilter filter = *RedisBloomFilter::Create({});
  for (const std::string& key : KeysUpTo(10000)) ASSERT_TRUE(filter.Add(key).ok());
  for (const std::string& key : KeysUpTo(10000)) ASSERT_TRUE(filter.Contains(key));
  EXPECT_EQ(filter.num_layers(), 7u);
  int maybe = 0;
  for (int i = 0; i < 100000; ++i) maybe += filter.Contains("q" + std::to_string(i));
  EXPECT_LT(maybe / 100000.0, 0.01);
  EXPECT_NEAR(filter.ExpectedFpr(), maybe / 100000.0, 0.002);
}

TEST(RedisBloomFilter, ThatDoesNotScaleRefusesWhenItIsFull) {
  RedisBloomFilter filter = *RedisBloomFilter::Create({0.01, 3, 0});
  for (const std::string& key : KeysUpTo(3)) ASSERT_TRUE(*filter.Add(key));
  EXPECT_TRUE(absl::IsResourceExhausted(filter.Add("one more").status()));
  EXPECT_FALSE(*filter.Add("key0"));  // there already
}

TEST(RedisBloomCuckooFilter, GrowsAndGivesTablesBackWhenItIsEmptied) {
  for (const uint16_t expansion : {1, 2, 3}) {
    RedisBloomCuckooFilter filter =
        *RedisBloomCuckooFilter::Create({.capacity = 64, .expansion = expansion});
    for (const std::string& key : KeysUpTo(1000)) ASSERT_TRUE(filter.Add(key).ok()) << key;
    const uint64_t most = filter.num_tables();
    EXPECT_GT(most, 1u);
    for (int i = 0; i < 950; ++i) {
      ASSERT_TRUE(filter.Remove("key" + std::to_string(i)));
      // Whatever was moved, the others are still there.
      for (int j = i + 1; j < 1000; j += 37) {
        ASSERT_TRUE(filter.Contains("key" + std::to_string(j)));
      }
    }
    EXPECT_LT(filter.num_tables(), most);
    EXPECT_EQ(filter.ApproximateCount(), 50u);
  }
}

TEST(RedisBloomCuckooFilter, ThatMayNotGrowRefusesAndLosesNothing) {
  RedisBloomCuckooFilter filter =
      *RedisBloomCuckooFilter::Create({.capacity = 256, .bucket_size = 2, .expansion = 0});
  std::vector<std::string> added;
  for (const std::string& key : KeysUpTo(400)) {
    if (filter.Add(key).ok()) added.push_back(key);
  }
  EXPECT_GT(added.size(), 180u);
  EXPECT_LE(added.size(), 256u);
  for (const std::string& key : added) EXPECT_TRUE(filter.Contains(key)) << key;
}

TEST(RedisBloomFilter, RefusesDumpsThatContradictThemselves) {
  Dumps dumps = GoldenDumps();
  const std::vector<RedisBloomChunk> good = dumps["reserve 0.01 10 (scaled) key0..key99"];
  const auto reason = [](const std::vector<RedisBloomChunk>& chunks) {
    const absl::Status status = RedisBloomFilter::Load(chunks).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(reason({}), HasSubstr("head is missing"));
  std::vector<RedisBloomChunk> chunks(good.begin(), good.end() - 1);
  EXPECT_THAT(reason(chunks), HasSubstr("cut off"));
  chunks = good;
  chunks.erase(chunks.begin() + 2);
  EXPECT_THAT(reason(chunks), HasSubstr("a chunk is missing"));
  for (size_t i = 0; i < good[0].data.size(); ++i) {
    chunks = good;
    chunks[0].data[i] = static_cast<char>(chunks[0].data[i] ^ 0xff);
    const auto loaded = RedisBloomFilter::Load(chunks);
    if (loaded.ok()) {
      EXPECT_LT(loaded->memory_bytes(), 1000u);
    }
  }
  // Of what would make a layer for every further key: growth 0, and a capacity of 0.
  const size_t last_capacity = good[0].data.size() - 9;
  for (const auto& [offset, length] : {std::pair<size_t, size_t>{16, 4}, {last_capacity, 8}}) {
    chunks = good;
    chunks[0].data.replace(offset, length, length, '\0');
    EXPECT_THAT(reason(chunks), HasSubstr(length == 4 ? "growth 0" : "capacity 0"));
  }
  // Nor may a capacity wrap around to 0 when it grows: 2^63 items of as many.
  chunks = dumps["default(0.01,100,x2) key0..key99"];
  for (const size_t offset : {size_t{0}, size_t{36}, size_t{64}}) {
    chunks[0].data.replace(offset, 8, std::string(7, '\0') + '\x80');
  }
  absl::StatusOr<RedisBloomFilter> full = RedisBloomFilter::Load(chunks);
  ASSERT_TRUE(full.ok()) << full.status();
  EXPECT_TRUE(absl::IsResourceExhausted(full->Add("one more").status()));
  // A head that announces terabytes takes none.
  chunks = dumps["CF reserve 64: key0..key4, +key1 -key1"];
  chunks[0].data[11] = 0x20;  // 2^29 buckets more
  EXPECT_FALSE(RedisBloomCuckooFilter::Load(chunks).ok());
}

// Removing as many as are there would otherwise count below zero.
TEST(RedisBloomCuckooFilter, ItemsAreCountedAndNotBelieved) {
  Dumps dumps = GoldenDumps();
  std::vector<RedisBloomChunk> chunks = dumps["CF reserve 64 BUCKETSIZE 4: key0..key49"];
  ASSERT_TRUE(RedisBloomCuckooFilter::Load(chunks).ok());
  --chunks[0].data[0];
  const absl::Status status = RedisBloomCuckooFilter::Load(chunks).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("49 items, but its tables have 50"));
}

TEST(RedisBloomFilter, RefusesOptionsOutsideTheirRanges) {
  EXPECT_FALSE(RedisBloomFilter::Create({0, 100, 2}).ok());
  EXPECT_FALSE(RedisBloomFilter::Create({1, 100, 2}).ok());
  EXPECT_FALSE(RedisBloomFilter::Create({0.01, 0, 2}).ok());
  EXPECT_FALSE(RedisBloomFilter::Create({0.01, (1u << 30) + 1, 2}).ok());
  EXPECT_FALSE(RedisBloomFilter::Create({0.01, 100, 40000}).ok());
  EXPECT_EQ(RedisBloomFilter::Create({0.9999, 1, 2})->memory_bytes(), 8u);
  EXPECT_FALSE(RedisBloomCuckooFilter::Create({.capacity = 3}).ok());
  EXPECT_FALSE(RedisBloomCuckooFilter::Create({.bucket_size = 0}).ok());
  EXPECT_FALSE(RedisBloomCuckooFilter::Create({.bucket_size = 256}).ok());
  EXPECT_FALSE(RedisBloomCuckooFilter::Create({.max_iterations = 0}).ok());
}

}  // namespace
}  // namespace winnow::filter
