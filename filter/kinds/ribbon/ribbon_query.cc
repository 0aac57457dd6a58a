#include "filter/kinds/ribbon/ribbon_query.h"

#include <algorithm>
#include <array>

#include "absl/base/attributes.h"
#include "filter/kinds/ribbon/ribbon_layer.h"
#include "filter/kinds/ribbon/ribbon_shape.h"
#include "filter/simd/ribbon_match.h"
#include "winnow/filter/internal/fetch_line.h"

namespace winnow::filter::internal {
namespace {

// A query of a key whose equation begins at slot s of the first layer:
//
//   threshold of the bucket of s -- s is in a bumped group --> the next layer, with another hash
//         |
//         | it is not
//         v
//   block of s and the next one: in each column, is the parity of
//   (64 bits of the column from s on) & coefficients the fingerprint's bit?
//
// The threshold that building wrote says of every key where its equation was put, so that a key
// which was added is compared in that layer and matches there. Absent keys follow the same way and
// match by chance.

// What PrepareRibbon computes, in UnitView::prepared.
enum Prepared : size_t {
  // Of a shard of the first layer.
  kNumStarts,
  kShardThresholdBytes,
  kShardBlockBytes,
  kNumNarrowBlocks,
  // Where its first shard's blocks would begin in the payload, were none of them narrow.
  kBlocksAt,
  // Of the second layer and of the third.
  kSecondNarrowBlocks,
  kThirdNarrowBlocks,
  // Of a narrow and of a wide block: a set of as many lanes as it has columns.
  kNarrowLanes,
  kWideLanes,
};

RibbonShape ShapeOf(const UnitView& unit) {
  return MakeRibbonShape(unit.num_shards, unit.slots_per_shard, unit.detail, unit.parameter);
}

// Where a key's equation is in a shard of the layer that has it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RibbonProbe ProbeAt(uint64_t hash, uint64_t slot,
                                                        const uint8_t* block, int columns) {
  return {block, slot % kRibbonBlockSlots, RibbonCoefficients(hash), RibbonFingerprint(hash),
          columns};
}

RibbonProbe ProbeFurther(const RibbonShape& shape, uint64_t num_narrow_blocks, uint64_t hash,
                         uint64_t slot, const uint8_t* blocks) {
  const uint64_t block = slot / kRibbonBlockSlots;
  return ProbeAt(hash, slot, blocks + shape.BlockOffset(block, num_narrow_blocks),
                 shape.columns - (block < num_narrow_blocks ? 1 : 0));
}

// Most of the shape is worked out anew for each, as so few come here.
RibbonProbe ProbeFurtherLayers(const UnitView& unit, uint64_t hash) {
  const RibbonShape shape = ShapeOf(unit);
  const uint64_t second_narrow_blocks = unit.prepared[kSecondNarrowBlocks];
  const uint8_t* const second_blocks = unit.payload + shape.SecondBlocksAt();
  uint64_t next = Remix(hash, kNextLayerSalt);
  if (shape.num_second_blocks != 0) {
    const uint64_t slot = RibbonStartSlot(next, 1, RibbonShape::NumStarts(shape.num_second_blocks));
    if (!IsBumped(unit.payload + shape.SecondThresholdsAt(), slot)) {
      return ProbeFurther(shape, second_narrow_blocks, next, slot, second_blocks);
    }
    next = Remix(next, kNextLayerSalt);
  }
  const uint64_t slot = RibbonStartSlot(next, 1, RibbonShape::NumStarts(shape.num_third_blocks));
  return ProbeFurther(
      shape, unit.prepared[kThirdNarrowBlocks], next, slot,
      second_blocks + shape.BlockOffset(shape.num_second_blocks, second_narrow_blocks));
}

// For keys that were bumped from the first layer, one in twenty-five.
ABSL_ATTRIBUTE_NOINLINE bool QueryFurtherLayers(const UnitView& unit, uint64_t hash) {
  return RibbonMatches(ProbeFurtherLayers(unit, hash));
}

// A key's place in the first layer.
struct FirstPlace {
  uint64_t hash;  // remixed
  uint64_t slot;
  const uint8_t* thresholds;
  const uint8_t* block;
  int64_t is_narrow;  // -1 if the block is, or 0

  int Columns(const UnitView& unit) const { return unit.parameter + static_cast<int>(is_narrow); }
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline FirstPlace FindFirst(const UnitView& unit, uint64_t key_hash) {
  FirstPlace place;
  place.hash = Remix(key_hash, unit.salt);
  const auto product = static_cast<unsigned __int128>(place.hash) * unit.num_shards;
  const auto shard = static_cast<uint64_t>(product >> 64);
  place.slot = MultiplyHigh(static_cast<uint64_t>(product), unit.prepared[kNumStarts]);
  place.thresholds = unit.payload + shard * unit.prepared[kShardThresholdBytes];
  const uint64_t block = place.slot / kRibbonBlockSlots;
  // Without a branch, since nobody can predict it.
  const auto from_wide = static_cast<int64_t>(block - unit.prepared[kNumNarrowBlocks]);
  place.is_narrow = from_wide >> 63;
  // All narrow blocks come first. As if every one of them stood before this block, kBlocksAt has
  // their number of words subtracted; for a narrow block, those at and behind it are given back
  // here (from_wide is minus their number).
  const uint64_t words_before =
      block * unit.parameter - static_cast<uint64_t>(from_wide & place.is_narrow);
  // Only the sum is a place in the payload: kBlocksAt may be less than zero.
  const uint64_t offset = unit.prepared[kBlocksAt] + shard * unit.prepared[kShardBlockBytes] +
                          words_before * sizeof(uint64_t);
  place.block = unit.payload + offset;
  return place;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrefetchPlace(const UnitView& unit,
                                                       const FirstPlace& place) {
  if (HasRibbonLayers(unit.detail))
    FetchLine(place.thresholds + place.slot / (kBucketSlots * kBucketsOfThresholdByte));
  // A load of a few lanes costs the cache lines of all of them.
  const uint64_t block_bytes = unit.parameter * sizeof(uint64_t);
  const uint64_t bytes =
      block_bytes + std::max<uint64_t>(block_bytes, kRibbonLanes * sizeof(uint64_t));
  for (uint64_t at = 0; at < bytes; at += 64) FetchLine(place.block + at);
  FetchLine(place.block + bytes - 1);
}

// Field by field: the compiler would gather the fields of a FirstPlace in vector registers to write
// them together, which takes longer than all else.
class FirstPlaces {
 public:
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Set(size_t i, const FirstPlace& place) {
    hashes_[i] = place.hash;
    slots_[i] = place.slot;
    thresholds_[i] = place.thresholds;
    blocks_[i] = place.block;
    is_narrow_[i] = place.is_narrow;
  }
  ABSL_ATTRIBUTE_ALWAYS_INLINE FirstPlace Get(size_t i) const {
    return {hashes_[i], slots_[i], thresholds_[i], blocks_[i], is_narrow_[i]};
  }

 private:
  std::array<uint64_t, kMaxBatch> hashes_;
  std::array<uint64_t, kMaxBatch> slots_;
  std::array<const uint8_t*, kMaxBatch> thresholds_;
  std::array<const uint8_t*, kMaxBatch> blocks_;
  std::array<int64_t, kMaxBatch> is_narrow_;
};

// Ways to match in the first layer.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool MatchByWords(const UnitView& unit,
                                                      const FirstPlace& place) {
  return MatchRibbonByWords(ProbeAt(place.hash, place.slot, place.block, place.Columns(unit)));
}

#if defined(__x86_64__)

WINNOW_RIBBON_AVX512_INLINE bool MatchAvx512(const UnitView& unit, const FirstPlace& place) {
  return MatchRibbonAvx512(ProbeAt(place.hash, place.slot, place.block, place.Columns(unit)));
}

// In filters of at most kRibbonLanes columns, as most are.
WINNOW_RIBBON_AVX512_INLINE bool MatchAvx512InOne(const UnitView& unit, const FirstPlace& place) {
  const RibbonProbe probe = ProbeAt(place.hash, place.slot, place.block, place.Columns(unit));
  const auto lanes = static_cast<uint32_t>((unit.prepared.data() + kWideLanes)[place.is_narrow]);
  return RibbonMismatches(probe, 0, lanes) == 0;
}

// In filters of more columns, but at most twice as many. All of them, whether the first match or
// not: in a mixture of present and absent keys nobody can predict it.
WINNOW_RIBBON_AVX512_INLINE bool MatchAvx512InTwo(const UnitView& unit, const FirstPlace& place) {
  const RibbonProbe probe = ProbeAt(place.hash, place.slot, place.block, place.Columns(unit));
  return (RibbonMismatches(probe, 0, kAllRibbonLanes) |
          RibbonMismatches(probe, probe.columns - kRibbonLanes, kAllRibbonLanes)) == 0;
}

#endif  // defined(__x86_64__)

// Filters of one layer have no thresholds to read.
enum class Layers : uint8_t { kOne, kMany };

// Was the key bumped from the first layer, if it is in the filter?
template <Layers kLayers>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsBumpedFrom(const FirstPlace& place) {
  return kLayers == Layers::kMany && IsBumped(place.thresholds, place.slot);
}

// The functions that query, with one of the ways to match compiled into them. A macro, since the
// target attribute is no template argument, and a function is inlined only where the caller has its
// target.
#define WINNOW_RIBBON_QUERIES(target_attribute, way, match)                                     \
  template <Layers kLayers>                                                                     \
  target_attribute bool MayContain##way(const UnitView& unit, uint64_t key_hash) {              \
    const FirstPlace place = FindFirst(unit, key_hash);                                         \
    if (IsBumpedFrom<kLayers>(place)) [[unlikely]]                                              \
      return QueryFurtherLayers(unit, place.hash);                                              \
    return match(unit, place);                                                                  \
  }                                                                                             \
  template <Layers kLayers>                                                                     \
  target_attribute void MayContainBatch##way(const UnitView& unit, const uint64_t* key_hashes,  \
                                             size_t count, uint8_t* may_contain) {              \
    FirstPlaces places;                                                                         \
    for (size_t i = 0; i < count; ++i) {                                                        \
      const FirstPlace place = FindFirst(unit, key_hashes[i]);                                  \
      PrefetchPlace(unit, place);                                                               \
      places.Set(i, place);                                                                     \
    }                                                                                           \
    for (size_t i = 0; i < count; ++i) {                                                        \
      const FirstPlace place = places.Get(i);                                                   \
      const bool is_found = IsBumpedFrom<kLayers>(place) ? QueryFurtherLayers(unit, place.hash) \
                                                         : match(unit, place);                  \
      may_contain[i] = is_found ? 1 : 0;                                                        \
    }                                                                                           \
  }

WINNOW_RIBBON_QUERIES(, ByWords, MatchByWords)
#if defined(__x86_64__)
WINNOW_RIBBON_QUERIES(WINNOW_RIBBON_POPCNT, ByPopcnt, MatchByWords)
WINNOW_RIBBON_QUERIES(WINNOW_RIBBON_AVX512, Avx512, MatchAvx512)
WINNOW_RIBBON_QUERIES(WINNOW_RIBBON_AVX512, Avx512InOne, MatchAvx512InOne)
WINNOW_RIBBON_QUERIES(WINNOW_RIBBON_AVX512, Avx512InTwo, MatchAvx512InTwo)
#endif

#undef WINNOW_RIBBON_QUERIES

struct Queries {
  MayContainFunction one;
  MayContainBatchFunction batch;
};

template <Layers kLayers>
// Up to 8 columns are one AVX-512 register, up to 16 two that may overlap: without a loop then.
Queries QueriesOf(const UnitView& unit) {
#if defined(__x86_64__)
  if (kHasAvx512Popcnt && unit.parameter <= kRibbonLanes) {
    return {&MayContainAvx512InOne<kLayers>, &MayContainBatchAvx512InOne<kLayers>};
  }
  if (kHasAvx512Popcnt && unit.parameter <= 2 * kRibbonLanes) {
    return {&MayContainAvx512InTwo<kLayers>, &MayContainBatchAvx512InTwo<kLayers>};
  }
  if (kHasAvx512Popcnt) return {&MayContainAvx512<kLayers>, &MayContainBatchAvx512<kLayers>};
  if (kHasPopcnt) return {&MayContainByPopcnt<kLayers>, &MayContainBatchByPopcnt<kLayers>};
#endif
  return {&MayContainByWords<kLayers>, &MayContainBatchByWords<kLayers>};
}

Queries QueriesOf(const UnitView& unit) {
  return HasRibbonLayers(unit.detail) ? QueriesOf<Layers::kMany>(unit)
                                      : QueriesOf<Layers::kOne>(unit);
}

}  // namespace

void PrepareRibbon(UnitView* unit) {
  const RibbonShape shape = ShapeOf(*unit);
  unit->prepared[kNumStarts] = RibbonShape::NumStarts(shape.num_blocks);
  unit->prepared[kShardThresholdBytes] = shape.ShardThresholdBytes();
  unit->prepared[kShardBlockBytes] = shape.ShardBytes();
  unit->prepared[kNumNarrowBlocks] = shape.num_narrow_blocks;
  // May wrap below zero: see FindFirst.
  unit->prepared[kBlocksAt] = shape.BlocksAt() - shape.num_narrow_blocks * sizeof(uint64_t);
  if (shape.num_second_blocks != 0) {
    unit->prepared[kSecondNarrowBlocks] = shape.NarrowOf(shape.num_second_blocks);
  }
  if (shape.has_layers()) {
    unit->prepared[kThirdNarrowBlocks] = shape.NarrowOf(shape.num_third_blocks);
  }
  unit->prepared[kNarrowLanes] = (uint64_t{1} << (shape.columns - 1)) - 1;
  unit->prepared[kWideLanes] = (uint64_t{1} << shape.columns) - 1;
}

MayContainFunction RibbonMayContainOf(const UnitView& unit) { return QueriesOf(unit).one; }

bool RibbonMayContain(const UnitView& unit, uint64_t key_hash) {
  return RibbonMayContainOf(unit)(unit, key_hash);
}

void PrefetchRibbon(const UnitView& unit, uint64_t key_hash) {
  PrefetchPlace(unit, FindFirst(unit, key_hash));
}

void RibbonMayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                           uint8_t* may_contain) {
  QueriesOf(unit).batch(unit, key_hashes, count, may_contain);
}

}  // namespace winnow::filter::internal
