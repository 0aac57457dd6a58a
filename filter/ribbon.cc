#include "filter/ribbon.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/base/attributes.h"
#include "filter/ribbon_columns.h"
#include "filter/ribbon_layer.h"
#include "filter/ribbon_shape.h"
#include "winnow/filter/internal/fetch_line.h"

namespace winnow::filter::internal {
namespace {

constexpr double kMostBumpedShare = 0.1;
constexpr uint64_t kLeastKeysOfShard = 16'384;
constexpr uint64_t kKeysOfShard = 98'304;
// More would fragment the memory that they are split into.
constexpr uint64_t kMostShardsForCache = 1024;
constexpr uint64_t kKeysOfSortedShard = 1'000'000;

// The fields of a header's detail.
constexpr int kBlockCountBits = 24;
constexpr uint64_t kBlockCountMask = (uint64_t{1} << kBlockCountBits) - 1;

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t ThresholdOf(const uint8_t* thresholds,
                                                         uint64_t bucket) {
  return (thresholds[bucket / 2] >> (bucket % 2 * 4)) & 15;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsBumped(const uint8_t* thresholds, uint64_t slot) {
  return slot % kBucketSlots / kGroupSlots < ThresholdOf(thresholds, slot / kBucketSlots);
}

uint64_t DetailOf(const RibbonShape& shape) {
  return shape.num_narrow_blocks | shape.num_second_blocks << kBlockCountBits |
         shape.num_third_blocks << (2 * kBlockCountBits);
}

RibbonShape MakeShape(uint64_t num_shards, uint64_t slots_per_shard, uint64_t detail, int columns) {
  RibbonShape shape;
  shape.num_shards = num_shards;
  shape.num_blocks = slots_per_shard / kRibbonBlockSlots;
  shape.num_narrow_blocks = detail & kBlockCountMask;
  shape.num_second_blocks = (detail >> kBlockCountBits) & kBlockCountMask;
  shape.num_third_blocks = detail >> (2 * kBlockCountBits);
  shape.columns = columns;
  return shape;
}

bool FitsDetail(const RibbonShape& shape) {
  return shape.num_narrow_blocks <= kBlockCountMask && shape.num_second_blocks <= kBlockCountMask &&
         shape.num_third_blocks <= std::numeric_limits<uint16_t>::max();
}

// The share of the first layer's hashes that are looked for in the next.
double BumpedShare(const RibbonShape& shape, const uint8_t* payload) {
  if (!shape.has_layers()) return 0;
  uint64_t groups = 0;
  for (uint64_t i = 0; i < shape.num_shards * shape.ShardThresholdBytes(); ++i) {
    groups += (payload[i] & 15) + (payload[i] >> 4);
  }
  return static_cast<double>(groups * kGroupSlots) /
         static_cast<double>(RibbonShape::NumSlots(shape.num_blocks) * shape.num_shards);
}

// The layers of one filter while they are built.
class FilterLayers {
 public:
  FilterLayers(const BuildRequest& request, const ShardedHashes& shards, uint64_t salt)
      : attempt_(request.attempt),
        salt_(salt),
        num_hashes_(shards.num_hashes()),
        shape_(PlanRibbon(num_hashes_, shards.size(), {request.bits_per_key, request.fpr},
                          request.attempt)) {}

  // Builds all layers into `block`, which is left unsealed; false if that failed.
  bool Build(const ShardedHashes& shards, std::string* block) {
    *block = MakeUnsealedBlock(shape_.PayloadBytes());
    RibbonLayer builder(shards.LargestShard(), shape_.num_blocks);
    if (!shape_.has_layers()) {
      Load(shards[0], &builder);
      return BuildLastLayer(shape_.num_narrow_blocks, PayloadOf(block) + shape_.BlocksAt(),
                            &builder);
    }
    std::vector<uint64_t> bumped;
    for (uint64_t shard = 0; shard < shards.size(); ++shard) {
      Load(shards[shard], &builder);
      BuildShard(shard, PayloadOf(block), &builder, &bumped);
      if (static_cast<double>(bumped.size()) > kMostBumpedShare * static_cast<double>(num_hashes_))
        return false;
    }
    return BuildFurtherLayers(&builder, &bumped, block);
  }

  const RibbonShape& shape() const { return shape_; }
  uint64_t num_keys() const { return num_hashes_ - num_duplicates_; }
  uint64_t temporary_bytes() const { return temporary_bytes_; }

 private:
  void Load(const HashList& shard, RibbonLayer* builder) const {
    builder->Load(shard.size(), shape_.num_blocks, shape_.num_shards, [&](auto visit) {
      shard.ForEachRun([&](const uint64_t* run, size_t count) {
        for (size_t i = 0; i < count; ++i) visit(Remix(run[i], salt_));
      });
    });
  }

  void BuildShard(uint64_t shard, uint8_t* payload, RibbonLayer* builder,
                  std::vector<uint64_t>* bumped) {
    num_duplicates_ +=
        builder->InsertOrBump(payload + shard * shape_.ShardThresholdBytes(), bumped);
    builder->Solve(shape_.columns, shape_.num_narrow_blocks,
                   payload + shape_.BlocksAt() + shard * shape_.ShardBytes());
    CountMemory(*builder, bumped->capacity());
  }

  bool BuildFurtherLayers(RibbonLayer* builder, std::vector<uint64_t>* bumped, std::string* block) {
    shape_.num_second_blocks = bumped->size() < kLeastKeysOfSecondLayer
                                   ? 0
                                   : BumpingLayerBlocks(static_cast<double>(bumped->size()));
    // The third layer's size shows when the second is built.
    ResizeUnsealedBlock(shape_.PayloadBytes(), block);
    std::vector<uint64_t> twice_bumped;
    if (shape_.num_second_blocks != 0) {
      Load(*bumped, shape_.num_second_blocks, builder);
      uint8_t* const payload = PayloadOf(block);
      builder->InsertOrBump(payload + shape_.SecondThresholdsAt(), &twice_bumped);
      builder->Solve(shape_.columns, 0, payload + shape_.SecondBlocksAt());
      CountMemory(*builder, bumped->capacity() + twice_bumped.capacity());
      bumped = &twice_bumped;
    }
    shape_.num_third_blocks = LastLayerBlocks(bumped->size(), attempt_);
    if (!FitsDetail(shape_)) return false;
    ResizeUnsealedBlock(shape_.PayloadBytes(), block);
    Load(*bumped, shape_.num_third_blocks, builder);
    return BuildLastLayer(0, PayloadOf(block) + shape_.ThirdBlocksAt(), builder);
  }

  static void Load(const std::vector<uint64_t>& hashes, uint64_t num_blocks, RibbonLayer* builder) {
    builder->Load(hashes.size(), num_blocks, 1, [&](auto visit) {
      for (const uint64_t hash : hashes) visit(hash);
    });
  }

  bool BuildLastLayer(uint64_t num_narrow_blocks, uint8_t* blocks, RibbonLayer* builder) {
    if (!builder->InsertEach(&num_duplicates_)) return false;
    builder->Solve(shape_.columns, num_narrow_blocks, blocks);
    CountMemory(*builder, 0);
    return true;
  }

  void CountMemory(const RibbonLayer& builder, uint64_t num_bumped) {
    temporary_bytes_ =
        std::max(temporary_bytes_, builder.memory_bytes() + num_bumped * sizeof(uint64_t));
  }

  const int attempt_;
  const uint64_t salt_;
  const uint64_t num_hashes_;
  RibbonShape shape_;
  uint64_t num_duplicates_ = 0;
  uint64_t temporary_bytes_ = 0;
};

// Small shards cost no space, since what is too much for one is bumped, and are quick to build:
// each is worked on in a core's cache.
uint32_t NumShards(uint64_t num_keys, const BuildRequest& request) {
  const uint64_t for_cache = std::min(num_keys / kKeysOfShard, kMostShardsForCache);
  const uint64_t for_limit =
      ShardCount(static_cast<double>(num_keys), request.bits_per_key, request.max_shard_bits);
  const uint64_t most = std::max<uint64_t>(1, num_keys / kLeastKeysOfShard);
  return static_cast<uint32_t>(std::clamp<uint64_t>(std::max(for_cache, for_limit), 1, most));
}

// One try with the hashes as they are.
bool TryBuild(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  const uint64_t num_hashes = hashes->size();
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kRibbon);
  header.hash_seed = request.hash_seed;
  header.salt = static_cast<uint64_t>(request.attempt) * 0x9e3779b97f4a7c15;
  header.num_shards = NumShards(num_hashes, request);

  const ShardedHashes shards(hashes, header.num_shards, header.salt);
  if (!shards.IsBalanced()) return false;
  FilterLayers layers(request, shards, header.salt);
  const bool succeeded = FitsDetail(layers.shape()) && layers.Build(shards, &result->block);
  result->temporary_bytes = std::max(result->temporary_bytes, layers.temporary_bytes());
  if (!succeeded) return false;
  const RibbonShape& shape = layers.shape();
  header.parameter = static_cast<uint8_t>(shape.columns);
  header.num_keys = layers.num_keys();
  header.slots_per_shard = RibbonShape::NumSlots(shape.num_blocks);
  header.detail = DetailOf(shape);
  header.payload_bytes = shape.PayloadBytes();
  result->num_keys = header.num_keys;
  result->expected_fpr = RibbonFpr(shape, BumpedShare(shape, PayloadOf(&result->block)));
  SealBlock(header, &result->block);
  return true;
}

bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  constexpr double kFewDuplicates = 0.98;
  const bool succeeded = TryBuild(request, hashes, result);
  if (succeeded && static_cast<double>(result->num_keys) >=
                       kFewDuplicates * static_cast<double>(hashes->size())) {
    return true;
  }
  // With many duplicates the filter is larger than it need be.
  result->block.clear();
  if (RemoveDuplicates(kKeysOfSortedShard, hashes, &result->temporary_bytes)) {
    return TryBuild(request, hashes, result);
  }
  return false;
}

RibbonShape ShapeOf(const UnitView& unit) {
  return MakeShape(unit.num_shards, unit.slots_per_shard, unit.detail, unit.parameter);
}

RibbonShape ShapeOf(const UnitHeader& header) {
  return MakeShape(header.num_shards, header.slots_per_shard, header.detail, header.parameter);
}

bool IsConsistent(const UnitHeader& header) {
  if (header.parameter < 1 || header.parameter > kMostRibbonColumns || header.num_shards == 0 ||
      header.num_keys == 0 || header.slots_per_shard == 0 ||
      header.slots_per_shard % kRibbonBlockSlots != 0) {
    return false;
  }
  const RibbonShape shape = ShapeOf(header);
  // Narrow blocks may have no column at all, and so no byte, but their buckets have thresholds:
  // past this comparison no product below can wrap.
  if (header.slots_per_shard > header.payload_bytes * kBucketSlots * 2 / header.num_shards) {
    return false;
  }
  if (!shape.has_layers() && (shape.num_shards != 1 || shape.num_second_blocks != 0)) return false;
  const uint64_t num_slots = RibbonShape::NumSlots(
      shape.num_blocks * shape.num_shards + shape.num_second_blocks + shape.num_third_blocks);
  return shape.num_narrow_blocks <= shape.num_blocks && header.num_keys <= num_slots &&
         header.payload_bytes == shape.PayloadBytes();
}

// Where a key's equation is in the layer that has it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RibbonProbe ProbeAt(uint64_t hash, uint64_t slot,
                                                        const uint8_t* block, int columns) {
  return {block, slot % kRibbonBlockSlots, RibbonCoefficients(hash), RibbonFingerprint(hash),
          columns};
}

// For keys that were bumped from the first layer, one in a hundred.
RibbonProbe ProbeFurtherLayers(const UnitView& unit, const RibbonShape& shape, uint64_t hash) {
  uint64_t next = Remix(hash, kNextLayerSalt);
  if (shape.num_second_blocks != 0) {
    const uint64_t slot = RibbonStartSlot(next, 1, RibbonShape::NumStarts(shape.num_second_blocks));
    if (!IsBumped(unit.payload + shape.SecondThresholdsAt(), slot)) {
      return ProbeAt(
          next, slot,
          unit.payload + shape.SecondBlocksAt() + slot / kRibbonBlockSlots * shape.WideBlockBytes(),
          shape.columns);
    }
    next = Remix(next, kNextLayerSalt);
  }
  const uint64_t slot = RibbonStartSlot(next, 1, RibbonShape::NumStarts(shape.num_third_blocks));
  return ProbeAt(
      next, slot,
      unit.payload + shape.ThirdBlocksAt() + slot / kRibbonBlockSlots * shape.WideBlockBytes(),
      shape.columns);
}

// A key's place in the first layer.
struct FirstPlace {
  uint64_t hash;  // remixed
  uint64_t slot;
  const uint8_t* thresholds;
  const uint8_t* block;
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline FirstPlace FindFirst(const UnitView& unit,
                                                         const RibbonShape& shape,
                                                         uint64_t key_hash) {
  FirstPlace place;
  place.hash = Remix(key_hash, unit.salt);
  const uint64_t shard = MultiplyHigh(place.hash, shape.num_shards);
  place.slot =
      RibbonStartSlot(place.hash, shape.num_shards, RibbonShape::NumStarts(shape.num_blocks));
  place.thresholds = unit.payload + shard * shape.ShardThresholdBytes();
  place.block = unit.payload + shape.BlocksAt() + shard * shape.ShardBytes() +
                shape.BlockOffset(place.slot / kRibbonBlockSlots);
  return place;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline RibbonProbe ProbeFor(const UnitView& unit,
                                                         const RibbonShape& shape,
                                                         const FirstPlace& place) {
  if (shape.has_layers() && IsBumped(place.thresholds, place.slot)) {
    return ProbeFurtherLayers(unit, shape, place.hash);
  }
  const bool is_narrow = place.slot / kRibbonBlockSlots < shape.num_narrow_blocks;
  return ProbeAt(place.hash, place.slot, place.block, shape.columns - (is_narrow ? 1 : 0));
}

bool MayContain(const UnitView& unit, uint64_t key_hash) {
  const RibbonShape shape = ShapeOf(unit);
  return RibbonMatches(ProbeFor(unit, shape, FindFirst(unit, shape, key_hash)));
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrefetchPlace(const RibbonShape& shape,
                                                       const FirstPlace& place) {
  if (shape.has_layers()) FetchLine(place.thresholds + place.slot / kBucketSlots / 2);
  const uint64_t bytes = 2 * shape.WideBlockBytes();
  for (uint64_t at = 0; at < bytes; at += 64) FetchLine(place.block + at);
  FetchLine(place.block + bytes - 1);
}

void Prefetch(const UnitView& unit, uint64_t key_hash) {
  const RibbonShape shape = ShapeOf(unit);
  PrefetchPlace(shape, FindFirst(unit, shape, key_hash));
}

void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                     uint8_t* may_contain) {
  const RibbonShape shape = ShapeOf(unit);
  std::array<FirstPlace, kMostBatched> places;
  for (size_t i = 0; i < count; ++i) {
    places[i] = FindFirst(unit, shape, key_hashes[i]);
    PrefetchPlace(shape, places[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    may_contain[i] = RibbonMatches(ProbeFor(unit, shape, places[i])) ? 1 : 0;
  }
}

UnitDescription Describe(const Unit& unit) {
  const RibbonShape shape = ShapeOf(unit.header);
  const auto* payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  const uint64_t num_slots = RibbonShape::NumSlots(
      shape.num_blocks * shape.num_shards + shape.num_second_blocks + shape.num_third_blocks);
  UnitDescription description;
  description.fingerprint_bits = shape.columns;
  description.fill = static_cast<double>(unit.header.num_keys) / static_cast<double>(num_slots);
  description.expected_fpr = RibbonFpr(shape, BumpedShare(shape, payload));
  return description;
}

double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const uint64_t num_shards = std::max<uint64_t>(1, num_keys / kKeysOfShard);
  const RibbonShape shape = PlanRibbon(num_keys, num_shards, {bits_per_key, 0}, 0);
  return RibbonFpr(shape, shape.has_layers() ? kExpectedBumpedShare : 0);
}

double BitsForFpr(double fpr) {
  constexpr uint64_t kManyKeys = 1'000'000;
  const RibbonShape shape = PlanRibbon(kManyKeys, kManyKeys / kKeysOfShard, {0, fpr}, 0);
  return static_cast<double>(shape.PayloadBytes()) * 8 / kManyKeys;
}

}  // namespace

const KindOperations kRibbonOperations = {
    .kind = FilterKind::kRibbon,
    .name = "ribbon",
    .version = 1,
    .bits_per_key = {1, 33},
    .verify_by_default = true,
    .bits_per_key_for_fpr = &BitsForFpr,
    .expected_fpr = &ExpectedFprAt,
    .build = &Build,
    .is_consistent = &IsConsistent,
    .may_contain = &MayContain,
    .prefetch = &Prefetch,
    .may_contain_batch = &MayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
