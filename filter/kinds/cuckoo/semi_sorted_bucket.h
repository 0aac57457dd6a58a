// The buckets of a cuckoo filter without the order of their fingerprints, which means nothing: Fan,
// Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014,
// section 5.2, "semi-sorting". Four fingerprints are sorted; their highest four bits are then one
// of the 3876 non-decreasing sequences of four numbers below 16, for which 12 bits are enough
// instead of 16.

#ifndef WINNOW_FILTER_KINDS_CUCKOO_SEMI_SORTED_BUCKET_H_
#define WINNOW_FILTER_KINDS_CUCKOO_SEMI_SORTED_BUCKET_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace winnow::filter::internal {

// Four numbers below 16, the first in the lowest four bits.
using Nibbles = uint16_t;

inline constexpr int kNibbleBits = 4;
inline constexpr int kNibblesCodeBits = 12;
inline constexpr uint32_t kNumSortedNibbles = 3876;  // 19 over 4

constexpr uint32_t NibbleAt(Nibbles nibbles, int i) { return nibbles >> (kNibbleBits * i) & 15u; }

// The place of a <= b <= c <= d in the combinatorial number system (Knuth, The Art of Computer
// Programming 4A, section 7.2.1.3) of the rising a < b + 1 < c + 2 < d + 3: each number says how
// many sequences lie before those that end with it.
constexpr uint32_t CodeOfSortedNibbles(Nibbles nibbles) {
  const uint32_t a = NibbleAt(nibbles, 0);
  const uint32_t b = NibbleAt(nibbles, 1);
  const uint32_t c = NibbleAt(nibbles, 2);
  const uint32_t d = NibbleAt(nibbles, 3);
  return a + b * (b + 1) / 2 + c * (c + 1) * (c + 2) / 6 + d * (d + 1) * (d + 2) * (d + 3) / 24;
}

// The inverse, for all values of 12 bits: those that are no code give four zeros.
constexpr std::array<Nibbles, size_t{1} << kNibblesCodeBits> SortedNibblesOfCodes() {
  std::array<Nibbles, size_t{1} << kNibblesCodeBits> nibbles_of_codes{};
  for (uint32_t d = 0; d < 16; ++d) {
    for (uint32_t c = 0; c <= d; ++c) {
      for (uint32_t b = 0; b <= c; ++b) {
        for (uint32_t a = 0; a <= b; ++a) {
          const auto nibbles = static_cast<Nibbles>(a | b << 4 | c << 8 | d << 12);
          nibbles_of_codes[CodeOfSortedNibbles(nibbles)] = nibbles;
        }
      }
    }
  }
  return nibbles_of_codes;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_CUCKOO_SEMI_SORTED_BUCKET_H_
