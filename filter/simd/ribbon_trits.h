// A ribbon layer's ternary column in memory: a number modulo 3 for each slot, five to a byte.
//
// The byte of slots 5 i to 5 i + 4 is N * 256 / 243, rounded up, where N is the number with these
// five digits in base 3, the first slot's the highest. The digit of slot 5 i + j is then the
// integer part of 3 / 256 times the lowest eight bits of the byte times 3^j.

#ifndef WINNOW_FILTER_SIMD_RIBBON_TRITS_H_
#define WINNOW_FILTER_SIMD_RIBBON_TRITS_H_

#include <cstdint>

namespace winnow::filter::internal {

inline constexpr uint64_t kTritsOfByte = 5;
// So many bytes behind the last one may be loaded as well.
inline constexpr uint64_t kTritPadding = 8;

inline uint64_t TritBytes(uint64_t num_slots) {
  return (num_slots + kTritsOfByte - 1) / kTritsOfByte;
}

// 64 numbers modulo 3: bit i of `some` is set if number i is not 0, of `twos` if it is 2.
struct TernaryRow {
  uint64_t some = 0;
  uint64_t twos = 0;
};

// All numbers in six operations (Boothby and Bradshaw, "Bitslicing and the Method of Four Russians
// Over Larger Finite Fields", 2009).
inline TernaryRow AddTernary(const TernaryRow& a, const TernaryRow& b) {
  const uint64_t s = a.some ^ b.twos;
  const uint64_t t = a.twos ^ b.some;
  return {(s ^ a.twos) | (t ^ b.twos), s & t};
}

// Where all bits of `mask` are set each 1 becomes 2, and the reverse; where none is, nothing.
inline TernaryRow NegateTernaryIf(uint64_t mask, const TernaryRow& row) {
  return {row.some, row.twos ^ (row.some & mask)};
}

// What back substitution needs of a system over GF(3) in echelon form. A slot without equation has
// row and sum 0.
struct TernarySystem {
  const TernaryRow* rows;  // of the equation that begins at a slot: its first number is 1
  const uint8_t* sums;
  uint64_t num_slots;
};

// Writes the solution in the first slots, TritBytes(num_written) bytes. The variants of this and of
// the next function give the same; the one without suffix chooses.
void SolveTernary(const TernarySystem& system, uint64_t num_written, uint8_t* trits);
void SolveTernaryPortable(const TernarySystem& system, uint64_t num_written, uint8_t* trits);

// The sum, modulo 3, of those of the 64 slots from `slot` on that the coefficients name.
uint32_t SumOfTrits(const uint8_t* trits, uint64_t slot, uint64_t coefficients);
uint32_t SumOfTritsPortable(const uint8_t* trits, uint64_t slot, uint64_t coefficients);

#if defined(__x86_64__)
// Where kHasPopcnt.
void SolveTernaryPopcnt(const TernarySystem& system, uint64_t num_written, uint8_t* trits);
extern const bool kHasAvx512Trits;
uint32_t SumOfTritsAvx512(const uint8_t* trits, uint64_t slot, uint64_t coefficients);
#endif

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_SIMD_RIBBON_TRITS_H_
