// One filter answers for rows and for columns: what it is asked for, and how that went, is counted
// apart.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

FilterStatistics Of(const std::vector<FilterStatistics>& rows, std::string_view part) {
  FilterStatistics sum;
  for (const FilterStatistics& row : rows) {
    if (row.column_family != "t:f" || row.part != part) continue;
    sum.checked += row.checked;
    sum.rejected += row.rejected;
    sum.true_positive += row.true_positive;
    sum.false_positive += row.false_positive;
  }
  return sum;
}

TEST(TableFilterParts, AreCountedApart) {
  constexpr uint64_t kRows = 200;
  MemoryTables tables;
  Table* table =
      tables.Create({.name = "t", .families = {{.name = "f", .bloom_filter = "ROWCOL"}}});
  for (uint64_t i = 0; i < kRows; i++) {
    tables.Put(table, absl::StrCat("row", 2 * i), "f", "q", 1, "v");
  }
  ASSERT_TRUE(tables->Flush("t").ok());
  std::string value;
  for (uint64_t i = 0; i < kRows; i++) {
    const std::string row = absl::StrCat("row", 2 * i);
    EXPECT_TRUE(tables->GetCell({}, table, row, "f", "q", &value).ok());
    EXPECT_TRUE(absl::IsNotFound(tables->GetCell({}, table, row, "f", "other", &value)));
    EXPECT_EQ(tables.Get(table, absl::StrCat("row", 2 * i + 1, "x"), {}).size(), 0u);
  }
  const auto check = [&](const std::vector<FilterStatistics>& rows) {
    const FilterStatistics row = Of(rows, "component:1");
    const FilterStatistics column = Of(rows, "component:2");
    // But for those outside the file's range of keys.
    EXPECT_GE(row.checked, kRows - 3);
    EXPECT_LE(row.checked, kRows);
    EXPECT_EQ(row.true_positive, 0u);
    EXPECT_GT(row.rejected, kRows * 9 / 10);
    EXPECT_GE(column.checked, 2 * kRows - 1);
    EXPECT_LE(column.checked, 2 * kRows);
    EXPECT_EQ(column.true_positive, kRows);
    EXPECT_GT(column.rejected, kRows * 9 / 10);
    EXPECT_EQ(Of(rows, "whole").checked, 0u);
  };
  check(tables->db().GetStatistics().filters);
  EXPECT_TRUE(absl::StrContains(*tables->db().GetProperty("winnow.filter-stats-json"),
                                "\"part\":\"component:2\""));
  tables.Reopen();
  check(tables->db().GetStatistics().in_all.filters);
}

// MultiGet asks about many rows at once and looks up what is left: each row counts once in each
// file, whichever of the two said what it comes to.
TEST(TableFilterParts, RowsOfMultiGetAreCountedOnce) {
  constexpr uint64_t kRows = 3000;
  MemoryTables tables;
  Table* table = tables.Create({.name = "t", .families = {{.name = "f", .bloom_filter = "ROW"}}});
  std::vector<std::string> rows;
  for (uint64_t i = 0; i < kRows; i++) {
    rows.push_back(absl::StrCat("row", 100'000 + i));
    if (i % 3 == 0) tables.Put(table, rows.back(), "f", "q", 1, "v");
  }
  tables.Put(table, "row999999", "f", "q", 1, "v");  // so that all lie within the file's range
  ASSERT_TRUE(tables->Flush("t").ok());
  const std::vector<std::string_view> views(rows.begin(), rows.end());
  TableReadOptions options;
  options.columns = {{"f", "q"}};
  std::vector<RowResult> results;
  ASSERT_TRUE(tables->MultiGet(options, table, views, &results).ok());
  const FilterStatistics counted = Of(tables->db().GetStatistics().filters, "component:1");
  EXPECT_EQ(counted.checked, kRows);
  EXPECT_EQ(counted.true_positive, kRows / 3);
  EXPECT_EQ(counted.rejected + counted.false_positive, kRows - kRows / 3);
  EXPECT_GT(counted.MeasuredFpr(), 0.0);
  EXPECT_LT(counted.MeasuredFpr(), 0.05);
  // Where it ends with the question nobody finds out whether the filters were right.
  ASSERT_TRUE(tables->MayExist(options, table, rows.front()).ok());
  EXPECT_EQ(Of(tables->db().GetStatistics().filters, "component:1").checked, kRows);
}

}  // namespace
}  // namespace winnow
