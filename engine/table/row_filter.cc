#include "engine/table/row_filter.h"

#include <algorithm>
#include <limits>

#include "engine/table/cell_key.h"
#include "engine/table/filter_bounds.h"

namespace winnow {

namespace {

const FilterNode& NodeOf(const TableFilter& filter) { return *TableFilterAccess::node(filter); }

}  // namespace

RowFilter::RowFilter(const TableFilter& filter, uint64_t max_versions, bool is_reverse)
    : filter_(filter),
      max_versions_(max_versions),
      rows_(RowsOf(NodeOf(filter))),
      decides_late_(DecidesRows(NodeOf(filter))),
      ends_rows_early_(!decides_late_ && !MayEndReads(NodeOf(filter))),
      state_(NewFilterState(NodeOf(filter), is_reverse)) {}

bool RowFilter::BeginRow(std::string_view row) {
  num_asked_ = 0;
  shows_any_ = false;
  shown_.clear();
  column_cursor_ = nullptr;
  return state_->BeginRow(row);
}

// A cell that is refused counts for nothing but its number. The qualifier is unescaped once a
// column, not once a version.
void RowFilter::Take(std::string_view family, FamilyCursor* cursor, RowResultBuilder* result) {
  if (cursor != column_cursor_ || cursor->column_number() != column_number_) {
    column_cursor_ = cursor;
    column_number_ = cursor->column_number();
    num_shown_ = 0;
    qualifier_.clear();
    AppendUnescaped(cursor->qualifier(), &qualifier_);
  }
  const size_t number = num_asked_++;
  const Shown shown =
      state_->Show({family, qualifier_, cursor->timestamp(), cursor->value(), number});
  if (shown != Shown::kNo) {
    result->Add(family, *cursor, shown);
    shows_any_ = true;
    if (decides_late_) shown_.push_back(number);
    // Further versions are passed over without asking the filter.
    if (++num_shown_ >= max_versions_) return cursor->NextColumn();
  }
  cursor->Next();
}

// Where a filter decides by the whole row, or ends the read by what it refuses, it is asked about
// everything.
bool RowFilter::IsRowDone() const {
  return (ends_rows_early_ && state_->IsRowDone()) || (!decides_late_ && state_->IsDone());
}

void RowFilter::EndRow(RowResultBuilder* result) {
  // A row of which nothing is shown does not count for a PageFilter.
  if (!shows_any_) return;
  const bool is_kept = state_->EndRow();
  if (!decides_late_) return;
  if (!is_kept) return result->Clear();
  // shown_ and the cells of the result have grown side by side, so that an index is good for both.
  result->Retain([&](size_t index) {
    const CellView& cell = result->cell(index);
    return state_->RetainsCell(
        {cell.family, cell.qualifier, cell.timestamp, cell.value, shown_[index]});
  });
}

void BoundColumns(const TableFilter& filter, CellQuery* query) {
  // The filter sees all versions, and RowFilter counts those that it shows.
  query->max_versions = std::numeric_limits<uint64_t>::max();
  const ByteRanges columns = ColumnsOf(NodeOf(filter));
  query->has_column_ranges = !columns.is_all();
  // A raw read has markers of rows, too, which are of no column.
  if (!query->has_column_ranges || query->is_raw) {
    query->has_column_ranges = false;
    return;
  }
  // Escaping keeps the order, so that ranges of qualifiers are ranges of their text in keys.
  for (const ByteRanges::Range& range : columns.ranges()) {
    CellQuery::ColumnRange& escaped = query->column_ranges.emplace_back();
    AppendEscaped(range.lower, &escaped.lower);
    AppendEscaped(range.upper, &escaped.upper);
    escaped.is_open = range.is_open;
  }
}

}  // namespace winnow
