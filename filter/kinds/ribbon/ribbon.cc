#include "filter/kinds/ribbon/ribbon.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "filter/kinds/ribbon/ribbon_columns_choice.h"
#include "filter/kinds/ribbon/ribbon_layer.h"
#include "filter/kinds/ribbon/ribbon_query.h"
#include "filter/kinds/ribbon/ribbon_shape.h"
#include "filter/simd/ribbon_columns.h"

namespace winnow::filter::internal {
namespace {

// Each key is an equation over GF(2): the exclusive or of some of 64 neighbouring slots, those that
// its coefficients name, is its fingerprint. Solving the equations gives the slots' contents; an
// absent key's equation holds with a chance of one half in each column. For rates between two
// powers of two there is one more column with numbers modulo 3, where it is one third.
//
//   slots      0 . . . . . . . . . . . . . . . . . . . .     one bit in each of `columns` columns
//   key a        1 0 1 1 ... 1                               64 coefficients from slot 1 on
//   key b            1 1 0 ... 1                             from slot 3 on
//
// A system of this form is solved in one sweep if each equation finds a slot to lead
// (ribbon_layer.cc). Those that do not are bumped: with all others of their part of a bucket they
// go to the next layer, and a threshold in the filter says so, so that a query knows before it
// looks in which layer a key is. The last layer bumps nothing and has room to spare; if it fails
// nevertheless, another salt is tried.

constexpr double kMaxBumpedShare = 0.1;
// Of a few hundred keys chance may bump more than a tenth.
constexpr double kAnyBumped = 100;
constexpr double kRoomForBumpedShare = 1.1 * kExpectedBumpedShare;
constexpr uint64_t kKeysOfShard = 98'304;
// More would fragment the memory that they are split into.
constexpr uint64_t kMaxShardsForCache = 1024;
constexpr uint64_t kKeysOfSortedShard = 1'000'000;

// The layers of one filter while they are built.
class FilterLayers {
 public:
  FilterLayers(const BuildRequest& request, const ShardedHashes& shards, uint64_t salt)
      : attempt_(request.attempt),
        salt_(salt),
        num_hashes_(shards.num_hashes()),
        budget_({request.bits_per_key, request.fpr}),
        shape_(PlanRibbon(num_hashes_, shards.size(), budget_, request.attempt)) {}

  // Builds all layers into `block`, which is left unsealed; false if that failed.
  bool Build(const ShardedHashes& shards, std::string* block) {
    *block = MakeUnsealedBlock(shape_.PayloadBytes());
    // One builder for all shards and layers: its memory is taken once.
    RibbonLayer builder(shards.LargestShard(), shape_.num_blocks);
    if (!shape_.has_layers()) {
      Load(shards[0], &builder);
      return BuildLastLayer(shape_.LayerShape(), PayloadOf(block) + shape_.BlocksAt(), &builder);
    }
    std::vector<uint64_t> bumped;
    bumped.reserve(static_cast<size_t>(static_cast<double>(num_hashes_) * kRoomForBumpedShare));
    for (uint64_t shard = 0; shard < shards.size(); ++shard) {
      Load(shards[shard], &builder);
      builder.AddTernary(shape_.has_trits() ? shape_.num_narrow_blocks : 0);
      num_duplicates_ +=
          builder.InsertOrBump(PayloadOf(block) + shard * shape_.ShardThresholdBytes(), &bumped);
      CountMemory(builder, bumped.capacity());
      // So many mean that the hashes are not random, or many times the same.
      if (static_cast<double>(bumped.size()) >
          kMaxBumpedShare * static_cast<double>(num_hashes_) + kAnyBumped) {
        return false;
      }
      // Of one shard, all bumped keys are known before a column is written.
      if (shards.size() == 1) PlanAgain(bumped.size(), block);
      uint8_t* const payload = PayloadOf(block);
      builder.Solve(shape_.LayerShape(), payload + shape_.BlocksAt() + shard * shape_.ShardBytes());
      builder.SolveTernary(shape_.NumTrits(),
                           payload + shape_.TritsAt() + shard * shape_.ShardTritBytes());
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

  // Chooses the narrow blocks by which keys were truly bumped and by what the further layers truly
  // take. Thresholds, which are written already, stay where they are.
  void PlanAgain(uint64_t num_bumped, std::string* block) {
    SizeFurtherLayers(num_bumped, attempt_, &shape_);
    ChooseNarrowBlocks(num_hashes_, budget_, PayloadOf(block), &shape_);
    ResizeUnsealedBlock(shape_.PayloadBytes(), block);
  }

  bool BuildFurtherLayers(RibbonLayer* builder, std::vector<uint64_t>* bumped, std::string* block) {
    // Now that the bumped keys are known, the further layers get their true sizes. Each bump
    // remixes the hash: keys that crowded in one layer begin at unrelated slots of the next.
    SizeFurtherLayers(bumped->size(), attempt_, &shape_);
    ResizeUnsealedBlock(shape_.PayloadBytes(), block);
    std::vector<uint64_t> twice_bumped;
    if (shape_.num_second_blocks != 0) {
      Load(*bumped, shape_.num_second_blocks, builder);
      uint8_t* const payload = PayloadOf(block);
      num_duplicates_ +=
          builder->InsertOrBump(payload + shape_.SecondThresholdsAt(), &twice_bumped);
      builder->Solve(FurtherLayerShape(), payload + shape_.SecondBlocksAt());
      CountMemory(*builder, bumped->capacity() + twice_bumped.capacity());
      bumped = &twice_bumped;
    }
    // If there is a second layer, the third's size shows only now.
    shape_.num_third_blocks = LastLayerBlocks(bumped->size(), attempt_);
    if (!FitsRibbonDetail(shape_)) return false;
    ResizeUnsealedBlock(shape_.PayloadBytes(), block);
    Load(*bumped, shape_.num_third_blocks, builder);
    return BuildLastLayer(FurtherLayerShape(), PayloadOf(block) + shape_.ThirdBlocksAt(), builder);
  }

  static void Load(const std::vector<uint64_t>& hashes, uint64_t num_blocks, RibbonLayer* builder) {
    builder->Load(hashes.size(), num_blocks, 1, [&](auto visit) {
      for (const uint64_t hash : hashes) visit(hash);
    });
  }

  RibbonLayerShape FurtherLayerShape() const { return {0, shape_.columns, shape_.columns}; }

  bool BuildLastLayer(const RibbonLayerShape& shape, uint8_t* blocks, RibbonLayer* builder) {
    if (!builder->InsertEach(&num_duplicates_)) return false;
    builder->Solve(shape, blocks);
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
  const RibbonBudget budget_;
  RibbonShape shape_;
  uint64_t num_duplicates_ = 0;
  uint64_t temporary_bytes_ = 0;
};

// Small shards cost no space, since what is too much for one is bumped, and are quick to build:
// each is worked on in a core's cache.
uint32_t NumShards(uint64_t num_keys, const BuildRequest& request) {
  const uint64_t for_cache = std::min(num_keys / kKeysOfShard, kMaxShardsForCache);
  const uint64_t for_limit =
      LargeShardCount(num_keys, request.bits_per_key, request.max_shard_bits);
  return static_cast<uint32_t>(std::max(for_cache, for_limit));
}

// One try with the hashes as they are: false if the last layer cannot be solved, or if the sizes do
// not fit the header.
bool TryBuild(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  const uint64_t num_hashes = hashes->size();
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kRibbon);
  header.hash_seed = request.hash_seed;
  header.salt = SaltOfAttempt(request);
  header.num_shards = NumShards(num_hashes, request);

  const ShardedHashes shards(hashes, header.num_shards, header.salt);
  if (!shards.IsBalanced()) return false;
  FilterLayers layers(request, shards, header.salt);
  const bool succeeded = FitsRibbonDetail(layers.shape()) && layers.Build(shards, &result->block);
  result->temporary_bytes = std::max(result->temporary_bytes, layers.temporary_bytes());
  if (!succeeded) return false;
  const RibbonShape& shape = layers.shape();
  header.parameter = RibbonParameterOf(shape);
  header.num_keys = layers.num_keys();
  header.slots_per_shard = RibbonShape::NumSlots(shape.num_blocks);
  header.detail = RibbonDetailOf(shape);
  header.payload_bytes = shape.PayloadBytes();
  result->num_keys = header.num_keys;
  result->expected_fpr = RibbonFpr(shape, PayloadOf(&result->block));
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
  // Equal keys make equal equations, which do no harm but take room: with many of them the filter
  // is larger than it need be.
  result->block.clear();
  if (RemoveDuplicates(kKeysOfSortedShard, hashes, &result->temporary_bytes)) {
    return TryBuild(request, hashes, result);
  }
  return false;
}

RibbonShape ShapeOf(const UnitHeader& header) {
  return MakeRibbonShape(header.num_shards, header.slots_per_shard, header.detail,
                         header.parameter);
}

bool IsConsistent(const UnitHeader& header) {
  const RibbonShape shape = ShapeOf(header);
  if (shape.columns < 1 || shape.columns > kMaxRibbonColumns || shape.narrow_columns() < 0 ||
      shape.form > kMaxNarrowForm || header.num_shards == 0 || header.num_keys == 0 ||
      header.slots_per_shard == 0 || header.slots_per_shard % kRibbonBlockSlots != 0) {
    return false;
  }
  // Narrow blocks may have no column at all, and so no byte, but their buckets have thresholds:
  // past this comparison no product below can wrap.
  if (header.slots_per_shard >
      header.payload_bytes * kBucketSlots * kBucketsOfThresholdByte / header.num_shards) {
    return false;
  }
  if (!shape.has_layers() &&
      (shape.num_shards != 1 || shape.num_second_blocks != 0 || shape.has_trits())) {
    return false;
  }
  const uint64_t num_slots = RibbonShape::NumSlots(
      shape.num_blocks * shape.num_shards + shape.num_second_blocks + shape.num_third_blocks);
  return shape.num_narrow_blocks <= shape.num_blocks && header.num_keys <= num_slots &&
         header.payload_bytes == shape.PayloadBytes();
}

UnitDescription Describe(const Unit& unit) {
  const RibbonShape shape = ShapeOf(unit.header);
  const auto* payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  const uint64_t num_slots = RibbonShape::NumSlots(
      shape.num_blocks * shape.num_shards + shape.num_second_blocks + shape.num_third_blocks);
  UnitDescription description;
  description.fingerprint_bits = shape.columns;
  description.fill = static_cast<double>(unit.header.num_keys) / static_cast<double>(num_slots);
  description.expected_fpr = RibbonFpr(shape, payload);
  return description;
}

double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const uint64_t num_shards = std::max<uint64_t>(1, num_keys / kKeysOfShard);
  const RibbonShape shape = PlanRibbon(num_keys, num_shards, {bits_per_key, 0}, 0);
  return ExpectedRibbonFpr(shape, ExpectedBumpedShare(num_keys, shape));
}

double BitsForFpr(double fpr) {
  constexpr uint64_t kManyKeys = 1'000'000;
  const RibbonShape shape = PlanRibbon(kManyKeys, kManyKeys / kKeysOfShard, {0, fpr}, 0);
  return static_cast<double>(shape.PayloadBytes()) * 8 / kManyKeys;
}

}  // namespace

constinit const KindOperations kRibbonOperations = {
    .kind = FilterKind::kRibbon,
    .name = "ribbon",
    .version = 1,
    .bits_per_key = {1, 33},
    .verify_by_default = true,
    .bits_per_key_for_fpr = &BitsForFpr,
    .expected_fpr = &ExpectedFprAt,
    .build = &Build,
    .is_consistent = &IsConsistent,
    .prepare = &PrepareRibbon,
    .may_contain = &RibbonMayContain,
    .may_contain_of = &RibbonMayContainOf,
    .prefetch = &PrefetchRibbon,
    .may_contain_batch = &RibbonMayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
