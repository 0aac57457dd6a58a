// Walks the cells of one family that are there: what deletes hide and what the family's rules have
// let go it passes over.
#ifndef WINNOW_ENGINE_TABLE_FAMILY_CURSOR_H_
#define WINNOW_ENGINE_TABLE_FAMILY_CURSOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"
#include "engine/table/column_judge.h"
#include "engine/table/family_rules.h"
#include "winnow/iterator.h"

namespace winnow {

struct CellQuery {
  // Of each column, and of those that are there.
  uint64_t max_versions = 1;
  uint64_t min_timestamp = 0;
  uint64_t end_timestamp = kMaxTimestamp + 1;
  // The columns to show, as AppendQualifier writes them, ascending; empty: all.
  std::vector<std::string> columns;
  // The columns to show, as ranges of escaped qualifiers, ascending and apart: only with
  // `has_column_ranges`.
  struct ColumnRange {
    std::string lower;
    std::string upper;  // exclusive
    bool is_open = false;
  };
  std::vector<ColumnRange> column_ranges;
  bool has_column_ranges = false;
  // Everything that is stored: markers, and what they or rules hide. All columns.
  bool is_raw = false;
};

class FamilyCursor {
 public:
  // What others rest on a key that no reader needs. kHiding: it may be what hides keys behind it,
  // and goes after them, as do markers, and versions whose own time is up. kHidden: none do.
  enum class Garbage : uint8_t { kHidden, kHiding };
  // Told of each key that is passed over and that no reader of this moment or later needs, marker
  // or cell. The key lives until the call returns.
  using GarbageSink = std::function<void(std::string_view key, Garbage garbage)>;

  // `now_ms`: by which cells expire. The rules outlive the cursor. With a sink the query must be of
  // all versions.
  FamilyCursor(std::unique_ptr<Iterator> iterator, const FamilyRules& rules, uint64_t now_ms,
               CellQuery query, GarbageSink garbage = nullptr);

  // To the first cell whose key is not smaller: a prefix of a row's markers, or, of a row whose
  // markers were given by UseRowMarkers, any of its keys.
  void Seek(std::string_view key);
  // For the row, escaped, that is sought next; its markers are out of the iterator's bounds.
  void UseRowMarkers(std::string_view row, RowMarkers markers);
  // The last row, escaped, that has keys below `key`; what it has need not be there. False: none
  // has, or status() says what is wrong. SeekRow comes next.
  bool FindRowBefore(std::string_view key, std::string* row);
  // To the first cell of this row, escaped, and no further than it.
  void SeekRow(std::string_view row);

  bool Valid() const { return valid_; }
  void Next();
  // Likewise to the next column, and to the next row. Require Valid().
  void NextColumn();
  void NextRow();
  // Require Valid(); the bytes live until the cursor is moved.
  std::string_view row() const { return {place_.data(), row_bytes_}; }  // escaped
  bool row_is_plain() const { return row_is_plain_; }                   // nothing in it is escaped
  // Another one for each row that the cursor comes to.
  uint64_t row_number() const { return row_number_; }
  std::string_view qualifier() const;  // escaped
  bool qualifier_is_plain() const { return qualifier_is_plain_; }
  uint64_t timestamp() const { return timestamp_; }
  std::string_view value() const { return cell_.value; }
  uint64_t ttl_ms() const { return cell_.ttl_ms; }
  CellType type() const { return type_; }
  std::string_view key() const { return iterator_->key(); }
  // Another one for each column that the cursor comes to.
  uint64_t column_number() const { return column_number_; }

  absl::Status status() const;

 private:
  enum class Verdict : uint8_t { kShow, kPass, kColumnIsDone };

  void FindVisible();
  void FindRaw();
  // Empty: none.
  std::string_view column_prefix() const { return {place_.data(), column_bytes_}; }
  // A row, of which no column is known yet.
  void SetRow(std::string_view row);
  bool IsInRow(std::string_view key) const {
    return key.size() > row_bytes_ + 1 && key.starts_with(row()) && key[row_bytes_] == '\0' &&
           (key[row_bytes_ + 1] == '\0' || key[row_bytes_ + 1] == '\1');
  }
  bool IsInColumn(std::string_view key) const {
    return key.size() == column_bytes_ + kCellNumberBytes && key.starts_with(column_prefix());
  }
  // At a key of another column, of which `common` bytes are as in the one before: takes its
  // timestamp, or false if the iterator was moved on instead.
  bool EnterColumn(std::string_view key, size_t common, CellKind* kind);
  bool SeekWantedColumn(std::string_view column);
  bool SeekWantedRange(std::string_view column);
  void SeekInRow(std::string_view column);
  void SeekBehindRow();
  Verdict Judge(std::string_view key, CellKind kind);
  Verdict JudgeVersion(std::string_view key);
  Verdict PassGarbage(std::string_view key, Garbage garbage, Verdict verdict);
  void SkipColumn();
  void Fail(std::string_view what);

  const std::unique_ptr<Iterator> iterator_;
  const CellQuery query_;
  const GarbageSink garbage_;

  bool valid_ = false;
  absl::Status status_;
  // The row, escaped, and behind it what stands between it and the number in the key of its column.
  std::string place_;
  size_t row_bytes_ = 0;     // 0: none yet
  size_t column_bytes_ = 0;  // with the row; 0: none
  bool row_is_plain_ = false;
  bool qualifier_is_plain_ = false;
  uint64_t row_number_ = 0;
  bool ends_with_row_ = false;
  bool is_past_row_ = false;
  size_t wanted_ = 0;        // of query_.columns, in this row
  size_t wanted_range_ = 0;  // of query_.column_ranges
  ColumnJudge judge_;
  size_t row_prefix_bytes_ = 0;
  uint64_t column_number_ = 0;
  std::string seek_key_;

  uint64_t num_shown_ = 0;  // of the column so far

  uint64_t timestamp_ = 0;
  CellValue cell_;
  CellType type_ = CellType::kPut;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FAMILY_CURSOR_H_
