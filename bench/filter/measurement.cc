#include "bench/filter/measurement.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow::bench {

std::string NameOf(const ResultRow& row, const Measurement& measurement) {
  return absl::StrCat(row.filter, "/", row.place, "/", measurement.name);
}

void Collector::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration) continue;
    times_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
  }
}

double Collector::MedianOf(const std::string& name) {
  std::vector<double>& times = times_[name];
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void Collector::FillIn(uint64_t num_keys, ResultRow* row) {
  row->build = MedianOf(NameOf(*row, kBuild)) / static_cast<double>(num_keys);
  for (const auto& measurements : {kSingle, kBatches}) {
    for (size_t i = 0; i < std::size(kSingle); ++i) {
      row->*measurements[i].nanoseconds =
          MedianOf(NameOf(*row, measurements[i])) / kQueriesOfIteration;
    }
  }
}

}  // namespace winnow::bench
