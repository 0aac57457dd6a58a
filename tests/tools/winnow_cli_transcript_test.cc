// What a user sees: each file of winnow_cli/ is a session in an empty directory.
//
//   # a comment
//   command, of one line or several
//   ----
//   its output, standard error included, up to an empty line
//   [exit 2]                                   only where the exit code is not 0
//
// An output that has empty lines itself stands between two pairs of "----". With
// WINNOW_REWRITE_TRANSCRIPTS=1 the files are written anew from what the program prints: read the
// difference before believing it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/winnow_cli_shell.h"

namespace winnow {
namespace {

constexpr char kSeparator[] = "----";

struct Step {
  std::string comment;  // lines before the command, as they stand
  std::string command;
  std::string expected;
  int line_number = 0;
};

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Takes the output that begins at `lines[*at]`, and the empty lines behind it.
std::string TakeOutput(const std::vector<std::string>& lines, size_t* at) {
  std::string output;
  const bool may_have_empty_lines = *at < lines.size() && lines[*at] == kSeparator;
  if (may_have_empty_lines) {
    for ((*at)++; *at + 1 < lines.size(); (*at)++) {
      if (lines[*at] == kSeparator && lines[*at + 1] == kSeparator) break;
      output += lines[*at] + "\n";
    }
    *at += 2;
  } else {
    for (; *at < lines.size() && !lines[*at].empty(); (*at)++) output += lines[*at] + "\n";
  }
  while (*at < lines.size() && lines[*at].empty()) (*at)++;
  return output;
}

std::vector<Step> ReadSteps(const std::string& path) {
  const std::vector<std::string> lines = ReadLines(path);
  std::vector<Step> steps;
  for (size_t at = 0; at < lines.size();) {
    Step step;
    for (; at < lines.size() && (lines[at].empty() || lines[at][0] == '#'); at++) {
      step.comment += lines[at] + "\n";
    }
    step.line_number = static_cast<int>(at) + 1;
    for (; at < lines.size() && lines[at] != kSeparator; at++) step.command += lines[at] + "\n";
    if (step.command.empty()) break;
    at++;
    step.expected = TakeOutput(lines, &at);
    steps.push_back(std::move(step));
  }
  return steps;
}

std::string RunStep(const ScratchShell& shell, const Step& step) {
  const ShellResult result = shell.Run(step.command);
  std::string output = result.output;
  if (!output.empty() && output.back() != '\n') output += "\n";
  if (result.exit_code != 0) output += "[exit " + std::to_string(result.exit_code) + "]\n";
  return output;
}

void Rewrite(const std::string& path, const std::vector<Step>& steps,
             const std::vector<std::string>& outputs) {
  std::ofstream file(path, std::ios::trunc);
  for (size_t i = 0; i < steps.size(); i++) {
    const bool has_empty_lines =
        outputs[i].find("\n\n") != std::string::npos || outputs[i].rfind("\n", 0) == 0;
    file << steps[i].comment << steps[i].command << kSeparator << "\n";
    if (has_empty_lines) file << kSeparator << "\n";
    file << outputs[i];
    if (has_empty_lines) file << kSeparator << "\n" << kSeparator << "\n";
    if (i + 1 < steps.size()) file << "\n";
  }
}

std::vector<std::string> TranscriptFiles() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(WINNOW_TRANSCRIPTS)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class WinnowCliTranscript : public testing::TestWithParam<std::string> {};

TEST_P(WinnowCliTranscript, PrintsWhatIsWritten) {
  const std::vector<Step> steps = ReadSteps(GetParam());
  ASSERT_FALSE(steps.empty());
  const ScratchShell shell;
  std::vector<std::string> outputs;
  for (const Step& step : steps) outputs.push_back(RunStep(shell, step));

  if (std::getenv("WINNOW_REWRITE_TRANSCRIPTS") != nullptr) {
    Rewrite(GetParam(), steps, outputs);
    GTEST_SKIP() << "rewritten";
  }
  for (size_t i = 0; i < steps.size(); i++) {
    EXPECT_EQ(outputs[i], steps[i].expected)
        << GetParam() << ":" << steps[i].line_number << ": " << steps[i].command;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WinnowCliTranscript, testing::ValuesIn(TranscriptFiles()),
                         [](const testing::TestParamInfo<std::string>& file) {
                           return std::filesystem::path(file.param).stem().string();
                         });

}  // namespace
}  // namespace winnow
