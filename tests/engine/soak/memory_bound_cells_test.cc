// Small loads in little memory, and what the judgement of them would notice.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/engine/soak/memory_bound.h"
#include "tests/engine/soak/usage.h"
#include "tests/support/scratch_directory.h"

namespace winnow::soak {
namespace {

MemoryReport RunInLittleMemory(const MemoryCell& cell) {
  const ScratchDirectory directory("memory_bound_cells");
  return RunMemoryCell(cell, directory.path() + "/cell", std::chrono::seconds(120));
}

TEST(MemoryBoundCells, EachOrderStaysWithinTheBound) {
  for (MemoryCell cell : SmallMemoryCells()) {
    cell.keys = 20'000;
    cell.families = std::min<uint64_t>(cell.families, 20);
    const MemoryReport report = RunInLittleMemory(cell);
    EXPECT_EQ(report.problems, std::vector<std::string>());
    for (const uint64_t bytes : {report.loading_bytes, report.reading_bytes,
                                 report.compacting_bytes, report.reopened_bytes}) {
      EXPECT_GT(bytes, 0u);
      EXPECT_LE(bytes, MostBytes(report));
    }
    EXPECT_GT(report.disk_bytes, cell.keys * 20);
  }
}

TEST(MemoryBoundCells, WhatExceedsTheBoundIsNoticed) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow is counted with the process";
  const MemoryReport report = RunInLittleMemory({.keys = 1'000, .exceeds = true});
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_TRUE(report.problems[0].starts_with("the process took ")) << report.problems[0];
}

}  // namespace
}  // namespace winnow::soak
