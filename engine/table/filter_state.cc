// The filters of rows and of cells; those that combine others are in filter_lists.cc.
#include "engine/table/filter_state.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "engine/table/filter_lists.h"

namespace winnow {

namespace {

Shown WholeIf(bool is_shown) { return is_shown ? Shown::kWhole : Shown::kNo; }

// --- Of rows ---

// Decides by the row's bytes alone. The ranges are those that bound the read; rows outside them
// still come up, for example where an OR reads them for another filter.
class RowState final : public FilterState {
 public:
  explicit RowState(const FilterNode& node) : node_(node) {}
  bool BeginRow(std::string_view row) override {
    switch (node_.kind) {
      case FilterKind::kRow:
        return node_.comparison->Holds(row);
      case FilterKind::kFuzzyRow:
        return IsFuzzyMatch(row);
      default: {  // by range
        // O(log n) for n ranges, of which a filter may have thousands.
        const ByteRanges::Range* const range = node_.ranges.FirstEndingBehind(row);
        return range != nullptr && range->Has(row);
      }
    }
  }

 private:
  // Behind the bytes that the mask covers a row may go on with anything.
  bool IsFuzzyMatch(std::string_view row) const {
    for (size_t i = 0; i < node_.strings.size(); i += 2) {
      const std::string& wanted = node_.strings[i];
      const std::string& mask = node_.strings[i + 1];
      bool matches = row.size() >= wanted.size();
      for (size_t at = 0; matches && at < wanted.size(); at++) {
        matches = mask[at] == '1' || row[at] == wanted[at];
      }
      if (matches) return true;
    }
    return false;
  }

  const FilterNode& node_;
};

class InclusiveStopState final : public FilterState {
 public:
  InclusiveStopState(const FilterNode& node, bool is_reverse)
      : stop_(node.strings.front()), is_reverse_(is_reverse) {}
  bool BeginRow(std::string_view row) override {
    // Rows come in order: behind the first that is beyond the stop there is none to show.
    is_done_ = is_reverse_ ? row < stop_ : row > stop_;
    return !is_done_;
  }
  bool IsDone() const override { return is_done_; }

 private:
  const std::string& stop_;
  const bool is_reverse_;
  bool is_done_ = false;
};

// Only rows that have something to show come to EndRow, so that others take no place on the page.
class PageState final : public FilterState {
 public:
  explicit PageState(const FilterNode& node) : left_(node.numbers.front()) {}
  bool BeginRow(std::string_view) override { return left_ > 0; }
  bool EndRow() override {
    if (left_ == 0) return false;
    left_--;
    return true;
  }
  bool IsDone() const override { return left_ == 0; }

 private:
  uint64_t left_;
};

// --- Of cells ---

// Decides by the cell alone and remembers nothing.
class CellState final : public FilterState {
 public:
  explicit CellState(const FilterNode& node) : node_(node) {}
  Shown Show(const FilterCell& cell) override { return WholeIf(Holds(cell)); }

 private:
  bool Holds(const FilterCell& cell) const {
    switch (node_.kind) {
      case FilterKind::kFamily:
        return node_.comparison->Holds(cell.family);
      case FilterKind::kQualifier:
        return node_.comparison->Holds(cell.qualifier);
      case FilterKind::kValue:
        return node_.comparison->Holds(cell.value);
      case FilterKind::kColumnValue:
        return cell.family == node_.strings[0] && cell.qualifier == node_.strings[1] &&
               node_.comparison->Holds(cell.value);
      case FilterKind::kTimestamps:
        // Parse has put them in order.
        return std::binary_search(node_.numbers.begin(), node_.numbers.end(), cell.timestamp);
      default:
        return true;
    }
  }

  const FilterNode& node_;
};

// The ranges are those that bound the read; columns outside them still come up, for example in an
// OR.
class ColumnState final : public FilterState {
 public:
  explicit ColumnState(const FilterNode& node) : columns_(node.ranges) {}
  Shown Show(const FilterCell& cell) override {
    const ByteRanges::Range* const range = columns_.FirstEndingBehind(cell.qualifier);
    return WholeIf(range != nullptr && range->Has(cell.qualifier));
  }

 private:
  const ByteRanges& columns_;
};

// The value is left out of the result (RowResultBuilder::Add); filters behind this one still see
// it.
class KeyOnlyState final : public FilterState {
 public:
  explicit KeyOnlyState(const FilterNode& node)
      : shown_(node.flags.front() ? Shown::kKeyAndLength : Shown::kKey) {}
  Shown Show(const FilterCell&) override { return shown_; }

 private:
  const Shown shown_;
};

// The newest cell of each of so many columns of a row, behind so many others; at most one cell of
// the row, for FirstKeyOnlyFilter.
class ColumnCountState final : public FilterState {
 public:
  ColumnCountState(uint64_t offset, uint64_t limit) : offset_(offset), limit_(limit) {}
  bool BeginRow(std::string_view) override {
    num_columns_ = 0;
    return true;
  }
  Shown Show(const FilterCell& cell) override {
    // The cells of a column come one after the other: the one before tells whether it goes on.
    const bool is_new = num_columns_ == 0 || cell.qualifier != qualifier_ || cell.family != family_;
    if (!is_new) return Shown::kNo;
    family_.assign(cell.family);
    qualifier_.assign(cell.qualifier);
    num_columns_++;
    // Columns in front of the offset are counted and not shown.
    return WholeIf(num_columns_ > offset_ && num_columns_ - offset_ <= limit_);
  }
  // Spares the rest of a wide row, where nothing else has to see it (RowFilter::IsRowDone).
  bool IsRowDone() const override {
    return num_columns_ > offset_ && num_columns_ - offset_ >= limit_;
  }

 private:
  const uint64_t offset_;
  const uint64_t limit_;
  uint64_t num_columns_ = 0;
  std::string family_;
  std::string qualifier_;
};

// --- Of rows by their cells ---

// The column may come last in its row: cells are shown for the time being, and the end of the row
// tells whether they stay. Parse has filled in the flags that the text left out.
class SingleColumnValueState final : public FilterState {
 public:
  explicit SingleColumnValueState(const FilterNode& node)
      : node_(node), shows_missing_(!node.flags[0]), latest_alone_(node.flags[1]) {}
  bool BeginRow(std::string_view) override {
    is_found_ = false;
    holds_ = false;
    return true;
  }
  Shown Show(const FilterCell& cell) override {
    // The newest version comes first.
    const bool counts = IsColumn(cell) && !(is_found_ && latest_alone_);
    if (!counts) return Shown::kWhole;
    is_found_ = true;
    holds_ = holds_ || node_.comparison->Holds(cell.value);
    return Shown::kWhole;
  }
  bool EndRow() override { return is_found_ ? holds_ : shows_missing_; }
  Shown Retained(const FilterCell& cell) const override {
    return WholeIf(node_.kind == FilterKind::kSingleColumnValue || !IsColumn(cell));
  }

 private:
  bool IsColumn(const FilterCell& cell) const {
    return cell.qualifier == node_.strings[1] && cell.family == node_.strings[0];
  }

  const FilterNode& node_;
  const bool shows_missing_;
  const bool latest_alone_;
  bool is_found_ = false;
  bool holds_ = false;
};

// The column may come behind the cells that depend on it. So all are shown at first, its timestamps
// are gathered, and what has another is taken back at the end. Memory: the column's versions in one
// row.
class DependentColumnState final : public FilterState {
 public:
  explicit DependentColumnState(const FilterNode& node) : node_(node) {}
  bool BeginRow(std::string_view) override {
    timestamps_.clear();
    return true;
  }
  Shown Show(const FilterCell& cell) override {
    if (cell.qualifier != node_.strings[1] || cell.family != node_.strings[0]) {
      return Shown::kWhole;
    }
    // Its timestamp does not count either.
    if (node_.comparison && !node_.comparison->Holds(cell.value)) return Shown::kNo;
    timestamps_.insert(cell.timestamp);
    return WholeIf(!node_.flags.front());
  }
  Shown Retained(const FilterCell& cell) const override {
    return WholeIf(timestamps_.contains(cell.timestamp));
  }

 private:
  const FilterNode& node_;
  std::set<uint64_t> timestamps_;
};

}  // namespace

std::unique_ptr<FilterState> NewFilterState(const FilterNode& node, bool is_reverse) {
  switch (node.kind) {
    case FilterKind::kEverything:
      return std::make_unique<FilterState>();
    case FilterKind::kPrefix:
    case FilterKind::kRow:
    case FilterKind::kFuzzyRow:
    case FilterKind::kMultiRowRange:
      return std::make_unique<RowState>(node);
    case FilterKind::kInclusiveStop:
      return std::make_unique<InclusiveStopState>(node, is_reverse);
    case FilterKind::kPage:
      return std::make_unique<PageState>(node);
    case FilterKind::kKeyOnly:
      return std::make_unique<KeyOnlyState>(node);
    case FilterKind::kFirstKeyOnly:
      return std::make_unique<ColumnCountState>(0, 1);
    case FilterKind::kColumnCountGet:
      return std::make_unique<ColumnCountState>(0, node.numbers[0]);
    case FilterKind::kColumnPagination:
      // The text gives the limit first, then the offset.
      return std::make_unique<ColumnCountState>(node.numbers[1], node.numbers[0]);
    case FilterKind::kColumnPrefix:
    case FilterKind::kMultipleColumnPrefix:
    case FilterKind::kColumnRange:
      return std::make_unique<ColumnState>(node);
    case FilterKind::kFamily:
    case FilterKind::kQualifier:
    case FilterKind::kValue:
    case FilterKind::kColumnValue:
    case FilterKind::kTimestamps:
      return std::make_unique<CellState>(node);
    case FilterKind::kSingleColumnValue:
    case FilterKind::kSingleColumnValueExclude:
      return std::make_unique<SingleColumnValueState>(node);
    case FilterKind::kDependentColumn:
      return std::make_unique<DependentColumnState>(node);
    case FilterKind::kAnd:
    case FilterKind::kOr:
    case FilterKind::kSkip:
    case FilterKind::kWhile:
      return NewFilterListState(node, is_reverse);
  }
  return std::make_unique<FilterState>();
}

}  // namespace winnow
