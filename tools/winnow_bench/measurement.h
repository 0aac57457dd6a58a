// Runs one workload on an open engine with all its threads, and adds up what they measured.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_MEASUREMENT_H_
#define WINNOW_TOOLS_WINNOW_BENCH_MEASUREMENT_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/latency.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {

struct Measurement {
  int num_threads = 1;
  uint64_t ops = 0;
  uint64_t lookups = 0;
  uint64_t found = 0;
  uint64_t bytes = 0;                         // of keys and values, written and read
  uint64_t user_bytes_written = 0;            // also by a disturbing thread
  double elapsed_seconds = 0;                 // wall clock, first start to last finish
  double thread_seconds = 0;                  // the threads' times added
  std::unique_ptr<LatencyHistogram> latency;  // null without --histogram

  double OpsPerSecond() const;
  double MicrosPerOp() const;
};

// Shows progress on stderr if that is a terminal. `engine_name` is for the progress line only.
absl::StatusOr<Measurement> MeasureWorkload(const BenchConfig& config, Engine& engine,
                                            std::string_view engine_name, const Workload& workload,
                                            uint64_t seed);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_MEASUREMENT_H_
