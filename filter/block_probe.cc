#include "winnow/filter/internal/block_probe.h"

#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::filter::internal {
namespace {

// Enough blocks in flight to hide a memory access behind the others' work.
constexpr size_t kPrefetchDistance = 16;

void PrefetchAhead(const BlockTable& table, const uint64_t* hashes, size_t count, size_t i) {
  if (i + kPrefetchDistance < count) {
    __builtin_prefetch(table.BlockOf(hashes[i + kPrefetchDistance]), 1);
  }
}

}  // namespace

void BlocksContainPortable(const BlockTable& table, const uint64_t* hashes, size_t count,
                           uint8_t* contained) {
  for (size_t i = 0; i < count; ++i) {
    contained[i] = BlockContainsPortable(table.BlockOf(hashes[i]), hashes[i], table.probes) ? 1 : 0;
  }
}

void AddToBlocksPortable(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    PrefetchAhead(table, hashes, count, i);
    uint8_t* const block = table.MutableBlockOf(hashes[i]);
    for (int probe = 0; probe < table.probes; ++probe) {
      const uint32_t bit = BlockBit(hashes[i], probe);
      uint64_t word;
      std::memcpy(&word, block + (bit >> 6) * sizeof(word), sizeof(word));
      word |= uint64_t{1} << (bit & 63);
      std::memcpy(block + (bit >> 6) * sizeof(word), &word, sizeof(word));
    }
  }
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

// The whole block stays in two registers. A shift by the bit's distance from a word's first bit
// leaves a one in the word that holds the bit and, being 32 or more, nothing in all others. Words
// in memory would be written and read again at once by the next probe, which stalls.
WINNOW_AVX2_INLINE void Add(uint8_t* block, uint64_t hash, int probes) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i low_first_bits = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
  const __m256i high_first_bits = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
  const __m256i low_hash = _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(hash)));
  __m256i low_words = LoadLanes(block);
  __m256i high_words = LoadLanes(block + 32);
  for (int probe = 0; probe < probes; ++probe) {
    const __m256i multiplier =
        _mm256_set1_epi32(static_cast<int>(kProbeMultipliers[static_cast<size_t>(probe)]));
    const __m256i bit = _mm256_srli_epi32(_mm256_mullo_epi32(low_hash, multiplier), 23);
    low_words =
        _mm256_or_si256(low_words, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, low_first_bits)));
    high_words =
        _mm256_or_si256(high_words, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, high_first_bits)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block), low_words);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block + 32), high_words);
}

}  // namespace

WINNOW_AVX2 bool BlockContainsAvx2(const uint8_t* block, uint64_t hash, int probes) {
  return Contains(block, hash, probes);
}

WINNOW_AVX2 void BlocksContainAvx2(const BlockTable& table, const uint64_t* hashes, size_t count,
                                   uint8_t* contained) {
  for (size_t i = 0; i < count; ++i) {
    contained[i] = Contains(table.BlockOf(hashes[i]), hashes[i], table.probes) ? 1 : 0;
  }
}

WINNOW_AVX2 void AddToBlocksAvx2(const MutableBlockTable& table, const uint64_t* hashes,
                                 size_t count) {
  for (size_t i = 0; i < count; ++i) {
    PrefetchAhead(table, hashes, count, i);
    Add(table.MutableBlockOf(hashes[i]), hashes[i], table.probes);
  }
}

#undef WINNOW_AVX2_INLINE
#undef WINNOW_AVX2

const bool kHasAvx512 = __builtin_cpu_supports("avx512f") != 0;

namespace {

#define WINNOW_AVX512 __attribute__((target("avx512f")))

// As the AVX2 code's Add, with the whole block in one register and up to 16 probes' products in
// another; the number of probes is known to the compiler, so that nothing is left of the loop.
template <int kProbes>
WINNOW_AVX512 void AddAvx512(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  alignas(64) static constexpr std::array<uint32_t, 16> kFirstBits = {
      0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480};
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i first_bits = _mm512_load_si512(kFirstBits.data());
  const __m512i multipliers = _mm512_loadu_si512(kProbeMultipliers.data());
  for (size_t i = 0; i < count; ++i) {
    PrefetchAhead(table, hashes, count, i);
    uint8_t* const block = table.MutableBlockOf(hashes[i]);
    const __m512i low_hash = _mm512_set1_epi32(static_cast<int>(static_cast<uint32_t>(hashes[i])));
    const __m512i bits =
        _mm512_maskz_srli_epi32(0xffff, _mm512_mullo_epi32(low_hash, multipliers), 23);
    __m512i words = _mm512_loadu_si512(block);
#pragma GCC unroll 16
    for (int probe = 0; probe < kProbes; ++probe) {
      const __m512i bit = _mm512_maskz_permutexvar_epi32(0xffff, _mm512_set1_epi32(probe), bits);
      words = _mm512_or_si512(
          words, _mm512_maskz_sllv_epi32(0xffff, one, _mm512_sub_epi32(bit, first_bits)));
    }
    _mm512_storeu_si512(block, words);
  }
}

using AddFunction = void (*)(const MutableBlockTable&, const uint64_t*, size_t);

template <int... kProbes>
constexpr std::array<AddFunction, sizeof...(kProbes)> MakeAddFunctions(
    std::integer_sequence<int, kProbes...>) {
  return {&AddAvx512<kProbes>...};
}

}  // namespace

void AddToBlocksAvx512(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  static constexpr auto kAddFunctions =
      MakeAddFunctions(std::make_integer_sequence<int, kMostProbesAvx512 + 1>());
  kAddFunctions[static_cast<size_t>(table.probes)](table, hashes, count);
}

#undef WINNOW_AVX512

#endif  // defined(__x86_64__)

void BlocksContain(const BlockTable& table, const uint64_t* hashes, size_t count,
                   uint8_t* contained) {
#if defined(__x86_64__)
  if (kHasAvx2) return BlocksContainAvx2(table, hashes, count, contained);
#endif
  BlocksContainPortable(table, hashes, count, contained);
}

void AddToBlocks(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
#if defined(__x86_64__)
  if (kHasAvx512 && table.probes <= kMostProbesAvx512) {
    return AddToBlocksAvx512(table, hashes, count);
  }
  if (kHasAvx2) return AddToBlocksAvx2(table, hashes, count);
#endif
  AddToBlocksPortable(table, hashes, count);
}

}  // namespace winnow::filter::internal
