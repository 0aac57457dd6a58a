// The engine's calls, each by itself, on a database in memory: what they cost where no disk, no
// other thread and no other store is in the way. Whole stores are compared with winnow_bench.
//
//   build/release/bin/bench_engine [--quick] [--benchmark_...]
//   build/release/bin/bench_engine --benchmark_filter='get_.*' --benchmark_repetitions=5
//
// The number behind a name is that of the keys, of 16 bytes with values of 100: of 100,000 all is
// in a core's cache or near it, of a million in the last-level cache and beyond. Blocks are in the
// block cache, and not compressed. --quick has 10,000 keys. Keys to ask for are made before the
// time is taken.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "bench/engine/read_benchmarks.h"
#include "bench/engine/write_benchmarks.h"
#include "tools/process/standard_streams.h"

namespace winnow::bench {
namespace {

// Google Benchmark's own --help ends the program without a look at what became of it.
int PrintHelp() {
  std::printf(
      "bench_engine [--FLAG ...]: the engine's calls, each by itself, on a database in memory.\n\n"
      "  --quick          10,000 keys, in place of 100,000 and a million\n\n"
      "And those of Google Benchmark:\n\n");
  benchmark::PrintDefaultHelp();
  return 0;
}

int Main(int argc, char** argv) {
  bool is_quick = false;
  std::vector<char*> for_google_benchmark = {argv[0]};
  for (char* word : std::span(argv + 1, argv + argc)) {
    if (std::string_view(word) == "--help") return PrintHelp();
    if (std::string_view(word) == "--quick") {
      is_quick = true;
    } else {
      for_google_benchmark.push_back(word);
    }
  }
  int count = static_cast<int>(for_google_benchmark.size());
  benchmark::Initialize(&count, for_google_benchmark.data());
  if (benchmark::ReportUnrecognizedArguments(count, for_google_benchmark.data())) return 2;
  const std::vector<int64_t> sizes =
      is_quick ? std::vector<int64_t>{10'000} : std::vector<int64_t>{100'000, 1'000'000};
  RegisterReads(sizes);
  RegisterWrites(sizes);
  if (benchmark::RunSpecifiedBenchmarks() == 0) return 1;
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  winnow::process::PrepareStandardStreams();
  const int code = winnow::bench::Main(argc, argv);
  const absl::Status printed = winnow::process::FlushStandardOutput();
  if (code != 0 || printed.ok()) return code;
  std::fprintf(stderr, "bench_engine: %s\n", std::string(printed.message()).c_str());
  return 1;
}
