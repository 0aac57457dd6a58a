// Blocks of keys that lie side by side as lanes of AVX-512 registers: prefetched, and queried.
// Internal.

#ifndef WINNOW_FILTER_SIMD_BLOCK_PROBE_AVX512_H_
#define WINNOW_FILTER_SIMD_BLOCK_PROBE_AVX512_H_

#if defined(__x86_64__)

#include <cstddef>
#include <cstdint>

#include "filter/simd/hash_avx512.h"
#include "winnow/filter/internal/block_probe.h"
#include "winnow/filter/internal/fetch_line.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

// May the blocks of this unit be queried here? Its number of blocks is a factor of 32 bits.
inline bool FitsAvx512(const UnitView& unit) {
  return kHashesByAvx512 && unit.parameter <= kMaxProbesOfRound && unit.num_slots <= UINT32_MAX;
}

// Where the blocks are, and how many. Copies of a unit's fields: nothing that is written meanwhile
// can be taken for them.
struct BlocksOfUnit {
  explicit BlocksOfUnit(const UnitView& unit) : begin(unit.payload), count(unit.num_slots) {}

  const uint8_t* begin;
  uint64_t count;
};

// found[i] = the block of lane i, on its way: the line that it begins on.
WINNOW_AVX512_INLINE void FetchEight(const BlocksOfUnit& blocks, __m512i hashes,
                                     const uint8_t** found) {
  const __m512i count = InAllLanes(blocks.count);
  const __m512i low = _mm512_mul_epu32(hashes, count);
  const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hashes, 32), count);
  const __m512i numbers = _mm512_srli_epi64(_mm512_add_epi64(high, _mm512_srli_epi64(low, 32)), 32);
  static_assert(kBlockBytes == 1 << 6);
  const auto begin = reinterpret_cast<uintptr_t>(blocks.begin);
  _mm512_storeu_si512(found, _mm512_add_epi64(_mm512_slli_epi64(numbers, 6), InAllLanes(begin)));
  // Read back: to take eight addresses out of a register is nearly twice as many instructions.
  __asm__ volatile("" : : : "memory");
  FetchLine(found[0]);
  FetchLine(found[1]);
  FetchLine(found[2]);
  FetchLine(found[3]);
  FetchLine(found[4]);
  FetchLine(found[5]);
  FetchLine(found[6]);
  FetchLine(found[7]);
}

// A register whose 32-bit lanes are `low` in its lower half and `high` in its upper.
WINNOW_AVX512_INLINE __m512i InHalves(int low, int high) {
  return _mm512_set_epi32(high, high, high, high, high, high, high, high, low, low, low, low, low,
                          low, low, low);
}

// The probes of one round, four bytes each.
WINNOW_AVX512_INLINE __m256i RoundOfMultipliers() {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(kProbeMultipliers.data()));
}

// Two keys at once, a 256-bit half of the registers for each: one permutation takes the words out
// of both blocks, the second of which are its words 16 to 31. The bits of the result that fall to a
// key's half are all zero if its block holds it. `key_lanes` names for each lane the 32-bit half of
// `hashes` that it wants.
WINNOW_AVX512_INLINE __mmask16 MissesOfTwo(const uint8_t* const* blocks, __m512i hashes,
                                           __m512i key_lanes, __m512i multipliers,
                                           __mmask16 probe_lanes) {
  const __m512i second_block = InHalves(0, 16);
  const __m512i products =
      _mm512_mullo_epi32(_mm512_permutexvar_epi32(key_lanes, hashes), multipliers);
  const __m512i words = _mm512_permutex2var_epi32(
      _mm512_loadu_si512(blocks[0]), _mm512_or_si512(_mm512_srli_epi32(products, 28), second_block),
      _mm512_loadu_si512(blocks[1]));
  // A rotation looks at the low five bits of its distance only, and brings the bit to the lowest
  // place.
  return _mm512_mask_testn_epi32_mask(
      probe_lanes, _mm512_rorv_epi32(words, _mm512_srli_epi32(products, 23)), _mm512_set1_epi32(1));
}

// The lanes of two keys in which there are probes, of at most kMaxProbesOfRound.
inline __mmask16 ProbeLanesOfTwo(int probes) {
  return static_cast<__mmask16>(((1u << probes) - 1) * 0x101);
}

// contained[i] = does blocks[i] hold hashes[i], 1 or 0, for eight of them.
WINNOW_AVX512_INLINE void ContainEight(const uint8_t* const* blocks, const uint64_t* hashes,
                                       __mmask16 probe_lanes, uint8_t* contained) {
  const __m512i multipliers = _mm512_broadcast_i32x8(RoundOfMultipliers());
  // The low half of its hash, for each of a key's eight lanes.
  const __m512i first_two = InHalves(0, 2);
  const __m512i second_two = InHalves(4, 6);
  const __m512i third_two = InHalves(8, 10);
  const __m512i fourth_two = InHalves(12, 14);
  const __m512i eight = _mm512_loadu_si512(hashes);
  const __mmask16 first = MissesOfTwo(blocks, eight, first_two, multipliers, probe_lanes);
  const __mmask16 second = MissesOfTwo(blocks + 2, eight, second_two, multipliers, probe_lanes);
  const __mmask16 third = MissesOfTwo(blocks + 4, eight, third_two, multipliers, probe_lanes);
  const __mmask16 fourth = MissesOfTwo(blocks + 6, eight, fourth_two, multipliers, probe_lanes);
  const __mmask64 misses =
      _mm512_kunpackd(_mm512_kunpackw(fourth, third), _mm512_kunpackw(second, first));
  const __m128i byte_of_each = _mm_cvtsi64_si128(static_cast<int64_t>(_cvtmask64_u64(misses)));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(contained),
                   _mm_abs_epi8(_mm_cmpeq_epi8(byte_of_each, _mm_setzero_si128())));
}

}  // namespace winnow::filter::internal

#endif  // defined(__x86_64__)

#endif  // WINNOW_FILTER_SIMD_BLOCK_PROBE_AVX512_H_
