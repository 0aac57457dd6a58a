// winnow load --sorted: tables that several threads write, ingested in their order.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/tools/winnow_cli_shell.h"

namespace winnow {
namespace {

constexpr char kSmallTables[] = " --set=target_file_bytes=64K --set=compression=none ";

class WinnowCliLoad : public testing::Test {
 protected:
  // Of some 400 KB: several tables for each thread.
  WinnowCliLoad() { shell_.Run("seq 10001 30000 | sed 's/$/\tvalue of a line/' > lines.tsv"); }

  std::string Count() const { return shell_.Run("winnow count --db=db").output; }

  const ScratchShell shell_;
};

TEST_F(WinnowCliLoad, EntriesOfManyTablesAreThoseOfTheInput) {
  const ShellResult loaded = shell_.RunForOutput("winnow load --db=db --sorted --json lines.tsv" +
                                                 std::string(kSmallTables));
  ASSERT_EQ(loaded.exit_code, 0) << loaded.output;
  const auto report = nlohmann::json::parse(loaded.output);
  EXPECT_EQ(report["entries"], 20000);
  EXPECT_GT(report["ingested_tables"], 5);
  EXPECT_EQ(shell_
                .Run("winnow scan --db=db | cmp - lines.tsv && winnow verify --db=db >verified; "
                     "test ! -e db/load.tmp && echo clean")
                .output,
            "clean\n");
}

// Wherever the line is: at the border of two tables, too.
TEST_F(WinnowCliLoad, ALineOutOfOrderEndsTheLoadAndKeepsWhatIsBefore) {
  for (const int line : {2, 2500, 2501, 7919, 20000}) {
    SCOPED_TRACE(line);
    const std::string number = std::to_string(line);
    shell_.Run("rm -rf db; sed '" + std::to_string(line) +
               "s/.*/10001\tagain/' lines.tsv > bad.tsv");
    const std::string load = "winnow load --db=db --sorted bad.tsv" + std::string(kSmallTables);
    const ShellResult stopped = shell_.Run(load);
    EXPECT_EQ(stopped.exit_code, 3);
    EXPECT_NE(stopped.output.find("bad.tsv:" + number + ": with --sorted, keys must ascend"),
              std::string::npos)
        << stopped.output;
    EXPECT_EQ(Count(), std::to_string(line - 1) + "\n");
    shell_.Run("rm -rf db");
    EXPECT_EQ(shell_.Run(load + " --skip-bad").exit_code, 0);
    EXPECT_EQ(Count(), "19999\n");
    EXPECT_EQ(shell_.Run("winnow get --db=db 10001").output, "value of a line\n");
  }
}

TEST_F(WinnowCliLoad, WhatAKilledLoadHasLeftIsReplaced) {
  shell_.Run(
      "winnow families create other --db=db; mkdir db/load.tmp; "
      "echo half > db/load.tmp/1.sst; echo half > db/load.tmp/7.sst");
  ASSERT_EQ(
      shell_.Run("winnow load --db=db --sorted lines.tsv" + std::string(kSmallTables)).exit_code,
      0);
  EXPECT_EQ(Count(), "20000\n");
  EXPECT_EQ(shell_.Run("test ! -e db/load.tmp && echo clean").output, "clean\n");
}

}  // namespace
}  // namespace winnow
