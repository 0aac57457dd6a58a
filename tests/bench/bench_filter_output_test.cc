// What bench_filter prints, and what it says when it cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

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
  FILE* pipe = popen((std::string(BENCH_FILTER_PROGRAM) + " --help").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  while (const size_t count = fread(buffer, 1, sizeof(buffer), pipe)) text.append(buffer, count);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_THAT(text, HasSubstr("--filters=LIST"));
  EXPECT_THAT(text, HasSubstr("--benchmark_min_time"));
}

}  // namespace
}  // namespace winnow::bench
