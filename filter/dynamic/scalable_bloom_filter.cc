#include "winnow/filter/scalable_bloom_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "filter/dynamic/parameters.h"
#include "filter/dynamic/saved_format.h"

namespace winnow::filter {
namespace {

// A thousand times BloomFilter's least rate: each layer is stricter than the whole, and the first
// ones must find room below it.
constexpr double kMinFpr = 1e-9;

absl::Status CheckOptions(const ScalableBloomOptions& options) {
  absl::Status status = internal::CheckCapacityAndFpr("ScalableBloomFilter", options.first_capacity,
                                                      options.fpr, kMinFpr);
  if (!status.ok()) return status;
  // Negated, so that NaN fails it; the next one likewise.
  if (!(options.growth >= 2 && options.growth <= 16)) {
    return absl::InvalidArgumentError(
        absl::StrCat("ScalableBloomFilter: growth must be from 2 to 16, got ", options.growth));
  }
  if (!(options.tightening >= 0.1 && options.tightening <= 0.9)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ScalableBloomFilter: tightening must be from 0.1 to 0.9, got ", options.tightening));
  }
  return absl::OkStatus();
}

// Layer i has the rate fpr (1 - t) t^i, where t is the tightening. A query is wrong if any layer
// is, and the sum of all rates, however many layers there will be, is fpr (1 - t) / (1 - t) = fpr:
// that is the promise (Almeida et al., section 3).

// What the layer number `i`, from 0, is made for.
struct LayerPlan {
  uint64_t capacity;
  double fpr;
};
absl::StatusOr<LayerPlan> PlanLayer(const ScalableBloomOptions& options, size_t i) {
  const auto number = static_cast<double>(i);
  const auto max_capacity = static_cast<double>(internal::kMaxCapacity);
  // In doubles, where even 2^40 * 16^39 has a value to compare with the bound; an integer would
  // wrap.
  const double capacity =
      static_cast<double>(options.first_capacity) * std::pow(options.growth, number);
  if (i >= ScalableBloomFilter::kMaxLayers || capacity > max_capacity) {
    return absl::ResourceExhaustedError(
        absl::StrCat("ScalableBloomFilter: full with ", i, " layers of at most 2^40 keys"));
  }
  // A layer is full by its set bits, whose number varies a little from one set of keys to another:
  // some standard deviations of room make sure of the capacity.
  const double keys = std::min(capacity + std::sqrt(capacity) + 2, max_capacity);
  // A filter that has grown a billionfold would ask for rates below what BloomFilter offers: it
  // then gets the least, and all of those together still add nothing.
  const double fpr = options.fpr * (1 - options.tightening) * std::pow(options.tightening, number);
  return LayerPlan{static_cast<uint64_t>(keys), std::max(fpr, internal::kMinBloomFpr)};
}

absl::StatusOr<BloomFilter> MakeLayer(const ScalableBloomOptions& options, size_t i) {
  const absl::StatusOr<LayerPlan> plan = PlanLayer(options, i);
  if (!plan.ok()) return plan.status();
  return BloomFilter::Create(plan->capacity, plan->fpr, options.hash_seed);
}

// Has a saved layer the size that its options give it? If a small one could claim a large capacity,
// the next key would ask for all the memory of the layer after it. Half is near enough: other
// machines round differently.
bool IsAsLargeAsPlanned(const BloomFilter& layer, const ScalableBloomOptions& options, size_t i) {
  const absl::StatusOr<LayerPlan> plan = PlanLayer(options, i);
  if (!plan.ok()) return false;
  const absl::StatusOr<internal::BloomShape> shape =
      internal::ChooseBloomShape(plan->capacity, plan->fpr);
  return shape.ok() && layer.num_bits() >= shape->num_bits / 2 &&
         layer.hash_seed() == options.hash_seed;
}

}  // namespace

absl::StatusOr<ScalableBloomFilter> ScalableBloomFilter::Create(
    const ScalableBloomOptions& options) {
  absl::Status status = CheckOptions(options);
  if (!status.ok()) return status;
  absl::StatusOr<BloomFilter> first = MakeLayer(options, 0);
  if (!first.ok()) return first.status();
  return ScalableBloomFilter(options, *std::move(first));
}

absl::Status ScalableBloomFilter::AddLayer() {
  absl::StatusOr<BloomFilter> layer = MakeLayer(options_, layers_.size());
  if (!layer.ok()) return layer.status();
  layers_.push_back(*std::move(layer));
  ones_in_last_ = 0;
  return absl::OkStatus();
}

// By the bits that are set, not by the keys that were added: the rate follows from the bits. A key
// may set num_probes more, and the layer must keep its rate with them.
// O(1), from a running count: popcounts of the layer at each addition would make filling it
// quadratic.
bool ScalableBloomFilter::LastLayerIsFull() const {
  const BloomFilter& last = layers_.back();
  const auto ones = static_cast<double>(ones_in_last_ + static_cast<uint64_t>(last.num_probes()));
  return std::pow(ones / static_cast<double>(last.num_bits()), last.num_probes()) > last.fpr();
}

// O(layers) queries and at most one allocation. Layers that are full are never added to again.
absl::Status ScalableBloomFilter::AddHash(uint64_t key_hash) {
  // A false positive is not added either, and need not be: its answer is "maybe" already, and bits
  // are never cleared.
  if (ContainsHash(key_hash)) return absl::OkStatus();
  if (LastLayerIsFull()) {
    absl::Status status = AddLayer();
    if (!status.ok()) return status;
  }
  ones_in_last_ += static_cast<uint64_t>(layers_.back().SetBitsOf(key_hash));
  return absl::OkStatus();
}

bool ScalableBloomFilter::ContainsHash(uint64_t key_hash) const {
  return FindLayer(key_hash) != layers_.rend();
}

size_t ScalableBloomFilter::CountAskedLayersOfHash(uint64_t key_hash) const {
  const auto found = FindLayer(key_hash);
  const auto refuted = static_cast<size_t>(found - layers_.rbegin());
  return found == layers_.rend() ? refuted : refuted + 1;
}

std::vector<BloomFilter>::const_reverse_iterator ScalableBloomFilter::FindLayer(
    uint64_t key_hash) const {
  // With growth g the last layer, once it is full, holds a share of about 1 - 1/g of all keys, so
  // that a member is found after g / (g - 1) questions on average; an absent key asks each layer.
  return std::find_if(layers_.rbegin(), layers_.rend(), [key_hash](const BloomFilter& layer) {
    return layer.ContainsHash(key_hash);
  });
}

void ScalableBloomFilter::Clear() {
  // The first layer is kept with its memory: nothing can fail.
  layers_.erase(layers_.begin() + 1, layers_.end());
  layers_.front().Clear();
  ones_in_last_ = 0;
}

uint64_t ScalableBloomFilter::ApproximateCount() const {
  uint64_t count = 0;
  for (const BloomFilter& layer : layers_) count += layer.ApproximateCount();
  return count;
}

double ScalableBloomFilter::ExpectedFpr() const {
  // Layers are wrong independently of each other: their keys are different ones.
  double all_right = 1;
  for (const BloomFilter& layer : layers_) all_right *= 1 - layer.ExpectedFpr();
  return 1 - all_right;
}

uint64_t ScalableBloomFilter::memory_bytes() const {
  uint64_t bytes = 0;
  for (const BloomFilter& layer : layers_) bytes += layer.memory_bytes();
  return bytes;
}

std::string ScalableBloomFilter::Serialize() const {
  internal::SavedHeader header;
  header.kind = SavedFilterKind::kScalableBloom;
  header.num_layers = static_cast<uint32_t>(layers_.size());
  header.hash_seed = options_.hash_seed;
  header.capacity = options_.first_capacity;
  header.fpr = options_.fpr;
  header.detail[0] = std::bit_cast<uint64_t>(options_.growth);
  header.detail[1] = std::bit_cast<uint64_t>(options_.tightening);
  internal::SavedFilterWriter writer(
      header, memory_bytes() + layers_.size() * (sizeof(uint64_t) + internal::kSavedHeaderBytes));
  // Each layer is a saved filter of its own, with its length in front.
  for (const BloomFilter& layer : layers_) {
    const std::string bytes = layer.Serialize();
    writer.AppendWord(bytes.size());
    writer.Append(bytes);
  }
  return std::move(writer).Finish();
}

absl::StatusOr<ScalableBloomFilter> ScalableBloomFilter::Deserialize(std::string_view bytes) {
  const absl::StatusOr<internal::SavedFilter> saved =
      internal::ParseSavedFilter(bytes, SavedFilterKind::kScalableBloom);
  if (!saved.ok()) return saved.status();
  const internal::SavedHeader& header = saved->header;
  ScalableBloomOptions options;
  options.first_capacity = header.capacity;
  options.fpr = header.fpr;
  options.growth = std::bit_cast<double>(header.detail[0]);
  options.tightening = std::bit_cast<double>(header.detail[1]);
  options.hash_seed = header.hash_seed;
  if (!CheckOptions(options).ok() || header.num_layers < 1 || header.num_layers > kMaxLayers) {
    return internal::InconsistentFields(*saved);
  }
  std::vector<BloomFilter> layers;
  std::string_view rest = saved->payload;
  for (uint32_t i = 0; i < header.num_layers; ++i) {
    if (rest.size() < sizeof(uint64_t)) return internal::InconsistentFields(*saved);
    const uint64_t layer_bytes = internal::PayloadWord(rest, 0);
    rest.remove_prefix(sizeof(uint64_t));
    // What is left bounds the length: no memory is taken for a claim.
    if (layer_bytes > rest.size()) return internal::InconsistentFields(*saved);
    absl::StatusOr<BloomFilter> layer = BloomFilter::Deserialize(rest.substr(0, layer_bytes));
    if (!layer.ok()) return layer.status();
    if (!IsAsLargeAsPlanned(*layer, options, i)) return internal::InconsistentFields(*saved);
    layers.push_back(*std::move(layer));
    rest.remove_prefix(layer_bytes);
  }
  if (!rest.empty()) return internal::InconsistentFields(*saved);
  ScalableBloomFilter filter(options, std::move(layers.front()));
  for (size_t i = 1; i < layers.size(); ++i) filter.layers_.push_back(std::move(layers[i]));
  // Not saved, as it follows from the bits. A wrong count would let the last layer exceed its rate.
  filter.ones_in_last_ = filter.layers_.back().bits_.CountOnes();
  return filter;
}

}  // namespace winnow::filter
