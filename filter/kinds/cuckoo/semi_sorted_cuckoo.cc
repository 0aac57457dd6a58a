#include "filter/kinds/cuckoo/semi_sorted_cuckoo.h"

#include <algorithm>

#include "filter/kinds/cuckoo/cuckoo_table.h"
#include "filter/kinds/cuckoo/semi_sorted_bucket.h"

namespace winnow::filter::internal {
namespace {

constexpr auto kSortedNibbles = SortedNibblesOfCodes();

// The bits of a fingerprint that are stored as they are, behind the code of the bucket.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t RestBits(int fingerprint_bits) {
  return static_cast<uint64_t>(fingerprint_bits - kNibbleBits);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t BucketBitsOf(int fingerprint_bits) {
  return kNibblesCodeBits + kSlotsPerBucket * RestBits(fingerprint_bits);
}

void StoreBucket(uint32_t* slots, uint64_t bucket, int fingerprint_bits, uint8_t* payload) {
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

constexpr CuckooLayout kLayout = {
    .version = 2, .min_fingerprint_bits = 4, .bits_saved = 1, .store = &StoreBucket};

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

// Four neighbouring numbers of `width` bits, at most 16, each in 16 bits of its own.
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
    // The search for a zero among four lanes, as in cuckoo.cc.
    constexpr uint64_t kLowestBits = 0x0001'0001'0001'0001;
    const uint64_t lanes =
        Spread(nibbles, kNibbleBits) << width | Spread(bits >> kNibblesCodeBits, width);
    const uint64_t difference = lanes ^ (fingerprint * kLowestBits);
    return ((difference - kLowestBits) & ~difference & (kLowestBits << 15)) != 0;
  }
};

using Queries = CuckooQueriesOfAllWidths<SemiSortedBuckets>;

UnitDescription Describe(const Unit& unit) {
  const auto* payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  const uint64_t num_buckets = unit.header.slots_per_shard * unit.header.num_shards;
  uint64_t num_used = 0;
  for (uint64_t bucket = 0; bucket < num_buckets; ++bucket) {
    const uint64_t code_at = bucket * BucketBitsOf(unit.header.parameter);
    const Nibbles nibbles = NibblesOf(LoadBits(payload, code_at));
    for (int i = 0; i < static_cast<int>(kSlotsPerBucket); ++i) {
      num_used +=
          FingerprintAt(payload, code_at, nibbles, i, RestBits(unit.header.parameter)) != 0 ? 1 : 0;
    }
  }
  return DescribeCuckoo(unit, num_used);
}

}  // namespace

const KindOperations kSemiSortedCuckooOperations = {
    .kind = FilterKind::kCuckoo,
    .name = "cuckoo",
    .word = "semi_sorted",
    .version = kLayout.version,
    .bits_per_key = {4, 32},
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
