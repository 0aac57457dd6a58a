// Filters by example: what each of HBase's names shows, what the text refuses, and that bounds
// which a filter implies lose nothing.
#include "winnow/table_filter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

// Rows a, ab, b, c; columns f:x, f:xy, f:y, g:x; two versions of f:x.
class TableFilterTest : public testing::Test {
 protected:
  TableFilterTest() {
    table_ = tables_.Create(
        {.name = "t", .families = {{.name = "f", .max_versions = 3}, {.name = "g"}}});
    for (const std::string row : {"a", "ab", "b", "c"}) {
      tables_.Put(table_, row, "f", "x", 1, "old " + row);
      tables_.Put(table_, row, "f", "x", 5, "new " + row);
      tables_.Put(table_, row, "f", "xy", 2, "xy " + row);
      if (row != "b") tables_.Put(table_, row, "f", "y", 5, "y " + row);
      tables_.Put(table_, row, "g", "x", 3, "g " + row);
    }
  }

  // The cells as "row/family:qualifier=value", the newest of each column that is let through.
  std::string Shown(const std::string& text, ScanOptions options = {}) {
    const auto filter = TableFilter::Parse(text);
    EXPECT_TRUE(filter.ok()) << filter.status();
    if (!filter.ok()) return "";
    options.filter = *filter;
    return ShownBy(options);
  }
  std::string ShownBy(const ScanOptions& options) {
    std::vector<std::string> cells;
    RowResult row;
    const std::unique_ptr<RowScanner> scanner = tables_->Scan(options, table_);
    while (scanner->Next(&row)) {
      for (const CellView& cell : row.cells()) {
        cells.push_back(absl::StrCat(std::string(row.row()), "/", std::string(cell.family), ":",
                                     std::string(cell.qualifier), "=", std::string(cell.value)));
      }
    }
    EXPECT_TRUE(scanner->status().ok()) << scanner->status();
    return absl::StrJoin(cells, " ");
  }
  // The rows alone.
  std::string Rows(const std::string& filter, const ScanOptions& options = {}) {
    return tables_.Rows(table_, filter, options);
  }

  MemoryTables tables_;
  Table* table_ = nullptr;
};

TEST_F(TableFilterTest, OfRows) {
  EXPECT_EQ(Rows("PrefixFilter('a')"), "a ab");
  EXPECT_EQ(Rows("RowFilter(=, 'binary:ab')"), "ab");
  EXPECT_EQ(Rows("RowFilter(!=, 'binary:ab')"), "a b c");
  EXPECT_EQ(Rows("RowFilter(<, 'binary:b')"), "a ab");
  EXPECT_EQ(Rows("RowFilter(>=, 'binaryprefix:b')"), "b c");
  EXPECT_EQ(Rows("RowFilter(=, 'substring:B')"), "ab b");
  EXPECT_EQ(Rows("RowFilter(=, 'regexstring:^.b?$')"), "a ab b c");
  EXPECT_EQ(Rows("RowFilter(!=, 'regexstring:b')"), "a c");
  EXPECT_EQ(Rows("InclusiveStopFilter('ab')"), "a ab");
  ScanOptions backwards;
  backwards.reverse = true;
  EXPECT_EQ(Rows("InclusiveStopFilter('b')", backwards), "c b");
  EXPECT_EQ(Rows("PrefixFilter('a')", backwards), "ab a");
  EXPECT_EQ(Rows("PageFilter(2)"), "a ab");
  EXPECT_EQ(Rows("PageFilter(0)"), "");
  EXPECT_EQ(Rows("FuzzyRowFilter('?b', '10')"), "ab");
  EXPECT_EQ(Rows("FuzzyRowFilter('b', '0', 'c', '0')"), "b c");
  EXPECT_EQ(Rows("MultiRowRangeFilter('a', false, 'b', true, 'c', true, '', false)"), "ab b c");
  EXPECT_EQ(Rows("MultiRowRangeFilter('a', true, 'aa', true, 'b', true, 'bb', true)", backwards),
            "b a");
}

TEST_F(TableFilterTest, OfCells) {
  EXPECT_EQ(Shown("PrefixFilter('b') AND FamilyFilter(=, 'binary:g')"), "b/g:x=g b");
  EXPECT_EQ(Shown("PrefixFilter('b') AND QualifierFilter(>, 'binary:x')"), "b/f:xy=xy b");
  EXPECT_EQ(Shown("ValueFilter(=, 'binary:new c')"), "c/f:x=new c");
  EXPECT_EQ(Shown("ValueFilter(=, 'binary:old c')"), "c/f:x=old c")
      << "an older version that is kept, and lets through";
  EXPECT_EQ(Shown("PrefixFilter('c') AND ColumnPrefixFilter('x')"),
            "c/f:x=new c c/f:xy=xy c c/g:x=g c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND MultipleColumnPrefixFilter('xy', 'y')"),
            "c/f:xy=xy c c/f:y=y c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND ColumnRangeFilter('x', false, 'y', true)"),
            "c/f:xy=xy c c/f:y=y c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND ColumnRangeFilter('', true, 'x', true)"),
            "c/f:x=new c c/g:x=g c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND TimestampsFilter(2, 1)"), "c/f:x=old c c/f:xy=xy c");
  EXPECT_EQ(Shown("ColumnValueFilter('f', 'y', >, 'binary:y b')"), "c/f:y=y c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND KeyOnlyFilter() AND ColumnPrefixFilter('y')"), "c/f:y=");
  EXPECT_EQ(Shown("KeyOnlyFilter(true) AND ColumnValueFilter('f','y',=,'binary:y c')"),
            std::string("c/f:y=\0\0\0\3", 10));
  EXPECT_EQ(Shown("FirstKeyOnlyFilter()"), "a/f:x=new a ab/f:x=new ab b/f:x=new b c/f:x=new c");
  ScanOptions all;
  all.max_versions = 9;
  EXPECT_EQ(Shown("PrefixFilter('b') AND ColumnCountGetFilter(2)", all), "b/f:x=new b b/f:xy=xy b");
  EXPECT_EQ(Shown("PrefixFilter('b') AND ColumnPaginationFilter(1, 1)", all), "b/f:xy=xy b");
}

// What is taken away at the end of a row is neither counted nor seen by the filters behind.
TEST_F(TableFilterTest, GoByWhatIsLeftOfARow) {
  tables_.Put(table_, "aa", "f", "z", 7, "z");
  tables_.Put(table_, "d", "f", "x", 5, "new d");
  tables_.Put(table_, "d", "f", "y", 5, "y d");
  const std::string without_z = "SingleColumnValueExcludeFilter('f', 'z', =, 'binary:z')";
  EXPECT_EQ(Rows(without_z), "a ab b c d");
  EXPECT_EQ(Rows(without_z + " AND PageFilter(2)"), "a ab");
  EXPECT_EQ(Rows("PageFilter(2) AND " + without_z), "a ab");
  const std::string of_y = "DependentColumnFilter('f', 'y')";
  EXPECT_EQ(Rows(of_y), "a ab c d");
  ScanOptions from_b;
  from_b.start_row = "b";
  EXPECT_EQ(Rows(of_y + " AND PageFilter(1)", from_b), "c");
  EXPECT_EQ(Rows("PageFilter(1) AND " + of_y, from_b), "c");
  EXPECT_EQ(Rows("(" + of_y + " AND PageFilter(1)) OR RowFilter(=, 'binary:d')", from_b), "c d");

  EXPECT_EQ(Shown("SingleColumnValueExcludeFilter('f', 'x', =, 'binary:new a', true) AND "
                  "FirstKeyOnlyFilter()"),
            "a/f:xy=xy a");
  EXPECT_EQ(Shown("PrefixFilter('a') AND " + of_y + " AND ColumnPaginationFilter(1, 1)"),
            "a/f:y=y a ab/f:y=y ab");
  EXPECT_EQ(Shown("DependentColumnFilter('f', 'y', true) AND KeyOnlyFilter() AND "
                  "ColumnCountGetFilter(1) AND PageFilter(2)"),
            "a/f:x= ab/f:x=");
  EXPECT_EQ(Shown("SKIP " + of_y), "d/f:x=new d d/f:y=y d");
  EXPECT_EQ(Shown("WHILE " + of_y), "a/f:x=new a") << "up to its older version";
  EXPECT_EQ(Rows("SKIP (SingleColumnValueFilter('f', 'y', =, 'binary:y c', true) OR "
                 "ValueFilter(=, 'substring:new'))"),
            "c");
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'y', =, 'binary:y ab', true) AND "
                 "WHILE RowFilter(=, 'binary:ab')"),
            "ab");
}

// However many versions are shown, filters see all that are kept.
TEST_F(TableFilterTest, SeeVersionsThatAreNotAskedFor) {
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'x', =, 'binary:old ab', true, false)"), "ab");
  EXPECT_EQ(Rows("SKIP ValueFilter(!=, 'binary:old b')"), "a ab c");
  ScanOptions from_ab;
  from_ab.start_row = "ab";
  EXPECT_EQ(Shown("WHILE ValueFilter(!=, 'binary:old ab')", from_ab), "ab/f:x=new ab");
  tables_.Put(table_, "c", "f", "w", 1, "w");
  EXPECT_EQ(Shown("DependentColumnFilter('f', 'w')"), "c/f:w=w c/f:x=old c")
      << "the newest that is left";
  ScanOptions two;
  two.max_versions = 2;
  EXPECT_EQ(Shown("PrefixFilter('b') AND SKIP FamilyFilter(=, 'binaryprefix:')", two),
            "b/f:x=new b b/f:x=old b b/f:xy=xy b b/g:x=g b");
}

TEST_F(TableFilterTest, OfRowsByTheirCells) {
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'y', =, 'binary:y c')"), "b c")
      << "b has no such column";
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'y', =, 'binary:y c', true)"), "c");
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'x', =, 'substring:old')"), "") << "not the newest";
  ScanOptions all;
  all.max_versions = 9;
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'x', =, 'substring:old', true, false)", all),
            "a ab b c");
  EXPECT_EQ(Shown("SingleColumnValueExcludeFilter('f', 'y', =, 'binary:y c', true, true)"),
            "c/f:x=new c c/f:xy=xy c c/g:x=g c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND DependentColumnFilter('f', 'y')"),
            "c/f:x=new c c/f:y=y c");
  EXPECT_EQ(Shown("PrefixFilter('c') AND DependentColumnFilter('f', 'y', true)"), "c/f:x=new c");
  EXPECT_EQ(Shown("DependentColumnFilter('f', 'y', true, =, 'binary:y c')"), "c/f:x=new c");
  EXPECT_EQ(Rows("SKIP ValueFilter(!=, 'binary:y ab')"), "a b c");
  EXPECT_EQ(Rows("SKIP PageFilter(1)"), "a");
}

TEST_F(TableFilterTest, WhileEndsTheScan) {
  EXPECT_EQ(Rows("WHILE RowFilter(!=, 'binary:b')"), "a ab");
  EXPECT_EQ(Shown("WHILE ValueFilter(!=, 'binary:xy ab')"),
            "a/f:x=new a a/f:xy=xy a a/f:y=y a a/g:x=g a ab/f:x=new ab");
  EXPECT_EQ(Rows("WHILE PrefixFilter('b')"), "") << "ended by the first row";
  EXPECT_EQ(Rows("WHILE RowFilter(!=, 'binary:ab') AND PrefixFilter('b')"), "")
      << "ended before the rows that the other lets through";
  EXPECT_EQ(Rows("PrefixFilter('b') AND WHILE RowFilter(!=, 'binary:ab')"), "b");
}

TEST_F(TableFilterTest, BoundsLoseNothing) {
  EXPECT_EQ(Shown("PrefixFilter('b') OR ValueFilter(=, 'binary:y c')"),
            "b/f:x=new b b/f:xy=xy b b/g:x=g b c/f:y=y c");
  EXPECT_EQ(Shown("PrefixFilter('c') OR SingleColumnValueFilter('f', 'y', =, 'binary:y a', true)"),
            "a/f:x=new a a/f:xy=xy a a/f:y=y a a/g:x=g a "
            "c/f:x=new c c/f:xy=xy c c/f:y=y c c/g:x=g c");
  EXPECT_EQ(Shown("(ColumnPrefixFilter('y') AND PrefixFilter('c')) OR "
                  "SingleColumnValueFilter('f', 'y', =, 'binary:none', true)"),
            "c/f:y=y c")
      << "nothing of what is shown by a filter that does not keep the row";
  EXPECT_EQ(Shown("FirstKeyOnlyFilter() AND ColumnPrefixFilter('y')"), "")
      << "the first cell is none of these columns";
  EXPECT_EQ(Rows("PageFilter(1) AND SingleColumnValueFilter('f','y',=,'binary:y ab',true)"), "ab");
}

TEST_F(TableFilterTest, PrecedenceIsThatOfHBase) {
  const std::string text =
      "PrefixFilter('a') OR PrefixFilter('b') AND SKIP PageFilter(1) OR WHILE PageFilter(2)";
  EXPECT_EQ(
      TableFilter::Parse(text)->ToString(),
      "PrefixFilter('a') OR (PrefixFilter('b') AND SKIP PageFilter(1)) OR WHILE PageFilter(2)");
  EXPECT_EQ(TableFilter::Parse("SKIP (PrefixFilter('a') OR PrefixFilter('it''s'))")->ToString(),
            "SKIP (PrefixFilter('a') OR PrefixFilter('it''s'))");
}

TEST_F(TableFilterTest, GetMultiGetAndExistsAskItToo) {
  TableReadOptions options;
  options.filter = *TableFilter::Parse("ValueFilter(=, 'binary:xy b')");
  EXPECT_EQ(tables_.Get(table_, "b", options), std::vector<std::string>{"b/f:xy@2=xy b"});
  EXPECT_EQ(tables_.Get(table_, "c", options), std::vector<std::string>{});
  EXPECT_TRUE(*tables_->Exists(options, table_, "b"));
  EXPECT_FALSE(*tables_->Exists(options, table_, "c"));
  const std::vector<std::string_view> rows = {"c", "b", "a"};
  std::vector<RowResult> results;
  ASSERT_TRUE(tables_->MultiGet(options, table_, rows, &results).ok());
  ASSERT_EQ(results.size(), 3u);
  EXPECT_TRUE(results[0].empty());
  EXPECT_EQ(results[1].row(), "b");
  EXPECT_EQ(results[1].cells().size(), 1u);
}

// Families are read one behind the other, and each begins with a first column of its own.
TEST_F(TableFilterTest, EachFamilyIsJudgedByItsOwnColumns) {
  Table* const table =
      tables_.Create({.name = "u", .families = {{.name = "f"}, {.name = "g", .max_versions = 2}}});
  tables_.Put(table, "r", "f", "city", 1, "Ulm");
  tables_.Put(table, "r", "g", "secret", 1, "41");
  tables_.Put(table, "r", "g", "secret", 2, "42");
  const std::vector<std::string_view> rows = {"r", "r"};
  const auto expect = [&](const std::string& text, const std::vector<std::string>& cells) {
    TableReadOptions options;
    options.filter = *TableFilter::Parse(text);
    options.max_versions = 2;
    EXPECT_EQ(tables_.Get(table, "r", options), cells) << text;
    EXPECT_EQ(*tables_->Exists(options, table, "r"), !cells.empty()) << text;
    std::vector<RowResult> results;
    ASSERT_TRUE(tables_->MultiGet(options, table, rows, &results).ok());
    for (const RowResult& result : results) EXPECT_EQ(result.cells().size(), cells.size()) << text;
    const auto holds = tables_->CheckAndMutate({}, table, "r", options.filter, TableBatch());
    ASSERT_TRUE(holds.ok()) << holds.status();
    EXPECT_EQ(*holds, !cells.empty()) << text;
  };
  const std::string city = "r/f:city@1=Ulm";
  const std::vector<std::string> secrets = {"r/g:secret@2=42", "r/g:secret@1=41"};
  expect("QualifierFilter(=, 'regexstring:^city$')", {city});
  expect("QualifierFilter(=, 'regexstring:^secret$')", secrets);
  expect("QualifierFilter(=, 'regexstring:^none$')", {});
  expect("QualifierFilter(!=, 'regexstring:^none$')", {city, secrets[0], secrets[1]});
}

TEST_F(TableFilterTest, ARawReadGivesEveryMarkerThatItLetsThrough) {
  TableBatch batch;
  batch.DeleteFamily(table_, "b", "f", 1);
  batch.DeleteFamily(table_, "b", "f", 0);
  batch.DeleteColumn(table_, "b", "f", "x", 3);
  batch.DeleteColumn(table_, "b", "f", "x", 4);
  tables_.Write(batch);
  ScanOptions raw;
  raw.raw = true;
  raw.row_prefix = "b";
  raw.columns = {{"f", std::nullopt}};
  for (const bool reverse : {false, true}) {
    raw.reverse = reverse;
    raw.filter = {};
    EXPECT_EQ(ShownBy(raw), "b/f:= b/f:= b/f:x=new b b/f:x= b/f:x= b/f:xy=xy b");
    EXPECT_EQ(Shown("PrefixFilter('b')", raw), ShownBy(raw));
    EXPECT_EQ(Shown("TimestampsFilter(0, 1)", raw), "b/f:= b/f:= b/f:x=old b");
  }
}

TEST_F(TableFilterTest, AnOrShowsNoValueOfAFilterThatDoesNotKeepTheRow) {
  const std::string a = "a/f:x= a/f:xy= a/f:y= a/g:x=";
  const std::string c = "c/f:x=new c c/f:xy=xy c c/f:y=y c c/g:x=g c";
  const std::string single = "SingleColumnValueFilter('f', 'y', =, 'binary:y c', true)";
  ScanOptions options;
  options.row_prefix = "a";
  EXPECT_EQ(Shown("KeyOnlyFilter() OR " + single, options),
            a + " ab/f:x= ab/f:xy= ab/f:y= ab/g:x=");
  options.row_prefix = "c";
  EXPECT_EQ(Shown("KeyOnlyFilter() OR " + single, options), c);
  EXPECT_EQ(Shown("KeyOnlyFilter() AND (PrefixFilter('a') OR " + single + ")", options),
            "c/f:x= c/f:xy= c/f:y= c/g:x=");
  // A filter in the list that itself decides by cells, and what it has taken away.
  options.row_prefix = "ab";
  EXPECT_EQ(
      Shown("(KeyOnlyFilter() OR ColumnPrefixFilter('y')) AND FamilyFilter(=, 'binary:f') OR " +
                single,
            options),
      "ab/f:x= ab/f:xy= ab/f:y=y ab");
  const std::string length("\0\0\0\4", 4);
  EXPECT_EQ(Shown("(KeyOnlyFilter(true) AND ColumnPrefixFilter('y')) OR " + single, options),
            "ab/f:y=" + length);
  EXPECT_EQ(Shown("(KeyOnlyFilter(true) AND ColumnPrefixFilter('y')) OR (KeyOnlyFilter() AND " +
                      single + ")",
                  options),
            "ab/f:y=" + length);
}

TEST_F(TableFilterTest, ResultsInPartsNeedAFilterThatDecidesByCells) {
  ScanOptions parts;
  parts.max_cells = 1;
  EXPECT_EQ(Shown("PrefixFilter('b')", parts), "b/f:x=new b b/f:xy=xy b b/g:x=g b");
  parts.filter = *TableFilter::Parse("SKIP PrefixFilter('b')");
  RowResult row;
  const auto scanner = tables_->Scan(parts, table_);
  EXPECT_FALSE(scanner->Next(&row));
  EXPECT_EQ(scanner->status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TableFilterTest, SeesNoCellThatIsNotThere) {
  TableBatch batch;
  batch.DeleteColumn(table_, "c", "f", "x");
  batch.DeleteRow(table_, "a");
  tables_.Write(batch);
  EXPECT_EQ(Rows("SKIP ValueFilter(!=, 'substring:x')"), "");
  EXPECT_EQ(Shown("PrefixFilter('c') AND FirstKeyOnlyFilter()"), "c/f:xy=xy c");
  EXPECT_EQ(Rows("ValueFilter(=, 'substring:a')"), "ab");
}

TEST(TableFilterText, SaysWhatIsWrongAndWhere) {
  const auto error = [](const std::string& text) {
    return std::string(TableFilter::Parse(text).status().message());
  };
  EXPECT_EQ(error(""), "filter: the name of a filter is expected, at byte 0");
  EXPECT_EQ(error("NoFilter('a')"), "filter: there is no filter 'NoFilter', at byte 0");
  EXPECT_EQ(error("PrefixFilter('a'"), "filter: PrefixFilter: ')' is expected, at byte 16");
  EXPECT_EQ(error("PrefixFilter('a"), "filter: a quote is not closed, at byte 14");
  EXPECT_EQ(error("PrefixFilter()"), "filter: PrefixFilter takes more arguments, at byte 13");
  EXPECT_EQ(error("PageFilter(-1)"), "filter: a whole number is expected, at byte 11");
  EXPECT_EQ(error("RowFilter(<, 'substring:a')"),
            "filter: substring and regexstring compare by = and != alone, at byte 13");
  EXPECT_EQ(error("RowFilter(=, 'regexstring:a(')"),
            "filter: regular expression: a '(' without its ')', at byte 2, at byte 13");
  EXPECT_EQ(error("PrefixFilter('a') PrefixFilter('b')"),
            "filter: AND, OR or the end is expected, at byte 18");
  EXPECT_EQ(error("FuzzyRowFilter('ab', '0')"),
            "filter: FuzzyRowFilter: a mask is as long as its row, at byte 15");
  EXPECT_FALSE(TableFilter::Parse(std::string(200, '(') + "PageFilter(1)").ok());
  EXPECT_FALSE(TableFilter::Parse(std::string(70'000, ' ')).ok());
}

TEST(TableFilterText, IsWrittenAsItIsRead) {
  for (const std::string text :
       {"KeyOnlyFilter(false)", "FirstKeyOnlyFilter()", "PrefixFilter('a')",
        "MultipleColumnPrefixFilter('a', 'b')", "ColumnPaginationFilter(1, 2)",
        "TimestampsFilter(1, 2, 3)", "RowFilter(<=, 'binary:a:b')",
        "ColumnRangeFilter('a', true, 'b', false)",
        "SingleColumnValueFilter('f', 'q', !=, 'regexstringnocase:a|b', false, true)",
        "DependentColumnFilter('f', 'q', true, =, 'binary:v')",
        "DependentColumnFilter('f', 'q', false)", "FuzzyRowFilter('a?', '01', 'b', '0')",
        "MultiRowRangeFilter('a', true, 'b', false)", "SKIP WHILE PageFilter(3)"}) {
    const auto filter = TableFilter::Parse(text);
    ASSERT_TRUE(filter.ok()) << filter.status();
    EXPECT_EQ(filter->ToString(), text);
  }
}

TEST(TableFilterText, NestingIsBoundedWhateverWayAFilterIsMade) {
  const TableFilter page = *TableFilter::Parse("PageFilter(1)");
  TableFilter long_list = page;
  for (int i = 0; i < 1000; i++) {
    const auto longer = TableFilter::And({long_list, page});
    ASSERT_TRUE(longer.ok()) << longer.status();
    long_list = *longer;
  }
  EXPECT_EQ(TableFilter::Parse(long_list.ToString())->ToString(), long_list.ToString());
  TableFilter deep = page;
  for (int i = 0; i <= 100; i++) {
    const auto deeper = i % 2 == 0 ? TableFilter::And({deep, page}) : TableFilter::Or({deep, page});
    ASSERT_TRUE(deeper.ok()) << i << deeper.status();
    deep = *deeper;
  }
  EXPECT_EQ(TableFilter::Parse(deep.ToString())->ToString(), deep.ToString());
  EXPECT_EQ(TableFilter::Or({deep, page}).status().code(), absl::StatusCode::kInvalidArgument);
  // Each pair of parentheses has an AND inside an OR, two levels of what ToString writes.
  std::string text = "PageFilter(1)";
  for (int i = 0; i < 60; i++) text = "(PageFilter(1) OR PageFilter(2) AND " + text + ")";
  EXPECT_EQ(TableFilter::Parse(text).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace winnow
