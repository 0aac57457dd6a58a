// What PerformanceEvaluation's commands have measured, as a table and as JSON.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_REPORT_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_REPORT_H_

#include <span>
#include <string>

#include "absl/status/status.h"
#include "tools/winnow_bench/pe/options.h"
#include "tools/winnow_bench/pe/run.h"

namespace winnow::bench::pe {

// A line for each engine and cycle; empty if there are no results.
std::string PeTable(const PeOptions& options, std::span<const PeResult> results);

// Writes --json's file, if one is wanted.
absl::Status WritePeJson(const PeOptions& options, std::span<const PeResult> results);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_REPORT_H_
