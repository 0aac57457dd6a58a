// All filter kinds beside each other, and beside RocksDB's own where its library is installed:
// building, single questions and batches, in a core's cache, in the last-level cache and beyond.
//
//   build/release/bin/bench_filter [--quick] [--filters=ribbon:7,rocksdb.ribbon:10]
//                                  [--json=FILE] [--plot=FILE.svg] [--benchmark_...]
//
// Times are processor time for each key, with making the key (about 3 ns) and hashing it; medians
// of repetitions in random order. Single questions are independent of each other, each to a random
// filter; a batch asks one. Filters are not verified after building: RocksDB's are not.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/filter/filter_set.h"
#include "bench/filter/result_table.h"
#include "winnow/filter/spec.h"

namespace winnow::bench {
namespace {

constexpr uint64_t kQuestionsOfIteration = 4096;

struct Settings {
  bool is_quick = false;
  std::vector<std::string> filters = {"blocked_bloom:10", "bloom:10",         "cuckoo:12",
                                      "binary_fuse:9",    "ribbon:10",        "ribbon:7",
                                      "rocksdb.bloom:10", "rocksdb.ribbon:10"};
  std::string json_file;
  std::string plot_file;
};

std::vector<Size> Sizes(bool is_quick) {
  if (is_quick) return {{"L2", 100'000, 1, 1}, {"L3", 1'000'000, 1, 10}};
  return {{"L2", 100'000, 1, 1}, {"L3", 1'000'000, 3, 10}, {"memory", 1'000'000, 3, 200}};
}

// Names of measurements, and where they go.
struct Measurement {
  const char* name;
  double ResultRow::*nanoseconds;
  uint64_t present_percent;
};
constexpr Measurement kBuild = {"build", &ResultRow::build, 0};
constexpr Measurement kSingle[] = {{"absent", &ResultRow::absent, 0},
                                   {"half", &ResultRow::half, 50},
                                   {"present", &ResultRow::present, 100}};
constexpr Measurement kBatches[] = {{"batch_absent", &ResultRow::batch_absent, 0},
                                    {"batch_half", &ResultRow::batch_half, 50},
                                    {"batch_present", &ResultRow::batch_present, 100}};

template <typename Set>
void AskSingly(benchmark::State& state, const Set& set, const Size& size, uint64_t percent) {
  uint64_t number = 0;
  uint64_t positives = 0;
  for (auto _ : state) {
    for (uint64_t i = 0; i < kQuestionsOfIteration; ++i) {
      const uint64_t random = Scramble(++number);
      const uint64_t filter = FilterOf(random, size);
      positives +=
          set.MayContain(filter, Key(NumberFor(Scramble(random), size, filter, percent))) ? 1 : 0;
    }
  }
  benchmark::DoNotOptimize(positives);
}

template <typename Set>
void AskInBatches(benchmark::State& state, const Set& set, const Size& size, uint64_t percent) {
  uint64_t number = 0;
  Key keys[kBatch];
  bool answers[kBatch];
  for (auto _ : state) {
    for (uint64_t i = 0; i < kQuestionsOfIteration / kBatch; ++i) {
      const uint64_t filter = FilterOf(Scramble(++number), size);
      for (Key& key : keys) key.SetNumber(NumberFor(Scramble(++number), size, filter, percent));
      set.MayContainBatch(filter, keys, answers);
      benchmark::DoNotOptimize(answers);
    }
  }
}

// Absent keys that are answered "maybe"; and present ones must all be.
template <typename Set>
double MeasureFpr(const Set& set, const Size& size) {
  constexpr uint64_t kQuestions = 2'000'000;
  uint64_t positives = 0;
  for (uint64_t i = 0; i < kQuestions; ++i) {
    const uint64_t filter = i % size.num_distinct;
    positives += set.MayContain(filter, Key(NumberFor(Scramble(~i), size, filter, 0))) ? 1 : 0;
    if (!set.MayContain(filter, Key(NumberFor(Scramble(~i), size, filter, 100)))) {
      std::cerr << "bench_filter: a filter has lost a key\n";
      std::exit(1);
    }
  }
  return static_cast<double>(positives) / kQuestions;
}

std::string NameOf(const ResultRow& row, const Measurement& measurement) {
  return absl::StrCat(row.filter, "/", row.place, "/", measurement.name);
}

// Registers all measurements of one row; the set lives as long as the program.
template <typename Set>
void Register(const std::string& spec, const Size& size, bool is_quick, ResultRow* row) {
  const auto set = std::make_shared<Set>(spec, size);
  row->filter = spec;
  row->place = size.place;
  row->bits_per_key = set->bits_per_key();
  row->fpr = MeasureFpr(*set, size);
  const auto add = [&](const Measurement& measurement, auto function) {
    auto* const registered =
        benchmark::RegisterBenchmark(NameOf(*row, measurement).c_str(), function);
    registered->MinTime(is_quick ? 0.02 : 0.05)->Repetitions(3);
  };
  add(kBuild, [spec, size](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(Set::BuildOnce(spec, size, 0));
  });
  for (const Measurement& measurement : kSingle) {
    add(measurement, [set, size, percent = measurement.present_percent](benchmark::State& state) {
      AskSingly(state, *set, size, percent);
    });
  }
  for (const Measurement& measurement : kBatches) {
    add(measurement, [set, size, percent = measurement.present_percent](benchmark::State& state) {
      AskInBatches(state, *set, size, percent);
    });
  }
}

// Collects times and prints nothing.
class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      times_[run.run_name.function_name].push_back(run.GetAdjustedCPUTime());
    }
  }

  double MedianOf(const std::string& name) {
    std::vector<double>& times = times_[name];
    if (times.empty()) return 0;
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

void FillIn(const Size& size, Collector* collector, ResultRow* row) {
  row->build =
      collector->MedianOf(NameOf(*row, kBuild)) / static_cast<double>(size.keys_per_filter);
  for (const auto& measurements : {kSingle, kBatches}) {
    for (size_t i = 0; i < std::size(kSingle); ++i) {
      row->*measurements[i].nanoseconds =
          collector->MedianOf(NameOf(*row, measurements[i])) / kQuestionsOfIteration;
    }
  }
}

void WriteFile(const std::string& path, const std::string& contents) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << contents;
  if (!file.flush()) std::cerr << "bench_filter: cannot write " << path << "\n";
}

// Takes its own arguments out of `arguments`.
Settings ReadSettings(std::vector<char*>* arguments) {
  Settings settings;
  std::erase_if(*arguments, [&settings](char* argument) {
    absl::string_view text = argument;
    if (text == "--quick") return settings.is_quick = true;
    if (absl::ConsumePrefix(&text, "--filters=")) {
      settings.filters = absl::StrSplit(text, ',');
    } else if (absl::ConsumePrefix(&text, "--json=")) {
      settings.json_file = std::string(text);
    } else if (absl::ConsumePrefix(&text, "--plot=")) {
      settings.plot_file = std::string(text);
    } else {
      return false;
    }
    return true;
  });
  return settings;
}

// Registers what `spec` names; false, with a message, if that is nothing.
bool RegisterSpec(const std::string& spec, const Size& size, bool is_quick, ResultRow* row) {
  if (spec.rfind("rocksdb.", 0) == 0) {
#if WINNOW_BENCH_HAS_ROCKSDB
    Register<RocksDbSet>(spec, size, is_quick, row);
    return true;
#else
    std::cerr << "bench_filter: built without RocksDB, " << spec << " is left out\n";
    return false;
#endif
  }
  if (const auto parsed = filter::ParseFilterSpec(spec);
      !parsed.ok() || parsed->kind == filter::FilterKind::kNone) {
    std::cerr << "bench_filter: " << spec << " is no filter: " << parsed.status() << "\n";
    return false;
  }
  Register<WinnowSet>(spec, size, is_quick, row);
  return true;
}

int Main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const Settings settings = ReadSettings(&arguments);
  static char interleave[] = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleave);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;

  std::vector<ResultRow> rows;
  std::vector<Size> sizes_of_rows;
  for (const Size& size : Sizes(settings.is_quick)) {
    for (const std::string& spec : settings.filters) {
      ResultRow row;
      if (!RegisterSpec(spec, size, settings.is_quick, &row)) continue;
      rows.push_back(row);
      sizes_of_rows.push_back(size);
    }
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  for (size_t i = 0; i < rows.size(); ++i) FillIn(sizes_of_rows[i], &collector, &rows[i]);
  PrintTable(rows);
  WriteFile(settings.json_file, ToJson(rows));
  WriteFile(settings.plot_file, ToSvg(rows, "L2"));
  return 0;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) { return winnow::bench::Main(argc, argv); }
