#include "tools/winnow_bench/summary.h"

#include <algorithm>
#include <utility>

#include "tools/winnow_bench/workload.h"

namespace winnow::bench {
namespace {

double MedianOfValues(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

double Summary::Median(double BenchmarkResult::*field) const {
  std::vector<double> values;
  for (const BenchmarkResult* result : rounds) values.push_back(result->*field);
  return MedianOfValues(std::move(values));
}

std::pair<double, double> Summary::Range(double BenchmarkResult::*field) const {
  const auto [lowest, highest] = std::minmax_element(
      rounds.begin(), rounds.end(), [field](const BenchmarkResult* a, const BenchmarkResult* b) {
        return a->*field < b->*field;
      });
  return {(*lowest)->*field, (*highest)->*field};
}

std::optional<double> Summary::MedianOf(
    std::optional<double> (*value)(const BenchmarkResult& result)) const {
  std::vector<double> values;
  for (const BenchmarkResult* result : rounds) {
    const std::optional<double> number = value(*result);
    if (!number.has_value()) return std::nullopt;
    values.push_back(*number);
  }
  return MedianOfValues(std::move(values));
}

std::vector<Summary> Summarize(std::span<const BenchmarkResult> results) {
  std::vector<std::string> benchmarks;
  std::vector<std::string> engines;
  const auto remember = [](std::vector<std::string>* names, const std::string& name) {
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
  };
  for (const BenchmarkResult& result : results) {
    remember(&benchmarks, result.benchmark);
    remember(&engines, result.engine);
  }
  std::vector<Summary> summaries;
  for (const std::string& benchmark : benchmarks) {
    for (const std::string& engine : engines) {
      Summary summary{benchmark, engine, {}};
      for (const BenchmarkResult& result : results) {
        if (result.benchmark == benchmark && result.engine == engine) {
          summary.rounds.push_back(&result);
        }
      }
      if (!summary.rounds.empty()) summaries.push_back(std::move(summary));
    }
  }
  return summaries;
}

std::vector<Ratio> Ratios(std::span<const Summary> summaries) {
  std::vector<Ratio> ratios;
  if (summaries.empty()) return ratios;
  const std::string& first = summaries[0].engine;
  const Summary* base = nullptr;
  for (const Summary& summary : summaries) {
    if (summary.engine == first) {
      base = &summary;
      continue;
    }
    if (base == nullptr || base->benchmark != summary.benchmark) continue;
    const Workload* workload = FindWorkload(summary.benchmark);
    if (workload != nullptr && workload->kind == WorkloadKind::kMaintenance) continue;
    const double peer = summary.Median(&BenchmarkResult::ops_per_sec);
    if (peer <= 0) continue;
    ratios.push_back({summary.benchmark, first, summary.engine,
                      base->Median(&BenchmarkResult::ops_per_sec) / peer});
  }
  return ratios;
}

}  // namespace winnow::bench
