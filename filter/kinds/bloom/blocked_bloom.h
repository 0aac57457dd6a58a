// The blocked Bloom filter (Putze, Sanders and Singler, WEA 2007): all probes of a key fall into
// one 64-byte block, so that a query costs one cache line and a few vector instructions.

#ifndef WINNOW_FILTER_KINDS_BLOOM_BLOCKED_BLOOM_H_
#define WINNOW_FILTER_KINDS_BLOOM_BLOCKED_BLOOM_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kBlockedBloomOperations;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_BLOOM_BLOCKED_BLOOM_H_
