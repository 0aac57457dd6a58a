#include "filter/cuckoo.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/base/attributes.h"
#include "filter/build_memory.h"

namespace winnow::filter::internal {
namespace {

constexpr uint64_t kSlotsPerBucket = 4;
constexpr int kLeastFingerprintBits = 2;
constexpr int kMostFingerprintBits = 32;
// A probe loads eight bytes at the byte where a slot begins: the last slot's load ends here.
constexpr uint64_t kSlackBytes = 8;
// Four-slot buckets can be filled to 98 % (Fan et al., section 5). The last per cents take about as
// long to fill as all the others, and are worth it: a filter is built once.
constexpr double kMaxLoad = 0.973;
constexpr int kMaxEvictions = 2000;

// Small functions below are forced inline: a Location that is returned through memory costs more
// than all that is computed for it.

// The two buckets and the fingerprint of a hash, in one shard.
struct Location {
  uint64_t shard;
  uint64_t first_bucket;
  uint64_t second_bucket;
  uint32_t fingerprint;
};

// The other bucket of a fingerprint. Reflection at a point that the fingerprint chooses works for
// any number of buckets, and is its own inverse; the original's exclusive or needs a power of two.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t OtherBucket(uint64_t bucket, uint32_t fingerprint,
                                                         uint64_t num_buckets) {
  const uint64_t mixed = (uint64_t{fingerprint} * 0xc6a4a7935bd1e995) ^ 0x2545f4914f6cdd1d;
  const uint64_t center = MultiplyHigh(mixed * 0x9e3779b97f4a7c15, num_buckets);
  return center >= bucket ? center - bucket : center + num_buckets - bucket;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Location Locate(uint64_t hash, uint64_t num_shards,
                                                    uint64_t num_buckets, int fingerprint_bits) {
  const unsigned __int128 product = static_cast<unsigned __int128>(hash) * num_shards;
  Location location;
  location.shard = static_cast<uint64_t>(product >> 64);
  location.first_bucket = MultiplyHigh(static_cast<uint64_t>(product), num_buckets);
  // The high bits of the hash chose the bucket; a product's high half depends on the low ones.
  // Zero marks an empty slot, so fingerprints begin at one.
  const uint64_t num_fingerprints = (uint64_t{1} << fingerprint_bits) - 1;
  const uint64_t low_half = (hash * 0xd6e8feb86659fd93) >> 32;
  location.fingerprint = static_cast<uint32_t>(1 + ((low_half * num_fingerprints) >> 32));
  location.second_bucket = OtherBucket(location.first_bucket, location.fingerprint, num_buckets);
  return location;
}

// One shard while it is built: a word for each slot, zero if empty.
class ShardBuilder {
 public:
  explicit ShardBuilder(uint64_t num_buckets) : num_buckets_(num_buckets) {}

  void Clear() { slots_.assign(num_buckets_ * kSlotsPerBucket, 0); }
  uint64_t memory_bytes() const { return slots_.capacity() * sizeof(uint32_t); }
  const BuildVector<uint32_t>& slots() const { return slots_; }

  // False if no place was found. Two keys of equal fingerprint and buckets share one slot: nothing
  // is ever removed, so that one is enough, and crowds of such keys cannot overflow.
  bool Insert(const Location& location) {
    if (Holds(location.first_bucket, location.fingerprint) ||
        Holds(location.second_bucket, location.fingerprint)) {
      return true;
    }
    uint32_t fingerprint = location.fingerprint;
    if (Place(location.first_bucket, fingerprint) || Place(location.second_bucket, fingerprint)) {
      return true;
    }
    uint64_t bucket = location.second_bucket;
    for (int i = 0; i < kMaxEvictions; ++i) {
      random_ = random_ * 6364136223846793005 + 1442695040888963407;
      uint32_t& victim = slots_[bucket * kSlotsPerBucket + (random_ >> 62)];
      std::swap(fingerprint, victim);
      bucket = OtherBucket(bucket, fingerprint, num_buckets_);
      if (Place(bucket, fingerprint)) return true;
    }
    return false;
  }

 private:
  bool Holds(uint64_t bucket, uint32_t fingerprint) const {
    const uint32_t* slots = &slots_[bucket * kSlotsPerBucket];
    return slots[0] == fingerprint || slots[1] == fingerprint || slots[2] == fingerprint ||
           slots[3] == fingerprint;
  }

  bool Place(uint64_t bucket, uint32_t fingerprint) {
    uint32_t* slots = &slots_[bucket * kSlotsPerBucket];
    for (uint64_t i = 0; i < kSlotsPerBucket; ++i) {
      if (slots[i] != 0) continue;
      slots[i] = fingerprint;
      return true;
    }
    return false;
  }

  const uint64_t num_buckets_;
  BuildVector<uint32_t> slots_;
  uint64_t random_ = 0;
};

uint32_t LoadSlot(const uint8_t* payload, uint64_t slot, int fingerprint_bits) {
  const uint64_t bit = slot * static_cast<uint64_t>(fingerprint_bits);
  uint64_t word;
  std::memcpy(&word, payload + (bit >> 3), sizeof(word));
  const uint64_t mask = (uint64_t{1} << fingerprint_bits) - 1;
  return static_cast<uint32_t>((word >> (bit & 7)) & mask);
}

// Slots are packed without gaps, the first in the lowest bits.
void PackSlots(const BuildVector<uint32_t>& slots, uint64_t first_slot, int fingerprint_bits,
               uint8_t* payload) {
  uint64_t bit = first_slot * static_cast<uint64_t>(fingerprint_bits);
  for (const uint32_t fingerprint : slots) {
    uint64_t word;
    std::memcpy(&word, payload + (bit >> 3), sizeof(word));
    word |= uint64_t{fingerprint} << (bit & 7);
    std::memcpy(payload + (bit >> 3), &word, sizeof(word));
    bit += static_cast<uint64_t>(fingerprint_bits);
  }
}

uint64_t PayloadBytes(uint64_t num_buckets, int fingerprint_bits) {
  const uint64_t bits = num_buckets * kSlotsPerBucket * static_cast<uint64_t>(fingerprint_bits);
  return (bits + 7) / 8 + kSlackBytes;
}

int FingerprintBits(double bits_per_key) {
  return std::clamp(static_cast<int>(bits_per_key * kMaxLoad + 1e-9), kLeastFingerprintBits,
                    kMostFingerprintBits);
}

// Buckets of a shard of at most `max_keys` keys. Small tables need more room for chance.
uint64_t BucketCount(double max_keys, double bits_per_key, int fingerprint_bits, int attempt) {
  const double asked = max_keys * bits_per_key / fingerprint_bits;
  const double least = max_keys / kMaxLoad + (max_keys < 64 ? 2 : 0);
  // The last attempts buy certainty with room.
  const double growth = 1 + 0.02 * std::max(0, attempt - 3);
  const double slots = std::max(asked, least) * growth;
  return static_cast<uint64_t>(std::ceil(slots / static_cast<double>(kSlotsPerBucket)));
}

double FprOf(const UnitHeader& header) {
  const double num_slots =
      static_cast<double>(header.slots_per_shard) * header.num_shards * kSlotsPerBucket;
  return CuckooFpr(header.parameter, static_cast<double>(header.num_keys) / num_slots,
                   header.slots_per_shard);
}

bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kCuckoo);
  header.hash_seed = request.hash_seed;
  header.salt = static_cast<uint64_t>(request.attempt) * 0x9e3779b97f4a7c15;
  header.num_shards =
      ShardCount(static_cast<double>(hashes->size()), request.bits_per_key, request.max_shard_bits);
  const int fingerprint_bits = FingerprintBits(request.bits_per_key);
  header.parameter = static_cast<uint8_t>(fingerprint_bits);

  ShardedHashes shards(hashes, header.num_shards, header.salt);
  result->temporary_bytes = shards.RemoveDuplicates();
  header.num_keys = shards.num_hashes();
  if (!shards.IsBalanced()) return false;
  const uint64_t num_buckets = BucketCount(static_cast<double>(shards.LargestShard()),
                                           request.bits_per_key, fingerprint_bits, request.attempt);
  header.slots_per_shard = num_buckets;
  header.payload_bytes = PayloadBytes(num_buckets * header.num_shards, fingerprint_bits);

  result->block = MakeUnsealedBlock(header.payload_bytes);
  ShardBuilder shard_builder(num_buckets);
  for (uint64_t shard = 0; shard < header.num_shards; ++shard) {
    shard_builder.Clear();
    bool all_inserted = true;
    shards[shard].ForEachRun([&](const uint64_t* run, size_t count) {
      for (size_t i = 0; i < count && all_inserted; ++i) {
        const uint64_t hash = Remix(run[i], header.salt);
        all_inserted =
            shard_builder.Insert(Locate(hash, header.num_shards, num_buckets, fingerprint_bits));
      }
    });
    if (!all_inserted) return false;
    PackSlots(shard_builder.slots(), shard * num_buckets * kSlotsPerBucket, fingerprint_bits,
              PayloadOf(&result->block));
  }
  SealBlock(header, &result->block);
  result->num_keys = header.num_keys;
  result->temporary_bytes = std::max(result->temporary_bytes, shard_builder.memory_bytes());
  result->expected_fpr = FprOf(header);
  return true;
}

bool IsConsistent(const UnitHeader& header) {
  if (header.parameter < kLeastFingerprintBits || header.parameter > kMostFingerprintBits ||
      header.num_shards == 0 || header.slots_per_shard == 0 || header.num_keys == 0 ||
      header.detail != 0) {
    return false;
  }
  // Each bucket takes at least one byte: past this comparison no product below can wrap.
  if (header.slots_per_shard > header.payload_bytes / header.num_shards) return false;
  const uint64_t num_buckets = header.slots_per_shard * header.num_shards;
  return header.num_keys <= num_buckets * kSlotsPerBucket &&
         header.payload_bytes == PayloadBytes(num_buckets, header.parameter);
}

// For each fingerprint width, a one at the lowest bit of each of kLanes neighbouring slots.
template <int kLanes>
constexpr std::array<uint64_t, kMostFingerprintBits + 1> LowestBitsOfLanes() {
  std::array<uint64_t, kMostFingerprintBits + 1> lowest_bits{};
  for (int width = 0; width <= kMostFingerprintBits; ++width) {
    for (int lane = 0; lane < kLanes && lane * width < 64; ++lane) {
      lowest_bits[static_cast<size_t>(width)] |= uint64_t{1} << (lane * width);
    }
  }
  return lowest_bits;
}

// Does one of `kLanes` neighbouring slots hold the fingerprint? They come with one load, and the
// comparison is the search for a zero lane in a word (Mycroft; Hacker's Delight, section 6-1).
template <int kLanes>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool LanesHold(const uint8_t* payload, uint64_t bit,
                                                   int fingerprint_bits, uint64_t fingerprint) {
  static constexpr auto kLowestBits = LowestBitsOfLanes<kLanes>();
  const uint64_t lowest_bits = kLowestBits[static_cast<size_t>(fingerprint_bits)];
  const uint64_t highest_bits = lowest_bits << (fingerprint_bits - 1);
  uint64_t word;
  std::memcpy(&word, payload + (bit >> 3), sizeof(word));
  const uint64_t difference = (word >> (bit & 7)) ^ (fingerprint * lowest_bits);
  return ((difference - lowest_bits) & ~difference & highest_bits) != 0;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool BucketHolds(const uint8_t* payload, uint64_t bucket,
                                                     int fingerprint_bits, uint64_t fingerprint) {
  const auto width = static_cast<uint64_t>(fingerprint_bits);
  const uint64_t bit = bucket * kSlotsPerBucket * width;
  // As many slots in one load as fit behind up to seven bits of the slot before.
  if (fingerprint_bits <= 14) return LanesHold<4>(payload, bit, fingerprint_bits, fingerprint);
  bool found = false;
  if (fingerprint_bits <= 28) {
    found |= LanesHold<2>(payload, bit, fingerprint_bits, fingerprint);
    found |= LanesHold<2>(payload, bit + 2 * width, fingerprint_bits, fingerprint);
    return found;
  }
  for (uint64_t slot = 0; slot < kSlotsPerBucket; ++slot) {
    found |= LanesHold<1>(payload, bit + slot * width, fingerprint_bits, fingerprint);
  }
  return found;
}

// Where a hash would be in the whole payload: its buckets counted over all shards.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Location LocateIn(const UnitView& unit, uint64_t key_hash) {
  Location location =
      Locate(Remix(key_hash, unit.salt), unit.num_shards, unit.slots_per_shard, unit.parameter);
  location.first_bucket += location.shard * unit.slots_per_shard;
  location.second_bucket += location.shard * unit.slots_per_shard;
  return location;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool HoldsAt(const UnitView& unit, const Location& location) {
  // Both, without a branch between: an absent key needs both, and their accesses overlap.
  bool found =
      BucketHolds(unit.payload, location.first_bucket, unit.parameter, location.fingerprint);
  found |= BucketHolds(unit.payload, location.second_bucket, unit.parameter, location.fingerprint);
  return found;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void PrefetchAt(const UnitView& unit,
                                                    const Location& location) {
  const uint64_t bucket_bits = kSlotsPerBucket * unit.parameter;
  __builtin_prefetch(unit.payload + location.first_bucket * bucket_bits / 8);
  __builtin_prefetch(unit.payload + location.second_bucket * bucket_bits / 8);
}

bool MayContain(const UnitView& unit, uint64_t key_hash) {
  return HoldsAt(unit, LocateIn(unit, key_hash));
}

void Prefetch(const UnitView& unit, uint64_t key_hash) {
  PrefetchAt(unit, LocateIn(unit, key_hash));
}

void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                     uint8_t* may_contain) {
  std::array<Location, kMostBatched> locations;
  for (size_t i = 0; i < count; ++i) {
    locations[i] = LocateIn(unit, key_hashes[i]);
    PrefetchAt(unit, locations[i]);
  }
  for (size_t i = 0; i < count; ++i) may_contain[i] = HoldsAt(unit, locations[i]) ? 1 : 0;
}

UnitDescription Describe(const Unit& unit) {
  const auto* payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  const int fingerprint_bits = unit.header.parameter;
  const uint64_t num_slots = unit.header.slots_per_shard * unit.header.num_shards * kSlotsPerBucket;
  uint64_t num_used = 0;
  for (uint64_t slot = 0; slot < num_slots; ++slot) {
    if (LoadSlot(payload, slot, fingerprint_bits) != 0) ++num_used;
  }
  UnitDescription description;
  description.fingerprint_bits = fingerprint_bits;
  description.fill = static_cast<double>(num_used) / static_cast<double>(num_slots);
  description.expected_fpr = FprOf(unit.header);
  return description;
}

double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const int fingerprint_bits = FingerprintBits(bits_per_key);
  const auto keys = static_cast<double>(num_keys);
  const uint64_t num_buckets = BucketCount(keys, bits_per_key, fingerprint_bits, 0);
  return CuckooFpr(fingerprint_bits, keys / static_cast<double>(num_buckets * kSlotsPerBucket),
                   num_buckets);
}

double BitsForFpr(double fpr) {
  constexpr uint64_t kManyBuckets = 1'000'000;
  int fingerprint_bits = kLeastFingerprintBits;
  while (fingerprint_bits < kMostFingerprintBits &&
         CuckooFpr(fingerprint_bits, kMaxLoad, kManyBuckets) > fpr) {
    ++fingerprint_bits;
  }
  return fingerprint_bits / kMaxLoad;
}

}  // namespace

const KindOperations kCuckooOperations = {
    .kind = FilterKind::kCuckoo,
    .name = "cuckoo",
    .version = 1,
    .bits_per_key = {3, 34},
    .verify_by_default = true,
    .bits_per_key_for_fpr = &BitsForFpr,
    .expected_fpr = &ExpectedFprAt,
    .build = &Build,
    .is_consistent = &IsConsistent,
    .may_contain = &MayContain,
    .prefetch = &Prefetch,
    .may_contain_batch = &MayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
