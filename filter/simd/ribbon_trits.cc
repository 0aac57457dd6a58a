#include "filter/simd/ribbon_trits.h"

#include <array>
#include <cstddef>

#include "absl/base/attributes.h"
#include "filter/simd/ribbon_columns.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winnow::filter::internal {
namespace {

constexpr std::array<uint32_t, kTritsOfByte> kPowers = {1, 3, 9, 27, 81};

// A window of 64 slots begins within a byte and touches up to 14.
constexpr uint64_t kWindowBytes = 14;

// The digits of each byte: in `some` those that are not 0, in `twos` those that are 2.
struct Digits {
  uint8_t some;
  uint8_t twos;
};
constexpr std::array<Digits, 256> kDigits = [] {
  std::array<Digits, 256> digits{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (size_t i = 0; i < kTritsOfByte; ++i) {
      const uint32_t digit = byte * kPowers[i] % 256 * 3 / 256;
      digits[byte].some = static_cast<uint8_t>(digits[byte].some | (digit != 0 ? 1 : 0) << i);
      digits[byte].twos = static_cast<uint8_t>(digits[byte].twos | (digit == 2 ? 1 : 0) << i);
    }
  }
  return digits;
}();

ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint32_t SumByTable(const uint8_t* trits, uint64_t slot,
                                                        uint64_t coefficients) {
  const uint8_t* const bytes = trits + slot / kTritsOfByte;
  const uint64_t skipped = slot % kTritsOfByte;
  uint64_t some = kDigits[bytes[0]].some >> skipped;
  uint64_t twos = kDigits[bytes[0]].twos >> skipped;
  for (uint64_t i = 1; i + 1 < kWindowBytes; ++i) {
    some |= uint64_t{kDigits[bytes[i]].some} << (kTritsOfByte * i - skipped);
    twos |= uint64_t{kDigits[bytes[i]].twos} << (kTritsOfByte * i - skipped);
  }
  // The last one's digits are bits 61 to 65 on: in two steps, since a shift by 64 is none.
  constexpr uint64_t kLast = kWindowBytes - 1;
  some |= uint64_t{kDigits[bytes[kLast]].some} << 32 << (kTritsOfByte * kLast - 32 - skipped);
  twos |= uint64_t{kDigits[bytes[kLast]].twos} << 32 << (kTritsOfByte * kLast - 32 - skipped);
  return static_cast<uint32_t>(__builtin_popcountll(some & coefficients) +
                               __builtin_popcountll(twos & coefficients)) %
         3;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SolveBySlots(const TernarySystem& system,
                                                      uint64_t num_written, uint8_t* trits) {
  const uint64_t num_bytes = TritBytes(num_written);
  // As in ribbon_columns.cc: `solution` is the window of 64 slots from the present one on.
  TernaryRow solution;
  uint32_t digits = 0;
  for (uint64_t slot = system.num_slots; slot-- > 0;) {
    const TernaryRow& row = system.rows[slot];
    solution.some <<= 1;
    solution.twos <<= 1;
    // The products that are not 0, and of them those that are 2 = -1.
    const uint64_t products = row.some & solution.some;
    const uint64_t twos = products & (row.twos ^ solution.twos);
    // 66, a multiple of 3, keeps it above 0.
    const auto trit =
        static_cast<uint32_t>(system.sums[slot] + 66 - __builtin_popcountll(products) +
                              2 * __builtin_popcountll(twos)) %
        3;
    solution.some |= (trit + 1) >> 1;
    solution.twos |= trit >> 1;
    digits += trit * kPowers[kTritsOfByte - 1 - slot % kTritsOfByte];
    if (slot % kTritsOfByte == 0) {
      if (slot / kTritsOfByte < num_bytes) {
        trits[slot / kTritsOfByte] = static_cast<uint8_t>((digits * 256 + 242) / 243);
      }
      digits = 0;
    }
  }
}

}  // namespace

void SolveTernaryPortable(const TernarySystem& system, uint64_t num_written, uint8_t* trits) {
  SolveBySlots(system, num_written, trits);
}

uint32_t SumOfTritsPortable(const uint8_t* trits, uint64_t slot, uint64_t coefficients) {
  return SumByTable(trits, slot, coefficients);
}

#if defined(__x86_64__)

const bool kHasAvx512Trits =
    __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vbmi") != 0;

namespace {

// For each slot of a window that begins with a byte, in two bytes: which byte it is in, and 3^j in
// the upper half of a number. A window that begins later takes them from there on.
constexpr size_t kTableSlots = 64 + kTritsOfByte - 1;
constexpr std::array<uint16_t, kTableSlots> kByteOfSlot = [] {
  std::array<uint16_t, kTableSlots> bytes{};
  for (size_t i = 0; i < kTableSlots; ++i) bytes[i] = static_cast<uint16_t>(i / kTritsOfByte);
  return bytes;
}();
constexpr std::array<uint16_t, kTableSlots> kPowerOfSlot = [] {
  std::array<uint16_t, kTableSlots> powers{};
  for (size_t i = 0; i < kTableSlots; ++i) {
    powers[i] = static_cast<uint16_t>(kPowers[i % kTritsOfByte] << 8);
  }
  return powers;
}();

}  // namespace

__attribute__((target("popcnt"))) void SolveTernaryPopcnt(const TernarySystem& system,
                                                          uint64_t num_written, uint8_t* trits) {
  SolveBySlots(system, num_written, trits);
}

__attribute__((target("popcnt,avx512f,avx512bw,avx512vbmi"))) uint32_t SumOfTritsAvx512(
    const uint8_t* trits, uint64_t slot, uint64_t coefficients) {
  const __m512i bytes = _mm512_castsi128_si512(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(trits + slot / kTritsOfByte)));
  const uint64_t first = slot % kTritsOfByte;
  // A digit is 1 or more if three times the fraction is, which is byte * 3^j / 256 without its
  // integer part: that falls off the upper end of 16 bits.
  const __m512i one_third = _mm512_set1_epi16(static_cast<int16_t>(86 << 8));
  const __m512i two_thirds = _mm512_set1_epi16(static_cast<int16_t>(171 << 8));
  uint32_t sum = 0;
  for (uint64_t half = 0; half < 64; half += 32) {
    const __m512i byte_of_slot = _mm512_loadu_si512(kByteOfSlot.data() + first + half);
    const __m512i power_of_slot = _mm512_loadu_si512(kPowerOfSlot.data() + first + half);
    const __m512i fractions = _mm512_mullo_epi16(
        _mm512_maskz_permutexvar_epi8(0x5555555555555555, byte_of_slot, bytes), power_of_slot);
    const auto named = static_cast<__mmask32>(coefficients >> half);
    sum += static_cast<uint32_t>(
        __builtin_popcount(_mm512_mask_cmpge_epu16_mask(named, fractions, one_third)) +
        __builtin_popcount(_mm512_mask_cmpge_epu16_mask(named, fractions, two_thirds)));
  }
  return sum % 3;
}

#endif  // defined(__x86_64__)

void SolveTernary(const TernarySystem& system, uint64_t num_written, uint8_t* trits) {
#if defined(__x86_64__)
  if (kHasPopcnt) return SolveTernaryPopcnt(system, num_written, trits);
#endif
  SolveTernaryPortable(system, num_written, trits);
}

uint32_t SumOfTrits(const uint8_t* trits, uint64_t slot, uint64_t coefficients) {
#if defined(__x86_64__)
  if (kHasAvx512Trits) return SumOfTritsAvx512(trits, slot, coefficients);
#endif
  return SumOfTritsPortable(trits, slot, coefficients);
}

}  // namespace winnow::filter::internal
