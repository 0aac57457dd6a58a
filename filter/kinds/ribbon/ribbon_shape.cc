#include "filter/kinds/ribbon/ribbon_shape.h"

#include <cmath>
#include <limits>

#include "filter/kinds/ribbon/ribbon_columns_choice.h"

namespace winnow::filter::internal {
namespace {

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

}  // namespace

bool FitsRibbonDetail(const RibbonShape& shape) {
  return shape.num_narrow_blocks <= kBlockCountMask && shape.num_second_blocks <= kBlockCountMask &&
         shape.num_third_blocks <= std::numeric_limits<uint16_t>::max();
}

uint64_t RibbonDetailOf(const RibbonShape& shape) {
  return shape.num_narrow_blocks | shape.num_second_blocks << kBlockCountBits |
         shape.num_third_blocks << (2 * kBlockCountBits);
}

uint8_t RibbonParameterOf(const RibbonShape& shape) {
  return static_cast<uint8_t>(shape.columns | static_cast<int>(shape.form) << kFormShift);
}

RibbonShape MakeRibbonShape(uint64_t num_shards, uint64_t slots_per_shard, uint64_t detail,
                            uint8_t parameter) {
  RibbonShape shape;
  shape.num_shards = num_shards;
  shape.num_blocks = slots_per_shard / kRibbonBlockSlots;
  shape.num_narrow_blocks = NumNarrowBlocks(detail);
  shape.num_second_blocks = (detail >> kBlockCountBits) & kBlockCountMask;
  shape.num_third_blocks = detail >> (2 * kBlockCountBits);
  shape.columns = parameter & ((1 << kFormShift) - 1);
  shape.form = static_cast<NarrowForm>(parameter >> kFormShift);
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

double ExpectedBumpedShare(uint64_t num_keys, const RibbonShape& shape) {
  if (!shape.has_layers()) return 0;
  return static_cast<double>(ExpectedBumped(num_keys, shape.num_blocks * shape.num_shards)) /
         static_cast<double>(num_keys);
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
  ChooseColumns(num_keys, budget, ExpectedBumpedShare(num_keys, shape), &shape);
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

}  // namespace winnow::filter::internal
