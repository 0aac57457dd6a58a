// More SSTables than there are descriptors, and what the judgement of such a load would notice.
#include "tests/engine/soak/many_files.h"

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.h"

namespace winnow::soak {
namespace {

FilesReport RunOverFiles(const FilesCell& cell) {
  const ScratchDirectory directory("many_files");
  return RunFilesCell(cell, directory.path() + "/cell", std::chrono::seconds(120));
}

TEST(ManyFiles, FewDescriptorsServeManyFilesAndAllComesBack) {
  for (const uint64_t families : {1, 7}) {
    const FilesReport report =
        RunOverFiles({.files = 150, .families = families, .descriptors = 64});
    EXPECT_EQ(report.problems, std::vector<std::string>());
    EXPECT_GE(report.flushed_tables, 150u);
    EXPECT_GE(report.compacted_tables, 100u) << "files stay small";
    EXPECT_LE(report.most.descriptors, 64u);
    EXPECT_GT(report.most.disk_bytes, uint64_t{150} << 16);
  }
}

TEST(ManyFiles, WhatIsKeptIsNoticed) {
  EXPECT_FALSE(RunOverFiles({.files = 300, .leaks = true}).problems.empty());
}

}  // namespace
}  // namespace winnow::soak
