// The filter benchmark with keys that are 64-bit hashes already, for libraries which take nothing
// else: no key is made or hashed. One filter, and a million queries read from an array, so that
// next to nothing is measured but the filters.

#ifndef WINNOW_BENCH_FILTER_HASHED_ROWS_H_
#define WINNOW_BENCH_FILTER_HASHED_ROWS_H_

#include <string>

#include "bench/filter/key_stream.h"
#include "bench/filter/peer_filter.h"
#include "bench/filter/result_table.h"

namespace winnow::bench {

// Registers all measurements of one filter of size.keys_per_filter hashes and fills in what is not
// a time. One of ours, whose spec must be a good one:
void RegisterHashed(const std::string& spec, const Size& size, bool is_quick, ResultRow* row);
// Another library's:
void RegisterPeer(const WinnowPeerKind& kind, const Size& size, bool is_quick, ResultRow* row);

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_HASHED_ROWS_H_
