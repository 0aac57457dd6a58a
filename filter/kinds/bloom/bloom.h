// The textbook Bloom filter (Bloom, CACM 1970): the fewest bits of the Bloom kinds, at one cache
// miss for each probe.

#ifndef WINNOW_FILTER_KINDS_BLOOM_BLOOM_H_
#define WINNOW_FILTER_KINDS_BLOOM_BLOOM_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kBloomOperations;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_BLOOM_BLOOM_H_
