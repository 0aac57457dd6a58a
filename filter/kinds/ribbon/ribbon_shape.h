// How a ribbon filter's payload is laid out, and how large its parts should be. Internal to the
// ribbon kind.

#ifndef WINNOW_FILTER_KINDS_RIBBON_RIBBON_SHAPE_H_
#define WINNOW_FILTER_KINDS_RIBBON_RIBBON_SHAPE_H_

#include <algorithm>
#include <cstdint>

#include "filter/simd/ribbon_columns.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kBucketSlots = 128;
inline constexpr uint64_t kGroupSlots = 16;

// A filter has one layer, or a first one in shards and, for the keys that were bumped from it, a
// third one, with a second one between if they are many. Keys are bumped from all layers but the
// last: a bucket is 128 slots, its threshold says in 4 bits how many of its groups of 16 slots,
// from the first, are those of bumped keys.
//
// Payload: thresholds of the first layer, shard by shard; its blocks, shard by shard; thresholds of
// the second layer; its blocks; blocks of the third. Zeros follow thresholds up to a multiple of 8
// bytes.
struct RibbonShape {
  uint64_t num_shards = 1;
  uint64_t num_blocks = 0;         // of a shard of the first layer
  uint64_t num_narrow_blocks = 0;  // the first ones of each shard, with one column less
  uint64_t num_second_blocks = 0;
  uint64_t num_third_blocks = 0;  // 0: there is one layer only
  int columns = 0;

  bool has_layers() const { return num_third_blocks != 0; }

  static uint64_t RoundUp(uint64_t bytes) {
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
  }

  static uint64_t NumSlots(uint64_t blocks) { return blocks * kRibbonBlockSlots; }
  // Where an equation can begin.
  static uint64_t NumStarts(uint64_t blocks) { return NumSlots(blocks) - kRibbonWidth + 1; }
  static uint64_t NumBuckets(uint64_t blocks) {
    return (NumSlots(blocks) + kBucketSlots - 1) / kBucketSlots;
  }
  static uint64_t ThresholdBytes(uint64_t blocks) { return (NumBuckets(blocks) + 1) / 2; }

  uint64_t ShardThresholdBytes() const { return has_layers() ? ThresholdBytes(num_blocks) : 0; }
  uint64_t BlocksAt() const { return RoundUp(num_shards * ShardThresholdBytes()); }
  // Where block `block` of a shard begins, from the shard's first.
  uint64_t BlockOffset(uint64_t block) const {
    return (block * static_cast<uint64_t>(columns) - std::min(block, num_narrow_blocks)) *
           sizeof(uint64_t);
  }
  uint64_t ShardBytes() const { return BlockOffset(num_blocks); }
  uint64_t WideBlockBytes() const { return static_cast<uint64_t>(columns) * sizeof(uint64_t); }
  uint64_t SecondThresholdsAt() const { return BlocksAt() + num_shards * ShardBytes(); }
  uint64_t SecondBlocksAt() const {
    return SecondThresholdsAt() + RoundUp(ThresholdBytes(num_second_blocks));
  }
  uint64_t ThirdBlocksAt() const { return SecondBlocksAt() + num_second_blocks * WideBlockBytes(); }
  uint64_t PayloadBytes() const { return ThirdBlocksAt() + num_third_blocks * WideBlockBytes(); }
};

// A header's detail: the number of blocks that are narrow, of those of the second layer, and of
// those of the third.
inline constexpr int kBlockCountBits = 24;
inline constexpr uint64_t kBlockCountMask = (uint64_t{1} << kBlockCountBits) - 1;

inline uint64_t NumNarrowBlocks(uint64_t detail) { return detail & kBlockCountMask; }
inline bool HasRibbonLayers(uint64_t detail) { return detail >> (2 * kBlockCountBits) != 0; }

bool FitsRibbonDetail(const RibbonShape& shape);
uint64_t RibbonDetailOf(const RibbonShape& shape);
// The shape of a filter, from the fields of its header.
RibbonShape MakeRibbonShape(uint64_t num_shards, uint64_t slots_per_shard, uint64_t detail,
                            int columns);

// In 4 bits for each bucket.
inline uint64_t ThresholdOf(const uint8_t* thresholds, uint64_t bucket) {
  return (thresholds[bucket / 2] >> (bucket % 2 * 4)) & 15;
}
inline bool IsBumped(const uint8_t* thresholds, uint64_t slot) {
  return slot % kBucketSlots / kGroupSlots < ThresholdOf(thresholds, slot / kBucketSlots);
}

// What is wanted of a filter: bits per key, or if it is not 0, a rate.
struct RibbonBudget {
  double bits_per_key;
  double fpr;
};

// Up to so many keys one layer is the smallest.
inline constexpr uint64_t kMaxKeysOfOneLayer = 2500;
// Fewer bumped keys than this do not need a second layer.
inline constexpr uint64_t kMinKeysOfSecondLayer = 4096;
// Keys for each slot of a layer from which keys may be bumped. A fuller one takes less space, but
// longer to build: insertion meets more equations on its way.
inline constexpr double kBumpingLayerLoad = 0.98;
// What share of the keys does not fit then, found by experiment.
inline constexpr double kExpectedBumpedShare = 0.007;

// The blocks of a layer from which keys may be bumped, and of one from which they may not.
uint64_t BumpingLayerBlocks(double num_keys);
uint64_t LastLayerBlocks(uint64_t num_keys, int attempt);

// All layers and the number of columns. The further layers' sizes are expected ones.
RibbonShape PlanRibbon(uint64_t num_keys, uint64_t num_shards, const RibbonBudget& budget,
                       int attempt);

// The rate of a filter in which `bumped_share` of all hashes are looked for in a further layer.
double RibbonFpr(const RibbonShape& shape, double bumped_share);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_RIBBON_SHAPE_H_
