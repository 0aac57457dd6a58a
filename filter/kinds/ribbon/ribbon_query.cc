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
//         |
//         | it is, and the block has a ternary column
//         v
//   is the sum of 64 numbers of that column, those that the coefficients name, the one wanted?
//
// Few absent keys come to the last question: those that one in 2^columns has by chance. Its numbers
// lie by themselves, so that nobody else loads them.
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
  // The ternary column of the first shard, and of each its length.
  kTritsAt,
  kShardTritBytes,
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

RibbonProbe ProbeFurther(const RibbonShape& shape, uint64_t hash, uint64_t slot,
                         const uint8_t* blocks) {
  return ProbeAt(hash, slot, blocks + shape.BytesOf(slot / kRibbonBlockSlots), shape.columns);
}

// Most of the shape is worked out anew for each, as so few come here.
RibbonProbe ProbeFurtherLayers(const UnitView& unit, uint64_t hash) {
  const RibbonShape shape = ShapeOf(unit);
  const uint8_t* const second_blocks = unit.payload + shape.SecondBlocksAt();
  uint64_t next = Remix(hash, kNextLayerSalt);
  if (shape.num_second_blocks != 0) {
    const uint64_t slot = RibbonStartSlot(next, 1, RibbonShape::NumStarts(shape.num_second_blocks));
    if (!IsBumped(unit.payload + shape.SecondThresholdsAt(), slot)) {
      return ProbeFurther(shape, next, slot, second_blocks);
    }
    next = Remix(next, kNextLayerSalt);
  }
  const uint64_t slot = RibbonStartSlot(next, 1, RibbonShape::NumStarts(shape.num_third_blocks));
  return ProbeFurther(shape, next, slot, second_blocks + shape.BytesOf(shape.num_second_blocks));
}

// For keys that were bumped from the first layer, one in twenty-five.
ABSL_ATTRIBUTE_NOINLINE bool QueryFurtherLayers(const UnitView& unit, uint64_t hash) {
  return RibbonMatches(ProbeFurtherLayers(unit, hash));
}

// What there is to read. Filters of one layer have no thresholds and no ternary column.
enum class Parts : uint8_t { kOneLayer, kLayers, kLayersAndTrits };

// The columns of wide blocks, and how many narrow ones have less. Without a ternary column the
// parameter is the number of columns.
template <Parts kParts>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t WideColumns(const UnitView& unit) {
  return kParts == Parts::kLayersAndTrits ? unit.parameter % (1 << kFormShift) : unit.parameter;
}
template <Parts kParts>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline int64_t ColumnsLess(const UnitView& unit) {
  static_assert(static_cast<int>(NarrowForm::kTritForOne) == 1 &&
                static_cast<int>(NarrowForm::kTritForTwo) == 2);
  return kParts == Parts::kLayersAndTrits ? unit.parameter >> kFormShift : 1;
}

// A key's place in the first layer.
struct FirstPlace {
  uint64_t hash;  // remixed
  uint64_t slot;
  const uint8_t* thresholds;
  const uint8_t* block;
  int64_t is_narrow;  // -1 if the block is, or 0

  template <Parts kParts>
  int Columns(const UnitView& unit) const {
    return static_cast<int>(static_cast<int64_t>(WideColumns<kParts>(unit)) -
                            (ColumnsLess<kParts>(unit) & is_narrow));
  }
};

template <Parts kParts>
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
  // the words subtracted that they have less; for a narrow block, those of it and of the ones
  // behind it are given back here (from_wide is minus their number).
  const uint64_t words_before =
      block * WideColumns<kParts>(unit) -
      static_cast<uint64_t>((from_wide & place.is_narrow) * ColumnsLess<kParts>(unit));
  // Only the sum is a place in the payload: kBlocksAt may be less than zero.
  const uint64_t offset = unit.prepared[kBlocksAt] + shard * unit.prepared[kShardBlockBytes] +
                          words_before * sizeof(uint64_t);
  place.block = unit.payload + offset;
  return place;
}

// Where the ternary column of a key's shard begins. The shard is worked out anew, since so few
// come here.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline const uint8_t* TritsOf(const UnitView& unit,
                                                           const FirstPlace& place) {
  return unit.payload + unit.prepared[kTritsAt] +
         MultiplyHigh(place.hash, unit.num_shards) * unit.prepared[kShardTritBytes];
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool TritsMatch(const UnitView& unit, const FirstPlace& place) {
  return SumOfTrits(TritsOf(unit, place), place.slot, RibbonCoefficients(place.hash)) ==
         RibbonTrit(place.hash);
}

template <Parts kParts>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrefetchPlace(const UnitView& unit,
                                                       const FirstPlace& place) {
  if (kParts != Parts::kOneLayer)
    FetchLine(place.thresholds + place.slot / (kBucketSlots * kBucketsOfThresholdByte));
  // A load of a few lanes costs the cache lines of all of them.
  const uint64_t block_bytes = WideColumns<kParts>(unit) * sizeof(uint64_t);
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
template <Parts kParts>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool MatchByWords(const UnitView& unit,
                                                      const FirstPlace& place) {
  return MatchRibbonByWords(
      ProbeAt(place.hash, place.slot, place.block, place.Columns<kParts>(unit)));
}

#if defined(__x86_64__)

template <Parts kParts>
WINNOW_RIBBON_AVX512_INLINE bool MatchAvx512(const UnitView& unit, const FirstPlace& place) {
  return MatchRibbonAvx512(
      ProbeAt(place.hash, place.slot, place.block, place.Columns<kParts>(unit)));
}

// In filters of at most kRibbonLanes columns, as most are.
template <Parts kParts>
WINNOW_RIBBON_AVX512_INLINE bool MatchAvx512InOne(const UnitView& unit, const FirstPlace& place) {
  const RibbonProbe probe =
      ProbeAt(place.hash, place.slot, place.block, place.Columns<kParts>(unit));
  const auto lanes = static_cast<uint32_t>((unit.prepared.data() + kWideLanes)[place.is_narrow]);
  return RibbonMismatches(probe, 0, lanes) == 0;
}

// In filters of more columns, but at most twice as many. All of them, whether the first match or
// not: in a mixture of present and absent keys nobody can predict it.
template <Parts kParts>
WINNOW_RIBBON_AVX512_INLINE bool MatchAvx512InTwo(const UnitView& unit, const FirstPlace& place) {
  const RibbonProbe probe =
      ProbeAt(place.hash, place.slot, place.block, place.Columns<kParts>(unit));
  return (RibbonMismatches(probe, 0, kAllRibbonLanes) |
          RibbonMismatches(probe, probe.columns - kRibbonLanes, kAllRibbonLanes)) == 0;
}

#endif  // defined(__x86_64__)

// Was the key bumped from the first layer, if it is in the filter?
template <Parts kParts>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsBumpedFrom(const FirstPlace& place) {
  return kParts != Parts::kOneLayer && IsBumped(place.thresholds, place.slot);
}

// The keys of a batch that the ternary column is to be asked for: when all others have been
// answered, what it takes from memory has come.
class KeysForTrits {
 public:
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Add(const UnitView& unit, size_t i, const FirstPlace& place) {
    FetchLine(TritsOf(unit, place) + place.slot / kTritsOfByte);
    keys_[count_++] = static_cast<uint8_t>(i);
  }
  ABSL_ATTRIBUTE_NOINLINE void Answer(const UnitView& unit, const FirstPlaces& places,
                                      uint8_t* may_contain) const {
    for (size_t i = 0; i < count_; ++i) {
      may_contain[keys_[i]] = TritsMatch(unit, places.Get(keys_[i])) ? 1 : 0;
    }
  }

 private:
  static_assert(kMaxBatch <= 256);
  std::array<uint8_t, kMaxBatch> keys_;
  size_t count_ = 0;
};

// The functions that query, with one of the ways to match compiled into them. A macro, since the
// target attribute is no template argument, and a function is inlined only where the caller has its
// target.
#define WINNOW_RIBBON_QUERIES(target_attribute, way, match)                                     \
  template <Parts kParts>                                                                       \
  target_attribute bool MayContain##way(const UnitView& unit, uint64_t key_hash) {              \
    const FirstPlace place = FindFirst<kParts>(unit, key_hash);                                 \
    if (IsBumpedFrom<kParts>(place)) [[unlikely]]                                               \
      return QueryFurtherLayers(unit, place.hash);                                              \
    if constexpr (kParts != Parts::kLayersAndTrits) return match<kParts>(unit, place);          \
    if (!match<kParts>(unit, place)) return false;                                              \
    return place.is_narrow == 0 || TritsMatch(unit, place);                                     \
  }                                                                                             \
  template <Parts kParts>                                                                       \
  target_attribute void MayContainBatch##way(const UnitView& unit, const uint64_t* key_hashes,  \
                                             size_t count, uint8_t* may_contain) {              \
    FirstPlaces places;                                                                         \
    for (size_t i = 0; i < count; ++i) {                                                        \
      const FirstPlace place = FindFirst<kParts>(unit, key_hashes[i]);                          \
      PrefetchPlace<kParts>(unit, place);                                                       \
      places.Set(i, place);                                                                     \
    }                                                                                           \
    KeysForTrits for_trits;                                                                     \
    for (size_t i = 0; i < count; ++i) {                                                        \
      const FirstPlace place = places.Get(i);                                                   \
      const bool is_bumped = IsBumpedFrom<kParts>(place);                                       \
      const bool is_found =                                                                     \
          is_bumped ? QueryFurtherLayers(unit, place.hash) : match<kParts>(unit, place);        \
      may_contain[i] = is_found ? 1 : 0;                                                        \
      if (kParts == Parts::kLayersAndTrits && is_found && !is_bumped && place.is_narrow != 0) { \
        for_trits.Add(unit, i, place);                                                          \
      }                                                                                         \
    }                                                                                           \
    if (kParts == Parts::kLayersAndTrits) for_trits.Answer(unit, places, may_contain);          \
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

// Up to 8 columns are one AVX-512 register, up to 16 two that may overlap: without a loop then.
template <Parts kParts>
Queries QueriesOf(const UnitView& unit) {
#if defined(__x86_64__)
  const auto columns = static_cast<int64_t>(WideColumns<kParts>(unit));
  if (kHasAvx512Popcnt && columns <= kRibbonLanes) {
    return {&MayContainAvx512InOne<kParts>, &MayContainBatchAvx512InOne<kParts>};
  }
  if (kHasAvx512Popcnt && columns <= 2 * kRibbonLanes &&
      columns - ColumnsLess<kParts>(unit) >= kRibbonLanes) {
    return {&MayContainAvx512InTwo<kParts>, &MayContainBatchAvx512InTwo<kParts>};
  }
  if (kHasAvx512Popcnt) return {&MayContainAvx512<kParts>, &MayContainBatchAvx512<kParts>};
  if (kHasPopcnt) return {&MayContainByPopcnt<kParts>, &MayContainBatchByPopcnt<kParts>};
#endif
  return {&MayContainByWords<kParts>, &MayContainBatchByWords<kParts>};
}

Queries QueriesOf(const UnitView& unit) {
  if (!HasRibbonLayers(unit.detail)) return QueriesOf<Parts::kOneLayer>(unit);
  return HasRibbonTrits(unit.parameter) ? QueriesOf<Parts::kLayersAndTrits>(unit)
                                        : QueriesOf<Parts::kLayers>(unit);
}

}  // namespace

void PrepareRibbon(UnitView* unit) {
  const RibbonShape shape = ShapeOf(*unit);
  unit->prepared[kNumStarts] = RibbonShape::NumStarts(shape.num_blocks);
  unit->prepared[kShardThresholdBytes] = shape.ShardThresholdBytes();
  unit->prepared[kShardBlockBytes] = shape.ShardBytes();
  unit->prepared[kNumNarrowBlocks] = shape.num_narrow_blocks;
  const auto columns_less = static_cast<uint64_t>(shape.columns - shape.narrow_columns());
  // May wrap below zero: see FindFirst.
  unit->prepared[kBlocksAt] =
      shape.BlocksAt() - shape.num_narrow_blocks * columns_less * sizeof(uint64_t);
  unit->prepared[kTritsAt] = shape.TritsAt();
  unit->prepared[kShardTritBytes] = shape.ShardTritBytes();
  unit->prepared[kNarrowLanes] = (uint64_t{1} << shape.narrow_columns()) - 1;
  unit->prepared[kWideLanes] = (uint64_t{1} << shape.columns) - 1;
}

MayContainFunction RibbonMayContainOf(const UnitView& unit) { return QueriesOf(unit).one; }

bool RibbonMayContain(const UnitView& unit, uint64_t key_hash) {
  return RibbonMayContainOf(unit)(unit, key_hash);
}

void PrefetchRibbon(const UnitView& unit, uint64_t key_hash) {
  if (!HasRibbonLayers(unit.detail)) {
    PrefetchPlace<Parts::kOneLayer>(unit, FindFirst<Parts::kOneLayer>(unit, key_hash));
  } else if (!HasRibbonTrits(unit.parameter)) {
    PrefetchPlace<Parts::kLayers>(unit, FindFirst<Parts::kLayers>(unit, key_hash));
  } else {
    constexpr Parts kParts = Parts::kLayersAndTrits;
    PrefetchPlace<kParts>(unit, FindFirst<kParts>(unit, key_hash));
  }
}

void RibbonMayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                           uint8_t* may_contain) {
  QueriesOf(unit).batch(unit, key_hashes, count, may_contain);
}

}  // namespace winnow::filter::internal
