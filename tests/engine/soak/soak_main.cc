// The program behind `tools/dev soak`.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

int Main(int argc, char** argv) {
  Settings settings;
  uint64_t minutes = 5;
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    if (argument == "--planted") {
      settings.wrong_model = true;
    } else if (!ParseNumber(argument, "--minutes=", &minutes) &&
               !ParseNumber(argument, "--seed=", &settings.seed)) {
      absl::FPrintF(stderr, "soak: cannot read '%s'\n", std::string(argument));
      return 2;
    }
  }
  // Intervals of at least ten seconds, and at most two hundred of them.
  settings.interval = std::chrono::milliseconds(std::max<uint64_t>(10000, minutes * 60000 / 200));
  settings.num_intervals = static_cast<int>(
      std::max<uint64_t>(1, minutes * 60000 / static_cast<uint64_t>(settings.interval.count())));
  settings.directory =
      (std::filesystem::temp_directory_path() / absl::StrCat("winnow-soak-", getpid())).string();
  absl::PrintF("seed %d, %d intervals of %d s in %s\n\n", settings.seed, settings.num_intervals,
               settings.interval.count() / 1000, settings.directory);
  absl::PrintF("%8s  %-18s %7s %9s %8s %9s %8s %8s %5s %8s %7s  %s\n", "interval", "fault", "fired",
               "reads", "failed", "writes", "refused", "RSS MiB", "fds", "disk MiB", "errors",
               "reopened");
  int interval = 0;
  const Report report = RunSoak(settings, [&](const Sample& sample) {
    absl::PrintF("%8d  %-18s %7d %9d %8d %9d %8d %8.1f %5d %8.1f %7d  %s\n", ++interval,
                 sample.fault, sample.faults_fired, sample.reads, sample.failed_reads,
                 sample.writes, sample.failed_writes,
                 static_cast<double>(sample.resident_bytes) / kMiB, sample.descriptors,
                 static_cast<double>(sample.disk_bytes) / kMiB, sample.background_errors,
                 sample.reopened ? "yes" : "");
    std::fflush(stdout);
  });
  uint64_t reads = 0;
  for (const Sample& sample : report.samples) reads += sample.reads;
  absl::PrintF("\n%d intervals, %d reads compared with the model: %d problems\n",
               report.samples.size(), reads, report.problems.size());
  for (const std::string& problem : report.problems) absl::PrintF("  %s\n", problem);
  if (report.problems.empty() && reads > 0) {
    absl::PrintF("less than %.2g of such reads are wrong (95 %% confidence)\n",
                 3.0 / static_cast<double>(reads));
  }
  return report.problems.empty() ? 0 : 1;
}

}  // namespace
}  // namespace winnow::soak

int main(int argc, char** argv) { return winnow::soak::Main(argc, argv); }
