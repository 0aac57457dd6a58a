// A Bloom filter that grows (Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom Filters",
// Information Processing Letters 2007), for when nobody knows how many keys will come. Where the
// number is known, BloomFilter is smaller and quicker.
//
//   absl::StatusOr<ScalableBloomFilter> seen = ScalableBloomFilter::Create(1000, 0.01);
//   for (std::string_view url : many_urls) {
//     if (!seen->Add(url).ok()) ...        // no memory for another layer; nothing lost
//   }

#ifndef WINNOW_FILTER_SCALABLE_BLOOM_FILTER_H_
#define WINNOW_FILTER_SCALABLE_BLOOM_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/bloom_filter.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {

struct ScalableBloomOptions {
  // How many keys the first layer has room for, 1 to 2^40.
  uint64_t first_capacity = 1000;
  // The false-positive rate of the whole filter, however many layers it gets; 1e-9 to 0.5.
  double fpr = 0.01;
  // How many times larger each layer is than the one before, 2 to 16. More: fewer layers to query,
  // more memory that is not used yet.
  double growth = 2;
  // The rate of each layer over that of the one before, 0.1 to 0.9. Layer i has the rate
  // fpr * (1 - tightening) * tightening^i, which in all comes to less than fpr. Near 1: a small
  // first layer, but later ones need more.
  double tightening = 0.5;
  uint64_t hash_seed = 0;
};

// Layers of BloomFilter. Keys go into the last one; it is followed by a new one when so many of its
// bits are set that a further key could carry it over its rate, so that ExpectedFpr never exceeds
// the promise. No key can be removed. Const methods may be called from many
// threads at once; the others need the filter for themselves. Neither can two such filters be
// united: their layers together would break the promised rate.
class ScalableBloomFilter {
 public:
  static constexpr size_t kMaxLayers = 40;

  // InvalidArgument, naming the option and its range, or ResourceExhausted.
  static absl::StatusOr<ScalableBloomFilter> Create(const ScalableBloomOptions& options);
  static absl::StatusOr<ScalableBloomFilter> Create(uint64_t first_capacity, double fpr) {
    ScalableBloomOptions options;
    options.first_capacity = first_capacity;
    options.fpr = fpr;
    return Create(options);
  }

  // What Serialize gave, of this or another machine. Linear time. Errors as
  // BloomFilter::Deserialize.
  static absl::StatusOr<ScalableBloomFilter> Deserialize(std::string_view bytes);

  ScalableBloomFilter(ScalableBloomFilter&&) = default;
  ScalableBloomFilter& operator=(ScalableBloomFilter&&) = default;

  // Adds a key, of any bytes and length, unless Contains is true for it already: repetitions take
  // no room. ResourceExhausted if a further layer is due and cannot be had: the key is not
  // added, all others stay. Queries each layer.
  absl::Status Add(std::string_view key) { return AddHash(HashKey(key, options_.hash_seed)); }
  // The same with the key's hash, HashKey(key, hash_seed()) or any other good one.
  absl::Status AddHash(uint64_t key_hash);

  // False only if the key was never added. Queries the layers from the last, which holds most, to
  // the first.
  bool Contains(std::string_view key) const {
    return ContainsHash(HashKey(key, options_.hash_seed));
  }
  bool ContainsHash(uint64_t key_hash) const;
  // How many layers Contains queries: 1 if the last one holds the key, all of them if only the
  // first does or none. Shows what `growth` costs.
  size_t CountAskedLayers(std::string_view key) const {
    return CountAskedLayersOfHash(HashKey(key, options_.hash_seed));
  }
  size_t CountAskedLayersOfHash(uint64_t key_hash) const;

  // Forgets all keys and all layers but the first.
  void Clear();
  // How many different keys were added, estimated from the set bits. Linear in the size.
  uint64_t ApproximateCount() const;
  // The false-positive rate of the filter as it is now: one less the chance that every layer is
  // right. Linear in the size.
  double ExpectedFpr() const;
  // The filter as bytes for Deserialize. Linear in the size.
  std::string Serialize() const;

  const ScalableBloomOptions& options() const { return options_; }
  uint64_t hash_seed() const { return options_.hash_seed; }
  size_t num_layers() const { return layers_.size(); }
  // The layers, first to last, for those who want to see their sizes and rates.
  const BloomFilter& layer(size_t i) const { return layers_[i]; }
  uint64_t memory_bytes() const;

 private:
  ScalableBloomFilter(const ScalableBloomOptions& options, BloomFilter first_layer)
      : options_(options) {
    layers_.push_back(std::move(first_layer));
  }

  // From rbegin to the layer that holds the key, or rend.
  std::vector<BloomFilter>::const_reverse_iterator FindLayer(uint64_t key_hash) const;
  absl::Status AddLayer();
  bool LastLayerIsFull() const;

  ScalableBloomOptions options_;
  std::vector<BloomFilter> layers_;  // never empty
  uint64_t ones_in_last_ = 0;        // bits set in the last layer
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_SCALABLE_BLOOM_FILTER_H_
