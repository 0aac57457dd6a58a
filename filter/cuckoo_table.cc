#include "filter/cuckoo_table.h"

#include <algorithm>
#include <cmath>

#include "filter/build_memory.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter::internal {
namespace {

// A probe loads eight bytes at the byte where a slot begins: the last slot's load ends here.
constexpr uint64_t kSlackBytes = 8;
// Four-slot buckets can be filled to 98 % (Fan et al., section 5). The last per cents take about as
// long to fill as all the others, and are worth it: a filter is built once.
constexpr double kMaxLoad = 0.973;
constexpr int kMaxEvictions = 2000;

// One shard while it is built: a word for each slot, zero if empty.
class ShardBuilder {
 public:
  explicit ShardBuilder(uint64_t num_buckets) : num_buckets_(num_buckets) {}

  void Clear() { slots_.assign(num_buckets_ * kSlotsPerBucket, 0); }
  uint64_t memory_bytes() const { return slots_.capacity() * sizeof(uint32_t); }

  // Writes all buckets, the shard's first one at `first_bucket`.
  void Store(const CuckooLayout& layout, uint64_t first_bucket, int fingerprint_bits,
             uint8_t* payload) {
    for (uint64_t bucket = 0; bucket < num_buckets_; ++bucket) {
      layout.store(&slots_[bucket * kSlotsPerBucket], first_bucket + bucket, fingerprint_bits,
                   payload);
    }
  }

  // False if no place was found. Two keys of equal fingerprint and buckets share one slot: nothing
  // is ever removed, so that one is enough, and crowds of such keys cannot overflow.
  bool Insert(const CuckooLocation& location) {
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

int SlotBits(const CuckooLayout& layout, int fingerprint_bits) {
  return fingerprint_bits - layout.bits_saved;
}

uint64_t PayloadBytes(uint64_t num_buckets, int slot_bits) {
  const uint64_t bits = num_buckets * kSlotsPerBucket * static_cast<uint64_t>(slot_bits);
  return (bits + 7) / 8 + kSlackBytes;
}

int FingerprintBits(const CuckooLayout& layout, double bits_per_key) {
  return std::clamp(static_cast<int>(bits_per_key * kMaxLoad + 1e-9) + layout.bits_saved,
                    layout.least_fingerprint_bits, kMostFingerprintBits);
}

// Buckets of a shard of at most `max_keys` keys. Small tables need more room for chance.
uint64_t BucketCount(double max_keys, double bits_per_key, int slot_bits, int attempt) {
  const double asked = max_keys * bits_per_key / slot_bits;
  const double least = max_keys / kMaxLoad + (max_keys < 64 ? 2 : 0);
  // The last attempts buy certainty with room.
  const double growth = 1 + 0.02 * std::max(0, attempt - 3);
  const double slots = std::max(asked, least) * growth;
  return static_cast<uint64_t>(std::ceil(slots / static_cast<double>(kSlotsPerBucket)));
}

uint64_t NumSlots(const UnitHeader& header) {
  return header.slots_per_shard * header.num_shards * kSlotsPerBucket;
}

double FprOf(const UnitHeader& header) {
  return CuckooFpr(header.parameter,
                   static_cast<double>(header.num_keys) / static_cast<double>(NumSlots(header)),
                   header.slots_per_shard);
}

}  // namespace

bool BuildCuckoo(const CuckooLayout& layout, const BuildRequest& request, HashList* hashes,
                 BuildResult* result) {
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kCuckoo);
  header.kind_version = layout.version;
  header.hash_seed = request.hash_seed;
  header.salt = static_cast<uint64_t>(request.attempt) * 0x9e3779b97f4a7c15;
  header.num_shards =
      ShardCount(static_cast<double>(hashes->size()), request.bits_per_key, request.max_shard_bits);
  const int fingerprint_bits = FingerprintBits(layout, request.bits_per_key);
  const int slot_bits = SlotBits(layout, fingerprint_bits);
  header.parameter = static_cast<uint8_t>(fingerprint_bits);

  ShardedHashes shards(hashes, header.num_shards, header.salt);
  result->temporary_bytes = shards.RemoveDuplicates();
  header.num_keys = shards.num_hashes();
  if (!shards.IsBalanced()) return false;
  const uint64_t num_buckets = BucketCount(static_cast<double>(shards.LargestShard()),
                                           request.bits_per_key, slot_bits, request.attempt);
  header.slots_per_shard = num_buckets;
  header.payload_bytes = PayloadBytes(num_buckets * header.num_shards, slot_bits);

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
    shard_builder.Store(layout, shard * num_buckets, fingerprint_bits, PayloadOf(&result->block));
  }
  SealBlock(header, &result->block);
  result->num_keys = header.num_keys;
  result->temporary_bytes = std::max(result->temporary_bytes, shard_builder.memory_bytes());
  result->expected_fpr = FprOf(header);
  return true;
}

bool IsConsistentCuckoo(const CuckooLayout& layout, const UnitHeader& header) {
  if (header.parameter < layout.least_fingerprint_bits || header.parameter > kMostFingerprintBits ||
      header.num_shards == 0 || header.slots_per_shard == 0 || header.num_keys == 0 ||
      header.detail != 0) {
    return false;
  }
  // Each bucket takes at least one byte: past this comparison no product below can wrap.
  if (header.slots_per_shard > header.payload_bytes / header.num_shards) return false;
  const uint64_t num_buckets = header.slots_per_shard * header.num_shards;
  return header.num_keys <= num_buckets * kSlotsPerBucket &&
         header.payload_bytes == PayloadBytes(num_buckets, SlotBits(layout, header.parameter));
}

double ExpectedCuckooFpr(const CuckooLayout& layout, double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const int fingerprint_bits = FingerprintBits(layout, bits_per_key);
  const auto keys = static_cast<double>(num_keys);
  const uint64_t num_buckets =
      BucketCount(keys, bits_per_key, SlotBits(layout, fingerprint_bits), 0);
  return CuckooFpr(fingerprint_bits, keys / static_cast<double>(num_buckets * kSlotsPerBucket),
                   num_buckets);
}

double CuckooBitsForFpr(const CuckooLayout& layout, double fpr) {
  constexpr uint64_t kManyBuckets = 1'000'000;
  int fingerprint_bits = layout.least_fingerprint_bits;
  while (fingerprint_bits < kMostFingerprintBits &&
         CuckooFpr(fingerprint_bits, kMaxLoad, kManyBuckets) > fpr) {
    ++fingerprint_bits;
  }
  return SlotBits(layout, fingerprint_bits) / kMaxLoad;
}

UnitDescription DescribeCuckoo(const Unit& unit, uint64_t num_used) {
  UnitDescription description;
  description.fingerprint_bits = unit.header.parameter;
  description.fill = static_cast<double>(num_used) / static_cast<double>(NumSlots(unit.header));
  description.expected_fpr = FprOf(unit.header);
  return description;
}

}  // namespace winnow::filter::internal
