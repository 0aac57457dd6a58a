// The constants of a cuckoo filter's query; part of the file format (FORMAT.md). Internal.
//
// They are defined in another file than the one that queries, so that a multiplication takes its
// factor from memory: each literal would be an instruction of its own, and how many instructions
// the processor can have under way decides how many queries wait for memory together.

#ifndef WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_FACTORS_H_
#define WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_FACTORS_H_

#include <array>
#include <cstdint>

namespace winnow::filter::internal {

inline constexpr int kMaxFingerprintBits = 32;

// The lowest and the highest bits of neighbouring slots in a word, those that fit in it.
struct SlotEnds {
  uint64_t lowest_bits;
  uint64_t highest_bits;
};

struct CuckooFactorsOfWidth {
  uint64_t num_fingerprints;  // without zero
  SlotEnds one_slot;
  SlotEnds two_slots;
  SlotEnds four_slots;
};

struct CuckooFactors {
  uint64_t fingerprint;
  // Of the point of reflection between a fingerprint's two buckets.
  uint64_t center_before;
  uint64_t center_flip;
  uint64_t center_after;
  std::array<CuckooFactorsOfWidth, kMaxFingerprintBits + 1> of_width;  // of fingerprints, in bits
};

extern const CuckooFactors kCuckooFactors;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_FACTORS_H_
