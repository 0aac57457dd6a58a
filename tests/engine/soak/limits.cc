#include "tests/engine/soak/limits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/engine/soak/cell_process.h"
#include "tests/engine/soak/limits_load.h"

namespace winnow::soak {

namespace {

constexpr int kMostFamilies = 10000;
constexpr int kMostThreads = 64;
constexpr uint64_t kMostValueBytes = uint64_t{1} << 30;
constexpr int kMostFiles = 20000;
constexpr std::array<const char*, 5> kLimitNames = {"none", "memory", "descriptors", "processes",
                                                    "file size"};

// As likely between 1 and 10 as between 1,000 and 10,000.
uint64_t LogUniform(std::mt19937_64& random, uint64_t most) {
  std::uniform_real_distribution<double> exponent(0, std::log(static_cast<double>(most) + 1));
  return std::clamp<uint64_t>(static_cast<uint64_t>(std::exp(exponent(random))), 1, most);
}

std::vector<uint64_t*> NumbersOf(CellReport* report) {
  std::vector<uint64_t*> numbers = {&report->calls, &report->refused,
                                    &report->longest_milliseconds};
  for (Usage* usage : {&report->before, &report->during, &report->after}) {
    numbers.insert(numbers.end(),
                   {&usage->resident_bytes, &usage->descriptors, &usage->disk_bytes});
  }
  return numbers;
}

}  // namespace

std::vector<Cell> CornerCells(uint64_t most_bytes) {
  std::vector<Cell> cells(5);
  cells[1].families = kMostFamilies;
  cells[2].threads = kMostThreads;
  cells[3].value_bytes = std::min(most_bytes, kMostValueBytes);
  cells[4].files = kMostFiles;
  cells.push_back({1, kMostThreads, 0, 1});
  for (const Limit limit :
       {Limit::kMemory, Limit::kDescriptors, Limit::kProcesses, Limit::kFileBytes}) {
    cells.push_back({20, 8, 10000, 200, limit});
  }
  return cells;
}

Cell RandomCell(std::mt19937_64& random, uint64_t most_bytes) {
  Cell cell;
  cell.families = static_cast<int>(LogUniform(random, kMostFamilies));
  cell.threads = static_cast<int>(LogUniform(random, kMostThreads));
  cell.files = static_cast<int>(LogUniform(random, kMostFiles));
  cell.value_bytes = LogUniform(random, std::min(most_bytes, kMostValueBytes)) - 1;
  cell.limit = static_cast<Limit>(random() % kLimitNames.size());
  cell.seed = random();
  // Each thread holds a value of its own, several times over where it is written.
  const uint64_t room = most_bytes / (cell.value_bytes + 1);
  cell.threads =
      static_cast<int>(std::clamp<uint64_t>(room, 1, static_cast<uint64_t>(cell.threads)));
  cell.families =
      static_cast<int>(std::clamp<uint64_t>(room, 1, static_cast<uint64_t>(cell.families)));
  cell.files = static_cast<int>(std::clamp<uint64_t>(room, 1, static_cast<uint64_t>(cell.files)));
  return cell;
}

const char* LimitName(Limit limit) { return kLimitNames[static_cast<size_t>(limit)]; }

std::string Describe(const Cell& cell) {
  return absl::StrCat(cell.families, " families, ", cell.threads, " threads, values of ",
                      cell.value_bytes, " bytes, ", cell.files,
                      " files, limit: ", LimitName(cell.limit), ", seed ", cell.seed);
}

CellReport RunCell(const Cell& cell, const std::string& directory, std::chrono::seconds patience) {
  CellReport report;
  RunInProcess(directory, patience, [&] {
    CellReport made = RunLoad(cell, directory);
    return CellOutcome::Of(NumbersOf(&made), made.longest_call, made.problems);
  }).MoveTo(NumbersOf(&report), &report.longest_call, &report.problems);
  return report;
}

}  // namespace winnow::soak
