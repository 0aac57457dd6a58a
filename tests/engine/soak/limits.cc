#include "tests/engine/soak/limits.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// What the pipe carries: numbers and texts, a line each.
std::string Encode(const CellReport& report) {
  std::string text;
  for (const Usage& usage : {report.before, report.during, report.after}) {
    absl::StrAppend(&text, usage.resident_bytes, "\n", usage.descriptors, "\n", usage.disk_bytes,
                    "\n");
  }
  absl::StrAppend(&text, report.calls, "\n", report.refused, "\n", report.longest.count(), "\n",
                  report.longest_call, "\n");
  for (const std::string& problem : report.problems) absl::StrAppend(&text, problem, "\n");
  return text;
}

CellReport Decode(const std::string& text) {
  CellReport report;
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  constexpr size_t kFixedLines = 13;
  if (lines.size() < kFixedLines) {
    report.problems.push_back("its report is cut short");
    return report;
  }
  std::array<uint64_t, kFixedLines - 1> numbers{};
  for (size_t i = 0; i < numbers.size(); i++) {
    if (!absl::SimpleAtoi(lines[i], &numbers[i])) report.problems.push_back(lines[i]);
  }
  report.before = {numbers[0], numbers[1], numbers[2]};
  report.during = {numbers[3], numbers[4], numbers[5]};
  report.after = {numbers[6], numbers[7], numbers[8]};
  report.calls = numbers[9];
  report.refused = numbers[10];
  report.longest = std::chrono::milliseconds(numbers[11]);
  report.longest_call = lines[kFixedLines - 1];
  for (size_t i = kFixedLines; i < lines.size(); i++) report.problems.push_back(lines[i]);
  return report;
}

// Until the other end is closed, or the time is over.
std::string ReadAll(int descriptor, std::chrono::steady_clock::time_point deadline) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd wait = {descriptor, POLLIN, 0};
    if (left.count() <= 0 || poll(&wait, 1, static_cast<int>(left.count())) <= 0) return text;
    const ssize_t count = read(descriptor, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
}

[[noreturn]] void RunChild(const Cell& cell, const std::string& directory, int pipe) {
  const std::string text = Encode(RunLoad(cell, directory));
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(pipe, text.data() + done, text.size() - done);
    if (count <= 0) _exit(1);
    done += static_cast<size_t>(count);
  }
  _exit(0);
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
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  CellReport report;
  std::array<int, 2> pipe_ends{};
  const bool piped = pipe2(pipe_ends.data(), O_CLOEXEC) == 0;
  const pid_t child = piped ? fork() : -1;
  if (child == 0) {
    close(pipe_ends[0]);
    RunChild(cell, directory, pipe_ends[1]);
  }
  if (child < 0) {
    report.problems.push_back("there is no process for it");
  } else {
    close(pipe_ends[1]);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const std::string text = ReadAll(pipe_ends[0], deadline);
    if (std::chrono::steady_clock::now() >= deadline) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(pipe_ends[0]);
    report = Decode(text);
    if (WIFSIGNALED(status)) {
      report.problems.push_back(absl::StrCat("ended by signal ", WTERMSIG(status)));
    }
  }
  std::filesystem::remove_all(directory);
  return report;
}

}  // namespace winnow::soak
