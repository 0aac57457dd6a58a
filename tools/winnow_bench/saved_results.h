// Results with the settings that they were measured under, as one run's JSON file keeps them.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_SAVED_RESULTS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_SAVED_RESULTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/result.h"

namespace winnow::bench {

struct SavedRun {
  std::string title;  // the settings in one line
  std::vector<BenchmarkResult> results;
};

// The settings that matter for reading the figures, in one line.
std::string RunTitle(const BenchConfig& config);

// Reads what --json wrote, from a comma list of files. An error names the file.
absl::StatusOr<std::vector<SavedRun>> ReadSavedRuns(std::string_view files);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_SAVED_RESULTS_H_
