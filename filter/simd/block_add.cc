// Building: the bits of many keys are set in their blocks. The ways of the different processors
// give the same bytes.

#include "filter/simd/block_add.h"

#include <algorithm>
#include <array>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::filter::internal {
namespace {

constexpr size_t kGroup = 16;

}  // namespace

void AddToBlocksPortable(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  // The reference for all other ways: probe i sets BlockBit(hash, i). Bits are only ever set, so
  // that the order of keys and of probes does not matter.
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t size = std::min(kGroup, count - begin);
    const BlocksOfGroup<kGroup> blocks(table, hashes + begin, size, count - begin);
    for (size_t i = 0; i < size; ++i) {
      for (int probe = 0; probe < table.probes; ++probe) {
        const uint32_t bit = BlockBit(hashes[begin + i], probe);
        uint8_t* const place = blocks[i] + (bit >> 6) * sizeof(uint64_t);
        uint64_t word;
        std::memcpy(&word, place, sizeof(word));
        word |= uint64_t{1} << (bit & 63);
        std::memcpy(place, &word, sizeof(word));
      }
    }
  }
}

#if defined(__x86_64__)

namespace {

using AddFunction = void (*)(const MutableBlockTable&, const uint64_t*, size_t);

#define WINNOW_AVX2 __attribute__((target("avx2")))
#define WINNOW_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

// Probes whose bits one vector multiplication finds.
constexpr int kLanes = 8;

WINNOW_AVX2_INLINE __m256i LoadLanes(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// Sets `probes` bits, whose positions are at `bits`. The whole block stays in two registers. A
// shift by the bit's distance from a word's first bit leaves a one in the word that holds the bit
// and, being 32 or more, nothing in all others. Words in memory would be written and read again at
// once by the next probe, which stalls.
WINNOW_AVX2_INLINE void SetBits(uint8_t* block, const uint32_t* bits, int probes) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i low_first_bits = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
  const __m256i high_first_bits = _mm256_setr_epi32(256, 288, 320, 352, 384, 416, 448, 480);
  __m256i low_words = LoadLanes(block);
  __m256i high_words = LoadLanes(block + 32);
#pragma GCC unroll 16
  for (int probe = 0; probe < probes; ++probe) {
    const __m256i bit = _mm256_set1_epi32(static_cast<int>(bits[probe]));
    low_words =
        _mm256_or_si256(low_words, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, low_first_bits)));
    high_words =
        _mm256_or_si256(high_words, _mm256_sllv_epi32(one, _mm256_sub_epi32(bit, high_first_bits)));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block), low_words);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block + 32), high_words);
}

// The positions of the bits of `hash`, a whole multiple of kLanes of them.
WINNOW_AVX2_INLINE void FindBits(uint64_t hash, int probes, uint32_t* bits) {
  const __m256i low_hash = _mm256_set1_epi32(static_cast<int>(static_cast<uint32_t>(hash)));
  for (int probe = 0; probe < probes; probe += kLanes) {
    const __m256i products =
        _mm256_mullo_epi32(low_hash, LoadLanes(kProbeMultipliers.data() + probe));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits + probe), _mm256_srli_epi32(products, 23));
  }
}

// Where the number of probes is known to the compiler, nothing is left of the loops over them; 0
// stands for any number.
template <int kProbes>
WINNOW_AVX2 void AddAvx2(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  const int probes = kProbes == 0 ? table.probes : kProbes;
  std::array<std::array<uint32_t, kMaxBlockProbes>, kGroup> bits;
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t size = std::min(kGroup, count - begin);
    const BlocksOfGroup<kGroup> blocks(table, hashes + begin, size, count - begin);
    for (size_t i = 0; i < size; ++i) FindBits(hashes[begin + i], probes, bits[i].data());
    for (size_t i = 0; i < size; ++i) SetBits(blocks[i], bits[i].data(), probes);
  }
}

template <int... kProbes>
constexpr std::array<AddFunction, sizeof...(kProbes)> MakeAvx2Functions(
    std::integer_sequence<int, kProbes...>) {
  return {&AddAvx2<kProbes>...};
}

#undef WINNOW_AVX2

#define WINNOW_AVX512 __attribute__((target("avx512f")))

// As the AVX2 code, with the whole block in one register, into which two bits go at once; the
// number of probes is known to the compiler, so that nothing is left of the loops.
template <int kProbes>
WINNOW_AVX512 void AddAvx512(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  alignas(64) static constexpr std::array<uint32_t, 16> kFirstBits = {
      0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480};
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i first_bits = _mm512_load_si512(kFirstBits.data());
  std::array<std::array<uint32_t, kMaxProbesAvx512>, kGroup> bits;
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t size = std::min(kGroup, count - begin);
    const BlocksOfGroup<kGroup> blocks(table, hashes + begin, size, count - begin);
    for (size_t i = 0; i < size; ++i) FindBits(hashes[begin + i], kProbes, bits[i].data());
    for (size_t i = 0; i < size; ++i) {
      __m512i words = _mm512_loadu_si512(blocks[i]);
      const auto place_of = [&](size_t probe) __attribute__((target("avx512f"), always_inline)) {
        const __m512i bit = _mm512_set1_epi32(static_cast<int>(bits[i][probe]));
        return _mm512_maskz_sllv_epi32(0xffff, one, _mm512_sub_epi32(bit, first_bits));
      };
      constexpr int kOrOfThree = 0xfe;
#pragma GCC unroll 8
      for (size_t probe = 0; probe + 1 < kProbes; probe += 2) {
        words = _mm512_ternarylogic_epi32(words, place_of(probe), place_of(probe + 1), kOrOfThree);
      }
      if (kProbes % 2 != 0) words = _mm512_or_si512(words, place_of(kProbes - 1));
      _mm512_storeu_si512(blocks[i], words);
    }
  }
}

template <int... kProbes>
constexpr std::array<AddFunction, sizeof...(kProbes)> MakeAvx512Functions(
    std::integer_sequence<int, kProbes...>) {
  return {&AddAvx512<kProbes>...};
}

#undef WINNOW_AVX512
#undef WINNOW_AVX2_INLINE

constexpr auto kUnrolledProbes = std::make_integer_sequence<int, kMaxProbesAvx512 + 1>();

}  // namespace

// AVX-512F alone: filling needs no other part, so that more processors have it than kHasAvx512Vl.
const bool kHasAvx512 = __builtin_cpu_supports("avx512f") != 0;

void AddToBlocksAvx2(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  static constexpr auto kFunctions = MakeAvx2Functions(kUnrolledProbes);
  // Function 0 takes any number of probes; a filter never has none.
  const int unrolled = table.probes <= kMaxProbesAvx512 ? table.probes : 0;
  kFunctions[static_cast<size_t>(unrolled)](table, hashes, count);
}

void AddToBlocksAvx512(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
  static constexpr auto kFunctions = MakeAvx512Functions(kUnrolledProbes);
  kFunctions[static_cast<size_t>(table.probes)](table, hashes, count);
}

#endif  // defined(__x86_64__)

void AddToBlocks(const MutableBlockTable& table, const uint64_t* hashes, size_t count) {
#if defined(__x86_64__)
  // The quickest first; each has its limit of probes.
  if (kHasGfni && table.probes <= kMaxProbesOfRound) {
    return FillBlocksGfni(table, hashes, count);
  }
  if (kHasAvx512 && table.probes <= kMaxProbesAvx512) {
    return AddToBlocksAvx512(table, hashes, count);
  }
  if (kHasAvx2) return AddToBlocksAvx2(table, hashes, count);
#endif
  AddToBlocksPortable(table, hashes, count);
}

}  // namespace winnow::filter::internal
