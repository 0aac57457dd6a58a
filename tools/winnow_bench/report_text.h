// What people read: db_bench's header and result lines, and the table of medians at the end.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_REPORT_TEXT_H_
#define WINNOW_TOOLS_WINNOW_BENCH_REPORT_TEXT_H_

#include <span>
#include <string>
#include <string_view>

#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/measurement.h"
#include "tools/winnow_bench/result.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {

// db_bench's header.
void PrintHeader(const BenchConfig& config);
// Says which engine the following lines are about.
void PrintSection(const BenchConfig& config, std::string_view engine, int round);
// One result line, "%-12s : %11.3f micros/op %ld ops/sec %.3f seconds %ld operations;%s%s", and
// with --histogram the histogram.
void PrintMeasurement(const Workload& workload, const Measurement& measurement);
// Medians of all rounds, one row for each benchmark and engine, ratios against the first engine.
std::string SummaryTable(const BenchConfig& config, std::span<const BenchmarkResult> results);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_REPORT_TEXT_H_
