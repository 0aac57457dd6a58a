// Any bytes as a saved application filter, as Guava's and as Hadoop's: once as they are, and once
// with their checksums made right, so that what lies behind the checksums is reached too. What is
// accepted must work inside its memory, and be saved and read again.

#include <cstring>
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "winnow/filter/blocked_bloom_filter.h"
#include "winnow/filter/bloom_filter.h"
#include "winnow/filter/counting_bloom_filter.h"
#include "winnow/filter/cuckoo_filter.h"
#include "winnow/filter/guava_bloom_filter.h"
#include "winnow/filter/hadoop_counting_bloom_filter.h"
#include "winnow/filter/redis_bitmap.h"
#include "winnow/filter/redisbloom_filter.h"
#include "winnow/filter/saved_filter.h"
#include "winnow/filter/scalable_bloom_filter.h"

namespace {

using winnow::fuzz::Require;

constexpr size_t kHeaderBytes = 128;  // see filter/dynamic/FORMAT.md
constexpr size_t kChecksumAt = 8;
constexpr size_t kCoveredFrom = 16;
constexpr size_t kKindAt = 17;
constexpr size_t kLengthAt = 24;

void Store64(std::string* bytes, size_t offset, uint64_t value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

std::string Reseal(std::string bytes) {
  if (bytes.size() < kHeaderBytes) return bytes;
  // A scalable filter's layers carry checksums of their own: the first one's is made right.
  const bool has_layers =
      bytes[kKindAt] == static_cast<char>(winnow::filter::SavedFilterKind::kScalableBloom);
  const size_t first_layer = kHeaderBytes + sizeof(uint64_t);
  if (has_layers && bytes.size() > first_layer + kHeaderBytes) {
    uint64_t length;
    std::memcpy(&length, bytes.data() + kHeaderBytes, sizeof(length));
    if (length >= kHeaderBytes && length <= bytes.size() - first_layer) {
      const std::string layer = Reseal(bytes.substr(first_layer, length));
      bytes.replace(first_layer, length, layer);
    }
  }
  std::memcpy(bytes.data(), "WNWSAVED", 8);
  Store64(&bytes, kLengthAt, bytes.size());
  Store64(&bytes, kChecksumAt,
          winnow::filter::HashKey(std::string_view(bytes).substr(kCoveredFrom), 0));
  return bytes;
}

// Whatever an operation answers, it must stay inside the filter's memory.
template <typename Filter>
void UseSaved(std::string_view bytes) {
  absl::StatusOr<Filter> filter = Filter::Deserialize(bytes);
  if (!filter.ok()) {
    Require(!filter.status().message().empty(), "a refusal has a reason");
    return;
  }
  Require(filter->memory_bytes() <= 2 * bytes.size() + 64, "no more memory than the bytes pay for");
  for (int i = 0; i < 50; ++i) {
    const std::string key = "key" + std::to_string(i);
    const auto added = filter->Add(key);
    if constexpr (std::is_same_v<std::decay_t<decltype(added)>, absl::Status>) {
      Require(!added.ok() || filter->Contains(key), "what was added is there");
    } else {
      Require(filter->Contains(key), "what was added is there");
    }
  }
  filter->ApproximateCount();
  filter->ExpectedFpr();
  const std::string saved = filter->Serialize();
  const absl::StatusOr<Filter> again = Filter::Deserialize(saved);
  Require(again.ok() && again->Serialize() == saved, "what was saved is read again");
}

// CountingBloomFilter's Add gives nothing back.
void UseCounting(std::string_view bytes) {
  auto filter = winnow::filter::CountingBloomFilter::Deserialize(bytes);
  if (!filter.ok()) return;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "key" + std::to_string(i);
    filter->Add(key);
    Require(filter->Contains(key), "what was added is there");
    filter->Remove(key);
  }
  const std::string saved = filter->Serialize();
  Require(winnow::filter::CountingBloomFilter::Deserialize(saved)->Serialize() == saved,
          "what was saved is read again");
}

// RedisBloom's may be full, or grow to any size that its head names: it is asked only, and must
// give the chunks back that it was made of.
template <typename Filter>
void UseRedisBloom(std::string_view bytes) {
  const absl::StatusOr<Filter> filter = Filter::Deserialize(bytes);
  if (!filter.ok()) return;
  Require(filter->memory_bytes() <= bytes.size(), "no more memory than the bytes pay for");
  filter->Contains("key");
  filter->ExpectedFpr();
  const absl::StatusOr<Filter> again = Filter::Load(filter->Dump());
  Require(again.ok() && again->Serialize() == filter->Serialize(),
          "what was dumped is loaded again");
}

// What SCANDUMP gives: a byte says how long the head is, the array behind it is cut in two.
template <typename Filter>
void UseRedisBloomDump(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string_view head = bytes.substr(1, static_cast<uint8_t>(bytes[0]));
  const std::string_view array = bytes.substr(1 + head.size());
  std::vector<winnow::filter::RedisBloomChunk> chunks = {{1, std::string(head)}};
  const size_t half = array.size() / 2;
  if (half > 0) chunks.push_back({half + 1, std::string(array.substr(0, half))});
  chunks.push_back({array.size() + 1, std::string(array.substr(half))});
  const absl::StatusOr<Filter> filter = Filter::Load(chunks);
  if (!filter.ok()) return;
  Require(filter->memory_bytes() <= bytes.size(), "no more memory than the bytes pay for");
  filter->Contains("key");
  Require(filter->Dump()[0].data == head, "the head is written as it was read");
}

template <typename Filter>
std::string DumpSeed(const Filter& filter) {
  std::string seed;
  for (const winnow::filter::RedisBloomChunk& chunk : filter.Dump()) {
    if (seed.empty()) seed.push_back(static_cast<char>(chunk.data.size()));
    seed += chunk.data;
  }
  return seed;
}

void Read(std::string_view bytes) {
  UseRedisBloomDump<winnow::filter::RedisBloomFilter>(bytes);
  UseRedisBloomDump<winnow::filter::RedisBloomCuckooFilter>(bytes);
  UseSaved<winnow::filter::RedisBitmap>(bytes);
  UseRedisBloom<winnow::filter::RedisBloomFilter>(bytes);
  UseRedisBloom<winnow::filter::RedisBloomCuckooFilter>(bytes);
  UseSaved<winnow::filter::BloomFilter>(bytes);
  UseSaved<winnow::filter::BlockedBloomFilter>(bytes);
  UseCounting(bytes);
  UseSaved<winnow::filter::ScalableBloomFilter>(bytes);
  UseSaved<winnow::filter::CuckooFilter>(bytes);
  UseSaved<winnow::filter::GuavaBloomFilter>(bytes);
  auto guava = winnow::filter::GuavaBloomFilter::ReadFrom(bytes);
  if (guava.ok()) {
    guava->Add("key");
    Require(guava->Contains("key"), "what was added is there");
    Require(guava->WriteTo().size() <= bytes.size(), "no more than was read is written");
  }
  auto hadoop = winnow::filter::HadoopCountingBloomFilter::ReadFrom(bytes);
  if (hadoop.ok()) {
    Require(hadoop->Add("key").ok() && hadoop->Contains("key"), "what was added is there");
    Require(hadoop->Remove("key").ok(), "what is there can be removed");
  }
}

template <typename Filter>
std::string SeedOf(Filter filter, int keys) {
  for (int i = 0; i < keys; ++i) {
    static_cast<void>(filter.Add("seed" + std::to_string(i)));
  }
  return filter.Serialize();
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  using namespace winnow::filter;  // NOLINT(google-build-using-namespace)
  std::vector<std::string> seeds;
  for (const int keys : {0, 5, 60}) {
    seeds.push_back(SeedOf(*BloomFilter::Create(20, 0.01), keys));
    seeds.push_back(SeedOf(*BlockedBloomFilter::Create(20, 0.01), keys));
    seeds.push_back(SeedOf(*CountingBloomFilter::Create(20, 0.01), keys));
    seeds.push_back(SeedOf(*ScalableBloomFilter::Create(20, 0.01), keys));
    seeds.push_back(SeedOf(*CuckooFilter::Create(20, 0.01), keys));
    seeds.push_back(SeedOf(*GuavaBloomFilter::Create(20, 0.01), keys));
    GuavaBloomFilter guava = *GuavaBloomFilter::Create(20, 0.03, GuavaStrategy::kMurmur128Mitz32);
    guava.Add("seed");
    seeds.push_back(guava.WriteTo());
    for (const RedisBitmapShape& shape :
         {*GoZeroShape(100, 0.01), *JedisShape(100, 0.01), *RedissonShape(100, 0.01)}) {
      seeds.push_back(RedisBitmap::Create(shape)->Serialize());
    }
    RedisBloomFilter bloom = *RedisBloomFilter::Create({0.01, 2, 2});
    RedisBloomCuckooFilter redis_cuckoo = *RedisBloomCuckooFilter::Create({.capacity = 4});
    for (const char* key : {"apple", "plum", "pear"}) {
      Require(bloom.Add(key).ok() && redis_cuckoo.Add(key).ok(), "a key is added");
    }
    seeds.push_back(bloom.Serialize());
    seeds.push_back(redis_cuckoo.Serialize());
    seeds.push_back(DumpSeed(bloom));
    seeds.push_back(DumpSeed(redis_cuckoo));
    seeds.push_back(HadoopCountingBloomFilter::Create(100, 3, HadoopHash::kMurmur)->WriteTo());
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  Read(input);
  Read(Reseal(input));
  return 0;
}
