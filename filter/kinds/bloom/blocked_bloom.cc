#include "filter/kinds/bloom/blocked_bloom.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "filter/kinds/bloom/bloom_unit.h"
#include "filter/simd/block_batch.h"
#include "winnow/filter/false_positive_rate.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter::internal {
namespace {

// A unit's payload is a row of blocks of 64 bytes, one cache line if the payload begins at one:
//
//   | block 0 (512 bits) | block 1 | ... |
//
//   block of a hash  = high half of (hash * number of blocks)
//   bit of probe i   = top 9 bits of (low 32 bits of the hash * multiplier i)
//
// The block depends on the high bits of the hash and the bits inside on its low half, so that keys
// of one block do not resemble each other. Shards are whole numbers of blocks in a row, and the
// product that chooses the block thereby chooses the shard: a query need not know that there are
// any.

uint64_t BlockCount(double num_keys, double bits_per_key, uint32_t num_shards) {
  const double blocks = std::ceil(num_keys * bits_per_key / static_cast<double>(kBlockBits));
  const auto per_shard =
      static_cast<uint64_t>(std::ceil(std::max(1.0, blocks) / static_cast<double>(num_shards)));
  return per_shard * num_shards;
}

// Sets the bits of all hashes in a payload of zeros. A string begins where its allocator likes, so
// that each of its blocks may lie on two cache lines and cost both: blocks are filled in from the
// next line's begin on, for which `*block` has room at its end, and then moved to their place.
void FillBlocks(const HashList& hashes, uint64_t salt, uint64_t num_blocks, int probes,
                std::string* block) {
  uint8_t* const payload = PayloadOf(block);
  const auto past_line = reinterpret_cast<uintptr_t>(payload) % kBlockBytes;
  uint8_t* const lines = payload + (past_line == 0 ? 0 : kBlockBytes - past_line);
  const MutableBlockTable table(lines, num_blocks, probes);
  hashes.ForEachRun([&table, salt](const uint64_t* run, size_t count) {
    if (salt == 0) return AddToBlocks(table, run, count);
    std::array<uint64_t, 512> remixed;
    for (size_t begin = 0; begin < count; begin += remixed.size()) {
      const size_t size = std::min(remixed.size(), count - begin);
      for (size_t i = 0; i < size; ++i) remixed[i] = Remix(run[begin + i], salt);
      AddToBlocks(table, remixed.data(), size);
    }
  });
  std::memmove(payload, lines, num_blocks * kBlockBytes);
}

bool Build(const BuildRequest& request, HashList* hashes, BuildResult* result) {
  const auto num_keys = static_cast<double>(hashes->size());
  UnitHeader header;
  header.kind = static_cast<uint8_t>(FilterKind::kBlockedBloom);
  header.parameter = static_cast<uint8_t>(BestBlockedBloomProbes(request.bits_per_key));
  header.num_shards = ShardCount(num_keys, request.bits_per_key, request.max_shard_bits);
  const uint64_t num_blocks = BlockCount(num_keys, request.bits_per_key, header.num_shards);
  header.slots_per_shard = num_blocks / header.num_shards;
  header.num_keys = hashes->size();
  header.hash_seed = request.hash_seed;
  header.salt = SaltOfUnit(request);
  header.payload_bytes = num_blocks * kBlockBytes;

  result->block = MakeUnsealedBlock(header.payload_bytes + kBlockBytes);
  FillBlocks(*hashes, header.salt, num_blocks, header.parameter, &result->block);
  ResizeUnsealedBlock(header.payload_bytes, &result->block);
  SealBlock(header, &result->block);
  result->num_keys = header.num_keys;
  result->expected_fpr = BlockedBloomFpr(num_blocks, header.num_keys, header.parameter);
  return true;
}

bool IsConsistent(const UnitHeader& header) {
  const uint64_t num_blocks = header.payload_bytes / kBlockBytes;
  return HasBloomFields(header, kMaxBlockProbes) && header.payload_bytes % kBlockBytes == 0 &&
         header.slots_per_shard != 0 && num_blocks % header.num_shards == 0 &&
         num_blocks / header.num_shards == header.slots_per_shard;
}

BlockTable TableOf(const UnitView& unit) { return {unit.payload, unit.num_slots, unit.parameter}; }

// As AddToBlocks sets the bits: the same block and the same BlockBit for each probe, whichever
// instructions compute them (simd_test compares all ways).
bool MayContain(const UnitView& unit, uint64_t key_hash) {
  return BlockContains(TableOf(unit).BlockOf(key_hash), key_hash, unit.parameter);
}

// Of units behind a block's first one, which have a salt, and of any.
bool MayContainRemixed(const UnitView& unit, uint64_t key_hash) {
  return MayContain(unit, Remix(key_hash, unit.salt));
}

// As many 32-bit lanes of a register as there are probes, each with a one.
void Prepare(UnitView* unit) {
  std::array<uint32_t, 8> lanes{};
  static_assert(sizeof(lanes) <= sizeof(unit->prepared));
  std::fill_n(lanes.begin(), std::min<size_t>(lanes.size(), unit->parameter), 1);
  std::memcpy(unit->prepared.data(), lanes.data(), sizeof(lanes));
}

// Chosen once, when the unit is opened, so that a query neither asks what the processor can do nor
// looks at the number of probes.
MayContainFunction MayContainFunctionOf([[maybe_unused]] const UnitView& unit) {
#if defined(__x86_64__)
  if (kHasAvx512Vl && unit.parameter <= kMaxProbesOfRound) {
    if (unit.salt == 0) return &PreparedUnitContainsAvx512;
    return [](const UnitView& salted, uint64_t key_hash) {
      return PreparedUnitContainsAvx512(salted, Remix(key_hash, salted.salt));
    };
  }
#endif
  return unit.salt == 0 ? &MayContain : &MayContainRemixed;
}

void Prefetch(const UnitView& unit, uint64_t key_hash) {
  PrefetchBlock(TableOf(unit).BlockOf(Remix(key_hash, unit.salt)));
}

void MayContainBatch(const UnitView& unit, const uint64_t* key_hashes, size_t count,
                     uint8_t* may_contain) {
  if (unit.salt == 0) return BlocksContainHashes(unit, key_hashes, count, may_contain);
  std::array<uint64_t, kMaxBatch> remixed;
  for (size_t i = 0; i < count; ++i) remixed[i] = Remix(key_hashes[i], unit.salt);
  BlocksContainHashes(unit, remixed.data(), count, may_contain);
}

UnitDescription Describe(const Unit& unit) {
  return DescribeBloom(unit, BlockedBloomFpr(unit.payload.size() / kBlockBytes,
                                             unit.header.num_keys, unit.header.parameter));
}

double ExpectedFprAt(double bits_per_key, uint64_t num_keys) {
  if (num_keys == 0) return 0;
  const uint64_t num_blocks = BlockCount(static_cast<double>(num_keys), bits_per_key, 1);
  return BlockedBloomFpr(num_blocks, num_keys, BestBlockedBloomProbes(bits_per_key));
}

double BitsForFpr(double fpr) { return MinBloomBits(&ExpectedFprAt, fpr); }

}  // namespace

constinit const KindOperations kBlockedBloomOperations = {
    .kind = FilterKind::kBlockedBloom,
    .name = "blocked_bloom",
    .version = 1,
    .bits_per_key = {1, 64},
    .verify_by_default = false,
    .bits_per_key_for_fpr = &BitsForFpr,
    .expected_fpr = &ExpectedFprAt,
    .build = &Build,
    .is_consistent = &IsConsistent,
    .prepare = &Prepare,
    .may_contain = &MayContainRemixed,
    .may_contain_of = &MayContainFunctionOf,
    .prefetch = &Prefetch,
    .may_contain_batch = &MayContainBatch,
    .describe = &Describe,
};

}  // namespace winnow::filter::internal
