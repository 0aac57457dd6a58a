// What bench_filter prints, and what it says when it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/shell_command.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;

int ExitCodeOf(const std::string& flags) {
  const int status = std::system((std::string(BENCH_FILTER_PROGRAM) + " " + flags).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Google Benchmark's --help ended the program by itself, with 0.
TEST(BenchFilterOutputTest, WhatCannotBePrintedIsAnError) {
  EXPECT_EQ(ExitCodeOf("--help >/dev/null"), 0);
  EXPECT_EQ(ExitCodeOf("--help >/dev/full 2>/dev/null"), 1);
  EXPECT_EQ(ExitCodeOf("--help >&- 2>/dev/null"), 1);
}

TEST(BenchFilterOutputTest, HelpNamesOurFlagsAndTheirs) {
  const ShellResult help = RunShellCommand(std::string(BENCH_FILTER_PROGRAM) + " --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("--filters=LIST"));
  EXPECT_THAT(help.output, HasSubstr("--benchmark_min_time"));
}

}  // namespace
}  // namespace winnow::bench
