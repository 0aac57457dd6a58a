// The union of two counting filters of one shape, whoever's format they have. Internal.

#ifndef WINNOW_FILTER_DYNAMIC_COUNTER_UNION_H_
#define WINNOW_FILTER_DYNAMIC_COUNTER_UNION_H_

#include "winnow/filter/counting_bloom_filter.h"
#include "winnow/filter/internal/counter_array.h"

namespace winnow::filter::internal {

// Adds `other`, which has as many counters, to `*counters`. False if no key may be removed from the
// result: after a union by maximum two keys can share a counter that counts one of them only.
[[nodiscard]] inline bool UniteCounters(const CounterArray& other, CounterUnion how,
                                        CounterArray* counters) {
  if (how == CounterUnion::kSum) {
    counters->AddCounters(other);
    return true;
  }
  counters->TakeMaximum(other);
  return false;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_DYNAMIC_COUNTER_UNION_H_
