// The lists of loads that a command line asks for.
#include "tests/engine/soak/soak_flags.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace winnow::soak {
namespace {

absl::StatusOr<Flags> Parse(const std::vector<std::string_view>& words) {
  return ParseFlags(words);
}

TEST(SoakFlags, ListsAreCombined) {
  const auto flags =
      Parse({"--memory=16MiB,4GiB", "--families=1,100", "--order=random,scattered", "--keys=5"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  ASSERT_EQ(flags->memory_cells.size(), 8u);
  const MemoryCell& last = flags->memory_cells.back();
  EXPECT_EQ(last.memory_bytes, uint64_t{4} << 30);
  EXPECT_EQ(last.families, 100u);
  EXPECT_EQ(last.keys, 5u);
  EXPECT_EQ(last.order, KeyOrder::kScattered);
  EXPECT_TRUE(flags->files_cells.empty());
  EXPECT_EQ(AllowedBytes(flags->memory_cells[0]), (uint64_t{176} << 20) / 10 + (16 << 20));
}

TEST(SoakFlags, FilesHaveTheirOwnDefaults) {
  const auto flags = Parse({"--files=20000", "--families=3"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  ASSERT_EQ(flags->files_cells.size(), 1u);
  EXPECT_EQ(flags->files_cells[0].files, 20'000u);
  EXPECT_EQ(flags->files_cells[0].families, 3u);
  EXPECT_EQ(flags->files_cells[0].descriptors, 1024u);
  EXPECT_TRUE(flags->memory_cells.empty());
}

TEST(SoakFlags, WhatCannotBeReadIsNamed) {
  for (const char* word : {"--minutes=x", "--limits=1", "--memory=16KB", "--memory=15MiB",
                           "--order=any", "--families=0", "--keys=", "--nothing", "--families=2"}) {
    EXPECT_EQ(Parse({word}).status().code(), absl::StatusCode::kInvalidArgument) << word;
  }
  EXPECT_EQ(Parse({"--order=any"}).status().message(), "cannot read '--order=any'");
  EXPECT_TRUE(Parse({"--minutes=3", "--seed=7", "--limits", "--planted"}).ok());
}

}  // namespace
}  // namespace winnow::soak
