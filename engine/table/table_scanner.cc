#include "engine/table/table_scanner.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"

namespace winnow {

namespace {

// Below all keys of a row and of those behind it, and above all keys of it and of those before.
std::string BeforeRow(std::string_view row) {
  std::string key;
  AppendRowMarkerPrefix(row, &key);
  return key;
}
std::string BehindRow(std::string_view row) {
  std::string key;
  AppendCellPrefix(row, &key);
  return EndOfPrefix(key);
}

// The smallest string above all that begin with `prefix`; empty: there is none.
std::string BehindPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

}  // namespace

TableScanner::Bounds TableScanner::BoundsOf(const ScanOptions& options) {
  Bounds bounds;
  if (!options.reverse) {
    if (options.start_row) bounds.lower = BeforeRow(*options.start_row);
    if (options.stop_row) bounds.upper = BeforeRow(*options.stop_row);
  } else {
    if (options.start_row) bounds.upper = BehindRow(*options.start_row);
    if (options.stop_row) bounds.lower = BehindRow(*options.stop_row);
  }
  if (options.row_prefix.empty()) return bounds;
  std::string prefix;
  AppendEscaped(options.row_prefix, &prefix);
  bounds.lower = std::max(bounds.lower, prefix);
  const std::string end = BehindPrefix(std::move(prefix));
  if (!end.empty() && (bounds.upper.empty() || end < bounds.upper)) bounds.upper = end;
  return bounds;
}

absl::StatusOr<std::unique_ptr<RowScanner>> TableScanner::Open(CellMoment moment,
                                                               const TableState& table,
                                                               const ScanOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(std::vector<FamilyQuery> plan, PlanRead(table, options));
  if (plan.size() > 1) WINNOW_RETURN_IF_ERROR(moment.Fix());
  std::unique_ptr<TableScanner> scanner(new TableScanner(options, BoundsOf(options)));
  scanner->before_ = scanner->bounds_.upper.empty() ? EndOfTable() : scanner->bounds_.upper;
  const Bounds& bounds = scanner->bounds_;
  // No row is behind the last and before the first.
  if (!bounds.upper.empty() && bounds.lower >= bounds.upper) plan.clear();
  for (FamilyQuery& query : plan) {
    std::unique_ptr<Iterator> iterator =
        moment.NewIterator(*query.family, bounds.lower, bounds.upper);
    auto cursor = std::make_unique<FamilyCursor>(std::move(iterator), query.family->rules->Load(),
                                                 moment.now_ms, std::move(query.cells));
    if (!options.reverse) cursor->Seek(bounds.lower);
    scanner->families_.push_back({query.family, std::move(cursor)});
  }
  return std::unique_ptr<RowScanner>(std::move(scanner));
}

// Errors before what was found: it may be less than there is.
bool TableScanner::NoteErrors() {
  for (const Family& family : families_) {
    if (!status_.ok()) return true;
    status_ = family.cursor->status();
  }
  return !status_.ok();
}

bool TableScanner::FindRowForward() {
  const FamilyCursor* first = nullptr;
  for (const Family& family : families_) {
    if (!family.cursor->Valid()) continue;
    if (first == nullptr || family.cursor->row() < first->row()) first = family.cursor.get();
  }
  if (first == nullptr) return false;
  row_.assign(first->row());
  return true;
}

// Of the rows that have keys, whatever they are, the greatest of all families; the row may turn out
// to be empty.
bool TableScanner::FindRowBackward() {
  bool is_found = false;
  std::string row;
  for (const Family& family : families_) {
    if (!family.cursor->FindRowBefore(before_, &row)) continue;
    if (!is_found || row > row_) row_ = row;
    is_found = true;
  }
  if (!is_found) return false;
  before_.assign(row_);
  before_.append(2, '\0');
  for (const Family& family : families_) family.cursor->SeekRow(row_);
  return true;
}

bool TableScanner::FindRow() {
  const bool is_found = is_reverse_ ? FindRowBackward() : FindRowForward();
  return is_found && !NoteErrors();
}

bool TableScanner::Fill(RowResultBuilder* result) {
  for (const Family& family : families_) {
    FamilyCursor& cursor = *family.cursor;
    for (; cursor.Valid() && cursor.row() == row_; cursor.Next()) {
      if (max_cells_ != 0 && result->num_cells() == max_cells_) return true;
      result->Add(family.state->name, cursor);
    }
  }
  return false;
}

bool TableScanner::Next(RowResult* row) {
  while (status_.ok()) {
    RowResultBuilder result(row);
    if (!is_in_row_) {
      if (max_rows_ != 0 && num_rows_ == max_rows_) return false;
      if (!FindRow()) {
        NoteErrors();
        return false;
      }
    }
    result.SetEscapedRow(row_);
    const bool is_new_row = !is_in_row_;
    is_in_row_ = Fill(&result);
    result.Finish();
    if (NoteErrors()) break;
    if (result.num_cells() == 0) continue;
    if (is_new_row) num_rows_++;
    return true;
  }
  row->Clear();
  return false;
}

}  // namespace winnow
