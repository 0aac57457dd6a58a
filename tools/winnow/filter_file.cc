#include "tools/winnow/filter_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "tools/winnow/input_file.h"
#include "winnow/filter/saved_filter.h"

namespace winnow::cli {
namespace {

constexpr std::string_view kBlockMagic = "WNWFILTR";

absl::StatusOr<AnyFilter> ReadSaved(std::string_view bytes) {
  WINNOW_ASSIGN_OR_RETURN(const filter::SavedFilterKind kind, filter::KindOfSavedFilter(bytes));
  switch (kind) {
    case filter::SavedFilterKind::kBloom:
      return filter::BloomFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kBlockedBloom:
      return filter::BlockedBloomFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kCountingBloom:
      return filter::CountingBloomFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kScalableBloom:
      return filter::ScalableBloomFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kCuckoo:
      return filter::CuckooFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kGuavaBloom:
      return filter::GuavaBloomFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kRedisBitmap:
      return filter::RedisBitmap::Deserialize(bytes);
    case filter::SavedFilterKind::kRedisBloom:
      return filter::RedisBloomFilter::Deserialize(bytes);
    case filter::SavedFilterKind::kRedisBloomCuckoo:
      return filter::RedisBloomCuckooFilter::Deserialize(bytes);
  }
  return absl::UnimplementedError("a kind of filter that this program does not know");
}

// Guava's bytes have no mark: they count as such if the length is right.
absl::StatusOr<AnyFilter> ReadGuava(std::string_view bytes) {
  absl::StatusOr<filter::GuavaBloomFilter> guava = filter::GuavaBloomFilter::ReadFrom(bytes);
  if (!guava.ok() || bytes.size() != 6 + guava->memory_bytes()) {
    return absl::DataLossError("not a filter of Winnow, nor what Guava's writeTo makes");
  }
  return AnyFilter(*std::move(guava));
}

std::string Seed(uint64_t seed) { return absl::StrFormat("%016x", seed); }

Json Describe(const BlockFilter& block) {
  const filter::FilterInfo info = block.Describe();
  Json json = {{"kind", filter::KindName(info.kind)},
               {"keys", info.num_keys},
               {"bits_per_key", info.bits_per_key}};
  if (!info.layout.empty()) json["layout"] = info.layout;
  if (info.probes != 0) json["probes"] = info.probes;
  if (info.fingerprint_bits != 0) json["fingerprint_bits"] = info.fingerprint_bits;
  json["fill"] = info.fill;
  json["expected_fpr"] = info.expected_fpr;
  json["shards"] = info.num_shards;
  json["units"] = info.num_units;
  json["hash_seed"] = Seed(info.hash_seed);
  return json;
}

// What all application filters know.
template <typename Filter>
Json DescribeCommon(std::string_view kind, const Filter& filter) {
  return Json{{"kind", kind},
              {"keys_estimated", filter.ApproximateCount()},
              {"memory_bytes", filter.memory_bytes()},
              {"expected_fpr", filter.ExpectedFpr()}};
}

template <typename Filter>
void AddPromise(const Filter& filter, Json* json) {
  (*json)["capacity"] = filter.capacity();
  (*json)["promised_fpr"] = filter.fpr();
  (*json)["hash_seed"] = Seed(filter.hash_seed());
}

Json Describe(const filter::BloomFilter& bloom) {
  Json json = DescribeCommon("bloom", bloom);
  json["bits"] = bloom.num_bits();
  json["probes"] = bloom.num_probes();
  AddPromise(bloom, &json);
  return json;
}

Json Describe(const filter::BlockedBloomFilter& bloom) {
  Json json = DescribeCommon("blocked_bloom", bloom);
  json["blocks"] = bloom.num_blocks();
  json["probes"] = bloom.num_probes();
  AddPromise(bloom, &json);
  return json;
}

Json Describe(const filter::CountingBloomFilter& bloom) {
  Json json = DescribeCommon("counting_bloom", bloom);
  json["counters"] = bloom.num_counters();
  json["probes"] = bloom.num_probes();
  json["supports_remove"] = bloom.supports_remove();
  AddPromise(bloom, &json);
  return json;
}

Json Describe(const filter::ScalableBloomFilter& bloom) {
  Json json = DescribeCommon("scalable_bloom", bloom);
  json["layers"] = bloom.num_layers();
  json["first_capacity"] = bloom.options().first_capacity;
  json["promised_fpr"] = bloom.options().fpr;
  json["growth"] = bloom.options().growth;
  json["tightening"] = bloom.options().tightening;
  json["hash_seed"] = Seed(bloom.hash_seed());
  return json;
}

Json Describe(const filter::CuckooFilter& cuckoo) {
  Json json = DescribeCommon("cuckoo", cuckoo);
  json["buckets"] = cuckoo.num_buckets();
  json["fingerprint_bits"] = cuckoo.fingerprint_bits();
  json["load"] = cuckoo.load();
  AddPromise(cuckoo, &json);
  return json;
}

Json Describe(const filter::GuavaBloomFilter& guava) {
  Json json = DescribeCommon("bloom", guava);
  json["bits"] = guava.num_bits();
  json["probes"] = guava.num_probes();
  json["strategy"] = filter::GuavaStrategyName(guava.strategy());
  return json;
}

Json Describe(const filter::RedisBitmap& bitmap) {
  Json json = DescribeCommon("redis_bitmap", bitmap);
  json["layout"] = filter::RedisBitmapRuleName(bitmap.shape().rule);
  json["bits"] = bitmap.num_bits();
  json["probes"] = bitmap.num_probes();
  return json;
}

Json Describe(const filter::RedisBloomFilter& bloom) {
  Json json = DescribeCommon("redisbloom", bloom);
  json["layers"] = bloom.num_layers();
  json["capacity"] = bloom.capacity();
  json["expansion"] = bloom.expansion();
  return json;
}

Json Describe(const filter::RedisBloomCuckooFilter& cuckoo) {
  Json json = DescribeCommon("redisbloom_cuckoo", cuckoo);
  json["tables"] = cuckoo.num_tables();
  json["buckets"] = cuckoo.num_buckets();
  json["bucket_size"] = cuckoo.bucket_size();
  return json;
}

constexpr uint64_t kFirstBytes = 64;
constexpr uint64_t kNoLimit = ~uint64_t{0};

// How many bytes to read at most, told from the first ones, before any number of others is read:
// what was named by mistake may be larger than memory, or a device that never ends.
absl::StatusOr<uint64_t> MostBytes(std::string_view first, const InputFile& input) {
  if (first.substr(0, kBlockMagic.size()) == kBlockMagic || filter::LooksLikeSavedFilter(first)) {
    return kNoLimit;
  }
  // Guava's has no mark, but begins with strategy, number of probes, and the number of 64-bit words
  // that gives its size.
  const bool may_be_guava =
      first.size() >= 6 && static_cast<uint8_t>(first[0]) <= 1 && first[1] != 0;
  uint64_t words = 0;
  for (size_t i = 2; may_be_guava && i < 6; i++)
    words = words << 8 | static_cast<uint8_t>(first[i]);
  const uint64_t bytes = 6 + 8 * words;
  // The size of a pipe is not known.
  if (may_be_guava && (input.size_bytes() == 0 || input.size_bytes() == bytes)) {
    return bytes + 1;  // which shows that there is more
  }
  return absl::DataLossError(
      absl::StrCat(input.name(), ": not a filter of Winnow, nor what Guava's writeTo makes"));
}

absl::StatusOr<std::string> ReadBytes(const InputFile& input) {
  std::string bytes;
  WINNOW_RETURN_IF_ERROR(input.Append(kFirstBytes, &bytes));
  WINNOW_ASSIGN_OR_RETURN(const uint64_t most, MostBytes(bytes, input));
  WINNOW_RETURN_IF_ERROR(input.Append(most, &bytes));
  return bytes;
}

absl::StatusOr<FilterFile> ReadFilter(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const InputFile input, InputFile::Open(path));
  WINNOW_ASSIGN_OR_RETURN(std::string bytes, ReadBytes(input));
  const uint64_t num_bytes = bytes.size();
  std::string_view format = "guava";
  absl::StatusOr<AnyFilter> filter = absl::UnknownError("");
  if (std::string_view(bytes).substr(0, kBlockMagic.size()) == kBlockMagic) {
    format = "winnow filter block";
    filter = BlockFilter::Open(std::move(bytes));
  } else if (filter::LooksLikeSavedFilter(bytes)) {
    format = "winnow saved filter";
    filter = ReadSaved(bytes);
  } else {
    filter = ReadGuava(bytes);
  }
  if (!filter.ok()) return WithContext(filter.status(), path);
  return FilterFile{*std::move(filter), format, num_bytes};
}

}  // namespace

absl::StatusOr<BlockFilter> BlockFilter::Open(std::string bytes) {
  auto owned = std::make_unique<const std::string>(std::move(bytes));
  filter::FilterState state;
  const filter::FilterReader reader = filter::FilterReader::Open(*owned, &state);
  if (state.code == filter::FilterStateCode::kDamaged) return absl::DataLossError(state.reason);
  if (state.code != filter::FilterStateCode::kOk) return absl::UnimplementedError(state.reason);
  return BlockFilter(std::move(owned), reader);
}

// A file with a genuine header may still be larger than memory.
absl::StatusOr<FilterFile> ReadFilterFile(const std::string& path) {
  absl::StatusOr<FilterFile> file = CatchOutOfMemory([&] { return ReadFilter(path); });
  return file.status() == OutOfMemory() ? WithContext(file.status(), path) : std::move(file);
}

Json DescribeFilter(const FilterFile& file) {
  Json json = {{"format", file.format}, {"file_bytes", file.num_bytes}};
  json.update(std::visit([](const auto& filter) { return Describe(filter); }, file.filter));
  return json;
}

}  // namespace winnow::cli
