// Gaussian elimination of a ribbon layer, one equation at a time. Internal to the ribbon kind.

#ifndef WINNOW_FILTER_RIBBON_BAND_H_
#define WINNOW_FILTER_RIBBON_BAND_H_

#include <cstdint>
#include <vector>

#include "filter/ribbon_columns.h"

namespace winnow::filter::internal {

// Equations in echelon form: at most one begins at each slot.
class RibbonBand {
 public:
  enum class Insertion : uint8_t {
    kInserted,
    kRedundant,  // says what others say together, such as a second copy of a key
    kConflict,   // contradicts them: nothing was changed
  };

  // Memory is taken for the most slots that there will be.
  explicit RibbonBand(uint64_t most_slots);

  void Clear(uint64_t num_slots);

  // An equation that begins at `slot`, 64 slots or more before the end; bit 0 of `coefficients` is
  // set.
  Insertion Insert(uint64_t slot, uint64_t coefficients, uint32_t fingerprint) {
    for (;;) {
      if (coefficients_[slot] == 0) {
        coefficients_[slot] = coefficients;
        fingerprints_[slot] = fingerprint;
        last_slot_ = slot;
        return Insertion::kInserted;
      }
      coefficients ^= coefficients_[slot];
      fingerprint ^= fingerprints_[slot];
      if (coefficients == 0) {
        return fingerprint == 0 ? Insertion::kRedundant : Insertion::kConflict;
      }
      const int zeros = __builtin_ctzll(coefficients);
      coefficients >>= zeros;
      slot += static_cast<uint64_t>(zeros);
    }
  }

  // The slot that the last insertion filled. Removing the equations of the latest insertions, by
  // their slots, undoes them.
  uint64_t last_slot() const { return last_slot_; }
  void Remove(uint64_t slot) {
    coefficients_[slot] = 0;
    fingerprints_[slot] = 0;
  }

  // Writes the solution in `columns` columns, one less in the first `num_narrow_blocks` blocks.
  void Solve(int columns, uint64_t num_narrow_blocks, uint8_t* blocks) const;

  uint64_t memory_bytes() const;

 private:
  std::vector<uint64_t> coefficients_;
  std::vector<uint32_t> fingerprints_;
  uint64_t last_slot_ = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_RIBBON_BAND_H_
