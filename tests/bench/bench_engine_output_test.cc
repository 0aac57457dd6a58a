// bench_engine runs each of its benchmarks, for an instant, and says what it does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/shell_command.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ShellResult RunProgram(const std::string& flags) {
  return RunShellCommand(std::string(BENCH_ENGINE_PROGRAM) + " " + flags + " 2>&1");
}

TEST(BenchEngineOutputTest, EveryBenchmarkRuns) {
  const ShellResult outcome = RunProgram("--quick --benchmark_min_time=0.0001");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("ERROR")));
  for (const char* name :
       {"get_absent/10000", "get_present/10000", "get_memtable/10000", "multiget_absent/10000",
        "multiget_present/10000", "seek/10000", "next/10000", "put/10000", "flush/none/10000",
        "flush/blocked_bloom:10/10000", "flush/ribbon:10/10000", "compact/10000"}) {
    EXPECT_THAT(outcome.output, HasSubstr(std::string("\n") + name));
  }
}

TEST(BenchEngineOutputTest, WrongFlagsAndWhatCannotBePrintedAreErrors) {
  EXPECT_EQ(RunProgram("--quik").exit_code, 2);
  const ShellResult help = RunProgram("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("--quick"));
  EXPECT_THAT(help.output, HasSubstr("--benchmark_min_time"));
  const int status =
      std::system((std::string(BENCH_ENGINE_PROGRAM) + " --help >/dev/full").c_str());
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1);
}

}  // namespace
}  // namespace winnow::bench
