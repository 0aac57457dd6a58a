// winnow_bench: db_bench's benchmarks on several storage engines. HelpText() says how to use it.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/process/standard_streams.h"
#include "tools/winnow_bench/child.h"
#include "tools/winnow_bench/flags.h"
#include "tools/winnow_bench/pe/main.h"
#include "tools/winnow_bench/report_html.h"
#include "tools/winnow_bench/report_json.h"
#include "tools/winnow_bench/report_text.h"
#include "tools/winnow_bench/round.h"
#include "tools/winnow_bench/saved_results.h"

namespace winnow::bench {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitInterrupted = 130;

// All rounds, the engines in turn, until the first error.
absl::Status RunAllRounds(const BenchConfig& config, std::vector<BenchmarkResult>* results) {
  for (int round = 1; round <= config.rounds; round++) {
    for (const std::string& engine : SplitNames(config.engine)) {
      PrintSection(config, engine, round);
      const absl::Status status =
          RunInChild([&](const ResultSink& sink) { return RunRound(config, engine, round, sink); },
                     [&](const BenchmarkResult& result) { results->push_back(result); });
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(engine, ": ", status.message()));
      }
      std::printf("\n");
    }
  }
  return absl::OkStatus();
}

// True if there is nothing to say.
bool Report(const absl::Status& status) {
  if (status.ok()) return true;
  std::fflush(stdout);
  std::fprintf(stderr, "winnow_bench: %s\n", std::string(status.message()).c_str());
  return false;
}

int ReportSavedResults(const BenchConfig& config) {
  const absl::StatusOr<std::vector<SavedRun>> runs = ReadSavedRuns(config.from_json);
  if (!Report(runs.status())) return kExitFailed;
  for (const SavedRun& run : *runs) {
    if (run.results.empty()) continue;
    BenchConfig saved = config;
    saved.threads = run.results.front().threads;
    std::printf("%s\n%s", run.title.c_str(), SummaryTable(saved, run.results).c_str());
  }
  return Report(WriteHtmlReport(config.report, *runs)) ? 0 : kExitFailed;
}

int Run(const BenchConfig& config) {
  KeepResultsOnInterrupt();
  PrintHeader(config);
  std::vector<BenchmarkResult> results;
  const absl::Status status = RunAllRounds(config, &results);
  if (config.rounds > 1 || SplitNames(config.engine).size() > 1) {
    std::printf("%s", SummaryTable(config, results).c_str());
  }
  const absl::Status written = WriteJsonReport(config, results);
  const SavedRun run = {RunTitle(config), results};
  const absl::Status drawn = WriteHtmlReport(config.report, {&run, 1});
  bool all_right = Report(status);  // each is reported, whatever became of the others
  all_right = Report(written) && all_right;
  all_right = Report(drawn) && all_right;
  if (absl::IsCancelled(status)) return kExitInterrupted;
  return all_right ? 0 : kExitFailed;
}

int Main(const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "pe") {
    return pe::PeMain(std::span(words).subspan(1));
  }
  const absl::StatusOr<BenchConfig> config = ParseFlags(words);
  if (!config.ok()) {
    std::fprintf(stderr, "winnow_bench: %s\n", std::string(config.status().message()).c_str());
    return kExitUsage;
  }
  if (config->help) {
    std::printf("%s", HelpText().c_str());
    return 0;
  }
  if (!config->from_json.empty()) return ReportSavedResults(*config);
  return Run(*config);
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  winnow::process::PrepareStandardStreams();
  const int code = winnow::bench::Main(std::vector<std::string>(argv + 1, argv + argc));
  const bool is_printed = winnow::bench::Report(winnow::process::FlushStandardOutput());
  return code == 0 && !is_printed ? winnow::bench::kExitFailed : code;
}
