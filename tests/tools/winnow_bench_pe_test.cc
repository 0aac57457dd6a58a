// `winnow_bench pe` as people run it: every command on every engine of the build.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/shell_command.h"
#include "tools/winnow_bench/pe/commands.h"
#include "tools/winnow_bench/pe/options.h"
#include "tools/winnow_bench/pe/run.h"
#include "tools/winnow_bench/pe/store.h"

namespace winnow::bench::pe {
namespace {

class PeTest : public ::testing::Test {
 protected:
  PeTest() {
    std::string name = ::testing::TempDir() + "winnow_bench_pe_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~PeTest() override { std::filesystem::remove_all(directory_); }

  ShellResult Run(const std::string& words) const {
    return RunShellCommand(std::string(WINNOW_BENCH_PROGRAM) + " pe --db=" + directory_ +
                           "/db --json=" + JsonPath() + " " + words + " 2>&1 </dev/null");
  }
  // The results of the last run.
  nlohmann::json Results() const {
    std::ifstream file(JsonPath());
    return nlohmann::json::parse(file)["results"];
  }
  std::string JsonPath() const { return directory_ + "/results.json"; }

  std::string directory_;
};

std::string AllEngines() {
  std::string names;
  for (const RowStoreFactory* store : RowStores()) {
    names += (names.empty() ? "" : ",") + std::string(store->name);
  }
  return names;
}

TEST(PeOptionsTest, RowsHaveTwentySixDigits) {
  EXPECT_EQ(FormatRow(0), std::string(26, '0'));
  EXPECT_EQ(FormatRow(1234567), "00000000000000000001234567");
}

TEST(PeOptionsTest, TakesPerformanceEvaluationsWords) {
  const auto options = ParsePeOptions(std::vector<std::string>{
      "--nomapred", "--rows=100", "--valueSize=10", "--columns=3", "--families=2",
      "--bloomFilter=ROWCOL", "--presplit=10", "--multiGet=5", "--latency", "randomRead", "4"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->command, "randomRead");
  EXPECT_EQ(options->clients, 4u);
  EXPECT_EQ(options->total_rows(), 400u);
  EXPECT_EQ(options->bloom_filter, "ROWCOL");
  const auto by_size = ParsePeOptions(std::vector<std::string>{"--size=2", "sequentialWrite", "2"});
  ASSERT_TRUE(by_size.ok()) << by_size.status();
  EXPECT_EQ(by_size->total_rows(), 2u * 1'048'576);
  EXPECT_EQ(by_size->rows, 1'048'576u);
}

TEST(PeOptionsTest, RefusesWhatCannotBeRun) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {},
           {"randomRead"},
           {"randomRead", "0"},
           {"randomRead", "501"},
           {"randomRaed", "1"},
           {"--rows=0", "randomRead", "1"},
           {"--rwos=1", "randomRead", "1"},
           {"--absent=table", "randomRead", "1"},
           {"--absent=row", "scan", "1"},
           {"--absent=column", "--addColumns=false", "randomRead", "1"},
           {"--multiGet=5", "randomWrite", "1"},
           {"--sampleRate=1.5", "randomRead", "1"},
           {"--engine=hbase", "randomRead", "1"}}) {
    const auto options = ParsePeOptions(words);
    EXPECT_TRUE(absl::IsInvalidArgument(options.status()));
  }
}

TEST_F(PeTest, RunsEveryCommandOnEveryEngine) {
  for (const PeCommand& command : PeCommands()) {
    const uint64_t rows = command.action == Action::kFilterScan ? 10 : 200;
    const ShellResult result = Run("--rows=" + std::to_string(rows) +
                                   " --valueSize=20 --columns=2 --engine=" + AllEngines() + " " +
                                   std::string(command.name) + " 2");
    ASSERT_EQ(result.exit_code, 0) << command.name << result.output;
    for (const auto& engine : Results()) {
      EXPECT_EQ(engine["operations"], 2 * rows) << command.name;
      EXPECT_EQ(engine["command"], command.name);
    }
  }
}

// Whatever engine: the same rows, of as many cells.
TEST_F(PeTest, ReadsWhatWasWritten) {
  const std::string common =
      "--rows=300 --valueSize=30 --columns=3 --families=2 --engine=" + AllEngines() + " ";
  ASSERT_EQ(Run(common + "sequentialWrite 1").exit_code, 0);
  const struct {
    const char* words;
    uint64_t rows;
    uint64_t cells;
  } kReads[] = {
      {"sequentialRead 1", 300, 1800},
      {"randomRead 1", 300, 1800},
      {"--addColumns=false sequentialRead 1", 300, 1800},
      {"--multiGet=7 --latency randomRead 1", 300, 1800},
      {"--absent=row randomRead 1", 0, 0},
      {"--absent=column randomRead 1", 0, 0},
  };
  for (const auto& read : kReads) {
    const ShellResult result = Run(common + read.words);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    ASSERT_EQ(Results().size(), RowStores().size());
    for (const auto& engine : Results()) {
      EXPECT_EQ(engine["rows_read"], read.rows) << read.words << result.output;
      EXPECT_EQ(engine["cells_read"], read.cells) << read.words << result.output;
    }
  }
  // Scans of peers are of the first family.
  for (const char* const command : {"scan", "reverseScan"}) {
    const ShellResult result = Run(common + command + " 1");
    ASSERT_EQ(result.exit_code, 0) << result.output;
    for (const auto& engine : Results()) EXPECT_EQ(engine["rows_read"], 300) << result.output;
  }
}

TEST_F(PeTest, RowsBehindTheFirstOnesAreLoadedToo) {
  const ShellResult result = Run("--rows=100 --startRow=150 --engine=raw sequentialRead 2");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(Results()[0]["rows_read"], 200) << result.output;
}

TEST_F(PeTest, WhatAFailedRunTookAwayIsLoadedAgain) {
  const std::string words = "--rows=100 --engine=raw sequentialRead 1";
  ASSERT_EQ(Run(words).exit_code, 0);
  EXPECT_EQ(Run("--filter=sieve:10 " + words).exit_code, 1);
  const ShellResult result = Run(words);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(Results()[0]["rows_read"], 100) << result.output;
}

// What the issue of filters is: a read of what is not there reads no block, but where a filter
// errs.
TEST_F(PeTest, AbsentRowsAndColumnsReadNoBlocks) {
  for (const char* const absent : {"row", "column"}) {
    const ShellResult result =
        Run("--rows=2000 --valueSize=50 --bloomFilter=ROWCOL --absent=" + std::string(absent) +
            " randomRead 1");
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const nlohmann::json tables = Results()[0];
    // No file reaches behind the last row.
    EXPECT_GE(tables["filter_checked"], 1980) << result.output;
    EXPECT_LE(tables["data_blocks_read"], tables["filter_false_positive"]) << result.output;
    EXPECT_LT(tables["filter_false_positive"], 100) << result.output;
  }
}

TEST_F(PeTest, ExplainsItself) {
  const ShellResult help = Run("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("scanRange10000"), std::string::npos);
  const ShellResult wrong = Run("randomRaed 1");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.output.find("did you mean randomRead?"), std::string::npos) << wrong.output;
}

}  // namespace
}  // namespace winnow::bench::pe
