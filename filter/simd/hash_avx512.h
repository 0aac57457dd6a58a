// Eight keys of one length hashed side by side, as lanes of AVX-512 registers. Internal.
//
// The hash is HashKey's: XXH3-64. Its formulas for short keys, and the words of its secret, are
// those of xxHash's specification (doc/xxhash_spec.md, "XXH3 Algorithm Overview"). A key alone
// takes some twenty instructions, side by side with others eight.

#ifndef WINNOW_FILTER_SIMD_HASH_AVX512_H_
#define WINNOW_FILTER_SIMD_HASH_AVX512_H_

#if defined(__x86_64__)

// GCC 12 takes the registers that its own header leaves undefined on purpose for a mistake.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#define WINNOW_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define WINNOW_AVX512_INLINE \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"), always_inline)) inline

namespace winnow::filter::internal {

inline constexpr size_t kLanes = 8;

inline bool ProcessorHasAvx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
// That, and a std::string_view begins with its size, as libstdc++'s does: HaveSize reads many at
// once.
extern const bool kHashesByAvx512;

// Which of XXH3's formulas is right for a key's length, of those that are here.
enum class LengthClass : uint8_t { kEight, kSixteen, kOverSixteen };

// Calls visit(std::integral_constant of LengthClass) for the class of `size`; returns false if
// it has none.
template <typename Visitor>
bool VisitLengthClass(size_t size, const Visitor& visit) {
  if (size == 16) {
    visit(std::integral_constant<LengthClass, LengthClass::kSixteen>());
  } else if (size == 8) {
    visit(std::integral_constant<LengthClass, LengthClass::kEight>());
  } else if (size > 16 && size <= 32) {
    visit(std::integral_constant<LengthClass, LengthClass::kOverSixteen>());
  } else {
    return false;
  }
  return true;
}

// The beginning of XXH3's secret, as little-endian words.
inline constexpr std::array<uint64_t, 7> kXxh3Secret = {
    0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
    0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8};

WINNOW_AVX512_INLINE __m512i InAllLanes(uint64_t value) {
  return _mm512_set1_epi64(static_cast<int64_t>(value));
}

// Are eight keys all of `size` bytes?
WINNOW_AVX512_INLINE bool HaveSize(const std::string_view* keys, size_t size) {
  static_assert(sizeof(std::string_view) == 2 * sizeof(uint64_t));
  constexpr __mmask8 kSizes = 0b01010101;
  const __m512i wanted = InAllLanes(size);
  const __mmask8 first = _mm512_mask_cmpneq_epi64_mask(kSizes, wanted, _mm512_loadu_si512(keys));
  const __mmask8 second =
      _mm512_mask_cmpneq_epi64_mask(kSizes, wanted, _mm512_loadu_si512(keys + kLanes / 2));
  return _kortestz_mask8_u8(first, second) != 0;
}

WINNOW_AVX512_INLINE __m128i SixteenBytes(std::string_view key, size_t offset) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(key.data() + offset));
}

// Of keys 0, 2, 4 and 6.
WINNOW_AVX512_INLINE __m512i SixteenBytesOfFour(const std::string_view* keys, size_t offset) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(SixteenBytes(keys[0], offset)),
                                              SixteenBytes(keys[2], offset), 1);
  const __m256i high = _mm256_inserti128_si256(
      _mm256_castsi128_si256(SixteenBytes(keys[4], offset)), SixteenBytes(keys[6], offset), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// The 16 bytes at `offset` of each key: the first eight into `*first`, the others into `*second`.
WINNOW_AVX512_INLINE void LoadSixteenBytes(const std::string_view* keys, size_t offset,
                                           __m512i* first, __m512i* second) {
  const __m512i even = SixteenBytesOfFour(keys, offset);
  const __m512i odd = SixteenBytesOfFour(keys + 1, offset);
  *first = _mm512_unpacklo_epi64(even, odd);
  *second = _mm512_unpackhi_epi64(even, odd);
}

WINNOW_AVX512_INLINE __m512i LoadEightBytes(const std::string_view* keys) {
  const auto word = [keys](size_t i) {
    int64_t bytes;
    std::memcpy(&bytes, keys[i].data(), sizeof(bytes));
    return bytes;
  };
  return _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0));
}

// The two halves of the 128-bit products, XORed, out of four products of 32-bit halves.
WINNOW_AVX512_INLINE __m512i FoldedProduct(__m512i a, __m512i b) {
  const __m512i high_a = _mm512_srli_epi64(a, 32);
  const __m512i high_b = _mm512_srli_epi64(b, 32);
  const __m512i low_low = _mm512_mul_epu32(a, b);
  const __m512i high_low =
      _mm512_add_epi64(_mm512_mul_epu32(high_a, b), _mm512_srli_epi64(low_low, 32));
  const __m512i low_high = _mm512_add_epi64(_mm512_mul_epu32(a, high_b),
                                            _mm512_and_si512(high_low, InAllLanes(0xffffffff)));
  const __m512i high = _mm512_add_epi64(
      _mm512_add_epi64(_mm512_mul_epu32(high_a, high_b), _mm512_srli_epi64(high_low, 32)),
      _mm512_srli_epi64(low_high, 32));
  return _mm512_xor_si512(high, _mm512_mullo_epi64(a, b));
}

WINNOW_AVX512_INLINE __m512i XorOwnShift(__m512i value, unsigned distance) {
  return _mm512_xor_si512(value, _mm512_srli_epi64(value, distance));
}

WINNOW_AVX512_INLINE __m512i Avalanche(__m512i value) {
  const __m512i product =
      _mm512_mullo_epi64(XorOwnShift(value, 37), InAllLanes(0x165667919e3779f9));
  return XorOwnShift(product, 32);
}

WINNOW_AVX512_INLINE __m512i HashEightBytes(const std::string_view* keys, uint64_t seed) {
  const uint64_t mixed_seed =
      seed ^ (uint64_t{__builtin_bswap32(static_cast<uint32_t>(seed))} << 32);
  const __m512i multiplier = InAllLanes(0x9fb21c651e98df25);
  // The two 32-bit halves change places.
  const __m512i words = _mm512_rol_epi64(LoadEightBytes(keys), 32);
  const __m512i keyed =
      _mm512_xor_si512(words, InAllLanes((kXxh3Secret[1] ^ kXxh3Secret[2]) - mixed_seed));
  const __m512i rotated =
      _mm512_xor_si512(_mm512_rol_epi64(keyed, 49), _mm512_rol_epi64(keyed, 24));
  const __m512i first = _mm512_mullo_epi64(_mm512_xor_si512(keyed, rotated), multiplier);
  const __m512i sum = _mm512_add_epi64(_mm512_srli_epi64(first, 35), InAllLanes(8));
  return XorOwnShift(_mm512_mullo_epi64(_mm512_xor_si512(first, sum), multiplier), 28);
}

WINNOW_AVX512_INLINE __m512i HashSixteenBytes(const std::string_view* keys, uint64_t seed) {
  const __m512i reverse =
      _mm512_broadcast_i32x4(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  __m512i low;
  __m512i high;
  LoadSixteenBytes(keys, 0, &low, &high);
  low = _mm512_xor_si512(low, InAllLanes((kXxh3Secret[3] ^ kXxh3Secret[4]) + seed));
  high = _mm512_xor_si512(high, InAllLanes((kXxh3Secret[5] ^ kXxh3Secret[6]) - seed));
  const __m512i sum = _mm512_add_epi64(_mm512_shuffle_epi8(low, reverse), high);
  return Avalanche(
      _mm512_add_epi64(_mm512_add_epi64(sum, InAllLanes(16)), FoldedProduct(low, high)));
}

WINNOW_AVX512_INLINE __m512i MixSixteenBytes(const std::string_view* keys, size_t offset,
                                             size_t secret, uint64_t seed) {
  __m512i low;
  __m512i high;
  LoadSixteenBytes(keys, offset, &low, &high);
  return FoldedProduct(_mm512_xor_si512(low, InAllLanes(kXxh3Secret[secret] + seed)),
                       _mm512_xor_si512(high, InAllLanes(kXxh3Secret[secret + 1] - seed)));
}

// 17 to 32 bytes: the first and the last 16.
WINNOW_AVX512_INLINE __m512i HashOverSixteenBytes(const std::string_view* keys, size_t size,
                                                  uint64_t seed) {
  const __m512i sum = _mm512_add_epi64(MixSixteenBytes(keys, 0, 0, seed),
                                       MixSixteenBytes(keys, size - 16, 2, seed));
  return Avalanche(_mm512_add_epi64(sum, InAllLanes(size * 0x9e3779b185ebca87)));
}

// Of eight keys of `size` bytes, whose class is kClass.
template <LengthClass kClass>
WINNOW_AVX512_INLINE __m512i HashEightKeys(const std::string_view* keys, size_t size,
                                           uint64_t seed) {
  if constexpr (kClass == LengthClass::kEight) return HashEightBytes(keys, seed);
  if constexpr (kClass == LengthClass::kSixteen) return HashSixteenBytes(keys, seed);
  return HashOverSixteenBytes(keys, size, seed);
}

}  // namespace winnow::filter::internal

#endif  // defined(__x86_64__)

#endif  // WINNOW_FILTER_SIMD_HASH_AVX512_H_
