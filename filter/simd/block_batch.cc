#include "filter/simd/block_batch.h"

#include <array>

#include "absl/base/attributes.h"
#include "filter/simd/block_probe_avx512.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter::internal {
namespace {

// A batch has three stages: hash the keys and compute their blocks' addresses, prefetch the blocks,
// read them. By the time the last block is prefetched, the first has come; a batch costs about one
// access to memory plus its instructions, where single queries cost an access each as soon as a
// branch depends on the answer.

// What is computed of each key before any block is read.
struct Queries {
  alignas(64) std::array<uint64_t, kMaxBatch> hashes;
  alignas(64) std::array<const uint8_t*, kMaxBatch> blocks;
};

// Finds the blocks of hashes and prefetches them. By value, so that its fields stay in registers.
class BlockFetcher {
 public:
  explicit BlockFetcher(const UnitView& unit)
      : payload_(unit.payload),
        num_blocks_(unit.num_slots),
        one_line_each_(reinterpret_cast<uintptr_t>(unit.payload) % kBlockBytes == 0) {}

  const uint8_t* Fetch(uint64_t hash) const {
    // Same product, same block as MayContain of a single hash.
    const uint8_t* const block = BlockAt(payload_, num_blocks_, hash);
    FetchLine(block);
    if (!one_line_each_) FetchLine(block + kBlockBytes - 1);
    return block;
  }

 private:
  const uint8_t* payload_;
  uint64_t num_blocks_;
  bool one_line_each_;
};

// Hashes keys and prefetches their blocks, up to the first key that has not kBytes bytes. Returns
// how many those are. A function of its own, so that nothing but its loop wants registers.
template <size_t kBytes>
ABSL_ATTRIBUTE_NOINLINE size_t FetchKeysOf(BlockFetcher fetcher, uint64_t seed,
                                           const std::string_view* keys, size_t count,
                                           Queries* queries) {
  size_t i = 0;
  for (; i < count && keys[i].size() == kBytes; ++i) {
    queries->hashes[i] = HashKey(std::string_view(keys[i].data(), kBytes), seed);
    queries->blocks[i] = fetcher.Fetch(queries->hashes[i]);
  }
  return i;
}

// At least one key, at most kMaxBatch. Not inlined: the quicker way shall save no registers.
ABSL_ATTRIBUTE_NOINLINE void QueryKeysOneByOne(const UnitView& unit, uint64_t seed,
                                               const std::string_view* keys, size_t count,
                                               uint8_t* contained) {
  Queries queries;
  const BlockFetcher fetcher(unit);
  // Keys of these lengths are hashed without a call; others by the general loop, from i on.
  size_t i = 0;
  if (keys[0].size() == 16) i = FetchKeysOf<16>(fetcher, seed, keys, count, &queries);
  if (keys[0].size() == 8) i = FetchKeysOf<8>(fetcher, seed, keys, count, &queries);
  for (; i < count; ++i) {
    queries.hashes[i] = HashKey(keys[i], seed);
    queries.blocks[i] = fetcher.Fetch(queries.hashes[i]);
  }
  BlocksContain(queries.blocks.data(), queries.hashes.data(), count, unit.parameter, contained);
}

#if defined(__x86_64__)

// The blocks that a core has under way are bounded by the instructions that it has: the fewer a
// batch takes, the more of the next one's blocks are prefetched while this one's are awaited. Hence
// one function from the first key to the last answer, which calls none, and few stores.
//
// Where the keys are no multiple of eight, the last eight overlap those before.

WINNOW_AVX512_INLINE void ReadBlocks(const Queries& queries, int probes, size_t count,
                                     uint8_t* contained) {
  const __mmask16 probe_lanes = ProbeLanesOfTwo(probes);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    ContainEight(&queries.blocks[i], &queries.hashes[i], probe_lanes, contained + i);
  }
  if (i == count) return;
  ContainEight(&queries.blocks[i], &queries.hashes[i], probe_lanes, contained + count - kLanes);
}

// False, and nothing done, if the eight keys are not all of `size` bytes.
template <LengthClass kClass>
WINNOW_AVX512_INLINE bool HashAndFetchEight(const BlocksOfUnit& blocks, uint64_t seed,
                                            const std::string_view* keys, size_t size,
                                            uint64_t* hashes, const uint8_t** found) {
  if (!HaveSize(keys, size)) return false;
  const __m512i hashed = HashEightKeys<kClass>(keys, size, seed);
  _mm512_store_si512(hashes, hashed);
  FetchEight(blocks, hashed, found);
  return true;
}

// Blocks that do not begin with a cache line lie on two. `count` keys make whole eights of blocks.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void FetchSecondLines(const BlocksOfUnit& blocks,
                                                          const Queries& queries, size_t count) {
  // All blocks of a unit are aligned alike.
  if (reinterpret_cast<uintptr_t>(blocks.begin) % kBlockBytes == 0) return;
  const size_t num_blocks = (count + kLanes - 1) / kLanes * kLanes;
  for (size_t i = 0; i < num_blocks; ++i) FetchLine(queries.blocks[i] + kBlockBytes - 1);
}

// At least eight keys, as QueryHashesAvx512.
template <LengthClass kClass>
WINNOW_AVX512 void QueryKeysAvx512(const UnitView& unit, uint64_t seed,
                                   const std::string_view* keys, size_t count, uint8_t* contained) {
  Queries queries;
  const BlocksOfUnit blocks(unit);
  const size_t size = keys[0].size();
  size_t i = 0;
  bool have_size = true;
  for (; i + kLanes <= count && have_size; i += kLanes) {
    have_size = HashAndFetchEight<kClass>(blocks, seed, keys + i, size, &queries.hashes[i],
                                          &queries.blocks[i]);
  }
  if (have_size && i != count) {
    have_size = HashAndFetchEight<kClass>(blocks, seed, keys + count - kLanes, size,
                                          &queries.hashes[i], &queries.blocks[i]);
  }
  // Some group holds a key of another length. Nothing was answered yet: the lines prefetched so far
  // are no loss, as their keys are queried again.
  if (!have_size) return QueryKeysOneByOne(unit, seed, keys, count, contained);
  FetchSecondLines(blocks, queries, count);
  ReadBlocks(queries, unit.parameter, count, contained);
}

WINNOW_AVX512_INLINE void LoadAndFetchEight(const BlocksOfUnit& blocks, const uint64_t* from,
                                            uint64_t* hashes, const uint8_t** found) {
  const __m512i eight = _mm512_loadu_si512(from);
  _mm512_store_si512(hashes, eight);
  FetchEight(blocks, eight, found);
}

WINNOW_AVX512 void QueryHashesAvx512(const UnitView& unit, const uint64_t* hashes, size_t count,
                                     uint8_t* contained) {
  Queries queries;
  const BlocksOfUnit blocks(unit);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    LoadAndFetchEight(blocks, hashes + i, &queries.hashes[i], &queries.blocks[i]);
  }
  if (i != count) {
    LoadAndFetchEight(blocks, hashes + count - kLanes, &queries.hashes[i], &queries.blocks[i]);
  }
  FetchSecondLines(blocks, queries, count);
  ReadBlocks(queries, unit.parameter, count, contained);
}

#endif  // defined(__x86_64__)

// At least one key, at most kMaxBatch.
void QueryKeys(const UnitView& unit, uint64_t seed, const std::string_view* keys, size_t count,
               uint8_t* contained) {
// By the length of the first key; QueryKeysAvx512 finds out whether the others share it.
#if defined(__x86_64__)
  const auto query = [&](auto length_class) {
    QueryKeysAvx512<length_class()>(unit, seed, keys, count, contained);
  };
  if (count >= kLanes && FitsAvx512(unit) && VisitLengthClass(keys[0].size(), query)) return;
#endif
  QueryKeysOneByOne(unit, seed, keys, count, contained);
}

// More than kMaxBatch keys.
ABSL_ATTRIBUTE_NOINLINE void QueryInPieces(const UnitView& unit, uint64_t seed,
                                           const std::string_view* keys, size_t count,
                                           uint8_t* contained) {
  for (; count > kMaxBatch; count -= kMaxBatch) {
    QueryKeys(unit, seed, keys, kMaxBatch, contained);
    keys += kMaxBatch;
    contained += kMaxBatch;
  }
  QueryKeys(unit, seed, keys, count, contained);
}

}  // namespace

void BlocksContainKeys(const UnitView& unit, uint64_t seed, const std::string_view* keys,
                       size_t count, uint8_t* contained) {
  if (count == 0) return;
  if (count > kMaxBatch) return QueryInPieces(unit, seed, keys, count, contained);
  QueryKeys(unit, seed, keys, count, contained);
}

void BlocksContainHashes(const UnitView& unit, const uint64_t* hashes, size_t count,
                         uint8_t* contained) {
#if defined(__x86_64__)
  if (count >= kLanes && FitsAvx512(unit)) return QueryHashesAvx512(unit, hashes, count, contained);
#endif
  const BlockFetcher fetcher(unit);
  std::array<const uint8_t*, kMaxBatch> blocks;
  for (size_t i = 0; i < count; ++i) blocks[i] = fetcher.Fetch(hashes[i]);
  BlocksContain(blocks.data(), hashes, count, unit.parameter, contained);
}

}  // namespace winnow::filter::internal
