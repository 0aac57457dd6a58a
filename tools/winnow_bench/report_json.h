// The results for machines.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_REPORT_JSON_H_
#define WINNOW_TOOLS_WINNOW_BENCH_REPORT_JSON_H_

#include <span>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"
#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/result.h"

namespace winnow::bench {

// {"tool", "machine", "config", "results": one for each benchmark, engine and round, "ratios"}.
nlohmann::json JsonReport(const BenchConfig& config, std::span<const BenchmarkResult> results);

// Replaces the file --json as a whole; does nothing without that flag.
absl::Status WriteJsonReport(const BenchConfig& config, std::span<const BenchmarkResult> results);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_REPORT_JSON_H_
