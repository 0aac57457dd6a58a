// Small loads at lowered limits, and what the judgement of them would notice.
#include <gtest/gtest.h>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tests/engine/soak/limits.h"

namespace winnow::soak {
namespace {

class LimitsMatrix : public testing::Test {
 protected:
  static CellReport Run(const Cell& cell) {
    return RunCell(cell, absl::StrCat(testing::TempDir(), "/limits_matrix_test_", getpid()),
                   std::chrono::seconds(120));
  }
};

TEST_F(LimitsMatrix, NothingIsLostOrKeptUnderAnyLimit) {
  for (const Limit limit :
       {Limit::kNone, Limit::kMemory, Limit::kDescriptors, Limit::kProcesses, Limit::kFileBytes}) {
    const Cell cell = {10, 6, 5000, 15, limit};
    const CellReport report = Run(cell);
    EXPECT_EQ(report.problems, std::vector<std::string>()) << Describe(cell);
    EXPECT_GT(report.calls, report.refused);
    EXPECT_GT(report.during.disk_bytes, report.before.disk_bytes);
  }
}

TEST_F(LimitsMatrix, WhatIsKeptIsNoticed) {
  Cell cell = {5, 2, 50000, 4};
  cell.leaks = true;
  EXPECT_FALSE(Run(cell).problems.empty());
}

TEST_F(LimitsMatrix, AProcessThatHangsIsNoticed) {
  const CellReport report =
      RunCell(Cell(), absl::StrCat(testing::TempDir(), "/limits_matrix_test_", getpid()),
              std::chrono::seconds(0));
  EXPECT_FALSE(report.problems.empty());
}

TEST_F(LimitsMatrix, RandomCellsStayWithinTheirBytes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; i++) {
    const Cell cell = RandomCell(random, 1 << 20);
    const uint64_t most = std::max({cell.families, cell.threads, cell.files});
    EXPECT_LE(most * cell.value_bytes, uint64_t{2} << 20) << Describe(cell);
  }
  EXPECT_GE(CornerCells(1 << 30).size(), 10u);
}

}  // namespace
}  // namespace winnow::soak
