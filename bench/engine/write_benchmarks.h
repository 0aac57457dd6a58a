// Put, the flush of a memtable with each filter, and the compaction of what becomes one SSTable.
#ifndef WINNOW_BENCH_ENGINE_WRITE_BENCHMARKS_H_
#define WINNOW_BENCH_ENGINE_WRITE_BENCHMARKS_H_

#include <cstdint>
#include <span>

namespace winnow::bench {

// With each number of keys in `sizes`.
void RegisterWrites(std::span<const int64_t> sizes);

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_ENGINE_WRITE_BENCHMARKS_H_
