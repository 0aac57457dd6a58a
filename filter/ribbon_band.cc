#include "filter/ribbon_band.h"

namespace winnow::filter::internal {

RibbonBand::RibbonBand(uint64_t most_slots) {
  coefficients_.reserve(most_slots);
  fingerprints_.reserve(most_slots);
}

void RibbonBand::Clear(uint64_t num_slots) {
  coefficients_.assign(num_slots, 0);
  fingerprints_.assign(num_slots, 0);
}

void RibbonBand::Solve(int columns, uint64_t num_narrow_blocks, uint8_t* blocks) const {
  SolveRibbon({coefficients_.data(), fingerprints_.data(), coefficients_.size() / kRibbonBlockSlots,
               num_narrow_blocks, columns},
              blocks);
}

uint64_t RibbonBand::memory_bytes() const {
  return coefficients_.capacity() * sizeof(uint64_t) + fingerprints_.capacity() * sizeof(uint32_t);
}

}  // namespace winnow::filter::internal
