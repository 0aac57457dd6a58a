#include "filter/kinds/ribbon/ribbon_shape.h"

#include <cmath>
#include <limits>

namespace winnow::filter::internal {
namespace {

// Bits that a large filter takes for each column and key.
constexpr double kLargeFilterSlots = 1.035;

// At least one block: a layer without a slot would have no place where an equation can begin.
double BlocksFor(double num_slots) {
  return std::max(1.0, std::ceil(num_slots / static_cast<double>(kRibbonBlockSlots)));
}

// As large as they are expected to be; the true sizes depend on the keys.
void ExpectFurtherLayers(uint64_t num_keys, RibbonShape* shape) {
  if (num_keys <= kMaxKeysOfOneLayer) return;
  auto bumped = static_cast<uint64_t>(static_cast<double>(num_keys) * kExpectedBumpedShare);
  if (bumped >= kMinKeysOfSecondLayer) {
    shape->num_second_blocks = BumpingLayerBlocks(static_cast<double>(bumped));
    bumped = static_cast<uint64_t>(static_cast<double>(bumped) * kExpectedBumpedShare);
  }
  shape->num_third_blocks = LastLayerBlocks(bumped, 0);
}

// A column halves the rate and costs a bit a slot. Rates and amounts between two whole columns are
// met by a mixture: the first blocks of each shard ("narrow") have a column less than the others,
// so that amounts are kept to the block and not to the bit a key.
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
  const double all_blocks =
      first_blocks + static_cast<double>(shape->num_second_blocks + shape->num_third_blocks);
  // Each bucket of 128 slots takes 4 bits for its threshold.
  const double threshold_bits =
      is_one_layer ? 0 : first_blocks * 4 * kRibbonBlockSlots / kBucketSlots;
  // Small filters get 64 bytes more, as much as a block may have of padding anyway.
  const double words = (num_keys * bits_per_key - threshold_bits + (is_one_layer ? 512 : 0)) / 64;
  const double wanted = std::min(words / all_blocks, bits_per_key / kLargeFilterSlots);
  shape->columns = std::clamp(static_cast<int>(std::ceil(wanted - 1e-9)), 1, kMaxRibbonColumns);
  const double narrow_blocks =
      std::ceil(all_blocks * (shape->columns - wanted) / static_cast<double>(shape->num_shards));
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
  return static_cast<uint64_t>(BlocksFor(num_keys / kBumpingLayerLoad));
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
  const auto keys = static_cast<double>(num_keys);
  RibbonShape shape;
  shape.num_shards = num_shards;
  shape.num_blocks = num_keys <= kMaxKeysOfOneLayer
                         ? LastLayerBlocks(num_keys, attempt)
                         : BumpingLayerBlocks(keys / static_cast<double>(num_shards));
  ExpectFurtherLayers(num_keys, &shape);
  if (budget.fpr != 0) {
    ChooseColumnsForRate(budget.fpr, &shape);
  } else {
    ChooseColumnsForBits(keys, budget.bits_per_key, &shape);
  }
  return shape;
}

double RibbonFpr(const RibbonShape& shape, double bumped_share) {
  // (1 - narrow) / 2^c + narrow / 2^(c - 1), where `narrow` is the share of keys whose equation
  // begins in a narrow block. Bumped keys are looked for in a further layer, which has wide blocks
  // only. None begins in the last 63 slots: of few blocks the last has much fewer than the others.
  const uint64_t starts = RibbonShape::NumStarts(std::max<uint64_t>(1, shape.num_blocks));
  const uint64_t narrow_starts = std::min(RibbonShape::NumSlots(shape.num_narrow_blocks), starts);
  const double narrow_share = static_cast<double>(narrow_starts) / static_cast<double>(starts);
  return (1 + narrow_share * (1 - bumped_share)) * std::exp2(-shape.columns);
}

}  // namespace winnow::filter::internal
