// Runs one of PerformanceEvaluation's commands.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_RUN_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/latency.h"
#include "tools/winnow_bench/pe/options.h"
#include "tools/winnow_bench/pe/store.h"

namespace winnow::bench::pe {

// What all clients of one cycle have done.
struct PeResult {
  std::string engine;
  std::string command;
  uint64_t clients = 0;
  uint64_t cycle = 1;
  uint64_t operations = 0;
  ReadCount read;
  double seconds = 0;  // from the first client's start to the last one's end
  double client_seconds = 0;
  EngineCounters counters;                    // of this cycle alone
  std::unique_ptr<LatencyHistogram> latency;  // null without --latency
};

// A row as PerformanceEvaluation writes numbers: 26 digits.
std::string FormatRow(uint64_t number);

// Opens the engine's database, loads what is missing to read, and runs every cycle.
absl::StatusOr<std::vector<PeResult>> RunPe(const PeOptions& options, const std::string& engine);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_RUN_H_
