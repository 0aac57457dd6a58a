// Does a ribbon filter's solution give a key its fingerprint? The ways of the different processors,
// to be inlined where queries are answered. Internal.

#ifndef WINNOW_FILTER_SIMD_RIBBON_MATCH_H_
#define WINNOW_FILTER_SIMD_RIBBON_MATCH_H_

#include <cstdint>
#include <cstring>

#include "absl/base/attributes.h"
#include "filter/simd/ribbon_columns.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::filter::internal {

// Columns that are worked on at once: as many as there are 64-bit lanes in the widest register, and
// few enough for the scalar code's registers.
inline constexpr int kRibbonLanes = 8;

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t LoadRibbonWord(const uint8_t* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

// The bits `offset` to `offset` + 63 of two words.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t RibbonWindow(uint64_t low, uint64_t high,
                                                          uint64_t offset) {
  return (low >> offset) | ((high << 1) << (63 - offset));
}

// No branch depends on the bits: whether an absent key's columns match is what nobody can predict.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool MatchRibbonByWords(const RibbonProbe& probe) {
  const uint8_t* const next_block = probe.next_block();
  uint32_t sums = 0;
  for (int column = 0; column < probe.columns; ++column) {
    const uint64_t at = static_cast<uint64_t>(column) * sizeof(uint64_t);
    const uint64_t window = RibbonWindow(LoadRibbonWord(probe.block + at),
                                         LoadRibbonWord(next_block + at), probe.offset);
    sums |= static_cast<uint32_t>(__builtin_parityll(window & probe.coefficients)) << column;
  }
  const uint64_t mask = (uint64_t{1} << probe.columns) - 1;
  return ((sums ^ probe.fingerprint) & mask) == 0;
}

#if defined(__x86_64__)

#define WINNOW_RIBBON_POPCNT __attribute__((target("popcnt")))
#define WINNOW_RIBBON_AVX512 __attribute__((target("avx512f,avx512vbmi2,avx512vpopcntdq")))
#define WINNOW_RIBBON_AVX512_INLINE \
  __attribute__((target("avx512f,avx512vbmi2,avx512vpopcntdq"), always_inline)) inline

// In kRibbonLanes columns from `first_column` on, or in the `lanes` of them that are ones: those
// that do not match.
WINNOW_RIBBON_AVX512_INLINE uint32_t RibbonMismatches(const RibbonProbe& probe, int first_column,
                                                      uint32_t lanes) {
  const auto mask = static_cast<__mmask8>(lanes);
  const uint64_t at = static_cast<uint64_t>(first_column) * sizeof(uint64_t);
  const __m512i window =
      _mm512_shrdv_epi64(_mm512_maskz_loadu_epi64(mask, probe.block + at),
                         _mm512_maskz_loadu_epi64(mask, probe.next_block() + at),
                         _mm512_set1_epi64(static_cast<long long>(probe.offset)));
  const __m512i coefficients = _mm512_set1_epi64(static_cast<long long>(probe.coefficients));
  const __m512i counts = _mm512_popcnt_epi64(_mm512_and_si512(window, coefficients));
  const uint32_t sums = _mm512_test_epi64_mask(counts, _mm512_set1_epi64(1));
  return (sums ^ (probe.fingerprint >> first_column)) & lanes;
}

inline constexpr uint32_t kAllRibbonLanes = (1u << kRibbonLanes) - 1;

// The last lanes overlap those before: a load of fewer would cost the cache line of those that it
// leaves out.
WINNOW_RIBBON_AVX512_INLINE bool MatchRibbonAvx512(const RibbonProbe& probe) {
  if (probe.columns < kRibbonLanes) {
    return RibbonMismatches(probe, 0, (uint32_t{1} << probe.columns) - 1) == 0;
  }
  const int last = probe.columns - kRibbonLanes;
  for (int column = 0; column < last; column += kRibbonLanes) {
    if (RibbonMismatches(probe, column, kAllRibbonLanes) != 0) return false;
  }
  return RibbonMismatches(probe, last, kAllRibbonLanes) == 0;
}

#endif  // defined(__x86_64__)

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_SIMD_RIBBON_MATCH_H_
