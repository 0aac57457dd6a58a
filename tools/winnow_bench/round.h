// One round: all benchmarks of the run on one engine, one after another.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ROUND_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ROUND_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/result.h"

namespace winnow::bench {

// Where `engine` keeps its database.
std::string EngineDirectory(const BenchConfig& config, std::string_view engine);

// Opens the engine's database, runs every benchmark of `config`, closes it. Prints db_bench's lines
// to stdout and hands each result to `report`. `round` counts from 1 and selects other random keys;
// the same round asks every engine for the same ones.
absl::Status RunRound(const BenchConfig& config, std::string_view engine, int round,
                      const std::function<void(const BenchmarkResult&)>& report);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ROUND_H_
