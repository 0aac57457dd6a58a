// Tables as lines of text: the columns and rules of HBase's ImportTsv.
#ifndef WINNOW_TOOLS_WINNOW_TSV_H_
#define WINNOW_TOOLS_WINNOW_TSV_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::cli {

// What one field of a line is.
struct TsvColumn {
  enum class Type {
    kRow,        // HBASE_ROW_KEY
    kTimestamp,  // HBASE_TS_KEY
    kTtl,        // HBASE_CELL_TTL: milliseconds, in decimal digits
    kCell,       // FAMILY:QUALIFIER, or FAMILY, whose qualifier is empty
    kCellName,   // WINNOW_COLUMN: the line itself names its cell's column
    kCellValue,  // WINNOW_VALUE: and its value
  };

  Type type = Type::kCell;
  std::string family = {};
  std::string qualifier = {};
};

struct TsvCell {
  std::string family;
  std::string qualifier;
  std::string value;
};

struct TsvLine {
  std::string row;
  std::optional<uint64_t> timestamp;
  uint64_t ttl_ms = 0;  // 0: none
  std::vector<TsvCell> cells;
};

class TsvFormat {
 public:
  struct Settings {
    std::string columns;  // names, with commas between; empty: kCellColumns
    std::string separator = "\t";
    // Fields have the escapes \t \n \\ \xNN, and \N where there is no cell. ImportTsv has none.
    bool escaped = false;
    bool skip_empty = false;  // an empty field is no cell, instead of one with an empty value
  };

  // One cell a line, escaped: what any table can be written as.
  static constexpr std::string_view kCellColumns =
      "HBASE_ROW_KEY,HBASE_TS_KEY,WINNOW_COLUMN,WINNOW_VALUE";

  // InvalidArgument: an unknown or missing column, one that is there twice, a separator that is not
  // one byte or that escapes are written with.
  static absl::StatusOr<TsvFormat> Parse(const Settings& settings);

  const std::vector<TsvColumn>& columns() const { return columns_; }
  bool Has(TsvColumn::Type type) const;
  bool names_cells() const { return Has(TsvColumn::Type::kCellName); }
  bool escaped() const { return settings_.escaped; }

  // InvalidArgument: a bad line, in ImportTsv's words where it has some. Columns at the end may be
  // missing from a line.
  absl::StatusOr<TsvLine> ParseLine(std::string_view line) const;

  // Appends the field of this index, and a separator before it if it is not the first.
  // InvalidArgument: without escapes these bytes cannot be written.
  absl::Status AppendField(size_t index, std::string_view bytes, std::string* line) const;
  // Likewise, of a cell that is not there.
  void AppendAbsent(size_t index, std::string* line) const;

 private:
  explicit TsvFormat(Settings settings) : settings_(std::move(settings)) {}
  absl::Status ParseColumns();
  absl::Status CheckSeparator() const;
  absl::StatusOr<std::vector<std::string_view>> Split(std::string_view line) const;
  // Unset: no cell is there.
  absl::StatusOr<std::optional<std::string>> Decode(std::string_view field) const;
  absl::Status TakeField(const TsvColumn& column, std::string_view field, TsvLine* line) const;

  Settings settings_;
  std::vector<TsvColumn> columns_;
  size_t num_needed_ = 0;  // fields, so that none is missing that every line must have
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TSV_H_
