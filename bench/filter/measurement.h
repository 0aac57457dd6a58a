// What the filter benchmark measures of each row, under which names.

#ifndef WINNOW_BENCH_FILTER_MEASUREMENT_H_
#define WINNOW_BENCH_FILTER_MEASUREMENT_H_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/filter/result_table.h"

namespace winnow::bench {

inline constexpr uint64_t kQueriesOfIteration = 4096;

// Names of measurements, and where they go.
struct Measurement {
  const char* name;
  double ResultRow::*nanoseconds;
  uint64_t present_percent;
};
inline constexpr Measurement kBuild = {"build", &ResultRow::build, 0};
inline constexpr Measurement kSingle[] = {{"absent", &ResultRow::absent, 0},
                                          {"half", &ResultRow::half, 50},
                                          {"present", &ResultRow::present, 100}};
inline constexpr Measurement kBatches[] = {{"batch_absent", &ResultRow::batch_absent, 0},
                                           {"batch_half", &ResultRow::batch_half, 50},
                                           {"batch_present", &ResultRow::batch_present, 100}};

std::string NameOf(const ResultRow& row, const Measurement& measurement);

// Has `function` measured, as Google Benchmark calls it, under the name of both.
template <typename Function>
void AddMeasurement(const ResultRow& row, const Measurement& measurement, bool is_quick,
                    Function function) {
  auto* const registered =
      benchmark::RegisterBenchmark(NameOf(row, measurement).c_str(), std::move(function));
  registered->MinTime(is_quick ? 0.02 : 0.05)->Repetitions(3);
}

// Collects times and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override;

  // The times of a row whose filters have so many keys each: medians.
  void FillIn(uint64_t num_keys, ResultRow* row);

 private:
  double MedianOf(const std::string& name);

  std::map<std::string, std::vector<double>> times_;
};

}  // namespace winnow::bench

#endif  // WINNOW_BENCH_FILTER_MEASUREMENT_H_
