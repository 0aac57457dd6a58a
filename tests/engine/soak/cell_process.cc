#include "tests/engine/soak/cell_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace winnow::soak {

namespace {

// What the pipe carries: the numbers in a line, the longest call in the next, and each problem.
std::string Encode(const CellOutcome& outcome) {
  std::string text =
      absl::StrCat(absl::StrJoin(outcome.numbers, " "), "\n", outcome.longest_call, "\n");
  for (const std::string& problem : outcome.problems) absl::StrAppend(&text, problem, "\n");
  return text;
}

CellOutcome Decode(const std::string& text) {
  CellOutcome outcome;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  constexpr size_t kFixedLines = 3;  // with the empty one behind the last end of line
  if (lines.size() < kFixedLines) {
    outcome.problems.push_back("its report is cut short");
    return outcome;
  }
  lines.pop_back();
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ', absl::SkipEmpty());
  for (const std::string& word : words) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(word, &number)) outcome.problems.push_back(lines[0]);
    outcome.numbers.push_back(number);
  }
  outcome.longest_call = std::move(lines[1]);
  for (size_t i = 2; i < lines.size(); i++) outcome.problems.push_back(std::move(lines[i]));
  return outcome;
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

[[noreturn]] void RunChild(const std::function<CellOutcome()>& load, int pipe) {
  const std::string text = Encode(load());
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(pipe, text.data() + done, text.size() - done);
    if (count <= 0) _exit(1);
    done += static_cast<size_t>(count);
  }
  _exit(0);
}

}  // namespace

CellOutcome CellOutcome::Of(const std::vector<uint64_t*>& places, std::string longest_call,
                            std::vector<std::string> problems) {
  CellOutcome outcome;
  for (const uint64_t* place : places) outcome.numbers.push_back(*place);
  outcome.longest_call = std::move(longest_call);
  outcome.problems = std::move(problems);
  return outcome;
}

void CellOutcome::MoveTo(const std::vector<uint64_t*>& places, std::string* to_longest_call,
                         std::vector<std::string>* to_problems) && {
  for (size_t i = 0; i < std::min(places.size(), numbers.size()); i++) *places[i] = numbers[i];
  *to_longest_call = std::move(longest_call);
  *to_problems = std::move(problems);
}

CellOutcome RunInProcess(const std::string& directory, std::chrono::seconds patience,
                         const std::function<CellOutcome()>& load) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  CellOutcome outcome;
  std::array<int, 2> pipe_ends{};
  const bool piped = pipe2(pipe_ends.data(), O_CLOEXEC) == 0;
  const pid_t child = piped ? fork() : -1;
  if (child == 0) {
    close(pipe_ends[0]);
    RunChild(load, pipe_ends[1]);
  }
  if (child < 0) {
    outcome.problems.push_back("there is no process for it");
  } else {
    close(pipe_ends[1]);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    const std::string text = ReadAll(pipe_ends[0], deadline);
    if (std::chrono::steady_clock::now() >= deadline) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(pipe_ends[0]);
    outcome = Decode(text);
    if (WIFSIGNALED(status)) {
      outcome.problems.push_back(absl::StrCat("ended by signal ", WTERMSIG(status)));
    }
  }
  std::filesystem::remove_all(directory);
  return outcome;
}

}  // namespace winnow::soak
