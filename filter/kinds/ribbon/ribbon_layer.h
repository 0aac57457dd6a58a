// Building one layer of a ribbon filter, or one shard of its first layer. Internal to the ribbon
// kind.

#ifndef WINNOW_FILTER_KINDS_RIBBON_RIBBON_LAYER_H_
#define WINNOW_FILTER_KINDS_RIBBON_RIBBON_LAYER_H_

#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "filter/base/build_memory.h"
#include "filter/kinds/ribbon/ribbon_shape.h"
#include "filter/kinds/ribbon/ternary_elimination.h"
#include "filter/simd/ribbon_columns.h"
#include "winnow/filter/internal/hash_list.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

// Remixes the hash of a key that was bumped: what crowded in one layer is then spread in the next.
inline constexpr uint64_t kNextLayerSalt = 0xa0761d6478bd642f;

// The numbers that a query multiplies by; part of the file format. In memory for the same reason as
// kCuckooFactors.
struct RibbonFactors {
  uint64_t coefficients;
  uint64_t fingerprint;
};
extern const RibbonFactors kRibbonFactors;

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t RibbonCoefficients(uint64_t hash) {
  const uint64_t mixed = hash * kRibbonFactors.coefficients;
  return (mixed ^ (mixed >> 29)) | 1;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t RibbonFingerprint(uint64_t hash) {
  return static_cast<uint32_t>(((hash ^ (hash >> 32)) * kRibbonFactors.fingerprint) >> 32);
}

// What the ternary column gives: of the other half of the fingerprint's product.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t RibbonTrit(uint64_t hash) {
  const uint64_t low = ((hash ^ (hash >> 32)) * kRibbonFactors.fingerprint) & 0xffffffff;
  return static_cast<uint32_t>((low * 3) >> 32);
}

// The slot where a key's equation begins, in its shard.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t RibbonStartSlot(uint64_t hash, uint64_t num_shards,
                                                             uint64_t num_starts) {
  return MultiplyHigh(hash * num_shards, num_starts);
}

// The equations are kept in echelon form, at most one beginning at each slot. Memory is kept from
// one use to the next.
class RibbonLayer {
 public:
  RibbonLayer(uint64_t max_keys, uint64_t max_blocks);

  // Begins a layer of the keys that for_each_key(visit) gives by visit(hash), in any order.
  template <typename ForEachKey>
  void Load(uint64_t num_keys, uint64_t num_blocks, uint64_t num_shards, ForEachKey for_each_key) {
    Clear(num_blocks, num_shards);
    // Counted two places further, so that scattering leaves in each place where its group begins.
    for_each_key([&](uint64_t hash) { ++begins_[PlaceOf(SlotOf(hash)) + 2]; });
    for (size_t i = 2; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    keys_.resize(num_keys);
    for_each_key([&](uint64_t hash) { keys_[begins_[PlaceOf(SlotOf(hash)) + 1]++] = hash; });
  }

  // Gives the keys that begin in the first `num_blocks` blocks an equation in the ternary column as
  // well. After Load().
  void AddTernary(uint64_t num_blocks);

  // Inserts all keys but those that do not fit, which are remixed and added to `bumped`. Returns
  // the number of duplicates.
  uint64_t InsertOrBump(uint8_t* thresholds, std::vector<uint64_t>* bumped);

  // For the last layer: false if some key does not fit.
  bool InsertEach(uint64_t* num_duplicates);

  // Writes the solution.
  void Solve(const RibbonLayerShape& shape, uint8_t* blocks) const;
  // The ternary column's, in so many slots.
  void SolveTernary(uint64_t num_slots, uint8_t* trits) const {
    if (num_slots != 0) ternary_.Solve(num_slots, trits);
  }

  uint64_t memory_bytes() const;

 private:
  // A key's, while it is inserted.
  struct Equation {
    uint64_t slot;  // where it begins
    uint64_t coefficients;
    uint32_t fingerprint;
  };

  // Some neighbouring buckets, whose equations all begin in their own slots, so that several lanes
  // can be worked on in turns.
  struct Lane {
    Equation equation{};  // that is being inserted
    // The group's keys that are to come, from the last to the first.
    const uint64_t* first_key = nullptr;
    const uint64_t* next_key = nullptr;  // behind it
    uint64_t group = 0;
    uint64_t bucket = 0;
    uint64_t bucket_after_seam = ~uint64_t{0};  // of which the first group is bumped in any case
    uint64_t end_bucket = 0;
    uint64_t end_slot = 0;
    uint64_t num_redundant = 0;    // of the group
    std::vector<uint64_t> filled;  // the slots that the group took, the first num_filled
    uint64_t num_filled = 0;
  };
  struct BumpTarget {
    uint8_t* thresholds;
    std::vector<uint64_t>* bumped;
  };
  enum class Progress : uint8_t { kGoesOn, kInserted, kRedundant, kConflict };

  uint64_t SlotOf(uint64_t hash) const { return RibbonStartSlot(hash, num_shards_, num_starts_); }
  uint64_t num_buckets() const { return (begins_.size() - 2) / kGroupsOfBucket; }
  // Where the group of a slot is among all buckets' groups.
  static uint64_t PlaceOf(uint64_t slot) {
    return slot / kBucketSlots * kGroupsOfBucket + GroupOf(slot);
  }
  // Where the keys of a bucket's group begin.
  uint64_t* KeysOf(uint64_t bucket, uint64_t group) {
    return keys_.data() + begins_[bucket * kGroupsOfBucket + group];
  }

  void Clear(uint64_t num_blocks, uint64_t num_shards);
  Progress Step(uint64_t end_slot, Equation* equation);
  Equation EquationOf(uint64_t hash) const;
  bool StartGroup(const BumpTarget& bump_target, Lane* lane);
  bool StartBucket(const BumpTarget& bump_target, Lane* lane);
  bool InsertTernary(const Lane& lane);
  bool Bump(const BumpTarget& bump_target, Lane* lane);
  bool Advance(const BumpTarget& bump_target, Lane* lane, Equation* equation);
  void InsertLanes(const BumpTarget& bump_target, std::vector<Lane>* lanes);
  template <size_t kCount>
  size_t AdvanceInTurns(const BumpTarget& bump_target, std::vector<Lane>* lanes);

  uint64_t num_shards_ = 1;
  uint64_t num_starts_ = 1;
  uint64_t num_duplicates_ = 0;
  uint64_t num_ternary_starts_ = 0;
  TernaryElimination ternary_;
  std::vector<TernaryEquation> ternary_group_;
  BuildVector<uint64_t> coefficients_;
  BuildVector<uint32_t> fingerprints_;
  BuildVector<uint64_t> keys_;    // by bucket, and there by group
  BuildVector<uint32_t> begins_;  // of groups in keys_, and two more
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_RIBBON_RIBBON_LAYER_H_
