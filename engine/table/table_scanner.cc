// A merge of cursors, one for each family. Forward, each stands on its next cell, and the least of
// their rows comes next. In reverse only rows are sought backward: the greatest of any family that
// has keys below before_ comes next, and all cursors seek it, since the cells of a row are given in
// their usual order. So each row costs two seeks a family.
//
// Where the filter asks for values that signatures know, rows come from these, and each is read
// like a single one, past the files whose filters do not have it: the filter decides about it as
// about any other. Where they let most rows through, cursors of the whole scan walk to the next.
#include "engine/table/table_scanner.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// To walk over so many rows costs about as much as to read one by itself; and so many candidates
// in a row, each that close to the one before, are taken for a rule.
constexpr uint64_t kRowsToNearCandidate = 8;
constexpr int kNearCandidatesBeforeWalk = 8;

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

}  // namespace

TableScanner::Bounds TableScanner::BoundsOf(const ScanOptions& options,
                                            const std::optional<RowFilter>& filter) {
  // In reverse start_row is the greatest row and is included, stop_row is not.
  Bounds bounds;
  if (!options.reverse) {
    if (options.start_row) bounds.lower = BeforeRow(*options.start_row);
    if (options.stop_row) bounds.upper = BeforeRow(*options.stop_row);
  } else {
    if (options.start_row) bounds.upper = BehindRow(*options.start_row);
    if (options.stop_row) bounds.lower = BehindRow(*options.stop_row);
  }
  // Escaped bytes without an end stand before all keys of rows that are not smaller.
  const auto narrow = [&](std::string_view lower, std::string_view upper) {
    std::string key;
    AppendEscaped(lower, &key);
    bounds.lower = std::max(bounds.lower, key);
    if (upper.empty()) return;
    key.clear();
    AppendEscaped(upper, &key);
    if (bounds.upper.empty() || key < bounds.upper) bounds.upper = key;
  };
  if (!options.row_prefix.empty()) narrow(options.row_prefix, BehindPrefix(options.row_prefix));
  if (!filter || filter->rows().ranges().empty()) return bounds;
  const ByteRanges::Range& last = filter->rows().ranges().back();
  narrow(filter->rows().ranges().front().lower, last.is_open ? std::string_view() : last.upper);
  return bounds;
}

absl::StatusOr<std::unique_ptr<RowScanner>> TableScanner::Open(CellMoment moment,
                                                               const TableState& table,
                                                               const ScanOptions& options) {
  WINNOW_ASSIGN_OR_RETURN(std::vector<FamilyQuery> plan, PlanRead(table, options));
  std::unique_ptr<TableScanner> scanner(new TableScanner(options));
  const std::optional<RowFilter>& filter = scanner->filter_;
  if (filter && filter->decides_late() && options.max_cells != 0) {
    return absl::InvalidArgumentError(
        "max_cells: the filter decides by whole rows, which are not given in parts");
  }
  // Needed only until the iterators are made: each keeps what it saw then. One iterator is of one
  // moment anyway, since a scan reads the markers of rows where they stand.
  if (plan.size() > 1) WINNOW_RETURN_IF_ERROR(moment.Fix());
  moment.Now();  // before any view is taken (CellMoment)
  const Bounds bounds = BoundsOf(options, filter);
  scanner->before_ = bounds.upper.empty() ? EndOfTable() : bounds.upper;
  // No row is behind the last and before the first.
  const bool is_empty = (!bounds.upper.empty() && bounds.lower >= bounds.upper) ||
                        (filter && filter->rows().ranges().empty());
  if (is_empty) plan.clear();
  const bool may_have_signatures = filter && !options.reverse && !options.raw;
  if (may_have_signatures && moment.changes == nullptr) {
    WINNOW_ASSIGN_OR_RETURN(
        std::unique_ptr<RowCandidates> candidates,
        RowCandidates::Open(&moment, plan, *TableFilterAccess::node(options.filter), bounds.lower,
                            bounds.upper));
    if (candidates != nullptr) {
      scanner->UseSignatures(std::move(moment), std::move(plan), std::move(candidates), bounds);
      return std::unique_ptr<RowScanner>(std::move(scanner));
    }
  }
  for (FamilyQuery& query : plan) {
    const FamilyRules& rules = query.family->rules->Load();
    std::unique_ptr<Iterator> iterator =
        moment.NewIterator(*query.family, bounds.lower, bounds.upper, TimesOf(query.cells, rules));
    auto cursor = std::make_unique<FamilyCursor>(std::move(iterator), rules, moment.Now(),
                                                 std::move(query.cells));
    if (!options.reverse) cursor->Seek(bounds.lower);
    scanner->families_.push_back({query.family, std::move(cursor)});
  }
  return std::unique_ptr<RowScanner>(std::move(scanner));
}

void TableScanner::UseSignatures(CellMoment moment, std::vector<FamilyQuery> plan,
                                 std::unique_ptr<RowCandidates> candidates, const Bounds& bounds) {
  signed_rows_ = std::make_unique<SignedRows>();
  signed_rows_->moment = std::move(moment);
  signed_rows_->candidates = std::move(candidates);
  CellMoment& own = signed_rows_->moment;
  for (FamilyQuery& query : plan) {
    const FamilyRules& rules = query.family->rules->Load();
    signed_rows_->rules.push_back(&rules);
    signed_rows_->walkers.push_back(std::make_unique<FamilyCursor>(
        own.NewIterator(*query.family, bounds.lower, bounds.upper, TimesOf(query.cells, rules)),
        rules, own.Now(), query.cells));
    signed_rows_->queries.push_back(std::move(query.cells));
    families_.push_back({query.family, nullptr});
  }
}

TableScanner::~TableScanner() {
  if (signed_rows_ == nullptr) return;
  static_cast<DBImpl*>(signed_rows_->moment.db)
      ->CountSignatureRows(signed_rows_->num_candidates, signed_rows_->num_found);
}

// Errors before what was found: it may be less than there is. A cursor that stands on a cell has
// met none.
bool TableScanner::NoteErrors() {
  for (const Family& family : families_) {
    if (!status_.ok()) return true;
    if (family.cursor == nullptr) continue;
    if (!family.cursor->Valid()) status_ = family.cursor->status();
  }
  return !status_.ok();
}

bool TableScanner::FindRowForward() {
  const FamilyCursor* first = nullptr;
  for (const Family& family : families_) {
    if (!family.cursor->Valid()) continue;
    // Escaped rows are in the order of rows. O(families) for each row.
    if (first == nullptr || family.cursor->row() < first->row()) first = family.cursor.get();
  }
  if (first == nullptr) return false;
  row_.assign(first->row());
  return true;
}

// A row of which nothing is left comes as well, without cells.
bool TableScanner::FindSignedRow() {
  SignedRows& rows = *signed_rows_;
  for (;;) {
    if (!rows.candidates->Next(&row_)) {
      status_ = rows.candidates->status();
      return false;
    }
    unescaped_row_.clear();
    AppendUnescaped(row_, &unescaped_row_);
    // What the filter's ranges leave out is not read.
    const ByteRanges::Range* const range = filter_->rows().FirstEndingBehind(unescaped_row_);
    is_at_end_ = range == nullptr;
    if (is_at_end_) return false;
    if (range->Has(unescaped_row_)) break;
  }
  rows.num_candidates++;
  const uint64_t num_asked = rows.candidates->num_asked();
  const bool is_near = num_asked - rows.asked_before <= kRowsToNearCandidate;
  rows.asked_before = num_asked;
  rows.num_near = is_near ? std::min(rows.num_near + 1, kNearCandidatesBeforeWalk) : 0;
  if (rows.num_near < kNearCandidatesBeforeWalk && !rows.is_dropped) {
    status_ = OpenSignedRow();
    rows.is_dropped = absl::IsFailedPrecondition(status_);
    if (!rows.is_dropped) return status_.ok();
    status_ = absl::OkStatus();
  }
  WalkToSignedRow();
  return true;
}

absl::Status TableScanner::OpenSignedRow() {
  SignedRows& rows = *signed_rows_;
  const bool was_walking = std::exchange(rows.is_walking, false);
  for (size_t i = 0; i < families_.size(); i++) {
    if (was_walking) rows.walkers[i] = std::move(families_[i].cursor);
    // The one before is of another row.
    families_[i].cursor = nullptr;
  }
  for (size_t i = 0; i < families_.size(); i++) {
    WINNOW_ASSIGN_OR_RETURN(families_[i].cursor,
                            OpenRowBy(*rows.rules[i], rows.moment, *families_[i].state,
                                      unescaped_row_, rows.queries[i]));
  }
  return absl::OkStatus();
}

// The cursors stand behind the row before, and go no further back: a family that has nothing in the
// row stands on a later one.
void TableScanner::WalkToSignedRow() {
  SignedRows& rows = *signed_rows_;
  const std::string begin = BeforeRow(unescaped_row_);
  for (size_t i = 0; i < families_.size(); i++) {
    Family& family = families_[i];
    if (!rows.is_walking) {
      family.cursor = std::move(rows.walkers[i]);
      family.cursor->Seek(begin);
      continue;
    }
    FamilyCursor& cursor = *family.cursor;
    for (uint64_t step = 0; cursor.Valid() && cursor.row() < row_; step++) {
      if (step == kRowsToNearCandidate) {
        // Not near after all: rows in memory, which have no signatures, are not counted.
        cursor.Seek(begin);
        rows.num_near = 0;
        break;
      }
      cursor.NextRow();
    }
  }
  rows.is_walking = true;
}

// Of the rows that have keys, whatever they are, the greatest of all families; the row may turn out
// to be empty.
bool TableScanner::FindRowBackward() {
  bool is_found = false;
  std::string row;
  for (const Family& family : families_) {
    if (!family.cursor->FindRowBefore(before_, &row)) {
      // Noted before the cursor seeks again, which would forget it: the family may have the row.
      status_ = family.cursor->status();
      if (!status_.ok()) return false;
      continue;
    }
    if (!is_found || row > row_) row_ = row;
    is_found = true;
  }
  if (!is_found) return false;
  before_.assign(row_);
  // Below all keys of the row, its markers included.
  before_.append(2, '\0');
  for (const Family& family : families_) family.cursor->SeekRow(row_);
  return true;
}

// An error is noted before the row's cells are given; in reverse the next seek would forget it.
bool TableScanner::FindRow() {
  if (signed_rows_ != nullptr) return FindSignedRow();
  return is_reverse_ ? FindRowBackward() && !NoteErrors() : FindRowForward();
}

bool TableScanner::EnterRow() {
  unescaped_row_.clear();
  AppendUnescaped(row_, &unescaped_row_);
  const ByteRanges& rows = filter_->rows();
  const ByteRanges::Range* const range =
      is_reverse_ ? rows.LastBeginningUpTo(unescaped_row_) : rows.FirstEndingBehind(unescaped_row_);
  // No range is left in the direction of the scan.
  is_at_end_ = range == nullptr;
  if (is_at_end_) return false;
  if (!range->Has(unescaped_row_)) {
    SkipToRange(*range);
    return false;
  }
  if (filter_->BeginRow(unescaped_row_)) return true;
  // The next row is sought below before_, wherever the cursors stand.
  if (is_reverse_) return false;
  for (const Family& family : families_) {
    if (family.cursor->Valid() && family.cursor->row() == row_) family.cursor->NextRow();
  }
  return false;
}

void TableScanner::SkipToRange(const ByteRanges::Range& range) {
  // The range begins at or before the row and does not have it: so it ends before it, and is not
  // open.
  if (is_reverse_) {
    before_.clear();
    return AppendEscaped(range.upper, &before_);
  }
  std::string lower;
  AppendEscaped(range.lower, &lower);
  for (const Family& family : families_) {
    // Others are there already, on a row of the range or behind it.
    if (family.cursor->Valid() && family.cursor->row() < lower) family.cursor->Seek(lower);
  }
}

bool TableScanner::Fill(RowResultBuilder* result) {
  for (const Family& family : families_) {
    FamilyCursor& cursor = *family.cursor;
    if (!cursor.Valid() || cursor.row() != row_) continue;
    // Whether the row goes on is told by a number, without a comparison of its bytes.
    const uint64_t row_number = cursor.row_number();
    while (cursor.Valid() && cursor.row_number() == row_number) {
      // There is a cell to look at, but with a filter perhaps none to show: Next passes over empty
      // parts.
      if (max_cells_ != 0 && result->num_cells() == max_cells_) return true;
      if (!filter_) {
        result->Add(family.state->name, cursor);
        cursor.Next();
      } else if (!filter_->IsRowDone()) {
        filter_->Take(family.state->name, &cursor, result);
      } else if (is_reverse_) {
        break;
      } else {
        cursor.NextRow();
      }
    }
  }
  return false;
}

// A cursor stands on a cell, so that the row has one.
bool TableScanner::NextOfOneFamily(RowResult* row) {
  const Family& family = families_.front();
  FamilyCursor& cursor = *family.cursor;
  RowResultBuilder result(row);
  if (!cursor.Valid() || (max_rows_ != 0 && num_rows_ == max_rows_)) {
    NoteErrors();
    return false;
  }
  result.SetRowOf(cursor);
  const uint64_t row_number = cursor.row_number();
  do {
    result.Add(family.state->name, cursor);
    cursor.Next();
  } while (cursor.Valid() && cursor.row_number() == row_number);
  num_rows_++;
  if (cursor.Valid() || !NoteErrors()) return true;
  // What was gathered may lack cells of the row.
  row->Clear();
  return false;
}

bool TableScanner::Next(RowResult* row) {
  bool is_found = false;
  if (UnlessOutOfMemory([&] { is_found = FindNext(row); })) return is_found;
  // The scan ends here: cells of the row that were read are not read again.
  status_ = OutOfMemory();
  row->Clear();
  return false;
}

bool TableScanner::FindNext(RowResult* row) {
  const bool is_plain = families_.size() == 1 && !filter_ && !is_reverse_ && max_cells_ == 0;
  if (is_plain && status_.ok()) return NextOfOneFamily(row);
  while (status_.ok() && !is_at_end_) {
    RowResultBuilder result(row);
    // A row that comes in parts is begun once, counted once and, for the filter, ended once.
    const bool is_new_row = !is_in_row_;
    if (is_new_row) {
      if (max_rows_ != 0 && num_rows_ == max_rows_) break;
      if ((filter_ && filter_->IsDone()) || !FindRow()) {
        NoteErrors();
        break;
      }
      if (filter_ && !EnterRow()) {
        NoteErrors();
        continue;
      }
    }
    is_in_row_ = Fill(&result);
    if (NoteErrors()) break;
    // Errors come first: a filter must not decide about a row that was not read to its end.
    if (filter_ && !is_in_row_) filter_->EndRow(&result);
    if (result.num_cells() == 0) continue;
    result.SetEscapedRow(row_);
    if (is_new_row) num_rows_++;
    if (is_new_row && signed_rows_ != nullptr) signed_rows_->num_found++;
    return true;
  }
  row->Clear();
  return false;
}

}  // namespace winnow
