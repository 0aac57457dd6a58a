// Get, MultiGet, Seek and Next on a database that does not change.
#ifndef WINNOW_BENCH_ENGINE_READ_BENCHMARKS_H_
#define WINNOW_BENCH_ENGINE_READ_BENCHMARKS_H_

#include <cstdint>
#include <span>

namespace winnow::bench {

// With each number of keys in `sizes`.
void RegisterReads(std::span<const int64_t> sizes);

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_ENGINE_READ_BENCHMARKS_H_
