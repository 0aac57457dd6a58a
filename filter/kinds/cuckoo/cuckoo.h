// The cuckoo filter (Fan, Andersen, Kaminsky and Mitzenmacher, CoNEXT 2014), built once from all
// hashes: fingerprints of chosen width in buckets of four, each in one of two buckets that its
// fingerprint and either bucket determine (partial-key cuckoo hashing).

#ifndef WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_H_
#define WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kCuckooOperations;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_CUCKOO_CUCKOO_H_
