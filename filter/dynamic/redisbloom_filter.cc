// BF.* of RedisBloom: layers of plain Bloom filters, of which each has `growth` times the capacity
// and half the error rate of the one before. With the first one made for half of the wanted rate,
// the rates of all layers sum up to less than it (Almeida et al., "Scalable Bloom Filters", 2007).
//
// Sizes repeat the module's arithmetic in double, digit by digit: a dump is accepted by either side
// only if the numbers that it states follow from each other.

#include "winnow/filter/redisbloom_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "filter/base/out_of_memory.h"
#include "filter/dynamic/allocate_bytes.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/redisbloom_chunks.h"
#include "filter/dynamic/saved_format.h"

namespace winnow::filter {
namespace {

// The digits that RedisBloom has, which decide where a number of bits or probes is rounded.
constexpr double kRedisBloomLn2 = 0.693147180559945;
constexpr double kRedisBloomLn2Squared = 0.480453013918201;

// Bits of the head's options: sizes are not rounded to powers of two, positions have 64 bits.
constexpr uint32_t kNoRound = 1;
constexpr uint32_t kForce64 = 4;
constexpr uint32_t kNoScaling = 8;
constexpr uint32_t kKnownOptions = 15;

// See FORMAT.md, kind 8: 8 + 4 + 4 + 4, and 8 + 8 + 8 + 8 + 8 + 4 + 8 + 1 for each layer.
constexpr uint64_t kHeadBytes = 20;
constexpr uint64_t kLayerBytes = 53;
// A higher rate is not refused but lowered to this, silently, as the module does.
constexpr double kMaxErrorRate = 0.25;
constexpr double kTightening = 0.5;
constexpr uint32_t kMaxExpansion = 32768;
constexpr uint32_t kMaxLayerProbes = 2000;  // at a rate of 1e-600, below any double

double BitsPerEntry(double error_rate) { return -(std::log(error_rate) / kRedisBloomLn2Squared); }
double ProbesFor(double bits_per_entry) { return std::ceil(kRedisBloomLn2 * bits_per_entry); }

absl::Status CheckOptions(const RedisBloomOptions& options) {
  if (!(options.error_rate > 0 && options.error_rate < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "RedisBloomFilter: error rate must be above 0 and below 1, got ", options.error_rate));
  }
  if (options.capacity == 0 || options.capacity > kMaxRedisBloomCapacity) {
    return absl::InvalidArgumentError(absl::StrCat("RedisBloomFilter: capacity must be 1 to ",
                                                   kMaxRedisBloomCapacity, ", got ",
                                                   options.capacity));
  }
  if (options.expansion > kMaxExpansion) {
    return absl::InvalidArgumentError(absl::StrCat("RedisBloomFilter: expansion must be 0 to ",
                                                   kMaxExpansion, ", got ", options.expansion));
  }
  return absl::OkStatus();
}

}  // namespace

bool RedisBloomFilter::is_scaling() const { return (options_ & kNoScaling) == 0; }

absl::StatusOr<RedisBloomFilter::Layer> RedisBloomFilter::MakeLayer(uint64_t capacity,
                                                                    double error_rate) {
  Layer layer;
  layer.capacity = capacity;
  layer.error_rate = error_rate;
  layer.bits_per_entry = BitsPerEntry(error_rate);
  const double bits = static_cast<double>(capacity) * layer.bits_per_entry;
  // Written so that NaN and infinity, of a rate that has been halved down to zero, end here as
  // well.
  if (!(bits < static_cast<double>(internal::kMaxFilterBytes) * 8)) {
    return internal::OutOfMemory(capacity, 1);
  }
  layer.num_probes = static_cast<uint32_t>(ProbesFor(layer.bits_per_entry));
  // Rounded up to words of 64 bits, and positions are taken modulo the rounded number.
  const uint64_t num_words = (std::max<uint64_t>(1, static_cast<uint64_t>(bits)) + 63) / 64;
  absl::StatusOr<std::string> allocated = internal::AllocateBytes(num_words * 8);
  if (!allocated.ok()) return allocated.status();
  layer.bits = *std::move(allocated);
  return layer;
}

absl::StatusOr<RedisBloomFilter> RedisBloomFilter::Create(const RedisBloomOptions& options) {
  const absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  const bool scales = options.expansion != 0;
  // A filter that does not scale has the growth of the module's settings, and all of the error.
  RedisBloomFilter filter(kNoRound | kForce64 | (scales ? 0 : kNoScaling),
                          scales ? options.expansion : 2);
  const double error_rate = std::min(options.error_rate, kMaxErrorRate);
  absl::StatusOr<Layer> layer =
      MakeLayer(options.capacity, scales ? error_rate * kTightening : error_rate);
  if (!layer.ok()) return layer.status();
  return CatchOutOfMemory([&]() -> absl::StatusOr<RedisBloomFilter> {
    filter.layers_.push_back(*std::move(layer));
    return std::move(filter);
  });
}

// The seed of the first hash and the first hash as the seed of the second are the module's.
RedisBloomFilter::Hash RedisBloomFilter::HashOf(std::string_view key) {
  const uint64_t first = MurmurHash64A(key, 0xc6a4a7935bd1e995);
  return {first, MurmurHash64A(key, first)};
}

// Double hashing, wrapping at 64 bits (Kirsch and Mitzenmacher 2006). Stops where `visit` gives
// false.
template <typename Visitor>
void RedisBloomFilter::ForEachBit(const Layer& layer, const Hash& hash, Visitor visit) {
  const uint64_t num_bits = layer.bits.size() * 8;
  uint64_t combined = hash.first;
  for (uint32_t i = 0; i < layer.num_probes; ++i, combined += hash.second) {
    if (!visit(combined % num_bits)) return;
  }
}

bool RedisBloomFilter::LayerContains(const Layer& layer, const Hash& hash) {
  bool all_set = true;
  ForEachBit(layer, hash, [&](uint64_t bit) {
    return all_set = (static_cast<uint8_t>(layer.bits[bit / 8]) >> (bit % 8) & 1) != 0;
  });
  return all_set;
}

bool RedisBloomFilter::Contains(std::string_view key) const {
  const Hash hash = HashOf(key);
  // The newest layer holds the most keys: a key that is there is usually found at the first
  // question. An absent one asks all layers.
  return std::any_of(layers_.rbegin(), layers_.rend(),
                     [&](const Layer& layer) { return LayerContains(layer, hash); });
}

absl::StatusOr<bool> RedisBloomFilter::Add(std::string_view key) {
  // A false positive is not stored, which is sound, as bits are never cleared; but it means that
  // BF.ADD's answer "new" is not exact.
  if (Contains(key)) return false;
  // By items, not by set bits: the module's rule, which a dump must continue.
  if (layers_.back().num_items >= layers_.back().capacity) {
    if (!is_scaling()) {
      return absl::ResourceExhaustedError("RedisBloomFilter: full, and made not to scale");
    }
    // No layer has as many keys as a filter may have bits: so the product below cannot wrap.
    const Layer& newest = layers_.back();
    if (newest.capacity > internal::kMaxFilterBytes * 8 / growth_) {
      return internal::OutOfMemory(newest.capacity, growth_);
    }
    absl::StatusOr<Layer> layer =
        MakeLayer(newest.capacity * growth_, newest.error_rate * kTightening);
    if (!layer.ok()) return layer.status();
    if (!UnlessOutOfMemory([&] { layers_.push_back(*std::move(layer)); })) return OutOfMemory();
  }
  Layer& layer = layers_.back();
  ForEachBit(layer, HashOf(key), [&](uint64_t bit) {
    layer.bits[bit / 8] = static_cast<char>(layer.bits[bit / 8] | 1 << (bit % 8));
    return true;
  });
  // The sum over the layers is what a reader of the dump compares with the total.
  ++layer.num_items;
  ++num_items_;
  return true;
}

uint64_t RedisBloomFilter::capacity() const {
  uint64_t sum = 0;
  for (const Layer& layer : layers_) sum += layer.capacity;
  return sum;
}

uint64_t RedisBloomFilter::memory_bytes() const {
  uint64_t sum = 0;
  for (const Layer& layer : layers_) sum += layer.bits.size();
  return sum;
}

double RedisBloomFilter::ExpectedFpr() const {
  // The chance that all layers refuse an absent key.
  double refused = 1;
  for (const Layer& layer : layers_) {
    uint64_t ones = 0;
    for (const char byte : layer.bits) {
      ones += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(byte)));
    }
    refused *=
        1 - internal::FprOfFill(layer.bits.size() * 8, ones, static_cast<int>(layer.num_probes));
  }
  return 1 - refused;
}

std::string RedisBloomFilter::Head() const {
  std::string head;
  internal::AppendPacked(num_items_, &head);
  internal::AppendPacked(static_cast<uint32_t>(layers_.size()), &head);
  internal::AppendPacked(options_, &head);
  internal::AppendPacked(growth_, &head);
  for (const Layer& layer : layers_) {
    internal::AppendPacked<uint64_t>(layer.bits.size(), &head);
    internal::AppendPacked<uint64_t>(layer.bits.size() * 8, &head);
    internal::AppendPacked(layer.num_items, &head);
    internal::AppendPacked(layer.error_rate, &head);
    internal::AppendPacked(layer.bits_per_entry, &head);
    internal::AppendPacked(layer.num_probes, &head);
    internal::AppendPacked(layer.capacity, &head);
    internal::AppendPacked(layer.log2_bits, &head);
  }
  return head;
}

absl::StatusOr<RedisBloomFilter> RedisBloomFilter::ParseHead(std::string_view head,
                                                             std::vector<uint64_t>* layer_bytes) {
  if (head.size() < kHeadBytes + kLayerBytes || (head.size() - kHeadBytes) % kLayerBytes != 0) {
    return internal::BadDump(absl::StrCat("a head of ", head.size(), " bytes"));
  }
  // The length is right for the fields; whether the number of layers agrees with it comes below,
  // before the first one is read.
  internal::PackedReader fields(head);
  const auto num_items = fields.Next<uint64_t>();
  const auto num_layers = fields.Next<uint32_t>();
  const auto options = fields.Next<uint32_t>();
  RedisBloomFilter filter(options, fields.Next<uint32_t>());
  filter.num_items_ = num_items;
  // Without kForce64 positions would have 32 bits: filters of years ago, whose hash is another one.
  // Without growth, or with a layer of no capacity, every further key would make a layer.
  if (num_layers != (head.size() - kHeadBytes) / kLayerBytes || options > kKnownOptions ||
      (options & kForce64) == 0 || (filter.is_scaling() && filter.growth_ == 0)) {
    return internal::BadDump(absl::StrCat(num_layers, " layers with options ", options, " in ",
                                          head.size(), " bytes, growth ", filter.growth_));
  }
  uint64_t sum_items = 0;
  for (uint32_t i = 0; i < num_layers; ++i) {
    Layer layer;
    const auto num_bytes = fields.Next<uint64_t>();
    const auto num_bits = fields.Next<uint64_t>();
    layer.num_items = fields.Next<uint64_t>();
    layer.error_rate = fields.Next<double>();
    layer.bits_per_entry = fields.Next<double>();
    layer.num_probes = fields.Next<uint32_t>();
    layer.capacity = fields.Next<uint64_t>();
    layer.log2_bits = fields.Next<uint8_t>();
    if (!(layer.error_rate > 0 && layer.error_rate < 1) || num_bytes == 0 ||
        num_bytes > internal::kMaxFilterBytes || num_bits != num_bytes * 8 ||
        layer.num_probes == 0 || layer.num_probes > kMaxLayerProbes || layer.capacity == 0 ||
        layer.log2_bits > 63 || ProbesFor(layer.bits_per_entry) != layer.num_probes) {
      return internal::BadDump(absl::StrCat("layer ", i, ": ", num_bytes, " bytes, ", num_bits,
                                            " bits, ", layer.num_probes, " probes, rate ",
                                            layer.error_rate, ", capacity ", layer.capacity));
    }
    sum_items += layer.num_items;
    layer_bytes->push_back(num_bytes);
    filter.layers_.push_back(std::move(layer));
  }
  if (sum_items != num_items) {
    return internal::BadDump(absl::StrCat(num_items, " items, but its layers have ", sum_items));
  }
  return filter;
}

std::vector<RedisBloomChunk> RedisBloomFilter::Dump() const {
  std::vector<std::string_view> arrays;
  for (const Layer& layer : layers_) arrays.emplace_back(layer.bits);
  return internal::ChunksOf(Head(), arrays);
}

absl::StatusOr<RedisBloomFilter> RedisBloomFilter::Load(std::span<const RedisBloomChunk> chunks) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RedisBloomFilter> {
    std::string bytes;
    std::vector<std::string_view> arrays;
    absl::StatusOr<RedisBloomFilter> filter =
        internal::LoadChunks(chunks, ParseHead, &bytes, &arrays);
    if (!filter.ok()) return filter;
    // ParseHead made a layer for each length, and CutArrays an array: the indexes agree.
    for (size_t i = 0; i < arrays.size(); ++i) filter->layers_[i].bits = std::string(arrays[i]);
    return filter;
  });
}

std::string RedisBloomFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kRedisBloom;
  header.num_layers = static_cast<uint32_t>(layers_.size());
  header.num_keys = num_items_;
  const std::string head = Head();
  internal::SavedFilterWriter writer(header, head.size() + memory_bytes());
  writer.Append(head);
  for (const Layer& layer : layers_) writer.Append(layer.bits);
  return std::move(writer).Finish();
}

absl::StatusOr<RedisBloomFilter> RedisBloomFilter::Deserialize(std::string_view bytes) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RedisBloomFilter> {
    const absl::StatusOr<internal::SavedFilter> saved =
        internal::ParseSavedFilter(bytes, SavedFilterKind::kRedisBloom);
    if (!saved.ok()) return saved.status();
    // A 32-bit number times 53: no wrap in 64 bits.
    const uint64_t head_bytes = kHeadBytes + kLayerBytes * saved->header.num_layers;
    if (head_bytes > saved->payload.size()) return internal::InconsistentFields(*saved);
    std::vector<uint64_t> lengths;
    absl::StatusOr<RedisBloomFilter> filter =
        ParseHead(saved->payload.substr(0, head_bytes), &lengths);
    if (!filter.ok()) return filter;
    std::vector<std::string_view> arrays;
    const absl::Status cut =
        internal::CutArrays(saved->payload.substr(head_bytes), lengths, &arrays);
    if (!cut.ok()) return cut;
    if (filter->num_items_ != saved->header.num_keys) return internal::InconsistentFields(*saved);
    for (size_t i = 0; i < arrays.size(); ++i) filter->layers_[i].bits = std::string(arrays[i]);
    return filter;
  });
}

}  // namespace winnow::filter
