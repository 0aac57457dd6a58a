// A ribbon layer's solution in memory, and the comparison of a key's fingerprint with it.
// Slots are stored in blocks of 64; a block is one 64-bit word for each column, the bits of its 64
// slots in that column.

#ifndef WINNOW_FILTER_SIMD_RIBBON_COLUMNS_H_
#define WINNOW_FILTER_SIMD_RIBBON_COLUMNS_H_

#include <cstddef>
#include <cstdint>

namespace winnow::filter::internal {

inline constexpr uint64_t kRibbonWidth = 64;
inline constexpr uint64_t kRibbonBlockSlots = 64;
inline constexpr int kMaxRibbonColumns = 32;

// Where a key's equation begins, and what it says. `block` is the first of the two blocks that the
// equation lies in; the second follows it, and is not read if the equation ends with the first.
struct RibbonProbe {
  const uint8_t* block;
  uint64_t offset;        // of the equation's first slot in the block, 0 to 63
  uint64_t coefficients;  // bit i: is slot offset + i part of the equation?
  uint32_t fingerprint;   // bit i: the sum in column i
  int columns;            // of the first block, 0 to kMaxRibbonColumns; no others are compared

  const uint8_t* next_block() const {
    return block + (offset == 0 ? 0 : static_cast<size_t>(columns) * sizeof(uint64_t));
  }
};

// Is the sum of the equation's slots the fingerprint, in all columns? The variants give the same
// answer; the function without suffix chooses.
inline bool RibbonMatches(const RibbonProbe& probe);
bool RibbonMatchesPortable(const RibbonProbe& probe);

// How many columns the blocks of a layer have.
struct RibbonLayerShape {
  uint64_t num_narrow_blocks;  // the first ones
  int narrow_columns;
  int columns;  // of the others, as many or more
};

// What back substitution needs of a layer whose system is in echelon form. A slot without equation
// has coefficients and fingerprint 0.
struct RibbonSystem {
  const uint64_t* coefficients;  // of the equation that begins at a slot: bit 0 is set
  const uint32_t* fingerprints;
  uint64_t num_blocks;
  RibbonLayerShape shape;
};

// Writes the solution, block after block, to `blocks`.
void SolveRibbon(const RibbonSystem& system, uint8_t* blocks);
void SolveRibbonPortable(const RibbonSystem& system, uint8_t* blocks);

#if defined(__x86_64__)
extern const bool kHasPopcnt;
extern const bool kHasAvx512Popcnt;
bool RibbonMatchesPopcnt(const RibbonProbe& probe);
bool RibbonMatchesAvx512(const RibbonProbe& probe);
void SolveRibbonPopcnt(const RibbonSystem& system, uint8_t* blocks);
void SolveRibbonAvx512(const RibbonSystem& system, uint8_t* blocks);
#endif

inline bool RibbonMatches(const RibbonProbe& probe) {
#if defined(__x86_64__)
  if (kHasAvx512Popcnt) return RibbonMatchesAvx512(probe);
  if (kHasPopcnt) return RibbonMatchesPopcnt(probe);
#endif
  return RibbonMatchesPortable(probe);
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_SIMD_RIBBON_COLUMNS_H_
