// What the layouts of a cuckoo filter have in common: where a key's fingerprint lies, how a table
// is filled, and how it is queried. A layout is how the four fingerprints of a bucket become bits.

#ifndef WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_TABLE_H_
#define WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_TABLE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/base/attributes.h"
#include "filter/kinds/cuckoo/cuckoo_factors.h"
#include "filter/kinds/kind.h"
#include "filter/kinds/queries_by_width.h"
#include "winnow/filter/internal/fetch_line.h"
#include "winnow/filter/internal/hash_list.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kSlotsPerBucket = 4;

struct CuckooLayout {
  std::string_view word;  // KindOperations::word
  uint8_t version;        // of the unit's payload
  BitsPerKeyRange bits_per_key;
  int min_fingerprint_bits;
  int bits_saved;  // by each slot: it takes so many bits less than a fingerprint has
  // Writes one bucket, whose bits are zero; a slot of zero is empty. May change the order of the
  // slots.
  void (*store)(uint32_t* slots, uint64_t bucket, int fingerprint_bits, uint8_t* payload);
};

// KindOperations::build, is_consistent, expected_fpr and bits_per_key_for_fpr, for a layout.
bool BuildCuckoo(const CuckooLayout& layout, const BuildRequest& request, HashList* hashes,
                 BuildResult* result);
bool IsConsistentCuckoo(const CuckooLayout& layout, const UnitHeader& header);
double ExpectedCuckooFpr(const CuckooLayout& layout, double bits_per_key, uint64_t num_keys);
double CuckooBitsForFpr(const CuckooLayout& layout, double fpr);

// The same as functions that KindOperations can point at.
template <const CuckooLayout& kLayout>
struct CuckooOperations {
  static bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
    return BuildCuckoo(kLayout, request, hashes, result);
  }
  static bool IsConsistent(const UnitHeader& header) { return IsConsistentCuckoo(kLayout, header); }
  static double ExpectedFpr(double bits_per_key, uint64_t num_keys) {
    return ExpectedCuckooFpr(kLayout, bits_per_key, num_keys);
  }
  static double BitsForFpr(double fpr) { return CuckooBitsForFpr(kLayout, fpr); }
};

// KindOperations::describe. count_used(payload, bucket, fingerprint_bits) gives how many slots of a
// bucket are not empty.
UnitDescription DescribeCuckoo(const Unit& unit,
                               uint64_t (*count_used)(const uint8_t* payload, uint64_t bucket,
                                                      int fingerprint_bits));

// Small functions below are forced inline: a Location that is returned through memory costs more
// than all that is computed for it.

// The two buckets and the fingerprint of a hash.
struct CuckooLocation {
  uint64_t first_bucket;
  uint64_t second_bucket;
  uint32_t fingerprint;
};

// The other bucket of a fingerprint. Reflection at a point that the fingerprint chooses works for
// any number of buckets, and is its own inverse; the original's exclusive or needs a power of two.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t OtherBucket(uint64_t bucket, uint32_t fingerprint,
                                                         uint64_t num_buckets) {
  const uint64_t mixed =
      (uint64_t{fingerprint} * kCuckooFactors.center_before) ^ kCuckooFactors.center_flip;
  const uint64_t center = MultiplyHigh(mixed * kCuckooFactors.center_after, num_buckets);
  return center - bucket + (center < bucket ? num_buckets : 0);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t CuckooFingerprint(uint64_t hash,
                                                               int fingerprint_bits) {
  // The high bits of the hash chose the bucket; a product's high half depends on the low ones.
  // Zero marks an empty slot, so fingerprints begin at one.
  const uint64_t num_fingerprints =
      kCuckooFactors.of_width[static_cast<size_t>(fingerprint_bits)].num_fingerprints;
  const uint64_t low_half = (hash * kCuckooFactors.fingerprint) >> 32;
  return static_cast<uint32_t>(1 + ((low_half * num_fingerprints) >> 32));
}

// Buckets are counted in their shard.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline CuckooLocation Locate(uint64_t hash, uint64_t num_shards,
                                                          uint64_t num_buckets,
                                                          int fingerprint_bits) {
  CuckooLocation location;
  location.first_bucket = MultiplyHigh(hash * num_shards, num_buckets);
  location.fingerprint = CuckooFingerprint(hash, fingerprint_bits);
  location.second_bucket = OtherBucket(location.first_bucket, location.fingerprint, num_buckets);
  return location;
}

// Where a hash would be in the whole payload: its buckets counted over all shards. The first one is
// Locate's, found by one multiplication, as the high half of hash * shards * buckets is that of the
// low half of hash * shards by the buckets, behind those of the shards before.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline CuckooLocation LocateIn(const UnitView& unit, uint64_t key_hash,
                                                            int fingerprint_bits) {
  const uint64_t hash = Remix(key_hash, unit.salt);
  CuckooLocation location;
  location.first_bucket = MultiplyHigh(hash, unit.num_slots);
  location.fingerprint = CuckooFingerprint(hash, fingerprint_bits);
  const uint64_t shard_begin = MultiplyHigh(hash, unit.num_shards) * unit.slots_per_shard;
  location.second_bucket = shard_begin + OtherBucket(location.first_bucket - shard_begin,
                                                     location.fingerprint, unit.slots_per_shard);
  return location;
}

// The 64 bits from `bit` on, of which the last seven may be missing.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t LoadBits(const uint8_t* payload, uint64_t bit) {
  uint64_t word;
  std::memcpy(&word, payload + (bit >> 3), sizeof(word));
  return word >> (bit & 7);
}

// Sets the bits of `value`, of at most kMaxBitsSet, at `bit` and behind.
inline constexpr uint64_t kMaxBitsSet = 57;
inline void SetBits(uint64_t value, uint64_t bit, uint8_t* payload) {
  uint64_t word;
  std::memcpy(&word, payload + (bit >> 3), sizeof(word));
  word |= value << (bit & 7);
  std::memcpy(payload + (bit >> 3), &word, sizeof(word));
}

// KindOperations::may_contain, prefetch and may_contain_batch. Layout::BucketBits gives the bits of
// a bucket for a fingerprint's width, Layout::BucketHolds says whether one holds a fingerprint.
// Layout::FingerprintBits gives the width: a constant, if the layout is for one width, with which
// the compiler then computes what it can.
template <typename Layout>
struct CuckooQueries {
  static bool MayContain(const UnitView& unit, uint64_t key_hash) {
    return HoldsAt(unit, LocateIn(unit, key_hash, Layout::FingerprintBits(unit)));
  }

  static void Prefetch(const UnitView& unit, uint64_t key_hash) {
    PrefetchAt(unit, LocateIn(unit, key_hash, Layout::FingerprintBits(unit)));
  }

  static void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                              uint8_t* may_contain) {
    std::array<CuckooLocation, kMaxBatch> locations;
    for (size_t i = 0; i < count; ++i) {
      locations[i] = LocateIn(unit, key_hashes[i], Layout::FingerprintBits(unit));
      PrefetchAt(unit, locations[i]);
    }
    for (size_t i = 0; i < count; ++i) may_contain[i] = HoldsAt(unit, locations[i]) ? 1 : 0;
  }

 private:
  ABSL_ATTRIBUTE_ALWAYS_INLINE static bool HoldsAt(const UnitView& unit,
                                                   const CuckooLocation& location) {
    // Both, without a branch between: an absent key needs both, and their accesses overlap.
    const int width = Layout::FingerprintBits(unit);
    bool found =
        Layout::BucketHolds(unit.payload, location.first_bucket, width, location.fingerprint);
    found |= Layout::BucketHolds(unit.payload, location.second_bucket, width, location.fingerprint);
    return found;
  }

  // A bucket is loaded as a word, which may end on another line.
  ABSL_ATTRIBUTE_ALWAYS_INLINE static void FetchBucket(const uint8_t* bucket,
                                                       uint64_t bucket_bits) {
    FetchLine(bucket);
    FetchLine(bucket + std::max(sizeof(uint64_t) - 1, bucket_bits / 8));
  }

  ABSL_ATTRIBUTE_ALWAYS_INLINE static void PrefetchAt(const UnitView& unit,
                                                      const CuckooLocation& location) {
    const uint64_t bucket_bits = Layout::BucketBits(Layout::FingerprintBits(unit));
    FetchBucket(unit.payload + location.first_bucket * bucket_bits / 8, bucket_bits);
    FetchBucket(unit.payload + location.second_bucket * bucket_bits / 8, bucket_bits);
  }
};

// The same for all widths: Buckets<width> is a layout for one width, Buckets<0> for any. The usual
// widths have functions of their own.
template <template <int kWidth> class Buckets>
struct CuckooQueriesOfAllWidths {
  template <int kWidth>
  using Queries = CuckooQueries<Buckets<(kWidth >= 8 && kWidth <= 16) ? kWidth : 0>>;
  using ByWidth = QueriesByWidth<Queries, kMaxFingerprintBits>;

  static void Prefetch(const UnitView& unit, uint64_t key_hash) {
    Queries<0>::Prefetch(unit, key_hash);
  }
};

// All operations of a layout: Buckets<width> as above, and Buckets<0>::CountUsed as DescribeCuckoo
// wants it.
template <const CuckooLayout& kLayout, template <int kWidth> class Buckets>
constexpr KindOperations CuckooKind() {
  using Building = CuckooOperations<kLayout>;
  using Queries = CuckooQueriesOfAllWidths<Buckets>;
  return {
      .kind = FilterKind::kCuckoo,
      .name = "cuckoo",
      .word = kLayout.word,
      .version = kLayout.version,
      .bits_per_key = kLayout.bits_per_key,
      .verify_by_default = true,
      .bits_per_key_for_fpr = &Building::BitsForFpr,
      .expected_fpr = &Building::ExpectedFpr,
      .build = &Building::Build,
      .is_consistent = &Building::IsConsistent,
      .may_contain = &Queries::ByWidth::MayContain,
      .may_contain_of = &Queries::ByWidth::MayContainOf,
      .prefetch = &Queries::Prefetch,
      .may_contain_batch = &Queries::ByWidth::MayContainBatch,
      .describe = [](const Unit& unit) { return DescribeCuckoo(unit, &Buckets<0>::CountUsed); },
  };
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_TABLE_H_
