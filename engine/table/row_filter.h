// A filter in the reads of rows: asks it about what cursors come to, and gathers what it shows.
#ifndef WINNOW_ENGINE_TABLE_ROW_FILTER_H_
#define WINNOW_ENGINE_TABLE_ROW_FILTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/byte_ranges.h"
#include "engine/table/family_cursor.h"
#include "engine/table/filter_state.h"
#include "engine/table/row_result.h"

namespace winnow {

class RowFilter {
 public:
  // `options` have a filter. The cursors show all versions that are kept: their max_versions counts
  // those that the filter shows.
  RowFilter(const TableReadOptions& options, bool is_reverse);

  // Where alone there may be something to show.
  const ByteRanges& rows() const { return rows_; }
  // What is shown of a row is known only at its end.
  bool decides_late() const { return decides_late_; }
  // The row is not escaped. False: nothing of it is shown.
  bool BeginRow(std::string_view row);
  // Asks about the cell at which the cursor stands, adds it to the result if it is shown, and moves
  // the cursor on. A family has one cursor in a row.
  void Take(std::string_view family, FamilyCursor* cursor, RowResultBuilder* result);
  // Nothing that follows in this row need be asked about.
  bool IsRowDone() const;
  // At the end of the row, when its last result is finished: takes away what is not shown after
  // all.
  void EndRow(RowResultBuilder* result);
  // No row behind this one is shown.
  bool IsDone() const { return state_->IsDone(); }

 private:
  const TableFilter filter_;
  const uint64_t max_versions_;
  const bool is_raw_;
  const ByteRanges rows_;
  const bool decides_late_;
  // What it refuses says more than that the cell is not shown, so that it sees all of them.
  const bool asks_about_all_;
  const std::unique_ptr<FilterState> state_;

  // Of the row.
  size_t num_asked_ = 0;
  bool shows_any_ = false;
  // Of the cells of the result, if it is decided late.
  struct ShownCell {
    size_t number;
    Shown shown;
  };
  std::vector<ShownCell> shown_;
  // Of the column, which has its number in its family alone.
  std::string family_;
  uint64_t column_number_ = 0;  // 0: none yet
  uint64_t num_shown_ = 0;      // versions, not markers
  std::string qualifier_;
};

// The parts of queries that a filter bounds.
void BoundColumns(const TableFilter& filter, CellQuery* query);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_FILTER_H_
