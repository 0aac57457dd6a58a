#include "filter/simd/ribbon_columns.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/base/attributes.h"
#include "filter/simd/ribbon_match.h"

namespace winnow::filter::internal {
namespace {

// Back substitution. The equation that begins at slot s is, in each column,
//
//   x[s] = fingerprint bit + sum of x[s + i] over the later slots that it names     (mod 2)
//
// so that going from the last slot to the first, everything on the right is known. `solution` is a
// window of 64 slots for each of 8 columns: bit i is x[s + i]. It moves down by one slot with each
// equation, and whenever s is a multiple of 64 it is just a block of the payload.
//
// A slot at which no equation begins is free. Its coefficients and fingerprint are zero, so that it
// becomes 0 by the same instructions: any value would do, and the same one on every machine keeps
// the bytes the same.

// From the last slot to the first: a slot's bit in a column is the sum of the later slots of its
// equation and the fingerprint. `solution` holds, for each of kRibbonLanes columns, the 64 slots
// from the present one on.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SolveBlock(const uint64_t* coefficients,
                                                    const uint32_t* fingerprints, int first_column,
                                                    std::array<uint64_t, kRibbonLanes>* solution) {
  std::array<uint64_t, kRibbonLanes> columns = *solution;
  for (uint64_t i = kRibbonBlockSlots; i-- > 0;) {
    const uint64_t later = coefficients[i] >> 1;
    const uint32_t fingerprint = fingerprints[i] >> first_column;
#pragma GCC unroll 8
    for (size_t lane = 0; lane < kRibbonLanes; ++lane) {
      const auto sum = static_cast<uint64_t>(__builtin_parityll(later & columns[lane]));
      columns[lane] = (columns[lane] << 1) | (sum ^ ((fingerprint >> lane) & 1));
    }
  }
  *solution = columns;
}

// How many columns a block has, and where in the layer it begins.
struct BlockPlace {
  int columns;
  uint64_t begin;
};

BlockPlace PlaceOf(const RibbonLayerShape& shape, uint64_t block) {
  const uint64_t narrow_before = std::min(block, shape.num_narrow_blocks);
  const uint64_t words = narrow_before * static_cast<uint64_t>(shape.narrow_columns) +
                         (block - narrow_before) * static_cast<uint64_t>(shape.columns);
  return {block < shape.num_narrow_blocks ? shape.narrow_columns : shape.columns,
          words * sizeof(uint64_t)};
}

// `solve_block` is one of the ways to do what SolveBlock does.
template <typename SolveBlockFunction>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Solve(const RibbonSystem& system, uint8_t* blocks,
                                               SolveBlockFunction solve_block) {
  // Columns do not depend on each other: eight at a time, each time over all blocks. In narrow
  // blocks the last columns are computed as well, since the slots below it need the window, but not
  // stored.
  for (int first_column = 0; first_column < system.shape.columns; first_column += kRibbonLanes) {
    std::array<uint64_t, kRibbonLanes> solution{};
    for (uint64_t block = system.num_blocks; block-- > 0;) {
      solve_block(system.coefficients + block * kRibbonBlockSlots,
                  system.fingerprints + block * kRibbonBlockSlots, first_column, &solution);
      const BlockPlace place = PlaceOf(system.shape, block);
      const int lanes = std::min(kRibbonLanes, place.columns - first_column);
      if (lanes <= 0) continue;
      std::memcpy(blocks + place.begin + static_cast<size_t>(first_column) * sizeof(uint64_t),
                  solution.data(), static_cast<size_t>(lanes) * sizeof(uint64_t));
    }
  }
}

}  // namespace

bool RibbonMatchesPortable(const RibbonProbe& probe) { return MatchRibbonByWords(probe); }

void SolveRibbonPortable(const RibbonSystem& system, uint8_t* blocks) {
  Solve(system, blocks,
        [](const uint64_t* coefficients, const uint32_t* fingerprints, int first_column,
           std::array<uint64_t, kRibbonLanes>* solution) {
          SolveBlock(coefficients, fingerprints, first_column, solution);
        });
}

#if defined(__x86_64__)

const bool kHasPopcnt = __builtin_cpu_supports("popcnt") != 0;
const bool kHasAvx512Popcnt = __builtin_cpu_supports("avx512f") != 0 &&
                              __builtin_cpu_supports("avx512vbmi2") != 0 &&
                              __builtin_cpu_supports("avx512vpopcntdq") != 0;

namespace {

WINNOW_RIBBON_POPCNT void SolveBlockPopcnt(const uint64_t* coefficients,
                                           const uint32_t* fingerprints, int first_column,
                                           std::array<uint64_t, kRibbonLanes>* solution) {
  SolveBlock(coefficients, fingerprints, first_column, solution);
}

// A lane for each column.
WINNOW_RIBBON_AVX512 void SolveBlockAvx512(const uint64_t* coefficients,
                                           const uint32_t* fingerprints, int first_column,
                                           std::array<uint64_t, kRibbonLanes>* solution) {
  const __m512i one = _mm512_set1_epi64(1);
  const __m512i lane_numbers = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  __m512i columns = _mm512_loadu_si512(solution->data());
  for (uint64_t i = kRibbonBlockSlots; i-- > 0;) {
    const __m512i later = _mm512_set1_epi64(static_cast<long long>(coefficients[i] >> 1));
    // Lane c wants bit c: the parity of the count is in its lowest bit, and only that one is kept.
    const __m512i fingerprint = _mm512_maskz_srlv_epi64(
        0xff, _mm512_set1_epi64(static_cast<long long>(fingerprints[i] >> first_column)),
        lane_numbers);
    const __m512i count = _mm512_popcnt_epi64(_mm512_and_si512(later, columns));
    const __m512i bit = _mm512_and_si512(_mm512_xor_si512(count, fingerprint), one);
    columns = _mm512_or_si512(_mm512_add_epi64(columns, columns), bit);
  }
  _mm512_storeu_si512(solution->data(), columns);
}

}  // namespace

WINNOW_RIBBON_POPCNT bool RibbonMatchesPopcnt(const RibbonProbe& probe) {
  return MatchRibbonByWords(probe);
}

WINNOW_RIBBON_AVX512 bool RibbonMatchesAvx512(const RibbonProbe& probe) {
  return MatchRibbonAvx512(probe);
}

WINNOW_RIBBON_POPCNT void SolveRibbonPopcnt(const RibbonSystem& system, uint8_t* blocks) {
  Solve(system, blocks, SolveBlockPopcnt);
}

void SolveRibbonAvx512(const RibbonSystem& system, uint8_t* blocks) {
  Solve(system, blocks, SolveBlockAvx512);
}

#endif  // defined(__x86_64__)

void SolveRibbon(const RibbonSystem& system, uint8_t* blocks) {
// The three ways give the same bytes (simd_test).
#if defined(__x86_64__)
  if (kHasAvx512Popcnt) return SolveRibbonAvx512(system, blocks);
  if (kHasPopcnt) return SolveRibbonPopcnt(system, blocks);
#endif
  SolveRibbonPortable(system, blocks);
}

}  // namespace winnow::filter::internal
