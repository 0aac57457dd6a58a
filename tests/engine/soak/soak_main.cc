// The program behind `tools/dev soak`.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/engine/soak/limits.h"
#include "tests/engine/soak/soak.h"

namespace winnow::soak {
namespace {

constexpr double kMiB = 1 << 20;

bool ParseNumber(std::string_view argument, std::string_view prefix, uint64_t* number) {
  if (!argument.starts_with(prefix)) return false;
  argument.remove_prefix(prefix.size());
  const auto parsed = std::from_chars(argument.data(), argument.data() + argument.size(), *number);
  return parsed.ec == std::errc() && parsed.ptr == argument.data() + argument.size();
}

constexpr uint64_t kMostValueBytes = uint64_t{1} << 30;
constexpr std::chrono::minutes kPatience{30};  // for one load at a limit

std::string DirectoryFor(const char* what) {
  return (std::filesystem::temp_directory_path() / absl::StrCat("winnow-", what, "-", getpid()))
      .string();
}

void PrintProblems(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) absl::PrintF("  %s\n", problem);
}

// The ends of each dimension first, then any combination until the time is over.
bool RunLimits(uint64_t seed, std::chrono::steady_clock::time_point end) {
  absl::PrintF("\n%8s %7s %10s %6s %-11s %9s %8s  %-26s %-15s %-17s %s\n", "families", "threads",
               "value", "files", "limit", "calls", "refused", "RSS MiB", "descriptors", "disk MiB",
               "longest call");
  std::mt19937_64 random(seed);
  std::vector<Cell> cells = CornerCells(kMostValueBytes);
  int num_cells = 0;
  bool ok = true;
  for (; num_cells < static_cast<int>(cells.size()) || std::chrono::steady_clock::now() < end;
       num_cells++) {
    const Cell cell = num_cells < static_cast<int>(cells.size())
                          ? cells[static_cast<size_t>(num_cells)]
                          : RandomCell(random, kMostValueBytes);
    const CellReport report = RunCell(cell, DirectoryFor("limits"), kPatience);
    const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / kMiB; };
    absl::PrintF(
        "%8d %7d %10d %6d %-11s %9d %8d  %7.1f %8.1f %8.1f  %4d %4d %4d  %7.1f %8.1f  "
        "%d ms (%s)\n",
        cell.families, cell.threads, cell.value_bytes, cell.files, LimitName(cell.limit),
        report.calls, report.refused, mib(report.before.resident_bytes),
        mib(report.during.resident_bytes), mib(report.after.resident_bytes),
        report.before.descriptors, report.during.descriptors, report.after.descriptors,
        mib(report.during.disk_bytes), mib(report.after.disk_bytes), report.longest.count(),
        report.longest_call);
    if (!report.problems.empty()) absl::PrintF("  problems of: %s\n", Describe(cell));
    PrintProblems(report.problems);
    std::fflush(stdout);
    ok = ok && report.problems.empty();
  }
  absl::PrintF("\n%d loads at the limits: %s\n", num_cells, ok ? "no problems" : "PROBLEMS");
  return ok;
}

bool RunMixed(Settings settings, std::chrono::milliseconds time) {
  // Intervals of at least ten seconds, and at most two hundred of them.
  settings.interval = std::max(std::chrono::milliseconds(10000), time / 200);
  settings.num_intervals = static_cast<int>(std::max<int64_t>(1, time / settings.interval));
  settings.directory = DirectoryFor("soak");
  absl::PrintF("seed %d, %d intervals of %d s in %s\n\n", settings.seed, settings.num_intervals,
               settings.interval.count() / 1000, settings.directory);
  absl::PrintF("%8s  %-18s %7s %9s %8s %9s %8s %10s %8s %5s %8s %7s  %s\n", "interval", "fault",
               "fired", "reads", "failed", "writes", "refused", "longest ms", "RSS MiB", "fds",
               "disk MiB", "errors", "reopened");
  int interval = 0;
  const Report report = RunSoak(settings, [&](const Sample& sample) {
    absl::PrintF("%8d  %-18s %7d %9d %8d %9d %8d %10d %8.1f %5d %8.1f %7d  %s\n", ++interval,
                 sample.fault, sample.faults_fired, sample.reads, sample.failed_reads,
                 sample.writes, sample.failed_writes, sample.longest.count(),
                 static_cast<double>(sample.resident_bytes) / kMiB, sample.descriptors,
                 static_cast<double>(sample.disk_bytes) / kMiB, sample.background_errors,
                 sample.reopened ? "yes" : "");
    std::fflush(stdout);
  });
  uint64_t reads = 0;
  for (const Sample& sample : report.samples) reads += sample.reads;
  absl::PrintF("\n%d intervals, %d reads compared with the model: %d problems\n",
               report.samples.size(), reads, report.problems.size());
  PrintProblems(report.problems);
  if (report.problems.empty() && reads > 0) {
    absl::PrintF("less than %.2g of such reads are wrong (95 %% confidence)\n",
                 3.0 / static_cast<double>(reads));
  }
  return report.problems.empty();
}

int Main(int argc, char** argv) {
  Settings settings;
  uint64_t minutes = 5;
  bool limits_alone = false;
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    if (argument == "--planted") {
      settings.wrong_model = true;
    } else if (argument == "--limits") {
      limits_alone = true;
    } else if (!ParseNumber(argument, "--minutes=", &minutes) &&
               !ParseNumber(argument, "--seed=", &settings.seed)) {
      absl::FPrintF(stderr, "soak: cannot read '%s'\n", std::string(argument));
      return 2;
    }
  }
  // Limits first, while this process is small: each of them begins as a copy of it.
  const std::chrono::milliseconds time = std::chrono::minutes(minutes);
  const auto limits_time = limits_alone ? time : time / 3;
  bool ok = true;
  if (!settings.wrong_model) {
    ok = RunLimits(settings.seed, std::chrono::steady_clock::now() + limits_time);
    absl::PrintF("\n");
  }
  if (!limits_alone) ok = RunMixed(settings, time - limits_time) && ok;
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace winnow::soak

int main(int argc, char** argv) { return winnow::soak::Main(argc, argv); }
