#include "filter/kinds/ribbon/ribbon_shape.h"

#include <cmath>
#include <limits>

namespace winnow::filter::internal {
namespace {

// Bits that a large filter takes for each column and key.
constexpr double kLargeFilterSlots = 1.002;

// At least one block: a layer without a slot would have no place where an equation can begin.
double BlocksFor(double num_slots) {
  return std::max(1.0, std::ceil(num_slots / static_cast<double>(kRibbonBlockSlots)));
}

// Of the keys of a layer of so many blocks. Small layers bump more: about 20 slots stay free where
// a lane begins and ends, found by experiment.
uint64_t ExpectedBumped(uint64_t num_keys, uint64_t num_blocks) {
  const auto share = static_cast<uint64_t>(static_cast<double>(num_keys) * kExpectedBumpedShare);
  const uint64_t num_taken = RibbonShape::NumSlots(num_blocks) - 20 * NumLanes(num_blocks);
  return num_keys <= num_taken ? share : std::max(share, num_keys - num_taken);
}

// The share of equations that begin in the narrow blocks of a layer. None begins in the last 63
// slots: of few blocks the last has much fewer than the others.
double NarrowShare(uint64_t num_blocks, uint64_t num_narrow_blocks) {
  if (num_blocks == 0) return 0;
  const uint64_t starts = RibbonShape::NumStarts(num_blocks);
  return static_cast<double>(std::min(RibbonShape::NumSlots(num_narrow_blocks), starts)) /
         static_cast<double>(starts);
}

// A column halves the rate and costs a bit a slot. Rates and amounts between two whole columns are
// met by a mixture: the first blocks of each shard ("narrow") have a column less than the others,
// so that amounts are kept to the block and not to the bit a key. The mean of two rates is above
// the rate of the mean: the mixture costs up to 0.09 bits a key, half-way between two columns.
void ChooseColumnsForRate(double fpr, RibbonShape* shape) {
  shape->columns =
      std::clamp(static_cast<int>(std::ceil(-std::log2(fpr) - 1e-9)), 1, kMaxRibbonColumns);
  // If a share x of equations begins in narrow blocks, the rate is (1 + x) / 2^columns.
  const double share = std::clamp(fpr * std::exp2(shape->columns) - 1, 0.0, 1.0);
  const auto starts = static_cast<double>(RibbonShape::NumStarts(shape->num_blocks));
  // Where an equation begins decides how many columns it has, even if it ends in a wide block.
  shape->num_narrow_blocks = share == 1
                                 ? shape->num_blocks
                                 : static_cast<uint64_t>(share * starts / kRibbonBlockSlots + 1e-9);
}

void ChooseColumnsForBits(double num_keys, double bits_per_key, RibbonShape* shape) {
  const double first_blocks = static_cast<double>(shape->num_blocks * shape->num_shards);
  const bool is_one_layer = !shape->has_layers();
  const auto third_blocks = static_cast<double>(shape->num_third_blocks);
  const double all_blocks =
      first_blocks + static_cast<double>(shape->num_second_blocks) + third_blocks;
  // Each bucket of 128 slots takes 2 bits for its threshold.
  const double threshold_bits =
      is_one_layer ? 0 : (all_blocks - third_blocks) * 2 * kRibbonBlockSlots / kBucketSlots;
  // Small filters, without a second layer, get 64 bytes more, as much as a block may have of
  // padding anyway.
  const double words =
      (num_keys * bits_per_key - threshold_bits + (shape->num_second_blocks == 0 ? 512 : 0)) / 64;
  const double wanted = std::min(words / all_blocks, bits_per_key / kLargeFilterSlots);
  shape->columns = std::clamp(static_cast<int>(std::ceil(wanted - 1e-9)), 1, kMaxRibbonColumns);
  // Further layers have as large a share of narrow blocks, or a block less.
  const double narrow_blocks =
      std::ceil(static_cast<double>(shape->num_blocks) * (shape->columns - wanted));
  shape->num_narrow_blocks =
      static_cast<uint64_t>(std::clamp(narrow_blocks, 0.0, static_cast<double>(shape->num_blocks)));
}

}  // namespace

bool FitsRibbonDetail(const RibbonShape& shape) {
  return shape.num_narrow_blocks <= kBlockCountMask && shape.num_second_blocks <= kBlockCountMask &&
         shape.num_third_blocks <= std::numeric_limits<uint16_t>::max();
}

uint64_t RibbonDetailOf(const RibbonShape& shape) {
  return shape.num_narrow_blocks | shape.num_second_blocks << kBlockCountBits |
         shape.num_third_blocks << (2 * kBlockCountBits);
}

RibbonShape MakeRibbonShape(uint64_t num_shards, uint64_t slots_per_shard, uint64_t detail,
                            int columns) {
  RibbonShape shape;
  shape.num_shards = num_shards;
  shape.num_blocks = slots_per_shard / kRibbonBlockSlots;
  shape.num_narrow_blocks = NumNarrowBlocks(detail);
  shape.num_second_blocks = (detail >> kBlockCountBits) & kBlockCountMask;
  shape.num_third_blocks = detail >> (2 * kBlockCountBits);
  shape.columns = columns;
  return shape;
}

uint64_t BumpingLayerBlocks(double num_keys) {
  // Rounded to the nearest: what is too much is bumped.
  return static_cast<uint64_t>(std::max(
      1.0, std::round(num_keys / kBumpingLayerLoad / static_cast<double>(kRibbonBlockSlots))));
}

// Without bumping, a system of width 64 needs room for chance, and the more the larger it is: the
// places where equations crowd are then worse (Dillinger and Walzer 2021, section 4). Found by
// experiment: one in a hundred fails.
uint64_t LastLayerBlocks(uint64_t num_keys, int attempt) {
  const auto keys = static_cast<double>(num_keys);
  const double growth = 1 + 0.03 * attempt;
  const double slots = keys * (1 + 0.009 * std::log2(keys + 1)) * growth + 12;
  return static_cast<uint64_t>(BlocksFor(slots));
}

RibbonShape PlanRibbon(uint64_t num_keys, uint64_t num_shards, const RibbonBudget& budget,
                       int attempt) {
  RibbonShape shape;
  shape.num_shards = num_shards;
  const double keys_of_shard = static_cast<double>(num_keys) / static_cast<double>(num_shards);
  shape.num_blocks = BumpingLayerBlocks(keys_of_shard);
  SizeFurtherLayers(ExpectedBumped(num_keys, shape.num_blocks * num_shards), attempt, &shape);
  // Of a few hundred keys one layer is as small.
  const uint64_t one_layer_blocks = LastLayerBlocks(num_keys, attempt);
  if (num_shards == 1 && one_layer_blocks <= shape.num_blocks + shape.num_third_blocks) {
    shape = {.num_blocks = one_layer_blocks};
  }
  ChooseColumns(num_keys, budget, &shape);
  return shape;
}

void SizeFurtherLayers(uint64_t num_bumped, int attempt, RibbonShape* shape) {
  shape->num_second_blocks = 0;
  if (num_bumped >= kMinKeysOfSecondLayer) {
    shape->num_second_blocks = BumpingLayerBlocks(static_cast<double>(num_bumped));
    num_bumped = ExpectedBumped(num_bumped, shape->num_second_blocks);
  }
  shape->num_third_blocks = LastLayerBlocks(num_bumped, attempt);
}

void ChooseColumns(uint64_t num_keys, const RibbonBudget& budget, RibbonShape* shape) {
  if (budget.fpr != 0) {
    ChooseColumnsForRate(budget.fpr, shape);
  } else {
    ChooseColumnsForBits(static_cast<double>(num_keys), budget.bits_per_key, shape);
  }
}

double RibbonFpr(const RibbonShape& shape, const BumpedShares& bumped) {
  // In each layer (1 - narrow) / 2^c + narrow / 2^(c - 1), where `narrow` is the share of keys
  // whose equation begins in a narrow block.
  const double first = NarrowShare(shape.num_blocks, shape.num_narrow_blocks);
  const auto further = [&shape](uint64_t num_blocks) {
    return num_blocks == 0 ? 0 : NarrowShare(num_blocks, shape.NarrowOf(num_blocks));
  };
  const double third = further(shape.num_third_blocks);
  const double bumped_narrow =
      shape.num_second_blocks == 0
          ? third
          : further(shape.num_second_blocks) * (1 - bumped.second) + third * bumped.second;
  return (1 + first * (1 - bumped.first) + bumped_narrow * bumped.first) *
         std::exp2(-shape.columns);
}

}  // namespace winnow::filter::internal
