#include "filter/simd/block_batch.h"

#include <array>

#include "absl/base/attributes.h"
#include "filter/kinds/kind.h"
#include "filter/simd/block_probe_avx512.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter::internal {
namespace {

// What is computed of each key before any block is read.
struct Questions {
  alignas(64) std::array<uint64_t, kMaxBatched> hashes;
  alignas(64) std::array<const uint8_t*, kMaxBatched> blocks;
};

// Finds the blocks of hashes and sends for them. By value, so that its fields stay in registers.
class BlockFetcher {
 public:
  explicit BlockFetcher(const UnitView& unit)
      : payload_(unit.payload),
        num_blocks_(unit.num_slots),
        one_line_each_(reinterpret_cast<uintptr_t>(unit.payload) % kBlockBytes == 0) {}

  const uint8_t* Fetch(uint64_t hash) const {
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

// Hashes keys and sends for their blocks, up to the first key that has not kBytes bytes. Returns
// how many those are. A function of its own, so that nothing but its loop wants registers.
template <size_t kBytes>
ABSL_ATTRIBUTE_NOINLINE size_t FetchKeysOf(BlockFetcher fetcher, uint64_t seed,
                                           const std::string_view* keys, size_t count,
                                           Questions* questions) {
  size_t i = 0;
  for (; i < count && keys[i].size() == kBytes; ++i) {
    questions->hashes[i] = HashKey(std::string_view(keys[i].data(), kBytes), seed);
    questions->blocks[i] = fetcher.Fetch(questions->hashes[i]);
  }
  return i;
}

// At least one key, at most kMaxBatched. Not inlined: the quicker way shall save no registers.
ABSL_ATTRIBUTE_NOINLINE void AskKeysOneByOne(const UnitView& unit, uint64_t seed,
                                             const std::string_view* keys, size_t count,
                                             uint8_t* contained) {
  Questions questions;
  const BlockFetcher fetcher(unit);
  size_t i = 0;
  if (keys[0].size() == 16) i = FetchKeysOf<16>(fetcher, seed, keys, count, &questions);
  if (keys[0].size() == 8) i = FetchKeysOf<8>(fetcher, seed, keys, count, &questions);
  for (; i < count; ++i) {
    questions.hashes[i] = HashKey(keys[i], seed);
    questions.blocks[i] = fetcher.Fetch(questions.hashes[i]);
  }
  BlocksContain(questions.blocks.data(), questions.hashes.data(), count, unit.parameter, contained);
}

#if defined(__x86_64__)

// The blocks that a core has under way are bounded by the instructions that it has: the fewer a
// batch takes, the more of the next one's blocks are sent for while this one's are awaited. Hence
// one function from the first key to the last answer, which calls none, and few stores.
//
// Where the keys are no multiple of eight, the last eight overlap those before.

WINNOW_LANES_INLINE void ReadBlocks(const Questions& questions, int probes, size_t count,
                                    uint8_t* contained) {
  const __mmask16 probe_lanes = ProbeLanesOfTwo(probes);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    ContainEight(&questions.blocks[i], &questions.hashes[i], probe_lanes, contained + i);
  }
  if (i == count) return;
  ContainEight(&questions.blocks[i], &questions.hashes[i], probe_lanes, contained + count - kLanes);
}

// False, and nothing done, if the eight keys are not all of `size` bytes.
template <LengthClass kClass>
WINNOW_LANES_INLINE bool HashAndFetchEight(const BlocksOfLanes& blocks, uint64_t seed,
                                           const std::string_view* keys, size_t size,
                                           uint64_t* hashes, const uint8_t** found) {
  if (!HaveSize(keys, size)) return false;
  const __m512i hashed = HashLanes<kClass>(keys, size, seed);
  _mm512_store_si512(hashes, hashed);
  FetchEight(blocks, hashed, found);
  return true;
}

// Blocks that do not begin with a cache line lie on two. `count` keys make whole eights of blocks.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void FetchSecondLines(const BlocksOfLanes& blocks,
                                                          const Questions& questions,
                                                          size_t count) {
  if (reinterpret_cast<uintptr_t>(blocks.begin) % kBlockBytes == 0) return;
  const size_t num_blocks = (count + kLanes - 1) / kLanes * kLanes;
  for (size_t i = 0; i < num_blocks; ++i) FetchLine(questions.blocks[i] + kBlockBytes - 1);
}

// At least eight keys, as AskHashesByLanes.
template <LengthClass kClass>
WINNOW_LANES void AskKeysByLanes(const UnitView& unit, uint64_t seed, const std::string_view* keys,
                                 size_t count, uint8_t* contained) {
  Questions questions;
  const BlocksOfLanes blocks(unit);
  const size_t size = keys[0].size();
  size_t i = 0;
  bool have_size = true;
  for (; i + kLanes <= count && have_size; i += kLanes) {
    have_size = HashAndFetchEight<kClass>(blocks, seed, keys + i, size, &questions.hashes[i],
                                          &questions.blocks[i]);
  }
  if (have_size && i != count) {
    have_size = HashAndFetchEight<kClass>(blocks, seed, keys + count - kLanes, size,
                                          &questions.hashes[i], &questions.blocks[i]);
  }
  if (!have_size) return AskKeysOneByOne(unit, seed, keys, count, contained);
  FetchSecondLines(blocks, questions, count);
  ReadBlocks(questions, unit.parameter, count, contained);
}

WINNOW_LANES_INLINE void LoadAndFetchEight(const BlocksOfLanes& blocks, const uint64_t* from,
                                           uint64_t* hashes, const uint8_t** found) {
  const __m512i eight = _mm512_loadu_si512(from);
  _mm512_store_si512(hashes, eight);
  FetchEight(blocks, eight, found);
}

WINNOW_LANES void AskHashesByLanes(const UnitView& unit, const uint64_t* hashes, size_t count,
                                   uint8_t* contained) {
  Questions questions;
  const BlocksOfLanes blocks(unit);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    LoadAndFetchEight(blocks, hashes + i, &questions.hashes[i], &questions.blocks[i]);
  }
  if (i != count) {
    LoadAndFetchEight(blocks, hashes + count - kLanes, &questions.hashes[i], &questions.blocks[i]);
  }
  FetchSecondLines(blocks, questions, count);
  ReadBlocks(questions, unit.parameter, count, contained);
}

#endif  // defined(__x86_64__)

// At least one key, at most kMaxBatched.
void AskKeys(const UnitView& unit, uint64_t seed, const std::string_view* keys, size_t count,
             uint8_t* contained) {
#if defined(__x86_64__)
  const auto ask = [&](auto length_class) {
    AskKeysByLanes<length_class()>(unit, seed, keys, count, contained);
  };
  if (count >= kLanes && FitsLanes(unit) && VisitLengthClass(keys[0].size(), ask)) return;
#endif
  AskKeysOneByOne(unit, seed, keys, count, contained);
}

// More than kMaxBatched keys.
ABSL_ATTRIBUTE_NOINLINE void AskInPieces(const UnitView& unit, uint64_t seed,
                                         const std::string_view* keys, size_t count,
                                         uint8_t* contained) {
  for (; count > kMaxBatched; count -= kMaxBatched) {
    AskKeys(unit, seed, keys, kMaxBatched, contained);
    keys += kMaxBatched;
    contained += kMaxBatched;
  }
  AskKeys(unit, seed, keys, count, contained);
}

}  // namespace

void BlocksContainKeys(const UnitView& unit, uint64_t seed, const std::string_view* keys,
                       size_t count, uint8_t* contained) {
  if (count == 0) return;
  if (count > kMaxBatched) return AskInPieces(unit, seed, keys, count, contained);
  AskKeys(unit, seed, keys, count, contained);
}

void BlocksContainHashes(const UnitView& unit, const uint64_t* hashes, size_t count,
                         uint8_t* contained) {
#if defined(__x86_64__)
  if (count >= kLanes && FitsLanes(unit)) return AskHashesByLanes(unit, hashes, count, contained);
#endif
  const BlockFetcher fetcher(unit);
  std::array<const uint8_t*, kMaxBatched> blocks;
  for (size_t i = 0; i < count; ++i) blocks[i] = fetcher.Fetch(hashes[i]);
  BlocksContain(blocks.data(), hashes, count, unit.parameter, contained);
}

}  // namespace winnow::filter::internal
