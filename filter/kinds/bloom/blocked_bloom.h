// The blocked Bloom filter (Putze, Sanders and Singler, WEA 2007): all probes of a key fall into
// one 64-byte block, so that a query costs one cache line and a few vector instructions.

#ifndef WINNOW_FILTER_KINDS_BLOOM_BLOCKED_BLOOM_H_
#define WINNOW_FILTER_KINDS_BLOOM_BLOCKED_BLOOM_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kBlockedBloomOperations;

#if defined(__x86_64__)
// May a unit of at most kMaxProbesOfRound probes contain a hash? unit.prepared begins with eight
// lanes of 32 bits: ones, as many as there are probes.
bool PreparedUnitContainsAvx512(const UnitView& unit, uint64_t hash);
#endif

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_BLOOM_BLOCKED_BLOOM_H_
