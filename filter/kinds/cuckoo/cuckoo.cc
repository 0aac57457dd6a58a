#include "filter/kinds/cuckoo/cuckoo.h"

#include <cstring>

#include "filter/kinds/cuckoo/cuckoo_table.h"

namespace winnow::filter::internal {
namespace {

// Slots are packed without gaps, the first in the lowest bits.
void StoreBucket(uint32_t* slots, uint64_t bucket, int fingerprint_bits, uint8_t* payload) {
  const auto width = static_cast<uint64_t>(fingerprint_bits);
  if (kSlotsPerBucket * width <= kMaxBitsSet) {
    uint64_t together = 0;
    for (uint64_t i = 0; i < kSlotsPerBucket; ++i) together |= uint64_t{slots[i]} << (i * width);
    SetBits(together, bucket * kSlotsPerBucket * width, payload);
    return;
  }
  for (uint64_t i = 0; i < kSlotsPerBucket; ++i) {
    SetBits(slots[i], (bucket * kSlotsPerBucket + i) * width, payload);
  }
}

constexpr CuckooLayout kLayout = {
    .version = 1, .min_fingerprint_bits = 2, .bits_saved = 0, .store = &StoreBucket};

// Does one of the lowest slots of a word hold the fingerprint? The search for a zero lane in a word
// (Mycroft; Hacker's Delight, section 6-1).
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool SlotsHold(uint64_t slots, const SlotEnds& ends,
                                                   uint64_t fingerprint) {
  const uint64_t difference = slots ^ (fingerprint * ends.lowest_bits);
  return ((difference - ends.lowest_bits) & ~difference & ends.highest_bits) != 0;
}

// Fingerprints of kWidth bits; 0 stands for any width.
template <int kWidth>
struct PackedBuckets {
  static int FingerprintBits(const UnitView& unit) { return kWidth == 0 ? unit.parameter : kWidth; }
  static uint64_t BucketBits(int fingerprint_bits) {
    return kSlotsPerBucket * static_cast<uint64_t>(fingerprint_bits);
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE static bool BucketHolds(const uint8_t* payload, uint64_t bucket,
                                                       int fingerprint_bits, uint64_t fingerprint) {
    const auto width = static_cast<uint64_t>(fingerprint_bits);
    const CuckooFactorsOfWidth& factors = kCuckooFactors.of_width[width];
    if (kWidth != 0 && kWidth % 2 == 0) {
      static_assert(kWidth <= 16, "a bucket is one word");
      // Its buckets are whole bytes.
      uint64_t slots;
      std::memcpy(&slots, payload + bucket * (kWidth / 2), sizeof(slots));
      return SlotsHold(slots, factors.four_slots, fingerprint);
    }
    // As many slots in one load as fit behind the slot before. A bucket begins at a multiple of
    // four bits: behind it there are none or four bits of the bucket before.
    const uint64_t bit = bucket * kSlotsPerBucket * width;
    if (fingerprint_bits <= 16) {
      return SlotsHold(LoadBits(payload, bit), factors.four_slots, fingerprint);
    }
    bool found = false;
    if (fingerprint_bits <= 28) {
      found |= SlotsHold(LoadBits(payload, bit), factors.two_slots, fingerprint);
      found |= SlotsHold(LoadBits(payload, bit + 2 * width), factors.two_slots, fingerprint);
      return found;
    }
    for (uint64_t slot = 0; slot < kSlotsPerBucket; ++slot) {
      found |= SlotsHold(LoadBits(payload, bit + slot * width), factors.one_slot, fingerprint);
    }
    return found;
  }
};

using Queries = CuckooQueriesOfAllWidths<PackedBuckets>;

UnitDescription Describe(const Unit& unit) {
  const auto* payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  const uint64_t width = unit.header.parameter;
  const uint64_t num_slots = unit.header.slots_per_shard * unit.header.num_shards * kSlotsPerBucket;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  uint64_t num_used = 0;
  for (uint64_t slot = 0; slot < num_slots; ++slot) {
    if ((LoadBits(payload, slot * width) & mask) != 0) ++num_used;
  }
  return DescribeCuckoo(unit, num_used);
}

}  // namespace

const KindOperations kCuckooOperations = {
    .kind = FilterKind::kCuckoo,
    .name = "cuckoo",
    .version = kLayout.version,
    .bits_per_key = {3, 34},
    .verify_by_default = true,
    .bits_per_key_for_fpr = &CuckooOperations<kLayout>::BitsForFpr,
    .expected_fpr = &CuckooOperations<kLayout>::ExpectedFpr,
    .build = &CuckooOperations<kLayout>::Build,
    .is_consistent = &CuckooOperations<kLayout>::IsConsistent,
    .may_contain = &Queries::ByWidth::MayContain,
    .may_contain_of = &Queries::ByWidth::MayContainOf,
    .prefetch = &Queries::Prefetch,
    .may_contain_batch = &Queries::ByWidth::MayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
