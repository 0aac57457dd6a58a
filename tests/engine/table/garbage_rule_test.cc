#include "engine/table/garbage_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

std::vector<GarbageRule::Limit> Limits(const std::string& text) {
  const auto rule = GarbageRule::Parse(text);
  EXPECT_TRUE(rule.ok()) << rule.status();
  return rule.ok() ? rule->limits() : std::vector<GarbageRule::Limit>{};
}

TEST(GarbageRule, IsAStaircaseOfAgesAndVersions) {
  using L = std::vector<GarbageRule::Limit>;
  EXPECT_EQ(Limits("maxversions=3"), (L{{0, 3}}));
  EXPECT_EQ(Limits("maxage=7d"), (L{{604'800'000, 0}}));
  EXPECT_EQ(Limits("maxversions=10 or (maxage=2h and maxversions=1)"),
            (L{{0, 10}, {7'200'000, 1}}));
  EXPECT_EQ(Limits("maxversions=2 or maxversions=3 or maxage=5m"), (L{{0, 2}, {300'000, 0}}));
  EXPECT_EQ(Limits("maxversions=2 or maxage=1s and maxversions=3"), (L{{0, 2}}))
      << "the second means nothing beside the first";
  EXPECT_EQ(Limits("(maxversions=2 or maxage=9s) and (maxversions=4 or maxage=3ms)"),
            (L{{0, 4}, {3, 2}, {9000, 0}}));
}

TEST(GarbageRule, SaysWhatIsWrong) {
  for (const std::string text :
       {"", "maxversions", "maxversions=0", "maxage=5", "maxage=5y", "maxversions=2 maxage=3s",
        "(maxage=3s", "maxversions=2 or", "maxage=99999999999d", "maxversions=-1"}) {
    EXPECT_EQ(GarbageRule::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(GarbageRule::Parse("maxversions=2 xor maxage=3s").status().message(),
            "garbage rule: 'and', 'or' or the end is expected, at byte 14");
}

TEST(GarbageRule, IsPartOfASchema) {
  MemoryTables tables;
  FamilySchema family{.name = "f", .garbage_rule = "maxage=10s and maxversions=1"};
  Table* table = tables.Create({.name = "t", .families = {family}});
  for (const uint64_t age_s : {30, 20, 5}) {
    tables.Put(table, "r", "f", "q", kStartMs - age_s * 1000, "v");
  }
  tables.Put(table, "r", "f", "old", kStartMs - 50'000, "v");
  TableReadOptions all;
  all.max_versions = 9;
  EXPECT_EQ(tables.Get(table, "r", all).size(), 2u) << "one each";
  tables.Reopen();
  EXPECT_EQ(tables->DescribeTable("t")->families[0], family);
  ASSERT_TRUE(tables->MajorCompact("t").ok());
  table = tables.Find("t");
  EXPECT_EQ(tables.Get(table, "r", all).size(), 2u);
  family.max_versions = 2;
  EXPECT_EQ(tables->AlterTable({.name = "t", .families = {family}}).code(),
            absl::StatusCode::kInvalidArgument)
      << "either the rule or VERSIONS";
  family.max_versions = 1;
  family.garbage_rule = "maxage=10s or";
  EXPECT_EQ(tables->AlterTable({.name = "t", .families = {family}}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace winnow
