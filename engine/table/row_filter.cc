#include "engine/table/row_filter.h"

#include <algorithm>
#include <limits>

#include "engine/table/cell_key.h"
#include "engine/table/filter_bounds.h"

namespace winnow {

namespace {

const FilterNode& NodeOf(const TableFilter& filter) { return *TableFilterAccess::node(filter); }

}  // namespace

RowFilter::RowFilter(const TableReadOptions& options, bool is_reverse)
    : filter_(options.filter),
      max_versions_(options.max_versions),
      is_raw_(options.raw),
      rows_(RowsOf(NodeOf(filter_))),
      decides_late_(DecidesRows(NodeOf(filter_))),
      asks_about_all_(decides_late_ || MayEndReads(NodeOf(filter_))),
      state_(NewFilterState(NodeOf(filter_), is_reverse)) {}

bool RowFilter::BeginRow(std::string_view row) {
  num_asked_ = 0;
  shows_any_ = false;
  shown_.clear();
  column_number_ = 0;
  return state_->BeginRow(row);
}

// A cell that is refused counts for nothing but its number. The qualifier is unescaped once a
// column, not once a version.
void RowFilter::Take(std::string_view family, FamilyCursor* cursor, RowResultBuilder* result) {
  if (cursor->column_number() != column_number_ || family != family_) {
    family_.assign(family);
    column_number_ = cursor->column_number();
    num_shown_ = 0;
    qualifier_.clear();
    AppendUnescaped(cursor->qualifier(), &qualifier_);
  }
  const bool is_version = cursor->type() == CellType::kPut;
  // Only a raw read is still in the column then: behind its last version may be markers.
  const bool is_over = is_version && num_shown_ >= max_versions_ && !decides_late_;
  if (is_over && !asks_about_all_) return cursor->Next();
  const size_t number = num_asked_++;
  const Shown shown =
      state_->Show({family, qualifier_, cursor->timestamp(), cursor->value(), number});
  if (shown != Shown::kNo && !is_over) {
    // What is decided late may show a value in another form after all.
    result->Add(family, *cursor, decides_late_ ? Shown::kWhole : shown);
    shows_any_ = true;
    if (decides_late_) shown_.push_back({number, shown});
    if (is_version) num_shown_++;
    // Further versions are passed over without asking the filter.
    if (num_shown_ >= max_versions_ && !is_raw_ && !asks_about_all_) return cursor->NextColumn();
  }
  cursor->Next();
}

bool RowFilter::IsRowDone() const {
  return (!asks_about_all_ && state_->IsRowDone()) || (!decides_late_ && state_->IsDone());
}

void RowFilter::EndRow(RowResultBuilder* result) {
  // A row of which nothing is shown does not count for a PageFilter.
  if (!shows_any_) return;
  const bool is_kept = state_->EndRow();
  if (!decides_late_) return;
  if (!is_kept) return result->Clear();
  // shown_ and the cells of the result have grown side by side, so that an index is good for both.
  // Of each column the newest versions that are left are shown: which those are is known by now.
  result->Retain([&](size_t index) {
    const CellView& cell = result->cell(index);
    const auto& [number, shown] = shown_[index];
    if (index == 0 || cell.qualifier != qualifier_ || cell.family != family_) {
      // Copies: what is taken from a value may move the cells' bytes.
      qualifier_.assign(cell.qualifier);
      family_.assign(cell.family);
      num_shown_ = 0;
    }
    const Shown left = Both(
        shown, state_->Retained({cell.family, cell.qualifier, cell.timestamp, cell.value, number}));
    if (left == Shown::kNo || cell.type != CellType::kPut) return left;
    return num_shown_++ < max_versions_ ? left : Shown::kNo;
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
