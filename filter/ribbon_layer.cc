#include "filter/ribbon_layer.h"

#include <algorithm>

namespace winnow::filter::internal {
namespace {

// Insertion is a chain of steps that wait for each other's load, of unforeseeable length: that of
// one lane is worked on while others wait.
constexpr uint64_t kLanes = 3;
// A lane's end costs some bumped keys.
constexpr uint64_t kLeastBucketsOfLane = 32;

}  // namespace

RibbonLayer::RibbonLayer(uint64_t most_keys, uint64_t most_blocks) {
  coefficients_.reserve(RibbonShape::NumSlots(most_blocks));
  fingerprints_.reserve(RibbonShape::NumSlots(most_blocks));
  keys_.reserve(most_keys);
  begins_.reserve(RibbonShape::NumBuckets(most_blocks) + 2);
}

void RibbonLayer::Clear(uint64_t num_blocks, uint64_t num_shards) {
  num_shards_ = num_shards;
  num_starts_ = RibbonShape::NumStarts(num_blocks);
  num_duplicates_ = 0;
  coefficients_.assign(RibbonShape::NumSlots(num_blocks), 0);
  fingerprints_.assign(RibbonShape::NumSlots(num_blocks), 0);
  begins_.assign(RibbonShape::NumBuckets(num_blocks) + 2, 0);
}

// One step of Gaussian elimination: the equation takes the slot where it begins, or has the one
// that is there added, by which it begins later.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline RibbonLayer::Progress RibbonLayer::Step(Lane* lane) {
  const uint64_t there = coefficients_[lane->slot];
  if (there == 0) {
    coefficients_[lane->slot] = lane->coefficients;
    fingerprints_[lane->slot] = lane->fingerprint;
    return Progress::kInserted;
  }
  const uint64_t sum = lane->coefficients ^ there;
  lane->fingerprint ^= fingerprints_[lane->slot];
  if (sum == 0) return lane->fingerprint == 0 ? Progress::kRedundant : Progress::kConflict;
  const int zeros = __builtin_ctzll(sum);
  lane->coefficients = sum >> zeros;
  lane->slot += static_cast<uint64_t>(zeros);
  return lane->slot < lane->end_slot ? Progress::kGoesOn : Progress::kConflict;
}

// The last key of the group that is left.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void RibbonLayer::StartKey(Lane* lane) const {
  const uint64_t hash = lane->keys[lane->group_begins[lane->group] + lane->keys_left];
  lane->slot = SlotOf(hash);
  lane->coefficients = RibbonCoefficients(hash);
  lane->fingerprint = RibbonFingerprint(hash);
}

// From the last group of a bucket to the first: the first ones meet what hangs over from the bucket
// before, and are the ones to go. False if the lane has no more keys.
bool RibbonLayer::StartGroup(Lane* lane) {
  num_duplicates_ += lane->num_redundant;
  lane->num_redundant = 0;
  lane->filled.clear();
  while (lane->group > 0) {
    --lane->group;
    lane->keys_left = lane->group_begins[lane->group + 1] - lane->group_begins[lane->group];
    if (lane->keys_left == 0) continue;
    --lane->keys_left;
    StartKey(lane);
    return true;
  }
  ++lane->bucket;
  return StartBucket(lane);
}

bool RibbonLayer::StartBucket(Lane* lane) {
  for (; lane->bucket < lane->end_bucket; ++lane->bucket) {
    if (begins_[lane->bucket] == begins_[lane->bucket + 1]) continue;
    SortBucket(lane);
    lane->group = kGroupsOfBucket;
    return StartGroup(lane);
  }
  return false;
}

void RibbonLayer::SortBucket(Lane* lane) const {
  const uint64_t* const keys = keys_.data() + begins_[lane->bucket];
  const uint64_t size = begins_[lane->bucket + 1] - begins_[lane->bucket];
  const auto group_of = [this](uint64_t hash) { return SlotOf(hash) % kBucketSlots / kGroupSlots; };
  std::array<uint32_t, kGroupsOfBucket + 2> positions{};
  for (uint64_t i = 0; i < size; ++i) ++positions[group_of(keys[i]) + 2];
  for (size_t i = 2; i < positions.size(); ++i) positions[i] += positions[i - 1];
  lane->keys.resize(size);
  for (uint64_t i = 0; i < size; ++i) lane->keys[positions[group_of(keys[i]) + 1]++] = keys[i];
  std::copy(positions.begin(), positions.end() - 1, lane->group_begins.begin());
}

// Bumps the present group and those before it. False if the lane has no more keys.
bool RibbonLayer::Bump(Lane* lane, uint8_t* thresholds, std::vector<uint64_t>* bumped) {
  // Equations are never changed once they have their slots: emptying these undoes the group.
  for (const uint64_t slot : lane->filled) {
    coefficients_[slot] = 0;
    fingerprints_[slot] = 0;
  }
  lane->num_redundant = 0;
  const uint64_t threshold = lane->group + 1;
  uint8_t& two_thresholds = thresholds[lane->bucket / 2];
  two_thresholds = static_cast<uint8_t>(two_thresholds | threshold << (lane->bucket % 2 * 4));
  const auto begin = lane->keys.begin();
  const auto end = begin + lane->group_begins[threshold];
  std::sort(begin, end);
  const auto unique_end = std::unique(begin, end);
  for (auto hash = begin; hash != unique_end; ++hash) {
    bumped->push_back(Remix(*hash, kNextLayerSalt));
  }
  num_duplicates_ += static_cast<uint64_t>(end - unique_end);
  lane->group = 0;
  return StartGroup(lane);
}

uint64_t RibbonLayer::InsertOrBump(uint8_t* thresholds, std::vector<uint64_t>* bumped) {
  const uint64_t num_lanes = std::clamp<uint64_t>(num_buckets() / kLeastBucketsOfLane, 1, kLanes);
  std::vector<Lane> lanes(num_lanes);
  for (uint64_t i = 0; i < num_lanes; ++i) {
    lanes[i].bucket = num_buckets() * i / num_lanes;
    lanes[i].end_bucket = num_buckets() * (i + 1) / num_lanes;
    lanes[i].end_slot =
        std::min<uint64_t>(lanes[i].end_bucket * kBucketSlots, coefficients_.size());
    lanes[i].num_redundant = 0;
  }
  std::erase_if(lanes, [this](Lane& lane) { return !StartBucket(&lane); });
  while (!lanes.empty()) {
    bool has_ended = false;
    for (Lane& lane : lanes) {
      const Progress progress = Step(&lane);
      if (progress == Progress::kGoesOn) continue;
      if (progress == Progress::kConflict) {
        if (Bump(&lane, thresholds, bumped)) continue;
        has_ended = true;
        lane.end_bucket = 0;
        continue;
      }
      if (progress == Progress::kInserted) {
        lane.filled.push_back(lane.slot);
      } else {
        // Redundant in 64 coefficients and 32 bits of sum: not by chance.
        ++lane.num_redundant;
      }
      if (lane.keys_left > 0) {
        --lane.keys_left;
        StartKey(&lane);
      } else if (!StartGroup(&lane)) {
        has_ended = true;
        lane.end_bucket = 0;
      }
    }
    if (has_ended) std::erase_if(lanes, [](const Lane& lane) { return lane.end_bucket == 0; });
  }
  return num_duplicates_;
}

bool RibbonLayer::InsertEach(uint64_t* num_duplicates) {
  Lane lane{};
  lane.end_slot = coefficients_.size();
  for (const uint64_t hash : keys_) {
    lane.slot = SlotOf(hash);
    lane.coefficients = RibbonCoefficients(hash);
    lane.fingerprint = RibbonFingerprint(hash);
    Progress progress = Progress::kGoesOn;
    while (progress == Progress::kGoesOn) progress = Step(&lane);
    if (progress == Progress::kConflict) return false;
    if (progress == Progress::kRedundant) ++*num_duplicates;
  }
  return true;
}

void RibbonLayer::Solve(int columns, uint64_t num_narrow_blocks, uint8_t* blocks) const {
  SolveRibbon({coefficients_.data(), fingerprints_.data(), coefficients_.size() / kRibbonBlockSlots,
               num_narrow_blocks, columns},
              blocks);
}

uint64_t RibbonLayer::memory_bytes() const {
  return coefficients_.capacity() * sizeof(uint64_t) + fingerprints_.capacity() * sizeof(uint32_t) +
         keys_.capacity() * sizeof(uint64_t) + begins_.capacity() * sizeof(uint32_t);
}

}  // namespace winnow::filter::internal
