// The cuckoo filter with semi-sorted buckets: a bit a key smaller than cuckoo.h's at the same rate,
// and slower to query.

#ifndef WINNOW_FILTER_KINDS_CUCKOO_SEMI_SORTED_CUCKOO_H_
#define WINNOW_FILTER_KINDS_CUCKOO_SEMI_SORTED_CUCKOO_H_

#include "filter/kinds/kind.h"

namespace winnow::filter::internal {

extern const KindOperations kSemiSortedCuckooOperations;

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_CUCKOO_SEMI_SORTED_CUCKOO_H_
