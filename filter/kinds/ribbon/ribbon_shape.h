// How a ribbon filter's payload is laid out, and how large its parts should be. Internal to the
// ribbon kind.

#ifndef WINNOW_FILTER_KINDS_RIBBON_RIBBON_SHAPE_H_
#define WINNOW_FILTER_KINDS_RIBBON_RIBBON_SHAPE_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "filter/simd/ribbon_columns.h"
#include "filter/simd/ribbon_trits.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kBucketSlots = 128;
inline constexpr uint64_t kBucketsOfThresholdByte = 4;
// A bucket's slots are in three groups: where each begins, and where the last one ends.
inline constexpr std::array<uint64_t, 4> kGroupBegins = {0, 24, 56, kBucketSlots};
inline constexpr uint64_t kGroupsOfBucket = kGroupBegins.size() - 1;

// What the narrow blocks have in place of one or two of the others' columns. A column halves the
// rate for a bit a slot, a ternary one takes a third of it for 8/5. Rates between are met by a
// mixture, whose mean rate is above the rate of its mean: of k and k + 1 columns it costs up to
// 0.09 bits a key, of a ternary column and one or two binary ones up to 0.04.
enum class NarrowForm : uint8_t {
  kOneLess = 0,     // a column less: twice the rate of the others
  kTritForOne = 1,  // a ternary one for a column: two thirds of it
  kTritForTwo = 2,  // a ternary one for two columns: four thirds of it
};
inline constexpr NarrowForm kMaxNarrowForm = NarrowForm::kTritForTwo;

// A filter has one layer, or a first one in shards and, for the keys that were bumped from it, a
// third one, with a second one between if they are many. Keys are bumped from all layers but the
// last: the threshold of a bucket says in 2 bits how many of its groups, from the first, are those
// of bumped keys. Only the first layer has narrow blocks.
//
// Payload: thresholds of the first layer, shard by shard; its blocks, shard by shard; its ternary
// column, shard by shard; thresholds of the second layer; its blocks; blocks of the third. Zeros
// follow thresholds and the ternary column up to a multiple of 8 bytes.
struct RibbonShape {
  uint64_t num_shards = 1;
  uint64_t num_blocks = 0;         // of a shard of the first layer
  uint64_t num_narrow_blocks = 0;  // the first ones of each shard
  uint64_t num_second_blocks = 0;
  uint64_t num_third_blocks = 0;  // 0: there is one layer only
  int columns = 0;                // of the blocks that are not narrow
  NarrowForm form = NarrowForm::kOneLess;

  bool has_layers() const { return num_third_blocks != 0; }
  bool has_trits() const { return form != NarrowForm::kOneLess; }
  int narrow_columns() const { return columns - (form == NarrowForm::kTritForTwo ? 2 : 1); }
  // Of the first layer.
  RibbonLayerShape LayerShape() const { return {num_narrow_blocks, narrow_columns(), columns}; }

  static uint64_t RoundUp(uint64_t bytes) {
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
  }

  static uint64_t NumSlots(uint64_t blocks) { return blocks * kRibbonBlockSlots; }
  // Where an equation can begin.
  static uint64_t NumStarts(uint64_t blocks) { return NumSlots(blocks) - kRibbonWidth + 1; }
  static uint64_t NumBuckets(uint64_t blocks) {
    return (NumSlots(blocks) + kBucketSlots - 1) / kBucketSlots;
  }
  static uint64_t ThresholdBytes(uint64_t blocks) {
    return (NumBuckets(blocks) + kBucketsOfThresholdByte - 1) / kBucketsOfThresholdByte;
  }

  uint64_t ShardThresholdBytes() const { return has_layers() ? ThresholdBytes(num_blocks) : 0; }
  uint64_t BlocksAt() const { return RoundUp(num_shards * ShardThresholdBytes()); }
  uint64_t ShardBytes() const {
    return (num_blocks * static_cast<uint64_t>(columns) -
            num_narrow_blocks * static_cast<uint64_t>(columns - narrow_columns())) *
           sizeof(uint64_t);
  }
  // The slots that a shard's ternary column has: equations that begin in the last narrow block may
  // end in the next one.
  uint64_t NumTrits() const {
    return has_trits() ? NumSlots(std::min(num_blocks, num_narrow_blocks + 1)) : 0;
  }
  uint64_t ShardTritBytes() const { return TritBytes(NumTrits()); }
  uint64_t TritsAt() const { return BlocksAt() + num_shards * ShardBytes(); }
  uint64_t SecondThresholdsAt() const {
    return TritsAt() + (has_trits() ? RoundUp(num_shards * ShardTritBytes() + kTritPadding) : 0);
  }
  uint64_t SecondBlocksAt() const {
    return SecondThresholdsAt() + RoundUp(ThresholdBytes(num_second_blocks));
  }
  uint64_t ThirdBlocksAt() const { return SecondBlocksAt() + BytesOf(num_second_blocks); }
  uint64_t PayloadBytes() const { return ThirdBlocksAt() + BytesOf(num_third_blocks); }
  // Of blocks that are not narrow.
  uint64_t BytesOf(uint64_t blocks) const {
    return blocks * static_cast<uint64_t>(columns) * sizeof(uint64_t);
  }
};

// A header's detail: the number of blocks that are narrow, of those of the second layer, and of
// those of the third.
inline constexpr int kBlockCountBits = 24;
inline constexpr uint64_t kBlockCountMask = (uint64_t{1} << kBlockCountBits) - 1;

inline uint64_t NumNarrowBlocks(uint64_t detail) { return detail & kBlockCountMask; }
inline bool HasRibbonLayers(uint64_t detail) { return detail >> (2 * kBlockCountBits) != 0; }

// A header's parameter: the number of columns, and above it the form.
inline constexpr int kFormShift = 6;
inline bool HasRibbonTrits(uint8_t parameter) { return parameter >> kFormShift != 0; }

bool FitsRibbonDetail(const RibbonShape& shape);
uint64_t RibbonDetailOf(const RibbonShape& shape);
uint8_t RibbonParameterOf(const RibbonShape& shape);
// The shape of a filter, from the fields of its header. No field is believed yet.
RibbonShape MakeRibbonShape(uint64_t num_shards, uint64_t slots_per_shard, uint64_t detail,
                            uint8_t parameter);

inline uint64_t GroupOf(uint64_t slot) {
  const uint64_t in_bucket = slot % kBucketSlots;
  return (in_bucket >= kGroupBegins[1] ? 1 : 0) + (in_bucket >= kGroupBegins[2] ? 1 : 0);
}

inline uint64_t ThresholdOf(const uint8_t* thresholds, uint64_t bucket) {
  return (thresholds[bucket / kBucketsOfThresholdByte] >> (bucket % kBucketsOfThresholdByte * 2)) &
         3;
}
// Of a bucket that had none.
inline void SetThreshold(uint8_t* thresholds, uint64_t bucket, uint64_t threshold) {
  uint8_t& four = thresholds[bucket / kBucketsOfThresholdByte];
  four = static_cast<uint8_t>(four | threshold << (bucket % kBucketsOfThresholdByte * 2));
}
inline bool IsBumped(const uint8_t* thresholds, uint64_t slot) {
  // kGroupBegins in the bytes of a number: a shift, where an array would be one more load.
  constexpr uint64_t kEnds = kGroupBegins[1] << 8 | kGroupBegins[2] << 16 | kGroupBegins[3] << 24;
  const uint64_t threshold = ThresholdOf(thresholds, slot / kBucketSlots);
  return slot % kBucketSlots < ((kEnds >> (threshold * 8)) & 0xff);
}

// A layer is filled in lanes, ranges of buckets that are worked on in turns. Where two of them
// meet, some more keys are bumped.
inline constexpr uint64_t kMaxLanes = 3;
inline constexpr uint64_t kMinBucketsOfLane = 8;
inline uint64_t NumLanes(uint64_t num_blocks) {
  return std::clamp<uint64_t>(RibbonShape::NumBuckets(num_blocks) / kMinBucketsOfLane, 1,
                              kMaxLanes);
}

// What is wanted of a filter: bits per key, or if it is not 0, a rate.
struct RibbonBudget {
  double bits_per_key;
  double fpr;
};

// Fewer bumped keys than this do not need a second layer.
inline constexpr uint64_t kMinKeysOfSecondLayer = 1500;
// Keys for each slot of a layer from which keys may be bumped. With more keys than slots one slot
// in a thousand stays free, where 98 keys for 100 slots leave two in a hundred.
inline constexpr double kBumpingLayerLoad = 1.04;
// What share of the keys does not fit then, found by experiment.
inline constexpr double kExpectedBumpedShare = 0.041;

// The blocks of a layer from which keys may be bumped, and of one from which they may not.
uint64_t BumpingLayerBlocks(double num_keys);
uint64_t LastLayerBlocks(uint64_t num_keys, int attempt);

// What share of the keys of a filter of these layers is bumped from the first one.
double ExpectedBumpedShare(uint64_t num_keys, const RibbonShape& shape);

// All layers and their columns. The further layers' sizes are expected ones.
RibbonShape PlanRibbon(uint64_t num_keys, uint64_t num_shards, const RibbonBudget& budget,
                       int attempt);
// Sizes the further layers for so many keys. With a second one the third's size is an expected one.
void SizeFurtherLayers(uint64_t num_bumped, int attempt, RibbonShape* shape);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_RIBBON_SHAPE_H_
