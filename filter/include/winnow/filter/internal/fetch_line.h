// Sending for memory before it is needed. Internal.

#ifndef WINNOW_FILTER_INTERNAL_FETCH_LINE_H_
#define WINNOW_FILTER_INTERNAL_FETCH_LINE_H_

namespace winnow::filter::internal {

// Asks the processor for the cache line at `address`, as far as its second-level cache. What it has
// under way for the first level is soon full: 32 lines from memory came in 500 ns so, in 350 ns
// this way (an AMD EPYC; on an Intel both are alike), and the rest of the way is short and overlaps
// with other work.
//
// Always inlined: GCC 12 takes a function that only prefetches for one without effect, and drops
// the calls that it has not inlined yet.
__attribute__((always_inline)) inline void FetchLine(const void* address) {
  constexpr int kForReading = 0;
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(address, kForReading, kSecondLevel);
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_FETCH_LINE_H_
