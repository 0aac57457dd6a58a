#include "filter/kinds/cuckoo/semi_sorted_cuckoo.h"

#include <algorithm>

#include "filter/kinds/cuckoo/cuckoo_table.h"
#include "filter/kinds/cuckoo/semi_sorted_bucket.h"

namespace winnow::filter::internal {
namespace {

// A bucket, here of 10-bit fingerprints (36 bits instead of 40):
//
//   bit    0              12       18       24       30       36
//          | code of the  | rest 0 | rest 1 | rest 2 | rest 3 | next bucket ...
//          | high nibbles |
//
//   fingerprint i = (nibble i of the decoded code) << 6 | rest i
//
// The fingerprints are sorted, so that their high nibbles are too. Sorting by the whole fingerprint
// keeps each rest beside its own nibble. The order means nothing: a query compares with all four.

constexpr auto kSortedNibbles = SortedNibblesOfCodes();

// The bits of a fingerprint that are stored as they are, behind the code of the bucket.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t RestBits(int fingerprint_bits) {
  return static_cast<uint64_t>(fingerprint_bits - kNibbleBits);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t BucketBitsOf(int fingerprint_bits) {
  return kNibblesCodeBits + kSlotsPerBucket * RestBits(fingerprint_bits);
}

void StoreBucket(uint32_t* slots, uint64_t bucket, int fingerprint_bits, uint8_t* payload) {
  // Empty slots, which are 0, come first; they decode to 0, which is no key's fingerprint.
  std::sort(slots, slots + kSlotsPerBucket);
  const uint64_t width = RestBits(fingerprint_bits);
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const uint64_t code_at = bucket * BucketBitsOf(fingerprint_bits);
  uint64_t nibbles = 0;
  for (uint64_t i = 0; i < kSlotsPerBucket; ++i) {
    nibbles |= (slots[i] >> width) << (kNibbleBits * i);
    SetBits(slots[i] & mask, code_at + kNibblesCodeBits + i * width, payload);
  }
  SetBits(CodeOfSortedNibbles(static_cast<Nibbles>(nibbles)), code_at, payload);
}

constexpr CuckooLayout kLayout = {.word = "semi_sorted",
                                  .version = 2,
                                  .bits_per_key = {4, 32},
                                  .min_fingerprint_bits = 4,
                                  .bits_saved = 1,
                                  .store = &StoreBucket};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Nibbles NibblesOf(uint64_t bucket_bits) {
  return kSortedNibbles[bucket_bits & ((uint64_t{1} << kNibblesCodeBits) - 1)];
}

// Fingerprint `i` of a bucket.
uint64_t FingerprintAt(const uint8_t* payload, uint64_t code_at, Nibbles nibbles, int i,
                       uint64_t rest_bits) {
  const uint64_t rest =
      LoadBits(payload, code_at + kNibblesCodeBits + static_cast<uint64_t>(i) * rest_bits);
  return uint64_t{NibbleAt(nibbles, i)} << rest_bits | (rest & ((uint64_t{1} << rest_bits) - 1));
}

// Four neighbouring numbers of `width` bits, at most 16, each in 16 bits of its own: first the
// upper two go to the upper half, then the upper one of each two. A bit deposit (pdep) would do it
// in one instruction, but is slow on some processors and missing on others.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t Spread(uint64_t packed, uint64_t width) {
  const uint64_t pair_mask = (uint64_t{1} << (2 * width)) - 1;
  const uint64_t pairs = (packed & pair_mask) | (packed >> (2 * width) & pair_mask) << 32;
  const uint64_t mask = ((uint64_t{1} << width) - 1) * 0x0000'0001'0000'0001;
  return (pairs & mask) | (pairs >> width & mask) << 16;
}

// Fingerprints of kWidth bits; 0 stands for any width.
template <int kWidth>
struct SemiSortedBuckets {
  static int FingerprintBits(const UnitView& unit) { return kWidth == 0 ? unit.parameter : kWidth; }
  static uint64_t BucketBits(int fingerprint_bits) { return BucketBitsOf(fingerprint_bits); }

  ABSL_ATTRIBUTE_ALWAYS_INLINE static bool BucketHolds(const uint8_t* payload, uint64_t bucket,
                                                       int fingerprint_bits, uint64_t fingerprint) {
    const uint64_t width = RestBits(fingerprint_bits);
    const uint64_t code_at = bucket * BucketBitsOf(fingerprint_bits);
    // A bucket begins at a multiple of four bits: up to 60 of its bits come with one load.
    const uint64_t bits = LoadBits(payload, code_at);
    const Nibbles nibbles = NibblesOf(bits);
    if (fingerprint_bits > 16) {
      bool found = false;
      for (int i = 0; i < static_cast<int>(kSlotsPerBucket); ++i) {
        found |= FingerprintAt(payload, code_at, nibbles, i, width) == fingerprint;
      }
      return found;
    }
    // The search for a zero among four lanes of 16 bits, as in cuckoo.cc.
    constexpr uint64_t kLowestBits = 0x0001'0001'0001'0001;
    const uint64_t lanes =
        Spread(nibbles, kNibbleBits) << width | Spread(bits >> kNibblesCodeBits, width);
    const uint64_t difference = lanes ^ (fingerprint * kLowestBits);
    return ((difference - kLowestBits) & ~difference & (kLowestBits << 15)) != 0;
  }

  static uint64_t CountUsed(const uint8_t* payload, uint64_t bucket, int fingerprint_bits) {
    const uint64_t code_at = bucket * BucketBitsOf(fingerprint_bits);
    const Nibbles nibbles = NibblesOf(LoadBits(payload, code_at));
    uint64_t num_used = 0;
    for (int i = 0; i < static_cast<int>(kSlotsPerBucket); ++i) {
      num_used +=
          FingerprintAt(payload, code_at, nibbles, i, RestBits(fingerprint_bits)) != 0 ? 1 : 0;
    }
    return num_used;
  }
};

}  // namespace

constinit const KindOperations kSemiSortedCuckooOperations =
    CuckooKind<kLayout, SemiSortedBuckets>();

}  // namespace winnow::filter::internal
