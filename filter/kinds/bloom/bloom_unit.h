// What the units of both Bloom kinds have in common. Internal to the Bloom kinds.

#ifndef WINNOW_FILTER_KINDS_BLOOM_BLOOM_UNIT_H_
#define WINNOW_FILTER_KINDS_BLOOM_BLOOM_UNIT_H_

#include <cstdint>

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

// Do those fields of a header agree that mean the same in both kinds: 1 to `max_probes` probes, at
// least one shard, no more keys than there are bits, and zeros where a Bloom filter has nothing to
// say?
bool HasBloomFields(const UnitHeader& header, int max_probes);

// KindOperations::describe; theory gives the unit the rate `expected_fpr`.
UnitDescription DescribeBloom(const Unit& unit, double expected_fpr);

// The least bits per key, 1 to 64 and to a thousandth, at which a Bloom kind of a million keys has
// an FPR of at most `fpr` by its own theory.
double MinBloomBits(double (*expected_fpr)(double bits_per_key, uint64_t num_keys), double fpr);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_BLOOM_BLOOM_UNIT_H_
