// Any text as a filter of a table, as a regular expression and as a garbage rule.
#include "engine/table/filter_bounds.h"
#include "engine/table/filter_state.h"
#include "engine/table/garbage_rule.h"
#include "engine/table/regular_expression.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr std::string_view kWords[] = {"", "a", "ab", "b", "row", "x\xff", "substring:a"};

// Bounds may not leave out what the filter shows without them.
void CheckBounds(const winnow::FilterNode& node) {
  const winnow::ByteRanges rows = winnow::RowsOf(node);
  const winnow::ByteRanges columns = winnow::ColumnsOf(node);
  for (const std::string_view row : kWords) {
    for (const std::string_view column : kWords) {
      const auto state = winnow::NewFilterState(node, /*is_reverse=*/false);
      if (state->IsDone() || !state->BeginRow(row)) continue;
      const winnow::Shown shown = state->Show({"f", column, 5, "value", 0});
      if (shown == winnow::Shown::kNo || !state->EndRow()) continue;
      if (state->Retained({"f", column, 5, "value", 0}) == winnow::Shown::kNo) continue;
      const auto* const in_rows = rows.FirstEndingBehind(row);
      winnow::fuzz::Require(in_rows != nullptr && in_rows->Has(row), "a row is out of bounds");
      const auto* const in_columns = columns.FirstEndingBehind(column);
      winnow::fuzz::Require(in_columns != nullptr && in_columns->Has(column),
                            "a column is out of bounds");
    }
  }
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {
      "PrefixFilter('a') AND (QualifierFilter(=, 'binary:x') OR ValueFilter(>, 'binary:it''s'))",
      "SKIP ValueFilter(!=, 'regexstring:^[a-c]+(?:x|y){2,3}\\d$') OR WHILE PageFilter(3)",
      "SingleColumnValueFilter('f', 'q', <=, 'binaryprefix:v', true, false)",
      "DependentColumnFilter('f', 'q', true, =, 'substring:v') AND KeyOnlyFilter()",
      "FuzzyRowFilter('a?', '01') OR MultiRowRangeFilter('a', true, 'b', false)",
      "ColumnRangeFilter('a', true, '', false) AND ColumnPaginationFilter(1, 2)",
      "(?i)^(a|b)*?c{2,}[^\\w\\x00-\\x1f]$",
      "maxversions=3 or (maxage=7d and (maxversions=1 or maxage=30d))"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto filter = winnow::TableFilter::Parse(text); filter.ok()) {
    const auto again = winnow::TableFilter::Parse(filter->ToString());
    winnow::fuzz::Require(again.ok() && again->ToString() == filter->ToString(),
                          "a filter that is read can be written");
    CheckBounds(*winnow::TableFilterAccess::node(*filter));
  }
  if (const auto expression = winnow::RegularExpression::Compile(text, size % 2 == 0);
      expression.ok()) {
    for (const std::string_view word : kWords) (void)expression->FindIn(word);
  }
  if (const auto rule = winnow::GarbageRule::Parse(text); rule.ok()) {
    winnow::fuzz::Require(!rule->IsStricterThan(*rule), "a rule is not stricter than itself");
  }
  return 0;
}
