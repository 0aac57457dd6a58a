#include "filter/kinds/cuckoo/cuckoo.h"

#include <cstring>

#include "filter/kinds/cuckoo/cuckoo_table.h"

namespace winnow::filter::internal {
namespace {

// A bucket, here of 10-bit fingerprints; 0 is an empty slot:
//
//   bit    0          10         20         30         40
//          | slot 0   | slot 1   | slot 2   | slot 3   | slot 0 of the next bucket ...

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

constexpr CuckooLayout kLayout = {.word = {},
                                  .version = 1,
                                  .bits_per_key = {3, 34},
                                  .min_fingerprint_bits = 2,
                                  .bits_saved = 0,
                                  .store = &StoreBucket};

// A key is found if either of its buckets holds its fingerprint. Building never leaves a key
// without one: placement puts each fingerprint into one of its key's two buckets, moves it only
// between these (OtherBucket is its own inverse, so that both can be computed from either), and the
// whole try fails if one finds no place.

// Does one of the lowest slots of a word hold the fingerprint? The search for a zero lane in a word
// (Mycroft; Hacker's Delight, section 6-1): subtracting one from each lane borrows into the highest
// bit of a lane that is zero. A borrow may run on and mark a lane above a zero one wrongly, but
// never without a zero: as the answer is for all lanes together, it is exact. Lanes without `ends`
// do not count.
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

  static uint64_t CountUsed(const uint8_t* payload, uint64_t bucket, int fingerprint_bits) {
    const auto width = static_cast<uint64_t>(fingerprint_bits);
    const uint64_t mask = (uint64_t{1} << width) - 1;
    uint64_t num_used = 0;
    for (uint64_t i = 0; i < kSlotsPerBucket; ++i) {
      const uint64_t slot = bucket * kSlotsPerBucket + i;
      num_used += (LoadBits(payload, slot * width) & mask) != 0 ? 1 : 0;
    }
    return num_used;
  }
};

}  // namespace

constinit const KindOperations kCuckooOperations = CuckooKind<kLayout, PackedBuckets>();

}  // namespace winnow::filter::internal
