#include "filter/kinds/bloom/bloom.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "absl/base/attributes.h"
#include "filter/kinds/bloom/bloom_unit.h"
#include "winnow/filter/false_positive_rate.h"
#include "winnow/filter/internal/fetch_line.h"
#include "winnow/filter/internal/probe_sequence.h"

namespace winnow::filter::internal {
namespace {

// A unit's payload is the bits of all shards, bit i in byte i / 8. The high bits of a hash choose
// the shard, what is left of it chooses the bits:
//
//   hash * num_shards = | shard (64 bits) | rest (64 bits) |
//   bit of probe i    = shard * bits_per_shard + high half of (position i from rest) *
//   bits_per_shard
//
// Building and queries walk the same ProbeSequence over the same numbers, all of which stand in the
// header: that is why no key that was added is refuted.

constexpr int kMaxProbes = 64;
constexpr uint64_t kMinBits = 64;
// Smaller filters are likely to be in a core's cache, where nothing is gained by fetching.
constexpr uint64_t kBitsInCache = uint64_t{1} << 22;

// Where a hash's shard begins, in bits, and its probes there. One multiplication gives the shard
// (high half) and what is left of the hash (low half).
struct Location {
  uint64_t shard_begin;
  ProbeSequence probes;

  // A bit of the payload.
  uint64_t At(uint64_t probe, const UnitView& unit) const {
    return shard_begin + probes.At(probe, unit.slots_per_shard);
  }
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Location Locate(uint64_t hash, uint64_t num_shards,
                                                    uint64_t bits_per_shard) {
  const unsigned __int128 product = static_cast<unsigned __int128>(hash) * num_shards;
  return {static_cast<uint64_t>(product >> 64) * bits_per_shard,
          ProbeSequence(static_cast<uint64_t>(product), hash)};
}

uint64_t BitsPerShard(double num_keys, double bits_per_key, uint32_t num_shards) {
  // Whole bytes, so that shards do not share one. Few keys get 64 bits: below that, rounding rules.
  const double bits = std::ceil(num_keys * bits_per_key / static_cast<double>(num_shards));
  const uint64_t whole_bytes = (static_cast<uint64_t>(bits) + 7) / 8 * 8;
  return std::max(kMinBits, whole_bytes);
}

void SetBit(uint64_t bit, uint8_t* payload) {
  payload[bit >> 3] = static_cast<uint8_t>(payload[bit >> 3] | (1u << (bit & 7)));
}

bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  const auto num_keys = static_cast<double>(hashes->size());
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kBloom);
  header.parameter = static_cast<uint8_t>(BestBloomProbes(request.bits_per_key));
  header.num_shards = ShardCount(num_keys, request.bits_per_key, request.max_shard_bits);
  header.slots_per_shard = BitsPerShard(num_keys, request.bits_per_key, header.num_shards);
  header.num_keys = hashes->size();
  header.hash_seed = request.hash_seed;
  header.salt = SaltOfUnit(request);
  header.payload_bytes = header.slots_per_shard / 8 * header.num_shards;

  // Shard by shard, so that the random writes of a large filter stay inside a core's cache.
  const ShardedHashes shards(hashes, header.num_shards, header.salt);
  result->block = MakeUnsealedBlock(header.payload_bytes);
  uint8_t* const payload = PayloadOf(&result->block);
  for (uint64_t shard = 0; shard < header.num_shards; ++shard) {
    shards[shard].ForEachRun([&](const uint64_t* run, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const uint64_t hash = Remix(run[i], header.salt);
        Location location = Locate(hash, header.num_shards, header.slots_per_shard);
        const int num_probes = header.parameter;
        for (int probe = 0; probe < num_probes; ++probe) {
          SetBit(location.shard_begin + location.probes.Next(header.slots_per_shard), payload);
        }
      }
    });
  }
  SealBlock(header, &result->block);
  result->num_keys = header.num_keys;
  result->expected_fpr =
      BloomFpr(static_cast<double>(header.payload_bytes) * 8, num_keys, header.parameter);
  return true;
}

bool IsConsistent(const UnitHeader& header) {
  return HasBloomFields(header, kMaxProbes) && header.slots_per_shard != 0 &&
         header.slots_per_shard % 8 == 0 && header.payload_bytes % header.num_shards == 0 &&
         header.payload_bytes / header.num_shards == header.slots_per_shard / 8;
}

uint64_t BitAt(const UnitView& unit, uint64_t bit) {
  return unit.payload[bit >> 3] >> (bit & 7) & 1;
}

bool MayContain(const UnitView& unit, uint64_t key_hash) {
  // With a branch for each probe: an absent key is refuted by the first or second one in most
  // cases, and each further one would be another cache miss.
  Location location = Locate(Remix(key_hash, unit.salt), unit.num_shards, unit.slots_per_shard);
  for (int probe = 0; probe < unit.parameter; ++probe) {
    const uint64_t bit = location.shard_begin + location.probes.Next(unit.slots_per_shard);
    if (BitAt(unit, bit) == 0) return false;
  }
  return true;
}

// The first lines only: half of all absent keys are refuted by the first probe, nearly all by the
// fourth.
void Prefetch(const UnitView& unit, uint64_t key_hash) {
  const Location location =
      Locate(Remix(key_hash, unit.salt), unit.num_shards, unit.slots_per_shard);
  for (uint64_t probe = 0; probe < std::min<uint64_t>(unit.parameter, 4); ++probe) {
    FetchLine(unit.payload + (location.At(probe, unit) >> 3));
  }
}

// Calls visit(i) for each one bit i of `set`.
template <typename Visitor>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void VisitOnes(uint64_t set, Visitor visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<size_t>(std::countr_zero(set)));
}

// Two probes after two of all keys that none has refuted yet: their lines come together, and no
// branch and no address of a store depends on what they hold.
void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                     uint8_t* may_contain) {
  if (unit.num_slots <= kBitsInCache) {
    for (size_t i = 0; i < count; ++i) may_contain[i] = MayContain(unit, key_hashes[i]) ? 1 : 0;
    return;
  }
  // One bit of `possible` for each key.
  static_assert(kMaxBatch == 64);
  std::array<Location, kMaxBatch> locations;
  std::array<std::array<uint64_t, 2>, kMaxBatch> bits;
  for (size_t i = 0; i < count; ++i) {
    locations[i] = Locate(Remix(key_hashes[i], unit.salt), unit.num_shards, unit.slots_per_shard);
  }
  uint64_t possible = ~uint64_t{0} >> (64 - count);  // bit i: key i may be there
  for (uint64_t probe = 0; probe < unit.parameter && possible != 0; probe += 2) {
    // An odd last probe is asked twice, which changes nothing and needs no case of its own.
    const uint64_t second = std::min<uint64_t>(probe + 1, unit.parameter - 1u);
    // Stage one: addresses only, so that all loads of this round are under way.
    VisitOnes(possible, [&](size_t i) {
      bits[i] = {locations[i].At(probe, unit), locations[i].At(second, unit)};
      for (const uint64_t bit : bits[i]) FetchLine(unit.payload + (bit >> 3));
    });
    // Stage two reads them; by now the first have come.
    uint64_t still_possible = 0;
    VisitOnes(possible, [&](size_t i) {
      still_possible |= (BitAt(unit, bits[i][0]) & BitAt(unit, bits[i][1])) << i;
    });
    possible = still_possible;
  }
  for (size_t i = 0; i < count; ++i) may_contain[i] = static_cast<uint8_t>(possible >> i & 1);
}

UnitDescription Describe(const Unit& unit) {
  return DescribeBloom(unit,
                       BloomFpr(static_cast<double>(unit.payload.size()) * 8,
                                static_cast<double>(unit.header.num_keys), unit.header.parameter));
}

double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const uint64_t bits = BitsPerShard(static_cast<double>(num_keys), bits_per_key, 1);
  return BloomFpr(static_cast<double>(bits), static_cast<double>(num_keys),
                  BestBloomProbes(bits_per_key));
}

double BitsForFpr(double fpr) { return MinBloomBits(&ExpectedFprAt, fpr); }

}  // namespace

constinit const KindOperations kBloomOperations = {
    .kind = FilterKind::kBloom,
    .name = "bloom",
    .version = 1,
    .bits_per_key = {1, 64},
    .verify_by_default = false,
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
