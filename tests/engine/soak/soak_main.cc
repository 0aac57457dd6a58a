// The program behind `tools/dev soak`.
#include <unistd.h>

#include <algorithm>
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
#include "tests/engine/soak/many_files.h"
#include "tests/engine/soak/memory_bound.h"
#include "tests/engine/soak/soak.h"
#include "tests/engine/soak/soak_flags.h"
#include "tests/engine/soak/soak_tables.h"

namespace winnow::soak {
namespace {

constexpr uint64_t kMostValueBytes = uint64_t{1} << 30;
constexpr std::chrono::minutes kPatience{30};  // for one load at a limit
// For one of very many keys or files, on whatever disk.
constexpr std::chrono::minutes kLongPatience{120};

std::string DirectoryFor(const char* what) {
  return (std::filesystem::temp_directory_path() / absl::StrCat("winnow-", what, "-", getpid()))
      .string();
}

bool RunMemoryCells(const std::vector<MemoryCell>& cells) {
  bool ok = true;
  if (!cells.empty()) PrintMemoryTitles();
  for (const MemoryCell& cell : cells) {
    const MemoryReport report = RunMemoryCell(cell, DirectoryFor("memory"), kLongPatience);
    PrintMemoryRow(cell, report);
    ok = ok && report.problems.empty();
  }
  return ok;
}

bool RunFilesCells(const std::vector<FilesCell>& cells) {
  bool ok = true;
  if (!cells.empty()) PrintFilesTitles();
  for (const FilesCell& cell : cells) {
    const FilesReport report = RunFilesCell(cell, DirectoryFor("files"), kLongPatience);
    PrintFilesRow(cell, report);
    ok = ok && report.problems.empty();
  }
  return ok;
}

// The ends of each dimension first, then any combination until the time is over.
bool RunLimits(uint64_t seed, std::chrono::steady_clock::time_point end) {
  bool ok = RunMemoryCells(SmallMemoryCells());
  ok = RunFilesCells({{.files = 1'000, .families = 10, .descriptors = 128}}) && ok;
  PrintLimitsTitles();
  std::mt19937_64 random(seed);
  std::vector<Cell> cells = CornerCells(kMostValueBytes);
  int num_cells = 0;
  for (; num_cells < static_cast<int>(cells.size()) || std::chrono::steady_clock::now() < end;
       num_cells++) {
    const Cell cell = num_cells < static_cast<int>(cells.size())
                          ? cells[static_cast<size_t>(num_cells)]
                          : RandomCell(random, kMostValueBytes);
    const CellReport report = RunCell(cell, DirectoryFor("limits"), kPatience);
    PrintLimitsRow(cell, report);
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
  PrintIntervalTitles();
  int interval = 0;
  const Report report =
      RunSoak(settings, [&](const Sample& sample) { PrintIntervalRow(++interval, sample); });
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
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const absl::StatusOr<Flags> flags = ParseFlags(words);
  if (!flags.ok()) {
    absl::FPrintF(stderr, "soak: %s\n", flags.status().message());
    return 2;
  }
  bool ok = true;
  if (!flags->memory_cells.empty() || !flags->files_cells.empty()) {
    ok = RunMemoryCells(flags->memory_cells);
    ok = RunFilesCells(flags->files_cells) && ok;
    return ok ? 0 : 1;
  }
  // Limits first, while this process is small: each of them begins as a copy of it.
  const std::chrono::milliseconds time = std::chrono::minutes(flags->minutes);
  const auto limits_time = flags->limits_alone ? time : time / 3;
  if (!flags->planted) {
    ok = RunLimits(flags->seed, std::chrono::steady_clock::now() + limits_time);
    absl::PrintF("\n");
  }
  Settings settings;
  settings.seed = flags->seed;
  settings.wrong_model = flags->planted;
  if (!flags->limits_alone) ok = RunMixed(settings, time - limits_time) && ok;
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace winnow::soak

int main(int argc, char** argv) { return winnow::soak::Main(argc, argv); }
