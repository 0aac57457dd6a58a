#include "filter/kinds/cuckoo/cuckoo_factors.h"

#include <cstddef>

namespace winnow::filter::internal {
namespace {

// For the search for a zero among the slots of a word: a one in the lowest and one in the highest
// bit of each of the first `num_slots` slots of `width` bits, as far as they fit into 64 bits.
constexpr SlotEnds EndsOfSlots(int num_slots, int width) {
  SlotEnds ends{};
  for (int bit = 0; num_slots > 0 && bit + width <= 64; --num_slots, bit += width) {
    ends.lowest_bits |= uint64_t{1} << bit;
    ends.highest_bits |= uint64_t{1} << (bit + width - 1);
  }
  return ends;
}

constexpr CuckooFactors MakeFactors() {
  CuckooFactors factors{.fingerprint = 0xd6e8feb86659fd93,
                        .center_before = 0xc6a4a7935bd1e995,
                        .center_flip = 0x2545f4914f6cdd1d,
                        .center_after = 0x9e3779b97f4a7c15,
                        .of_width = {}};
  // Fingerprints of all widths from one table, so that a query indexes it and does not branch.
  for (int width = 1; width <= kMaxFingerprintBits; ++width) {
    factors.of_width[static_cast<size_t>(width)] = {.num_fingerprints = (uint64_t{1} << width) - 1,
                                                    .one_slot = EndsOfSlots(1, width),
                                                    .two_slots = EndsOfSlots(2, width),
                                                    .four_slots = EndsOfSlots(4, width)};
  }
  return factors;
}

}  // namespace

constinit const CuckooFactors kCuckooFactors = MakeFactors();

}  // namespace winnow::filter::internal
