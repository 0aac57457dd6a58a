#include "filter/kinds/ribbon/ribbon_layer.h"

#include <algorithm>

namespace winnow::filter::internal {

// Building a layer by Gaussian elimination in echelon form: at most one equation begins at each
// slot. A new equation whose first slot is taken has the one that is there added, which cancels its
// first coefficient, so that it begins later; it never reaches beyond 64 slots from where it
// begins, since both ended within 64 slots of a common begin. So it moves to the right until it
// finds a free slot, becomes 0 = 0 (it was the sum of others: redundant) or 0 = 1 (in conflict with
// them), or leaves the lane.
//
// Keys come bucket by bucket from left to right, and within a bucket by groups of slots from right
// to left. The first groups of a bucket are those that meet what hangs over from the bucket before.
// If a key of group g is in conflict, groups 0 to g of its bucket are bumped together: later groups
// are in, and one number, g + 1, says what a query has to know.

constinit const RibbonFactors kRibbonFactors = {.coefficients = 0xd6e8feb86659fd93,
                                                .fingerprint = 0x9fb21c651e98df25};

RibbonLayer::RibbonLayer(uint64_t max_keys, uint64_t max_blocks) {
  coefficients_.reserve(RibbonShape::NumSlots(max_blocks));
  fingerprints_.reserve(RibbonShape::NumSlots(max_blocks));
  keys_.reserve(max_keys);
  begins_.reserve(RibbonShape::NumBuckets(max_blocks) * kGroupsOfBucket + 2);
}

void RibbonLayer::Clear(uint64_t num_blocks, uint64_t num_shards) {
  num_shards_ = num_shards;
  num_starts_ = RibbonShape::NumStarts(num_blocks);
  num_duplicates_ = 0;
  coefficients_.assign(RibbonShape::NumSlots(num_blocks), 0);
  fingerprints_.assign(RibbonShape::NumSlots(num_blocks), 0);
  begins_.assign(RibbonShape::NumBuckets(num_blocks) * kGroupsOfBucket + 2, 0);
  num_ternary_starts_ = 0;
}

void RibbonLayer::AddTernary(uint64_t num_blocks) {
  num_ternary_starts_ = RibbonShape::NumSlots(num_blocks);
  // No equation names a later slot.
  ternary_.Clear(std::min<uint64_t>(num_ternary_starts_ + kRibbonWidth, coefficients_.size()));
}

// One step of Gaussian elimination: the equation takes the slot where it begins, or has the one
// that is there added, by which it begins later.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RibbonLayer::Progress RibbonLayer::Step(uint64_t end_slot,
                                                                            Equation* equation) {
  // Bit 0 of an equation is always set: 0 means that none begins here.
  const uint64_t there = coefficients_[equation->slot];
  if (there == 0) {
    coefficients_[equation->slot] = equation->coefficients;
    fingerprints_[equation->slot] = equation->fingerprint;
    return Progress::kInserted;
  }
  const uint64_t sum = equation->coefficients ^ there;
  equation->fingerprint ^= fingerprints_[equation->slot];
  if (sum == 0) return equation->fingerprint == 0 ? Progress::kRedundant : Progress::kConflict;
  // At least 1: both have bit 0.
  const int zeros = __builtin_ctzll(sum);
  equation->coefficients = sum >> zeros;
  equation->slot += static_cast<uint64_t>(zeros);
  return equation->slot < end_slot ? Progress::kGoesOn : Progress::kConflict;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline RibbonLayer::Equation RibbonLayer::EquationOf(
    uint64_t hash) const {
  return {SlotOf(hash), RibbonCoefficients(hash), RibbonFingerprint(hash)};
}

// From the last group of a bucket to the first: the first ones meet what hangs over from the bucket
// before, and are the ones to go. False if the lane has no more keys.
bool RibbonLayer::StartGroup(const BumpTarget& bump_target, Lane* lane) {
  // Only now, as the group has come through: a bumped one counts its duplicates by itself.
  num_duplicates_ += lane->num_redundant;
  lane->num_redundant = 0;
  lane->num_filled = 0;
  while (lane->group > 0) {
    --lane->group;
    if (lane->group == 0 && lane->bucket == lane->bucket_after_seam) return Bump(bump_target, lane);
    lane->first_key = KeysOf(lane->bucket, lane->group);
    lane->next_key = KeysOf(lane->bucket, lane->group + 1);
    if (lane->next_key == lane->first_key) continue;
    lane->equation = EquationOf(*--lane->next_key);
    return true;
  }
  ++lane->bucket;
  return StartBucket(bump_target, lane);
}

bool RibbonLayer::StartBucket(const BumpTarget& bump_target, Lane* lane) {
  for (; lane->bucket < lane->end_bucket; ++lane->bucket) {
    const auto num_keys =
        static_cast<size_t>(KeysOf(lane->bucket + 1, 0) - KeysOf(lane->bucket, 0));
    if (num_keys == 0) continue;
    lane->filled.resize(std::max(lane->filled.size(), num_keys));
    lane->group = kGroupsOfBucket;
    return StartGroup(bump_target, lane);
  }
  return false;
}

// Of the present group's keys, which have come through in the binary columns.
bool RibbonLayer::InsertTernary(const Lane& lane) {
  if (lane.bucket * kBucketSlots >= num_ternary_starts_) return true;
  ternary_group_.clear();
  const uint64_t* const end = KeysOf(lane.bucket, lane.group + 1);
  for (const uint64_t* key = lane.first_key; key != end; ++key) {
    const uint64_t hash = *key;
    const uint64_t slot = SlotOf(hash);
    if (slot >= num_ternary_starts_) continue;
    ternary_group_.push_back({slot, RibbonCoefficients(hash), RibbonTrit(hash)});
  }
  return ternary_.InsertGroup(ternary_group_, lane.end_slot);
}

// Bumps the present group and those before it. False if the lane has no more keys.
bool RibbonLayer::Bump(const BumpTarget& bump_target, Lane* lane) {
  // Equations are never changed once they have their slots: emptying these undoes the group.
  for (uint64_t i = 0; i < lane->num_filled; ++i) {
    coefficients_[lane->filled[i]] = 0;
    fingerprints_[lane->filled[i]] = 0;
  }
  lane->num_redundant = 0;
  // Thresholds are zeros until here, and each bucket is bumped at most once.
  const uint64_t threshold = lane->group + 1;
  SetThreshold(bump_target.thresholds, lane->bucket, threshold);
  uint64_t* const begin = KeysOf(lane->bucket, 0);
  uint64_t* const end = KeysOf(lane->bucket, threshold);
  std::sort(begin, end);
  uint64_t* const unique_end = std::unique(begin, end);
  for (const uint64_t* hash = begin; hash != unique_end; ++hash) {
    bump_target.bumped->push_back(Remix(*hash, kNextLayerSalt));
  }
  num_duplicates_ += static_cast<uint64_t>(end - unique_end);
  lane->group = 0;
  return StartGroup(bump_target, lane);
}

// Works on the lane's equation, and goes on to its next one when it is done. False if the lane has
// no more keys.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool RibbonLayer::Advance(const BumpTarget& bump_target,
                                                              Lane* lane, Equation* equation) {
  const Progress progress = Step(lane->end_slot, equation);
  if (progress == Progress::kGoesOn) return true;
  if (progress == Progress::kInserted) {
    lane->filled[lane->num_filled++] = equation->slot;
  } else if (progress == Progress::kRedundant) {
    // Redundant in 64 coefficients and 32 bits of sum: not by chance.
    ++lane->num_redundant;
  }
  if (progress != Progress::kConflict && lane->next_key != lane->first_key) {
    *equation = EquationOf(*--lane->next_key);
    return true;
  }
  const bool is_in = progress != Progress::kConflict && InsertTernary(*lane);
  const bool goes_on = is_in ? StartGroup(bump_target, lane) : Bump(bump_target, lane);
  *equation = lane->equation;
  return goes_on;
}

// Until one of the lanes has no more keys; returns which. The equations are local variables, which
// can be in registers.
template <size_t kCount>
size_t RibbonLayer::AdvanceInTurns(const BumpTarget& bump_target, std::vector<Lane>* lanes) {
  Lane* const lane = lanes->data();
  Equation first = lane[0].equation;
  Equation second = lane[kCount > 1 ? 1 : 0].equation;
  Equation third = lane[kCount > 2 ? 2 : 0].equation;
  size_t ended = 0;
  for (;;) {
    if (!Advance(bump_target, &lane[0], &first)) break;
    if (kCount > 1 && !Advance(bump_target, &lane[1], &second)) {
      ended = 1;
      break;
    }
    if (kCount > 2 && !Advance(bump_target, &lane[2], &third)) {
      ended = 2;
      break;
    }
  }
  lane[0].equation = first;
  if (kCount > 1) lane[1].equation = second;
  if (kCount > 2) lane[2].equation = third;
  return ended;
}

uint64_t RibbonLayer::InsertOrBump(uint8_t* thresholds, std::vector<uint64_t>* bumped) {
  static_assert(kMaxLanes == 3);
  // Insertion is a chain of steps that wait for each other's load, of unforeseeable length: that of
  // one lane is worked on while others wait.
  //
  // Lanes are ranges of buckets. No equation of a lane may begin at or behind its end_slot, so that
  // lanes touch disjoint slots and can advance in any order; the same keys are bumped on every
  // machine.
  //
  // Behind each lane but the last, one bucket is left over, the seam. What hangs over from the lane
  // goes there; its own keys come when all lanes are done, and may then reach into the next one,
  // where the first group's room was kept for them.
  const BumpTarget bump_target = {thresholds, bumped};
  const uint64_t num_lanes = NumLanes(coefficients_.size() / kRibbonBlockSlots);
  std::vector<Lane> lanes(num_lanes);
  std::vector<Lane> seams(num_lanes - 1);
  const auto set_range = [this](uint64_t begin, uint64_t end, uint64_t reach, Lane* lane) {
    lane->bucket = begin;
    lane->end_bucket = end;
    lane->end_slot = std::min<uint64_t>(end * kBucketSlots + reach, coefficients_.size());
  };
  for (uint64_t i = 0; i < num_lanes; ++i) {
    const uint64_t begin = num_buckets() * i / num_lanes;
    const uint64_t end = num_buckets() * (i + 1) / num_lanes;
    if (i + 1 == num_lanes) {
      set_range(begin, end, 0, &lanes[i]);
    } else {
      set_range(begin, end - 1, kBucketSlots, &lanes[i]);
      set_range(end - 1, end, kBucketSlots, &seams[i]);
      lanes[i + 1].bucket_after_seam = end;
    }
  }
  InsertLanes(bump_target, &lanes);
  for (Lane& seam : seams) {
    lanes.assign(1, seam);
    InsertLanes(bump_target, &lanes);
  }
  return num_duplicates_;
}

void RibbonLayer::InsertLanes(const BumpTarget& bump_target, std::vector<Lane>* lanes) {
  std::erase_if(*lanes, [&](Lane& lane) { return !StartBucket(bump_target, &lane); });
  while (!lanes->empty()) {
    const size_t ended = lanes->size() == 3   ? AdvanceInTurns<3>(bump_target, lanes)
                         : lanes->size() == 2 ? AdvanceInTurns<2>(bump_target, lanes)
                                              : AdvanceInTurns<1>(bump_target, lanes);
    lanes->erase(lanes->begin() + static_cast<std::ptrdiff_t>(ended));
  }
}

bool RibbonLayer::InsertEach(uint64_t* num_duplicates) {
  // In the order of buckets, which for a few thousand keys is near enough to that of slots. Any
  // order gives the same verdict: whether a set of equations can be solved does not depend on it.
  for (const uint64_t hash : keys_) {
    Equation equation = EquationOf(hash);
    Progress progress = Progress::kGoesOn;
    while (progress == Progress::kGoesOn) progress = Step(coefficients_.size(), &equation);
    if (progress == Progress::kConflict) return false;
    if (progress == Progress::kRedundant) ++*num_duplicates;
  }
  return true;
}

void RibbonLayer::Solve(const RibbonLayerShape& shape, uint8_t* blocks) const {
  // Back substitution: simd/ribbon_columns.cc.
  SolveRibbon(
      {coefficients_.data(), fingerprints_.data(), coefficients_.size() / kRibbonBlockSlots, shape},
      blocks);
}

uint64_t RibbonLayer::memory_bytes() const {
  return coefficients_.capacity() * sizeof(uint64_t) + fingerprints_.capacity() * sizeof(uint32_t) +
         keys_.capacity() * sizeof(uint64_t) + begins_.capacity() * sizeof(uint32_t) +
         ternary_.memory_bytes();
}

}  // namespace winnow::filter::internal
