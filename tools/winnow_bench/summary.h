// Medians over rounds, and ratios between engines.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_SUMMARY_H_
#define WINNOW_TOOLS_WINNOW_BENCH_SUMMARY_H_

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/winnow_bench/result.h"

namespace winnow::bench {

// The rounds of one benchmark on one engine.
struct Summary {
  std::string benchmark;
  std::string engine;
  std::vector<const BenchmarkResult*> rounds;  // never empty; into the results summarized

  // The median of a field; of an even number of rounds, the mean of the middle two.
  double Median(double BenchmarkResult::*field) const;
  std::pair<double, double> Range(double BenchmarkResult::*field) const;
  // The median of what `value` gives; unset if it gives nothing for some round.
  std::optional<double> MedianOf(
      std::optional<double> (*value)(const BenchmarkResult& result)) const;
};

// In the order in which benchmarks and engines first appear: all engines of the first benchmark,
// then of the next. A benchmark that runs twice in a round is summarized as one.
std::vector<Summary> Summarize(std::span<const BenchmarkResult> results);

// How many times as many operations a second `engine` does as `against`, by medians.
struct Ratio {
  std::string benchmark;
  std::string engine;
  std::string against;
  double ratio = 0;
};

// Of the engine that was run first against each other, for every benchmark that both ran. Not for
// maintenance: there the engines have different work left to do.
std::vector<Ratio> Ratios(std::span<const Summary> summaries);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_SUMMARY_H_
