// The order of keys lets one pass forward decide. In a row its markers come first; in a column
// markers and versions come newest first, a marker before the version of its timestamp. So when a
// version is met, all markers that reach it, and all versions that may supersede it, have been
// passed.
//
// What has been passed of the row and of the column is in judge_, and in num_shown_, which
// EnterColumn resets. place_ says which row and column that is.
#include "engine/table/family_cursor.h"

#include <utility>

#include "engine/base/shared_prefix.h"
#include "engine/base/shown_key.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

// Steps over versions of a column that are not shown, before a seek passes the others; and over
// the keys of a row.
// A step moves one child of the merge, a seek moves all of them.
constexpr int kStepsBeforeColumnSeek = 4;
constexpr int kStepsBeforeRowSeek = 16;

// The end of a component, behind escaped bytes.
constexpr std::string_view kEndOfComponent("\0\1", 2);
constexpr std::string_view kBehindRow("\0\2", 2);

}  // namespace

FamilyCursor::FamilyCursor(std::unique_ptr<Iterator> iterator, const FamilyRules& rules,
                           uint64_t now_ms, CellQuery query, GarbageSink garbage)
    : iterator_(std::move(iterator)),
      query_(std::move(query)),
      garbage_(std::move(garbage)),
      judge_(rules, now_ms) {}

void FamilyCursor::Seek(std::string_view key) {
  column_bytes_ = 0;
  wanted_ = 0;
  wanted_range_ = 0;
  // Row and markers stay: UseRowMarkers may have given them for the row that is sought.
  iterator_->Seek(key);
  FindVisible();
}

void FamilyCursor::SetRow(std::string_view row) {
  place_.assign(row);
  row_bytes_ = row.size();
  column_bytes_ = 0;
  row_is_plain_ = row.find('\0') == std::string_view::npos;
  row_number_++;
}

void FamilyCursor::UseRowMarkers(std::string_view row, RowMarkers markers) {
  SetRow(row);
  judge_.row_markers() = std::move(markers);
}

// Looks at one key alone, which may be a marker or hidden: what the row shows is for SeekRow to
// find.
bool FamilyCursor::FindRowBefore(std::string_view key, std::string* row) {
  valid_ = false;
  SetRow({});
  iterator_->SeekForPrev(key);
  if (!iterator_->Valid()) return false;
  ParsedCellKey parsed;
  if (!ParseCellKey(iterator_->key(), &parsed)) {
    Fail("key");
    return false;
  }
  row->assign(parsed.row);
  return true;
}

// From the row's markers on, so that they are met before the cells that they hide. The iterator
// goes beyond the row, and ends_with_row_ makes the walk stop behind it.
void FamilyCursor::SeekRow(std::string_view row) {
  SetRow(row);
  judge_.EnterRow();
  ends_with_row_ = true;
  is_past_row_ = false;
  seek_key_.assign(row);
  seek_key_.append(2, '\0');
  wanted_ = 0;
  wanted_range_ = 0;
  iterator_->Seek(seek_key_);
  FindVisible();
}

void FamilyCursor::Next() {
  iterator_->Next();
  FindVisible();
}

void FamilyCursor::NextColumn() {
  SkipColumn();
  FindVisible();
}

void FamilyCursor::NextRow() {
  int step = 0;
  // Most rows are narrow, and the next one is a few steps away.
  while (iterator_->Valid() && IsInRow(iterator_->key())) {
    if (step++ < kStepsBeforeRowSeek) {
      iterator_->Next();
      continue;
    }
    SeekBehindRow();
  }
  column_bytes_ = 0;
  FindVisible();
}

// Empty in a marker of a row, which has no column prefix.
std::string_view FamilyCursor::qualifier() const {
  if (column_bytes_ <= row_prefix_bytes_) return {};
  return column_prefix().substr(row_prefix_bytes_, column_bytes_ - row_prefix_bytes_ - 2);
}

absl::Status FamilyCursor::status() const { return status_.ok() ? iterator_->status() : status_; }

void FamilyCursor::Fail(std::string_view what) {
  status_ = absl::DataLossError(
      absl::StrCat("table: no ", ToAbsl(what), " of a cell: '", ShownKey(iterator_->key()), "'"));
}

// To the first version that is shown, from where the iterator stands. Each turn of the loop moves
// the iterator or ends it: EnterColumn gives false only when it has moved on, left the row or
// failed.
void FamilyCursor::FindVisible() {
  valid_ = false;
  if (query_.is_raw) [[unlikely]]
    return FindRaw();
  while (status_.ok() && !is_past_row_ && iterator_->Valid()) {
    const std::string_view key = iterator_->key();
    // One comparison tells whether it is in the column, and if not, whether it is in the row.
    const size_t common = CommonPrefix(key, column_prefix());
    const bool is_in_column =
        common != 0 && common == column_bytes_ && key.size() == common + kCellNumberBytes;
    CellKind kind = CellKind::kVersion;
    if (is_in_column) {
      if (!ParseCellNumber(key, &kind, &timestamp_)) return Fail("number");
    } else if (!EnterColumn(key, common, &kind)) {
      continue;
    }
    switch (Judge(key, kind)) {
      case Verdict::kShow:
        valid_ = status_.ok();
        return;
      case Verdict::kPass:
        iterator_->Next();
        break;
      case Verdict::kColumnIsDone:
        SkipColumn();
        break;
    }
  }
}

// Nothing is judged but the time and the number of versions that are asked for.
void FamilyCursor::FindRaw() {
  for (; status_.ok() && iterator_->Valid(); iterator_->Next()) {
    const std::string_view key = iterator_->key();
    ParsedCellKey parsed;
    const bool is_in_row = IsInRow(key);
    if (!ParseCellKey(key, is_in_row ? row_bytes_ : 0, &parsed)) return Fail("key");
    if (!is_in_row) {
      is_past_row_ = ends_with_row_;
      if (is_past_row_) return;
      SetRow(parsed.row);
    }
    if (!IsInColumn(key)) {
      place_.assign(parsed.ColumnPrefix(key));
      column_bytes_ = place_.size();
      qualifier_is_plain_ = parsed.qualifier_is_plain;
      row_prefix_bytes_ = parsed.row_prefix_bytes;
      column_number_++;
      num_shown_ = 0;
    }
    if (!ParseCellValue(iterator_->value(), &cell_)) return Fail("value");
    timestamp_ = parsed.timestamp;
    if (timestamp_ < query_.min_timestamp || timestamp_ >= query_.end_timestamp) continue;
    // Markers are shown whatever their number, and versions are counted by column.
    const bool is_version = parsed.kind == CellKind::kVersion;
    if (is_version && num_shown_++ >= query_.max_versions) continue;
    type_ = parsed.is_row_marker ? CellType::kDeleteFamily
            : is_version         ? CellType::kPut
                                 : CellType::kDeleteColumn;
    valid_ = true;
    return;
  }
}

// The markers of a row come before its columns, so that they are known when those are met; and
// behind a column comes no key of its row but those of others.
bool FamilyCursor::EnterColumn(std::string_view key, size_t common, CellKind* kind) {
  // Keys of one row have the row and its end in common with the column before, so that the
  // comparison of FindVisible tells this too.
  const bool is_in_row = column_bytes_ == 0 ? IsInRow(key) : common >= row_prefix_bytes_;
  ParsedCellKey parsed;
  if (!ParseCellKey(key, is_in_row ? row_bytes_ : 0, &parsed)) {
    Fail("key");
    return false;
  }
  if (!is_in_row) {
    is_past_row_ = ends_with_row_;
    if (is_past_row_) return false;
    // With its column, which most often is one that is wanted.
    place_.assign(parsed.ColumnPrefix(key));
    row_bytes_ = parsed.row.size();
    column_bytes_ = 0;
    row_is_plain_ = parsed.row_is_plain;
    row_number_++;
    judge_.EnterRow();
    wanted_ = 0;
    wanted_range_ = 0;
  }
  if (parsed.is_row_marker) {
    CellValue marker;
    if (!ParseCellValue(iterator_->value(), &marker)) {
      Fail("marker");
      return false;
    }
    judge_.row_markers().Add(parsed.timestamp, marker.write_number);
    // No reader needs the marker once what it hides is gone, and all of that is reported as well.
    if (garbage_) garbage_(key, Garbage::kHiding);
    iterator_->Next();
    return false;
  }
  const std::string_view prefix = parsed.ColumnPrefix(key);
  const std::string_view column = prefix.substr(parsed.row_prefix_bytes);
  if (!query_.columns.empty() && !SeekWantedColumn(column)) return false;
  if (query_.has_column_ranges && !SeekWantedRange(column)) return false;
  if (is_in_row) place_.assign(prefix);
  column_bytes_ = prefix.size();
  qualifier_is_plain_ = parsed.qualifier_is_plain;
  row_prefix_bytes_ = parsed.row_prefix_bytes;
  timestamp_ = parsed.timestamp;
  *kind = parsed.kind;
  column_number_++;
  judge_.EnterColumn();
  num_shown_ = 0;
  return true;
}

// True if `column`, at which the iterator stands, is one of those that are asked for. Otherwise to
// the next of them, or behind the row.
// wanted_ only grows within a row, since keys and columns both ascend: a row costs O(columns asked
// for) comparisons besides its keys.
bool FamilyCursor::SeekWantedColumn(std::string_view column) {
  for (; wanted_ < query_.columns.size(); wanted_++) {
    const int order = query_.columns[wanted_].compare(column);
    if (order == 0) return true;
    if (order < 0) continue;
    SeekInRow(query_.columns[wanted_]);
    return false;
  }
  SeekBehindRow();
  return false;
}

// A column's text has its end, and a bound has none: they compare as the columns do.
bool FamilyCursor::SeekWantedRange(std::string_view column) {
  const auto& ranges = query_.column_ranges;
  while (wanted_range_ < ranges.size() && !ranges[wanted_range_].is_open &&
         ranges[wanted_range_].upper <= column) {
    wanted_range_++;
  }
  if (wanted_range_ == ranges.size()) {
    SeekBehindRow();
    return false;
  }
  if (column >= ranges[wanted_range_].lower) return true;
  SeekInRow(ranges[wanted_range_].lower);
  return false;
}

// The next column that is wanted is often near: steps cost less than a seek.
void FamilyCursor::SeekInRow(std::string_view column) {
  seek_key_.assign(row()).append(kEndOfComponent).append(column);
  for (int step = 0; step < kStepsBeforeColumnSeek; step++) {
    iterator_->Next();
    if (!iterator_->Valid() || iterator_->key() >= seek_key_) return;
  }
  iterator_->Seek(seek_key_);
}

// 00 02 lies behind the ends of a row's markers (00 00) and cells (00 01), and before every
// other row that begins with the same bytes.
void FamilyCursor::SeekBehindRow() {
  seek_key_.assign(row()).append(kBehindRow);
  iterator_->Seek(seek_key_);
}

// timestamp_ is that of the key.
FamilyCursor::Verdict FamilyCursor::Judge(std::string_view key, CellKind kind) {
  if (!ParseCellValue(iterator_->value(), &cell_)) {
    Fail("value");
    return Verdict::kPass;
  }
  if (kind == CellKind::kVersion) return JudgeVersion(key);
  judge_.AddMarker(cell_.write_number);
  return PassGarbage(key, Garbage::kHiding, Verdict::kPass);
}

// With a sink every key has to be met: the rest of a column that is done is garbage, too, and a
// seek would pass it by in silence.
FamilyCursor::Verdict FamilyCursor::PassGarbage(std::string_view key, Garbage garbage,
                                                Verdict verdict) {
  if (!garbage_) return verdict;
  garbage_(key, garbage);
  return Verdict::kPass;
}

// First what is there, then what is asked for: whatever times or number of versions a read is of,
// what a version supersedes is gone.
FamilyCursor::Verdict FamilyCursor::JudgeVersion(std::string_view key) {
  switch (judge_.Judge(timestamp_, cell_)) {
    case ColumnJudge::Verdict::kHidden:
      return PassGarbage(key, Garbage::kHidden, Verdict::kPass);
    case ColumnJudge::Verdict::kExpired:
      return PassGarbage(key, Garbage::kHiding, Verdict::kPass);
    case ColumnJudge::Verdict::kLetGo:
      return PassGarbage(key, Garbage::kHidden, Verdict::kColumnIsDone);
    case ColumnJudge::Verdict::kLive:
      break;
  }
  if (timestamp_ >= query_.end_timestamp) return Verdict::kPass;
  // Those that follow in the column are older still.
  if (timestamp_ < query_.min_timestamp || num_shown_ == query_.max_versions) {
    return Verdict::kColumnIsDone;
  }
  num_shown_++;
  return Verdict::kShow;
}

// Columns of many versions are passed by a seek, at a cost that does not grow with them.
void FamilyCursor::SkipColumn() {
  for (int step = 0; step < kStepsBeforeColumnSeek; step++) {
    iterator_->Next();
    if (!iterator_->Valid() || !IsInColumn(iterator_->key())) return;
  }
  iterator_->Seek(EndOfPrefix(column_prefix()));
}

}  // namespace winnow
