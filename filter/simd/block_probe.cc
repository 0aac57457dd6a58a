#include "winnow/filter/internal/block_probe.h"

#include <array>

#include "filter/simd/block_batch.h"
#include "filter/simd/block_probe_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace winnow::filter::internal {

// All ways compute the same thing, for each probe i below `probes`:
//
//   product i = low 32 bits of the hash * kProbeMultipliers[i]   (mod 2^32)
//             = | word: 4 bits | bit: 5 bits | 23 bits that play no part |
//   answer    = is that bit set in that 32-bit word of the block, for all i?
//
// BlockBit takes the same nine bits as one position among 512: little-endian words of 32 or of 64
// bits number the bits of a block alike.

void BlocksContainPortable(const uint8_t* const* blocks, const uint64_t* hashes, size_t count,
                           int probes, uint8_t* contained) {
  for (size_t i = 0; i < count; ++i)
    contained[i] = BlockContainsPortable(blocks[i], hashes[i], probes) ? 1 : 0;
}

#if defined(__x86_64__)

const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;

namespace {

#define WINNOW_AVX2 __attribute__((target("avx2")))
#define WINNOW_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

// The eight lanes from kLaneBit + 8 - n on hold n ones, then zeros.
alignas(32) constexpr uint32_t kLaneBit[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0};

WINNOW_AVX2_INLINE __m256i LoadLanes(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// Eight probes at a time. The block is 16 words of 32 bits; the top four bits of each product name
// the word, the next five its bit.
WINNOW_AVX2_INLINE bool Contains(const uint8_t* block, uint64_t hash, int probes) {
  const __m256i low_words = LoadLanes(block);
  const __m256i high_words = LoadLanes(block + 32);
  const __m256i low_hash = _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(hash)));
  const uint32_t* multipliers = kProbeMultipliers.data();
  for (;;) {
    const __m256i products = _mm256_mullo_epi32(low_hash, LoadLanes(multipliers));
    const __m256i word_index = _mm256_srli_epi32(products, 28);
    const __m256i from_low = _mm256_permutevar8x32_epi32(low_words, word_index);
    const __m256i from_high = _mm256_permutevar8x32_epi32(high_words, word_index);
    // The sign bit of a product is the highest bit of its word index: it selects the half.
    const __m256i words = _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(from_low),
                                                               _mm256_castsi256_ps(from_high),
                                                               _mm256_castsi256_ps(products)));
    const __m256i bit_index = _mm256_srli_epi32(_mm256_slli_epi32(products, 4), 27);
    const int lanes = probes < 8 ? probes : 8;
    const __m256i wanted = _mm256_sllv_epi32(LoadLanes(kLaneBit + 8 - lanes), bit_index);
    const bool all_set = _mm256_testc_si256(words, wanted) != 0;
    // Most have one round: no branch then depends on what nobody can predict.
    if (probes <= 8) return all_set;
    if (!all_set) return false;
    probes -= 8;
    multipliers += 8;
  }
}

}  // namespace

WINNOW_AVX2 bool BlockContainsAvx2(const uint8_t* block, uint64_t hash, int probes) {
  return Contains(block, hash, probes);
}

WINNOW_AVX2 void BlocksContainAvx2(const uint8_t* const* blocks, const uint64_t* hashes,
                                   size_t count, int probes, uint8_t* contained) {
  for (size_t i = 0; i < count; ++i) contained[i] = Contains(blocks[i], hashes[i], probes) ? 1 : 0;
}

// The whole set that WINNOW_AVX512 functions are compiled for, not AVX-512VL alone.
const bool kHasAvx512Vl = ProcessorHasAvx512();

namespace {

// As the AVX2 code, but one permutation takes the words out of both halves, and a rotation, which
// looks at the low five bits of its distance only, brings the bit to the lowest place. `lanes` has
// a one there for each probe.
WINNOW_AVX512_INLINE bool ContainsInOneRound(const uint8_t* block, uint64_t hash,
                                             __m256i multipliers, __m256i lanes) {
  const auto* const halves = reinterpret_cast<const __m256i*>(block);
  const __m256i products = _mm256_mullo_epi32(
      _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(hash))), multipliers);
  const __m256i words = _mm256_permutex2var_epi32(
      _mm256_loadu_si256(halves), _mm256_srli_epi32(products, 28), _mm256_loadu_si256(halves + 1));
  const __m256i rotated = _mm256_rorv_epi32(words, _mm256_srli_epi32(products, 23));
  return _mm256_testc_si256(rotated, lanes) != 0;
}

}  // namespace

WINNOW_AVX512 bool BlockContainsAvx512(const uint8_t* block, uint64_t hash, int probes) {
  return ContainsInOneRound(block, hash, RoundOfMultipliers(),
                            LoadLanes(kLaneBit + kMaxProbesOfRound - probes));
}

WINNOW_AVX512 bool PreparedUnitContainsAvx512(const UnitView& unit, uint64_t hash) {
  // The mask of probes was prepared when the unit was opened: one load instead of an address to
  // compute.
  const uint8_t* const block = BlockAt(unit.payload, unit.num_slots, hash);
  return ContainsInOneRound(block, hash, RoundOfMultipliers(), LoadLanes(unit.prepared.data()));
}

WINNOW_AVX512 void BlocksContainAvx512(const uint8_t* const* blocks, const uint64_t* hashes,
                                       size_t count, int probes, uint8_t* contained) {
  const __mmask16 probe_lanes = ProbeLanesOfTwo(probes);
  size_t i = 0;
  for (; count - i >= kLanes; i += kLanes) {
    ContainEight(blocks + i, hashes + i, probe_lanes, contained + i);
  }
  const __m256i lanes = LoadLanes(kLaneBit + kMaxProbesOfRound - probes);
  for (; i < count; ++i) {
    contained[i] = ContainsInOneRound(blocks[i], hashes[i], RoundOfMultipliers(), lanes) ? 1 : 0;
  }
}

#undef WINNOW_AVX2_INLINE
#undef WINNOW_AVX2

#elif defined(__aarch64__)

// Every 64-bit ARM processor has NEON: nothing is chosen at run time.
namespace {

constexpr int kLanes = 4;

// Four probes at a time. A look-up in a table of four registers, the whole block, gives each lane
// the four bytes of its word.
inline bool Contains(const uint8x16x4_t& block, uint64_t hash, int probes) {
  const uint32x4_t low_hash = vdupq_n_u32(static_cast<uint32_t>(hash));
  const uint32x4_t lane_numbers = {0, 1, 2, 3};
  uint32x4_t all_set = vdupq_n_u32(1);
  for (int probe = 0; probe < probes; probe += kLanes) {
    const uint32x4_t products = vmulq_u32(low_hash, vld1q_u32(kProbeMultipliers.data() + probe));
    const uint32x4_t byte_indexes =
        vmlaq_n_u32(vdupq_n_u32(0x03020100), vshrq_n_u32(products, 28), 0x04040404);
    const uint32x4_t words =
        vreinterpretq_u32_u8(vqtbl4q_u8(block, vreinterpretq_u8_u32(byte_indexes)));
    const uint32x4_t bit_indexes = vshrq_n_u32(vshlq_n_u32(products, 4), 27);
    // A shift to the left by a negative distance is one to the right.
    const uint32x4_t bits = vshlq_u32(words, vnegq_s32(vreinterpretq_s32_u32(bit_indexes)));
    const uint32x4_t not_counted =
        vcgeq_u32(lane_numbers, vdupq_n_u32(static_cast<uint32_t>(probes - probe)));
    all_set = vandq_u32(all_set, vorrq_u32(bits, not_counted));
  }
  return vminvq_u32(all_set) != 0;
}

inline uint8x16x4_t LoadBlock(const uint8_t* block) { return vld1q_u8_x4(block); }

}  // namespace

bool BlockContainsNeon(const uint8_t* block, uint64_t hash, int probes) {
  return Contains(LoadBlock(block), hash, probes);
}

void BlocksContainNeon(const uint8_t* const* blocks, const uint64_t* hashes, size_t count,
                       int probes, uint8_t* contained) {
  for (size_t i = 0; i < count; ++i)
    contained[i] = Contains(LoadBlock(blocks[i]), hashes[i], probes) ? 1 : 0;
}

#endif  // defined(__x86_64__)

void BlocksContain(const uint8_t* const* blocks, const uint64_t* hashes, size_t count, int probes,
                   uint8_t* contained) {
#if defined(__x86_64__)
  if (kHasAvx512Vl && probes <= kMaxProbesOfRound) {
    return BlocksContainAvx512(blocks, hashes, count, probes, contained);
  }
  if (kHasAvx2) return BlocksContainAvx2(blocks, hashes, count, probes, contained);
#elif defined(__aarch64__)
  return BlocksContainNeon(blocks, hashes, count, probes, contained);
#endif
  BlocksContainPortable(blocks, hashes, count, probes, contained);
}

}  // namespace winnow::filter::internal
