#include "filter/kinds/cuckoo/cuckoo_table.h"

#include <algorithm>
#include <cmath>

#include "filter/kinds/cuckoo/cuckoo_placement.h"
#include "winnow/filter/false_positive_rate.h"

namespace winnow::filter::internal {
namespace {

// A unit's payload is the buckets of all shards, packed without gaps, and slack behind them:
//
//   | shard 0: bucket 0, bucket 1, ... | shard 1 | ... | last shard | 8 bytes |
//
// What a bucket of four fingerprints looks like is its layout's business (cuckoo.cc,
// semi_sorted_cuckoo.cc). Which two buckets a key has is the same for all layouts, so that they
// answer alike.

// A probe loads eight bytes at the byte where a slot begins: the last slot's load ends here.
constexpr uint64_t kSlackBytes = 8;
// Four-slot buckets can be filled to 98 % (Fan et al., section 5). The last per cents take about as
// long to fill as all the others, and are worth it: a filter is built once.
constexpr double kMaxLoad = 0.973;

// Bits of the payload that a slot takes.
int SlotBits(const CuckooLayout& layout, int fingerprint_bits) {
  return fingerprint_bits - layout.bits_saved;
}

uint64_t PayloadBytes(uint64_t num_buckets, int slot_bits) {
  const uint64_t bits = num_buckets * kSlotsPerBucket * static_cast<uint64_t>(slot_bits);
  return (bits + 7) / 8 + kSlackBytes;
}

// The widest fingerprint that keeps to the amount if the table is as full as it can be. What whole
// bits leave of the amount becomes empty slots in BucketCount, each of which lowers the rate a
// little too.
int FingerprintBits(const CuckooLayout& layout, double bits_per_key) {
  return std::clamp(static_cast<int>(bits_per_key * kMaxLoad + 1e-9) + layout.bits_saved,
                    layout.min_fingerprint_bits, kMaxFingerprintBits);
}

// Buckets of a shard of at most `max_keys` keys. Small tables need more room for chance.
uint64_t BucketCount(double max_keys, double bits_per_key, int slot_bits, int attempt) {
  const double asked = max_keys * bits_per_key / slot_bits;
  const double min_slots = max_keys / kMaxLoad + (max_keys < 64 ? 2 : 0);
  // The last attempts buy certainty with room.
  const double growth = 1 + 0.02 * std::max(0, attempt - 3);
  const double slots = std::max(asked, min_slots) * growth;
  return static_cast<uint64_t>(std::ceil(slots / static_cast<double>(kSlotsPerBucket)));
}

uint64_t NumSlots(const UnitHeader& header) {
  return header.slots_per_shard * header.num_shards * kSlotsPerBucket;
}

// From the load of the whole filter: the mean over shards, which differ by chance only.
double FprOf(const UnitHeader& header) {
  return CuckooFpr(header.parameter,
                   static_cast<double>(header.num_keys) / static_cast<double>(NumSlots(header)),
                   header.slots_per_shard);
}

// Fills all shards of result->block; false if some key found no place.
template <typename Word>
bool FillTable(const CuckooLayout& layout, const UnitHeader& header, const ShardedHashes& shards,
               BuildResult* result) {
  const uint64_t num_buckets = header.slots_per_shard;
  const auto locate = [&](uint64_t hash) {
    return Locate(Remix(hash, header.salt), header.num_shards, num_buckets, header.parameter);
  };
  // One table of plain words serves all shards in turn; only finished buckets are packed.
  CuckooPlacement<Word> placement(num_buckets);
  for (uint64_t shard = 0; shard < header.num_shards; ++shard) {
    placement.Clear();
    bool all_inserted = true;
    shards[shard].ForEachRun([&](const uint64_t* run, size_t count) {
      all_inserted = all_inserted && placement.Insert(run, count, locate);
    });
    if (!all_inserted) return false;
    placement.ForEachBucket([&](uint32_t* slots, uint64_t bucket) {
      layout.store(slots, shard * num_buckets + bucket, header.parameter,
                   PayloadOf(&result->block));
    });
  }
  result->temporary_bytes = std::max(result->temporary_bytes, placement.memory_bytes());
  return true;
}

}  // namespace

bool BuildCuckoo(const CuckooLayout& layout, const BuildRequest& request, HashList* hashes,
                 BuildResult* result) {
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kCuckoo);
  header.kind_version = layout.version;
  header.hash_seed = request.hash_seed;
  header.salt = SaltOfAttempt(request);
  header.num_shards =
      ShardCount(static_cast<double>(hashes->size()), request.bits_per_key, request.max_shard_bits);
  const int fingerprint_bits = FingerprintBits(layout, request.bits_per_key);
  const int slot_bits = SlotBits(layout, fingerprint_bits);
  header.parameter = static_cast<uint8_t>(fingerprint_bits);

  // Equal hashes would share a slot anyway, but the table must be sized by the number of different
  // ones.
  ShardedHashes shards(hashes, header.num_shards, header.salt);
  result->temporary_bytes = shards.RemoveDuplicates();
  header.num_keys = shards.num_hashes();
  if (!shards.IsBalanced()) return false;
  const uint64_t num_buckets = BucketCount(static_cast<double>(shards.LargestShard()),
                                           request.bits_per_key, slot_bits, request.attempt);
  header.slots_per_shard = num_buckets;
  header.payload_bytes = PayloadBytes(num_buckets * header.num_shards, slot_bits);

  result->block = MakeUnsealedBlock(header.payload_bytes);
  // Four lanes of 16 bits are a machine word; wider fingerprints take two.
  const bool is_filled = fingerprint_bits <= 16
                             ? FillTable<uint64_t>(layout, header, shards, result)
                             : FillTable<unsigned __int128>(layout, header, shards, result);
  if (!is_filled) return false;
  SealBlock(header, &result->block);
  result->num_keys = header.num_keys;
  result->expected_fpr = FprOf(header);
  return true;
}

bool IsConsistentCuckoo(const CuckooLayout& layout, const UnitHeader& header) {
  if (header.parameter < layout.min_fingerprint_bits || header.parameter > kMaxFingerprintBits ||
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

// The rate falls by about half with each bit: the first width that is good enough is the least. In
// a large table, whose load is the full one.
double CuckooBitsForFpr(const CuckooLayout& layout, double fpr) {
  constexpr uint64_t kManyBuckets = 1'000'000;
  int fingerprint_bits = layout.min_fingerprint_bits;
  while (fingerprint_bits < kMaxFingerprintBits &&
         CuckooFpr(fingerprint_bits, kMaxLoad, kManyBuckets) > fpr) {
    ++fingerprint_bits;
  }
  return SlotBits(layout, fingerprint_bits) / kMaxLoad;
}

UnitDescription DescribeCuckoo(const Unit& unit,
                               uint64_t (*count_used)(const uint8_t* payload, uint64_t bucket,
                                                      int fingerprint_bits)) {
  const auto* payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  const uint64_t num_buckets = unit.header.slots_per_shard * unit.header.num_shards;
  uint64_t num_used = 0;
  for (uint64_t bucket = 0; bucket < num_buckets; ++bucket) {
    num_used += count_used(payload, bucket, unit.header.parameter);
  }
  UnitDescription description;
  description.fingerprint_bits = unit.header.parameter;
  description.fill = static_cast<double>(num_used) / static_cast<double>(NumSlots(unit.header));
  description.expected_fpr = FprOf(unit.header);
  return description;
}

}  // namespace winnow::filter::internal
