// Any bytes as a line of a table: its first bytes choose columns and settings. What a line says is
// written as a line again that says the same.

#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tools/winnow/tsv.h"
#include "winnow/table.h"

namespace {

using winnow::cli::TsvColumn;
using winnow::cli::TsvFormat;
using winnow::cli::TsvLine;
using winnow::fuzz::Require;

constexpr std::string_view kColumns[] = {"", "HBASE_ROW_KEY,f:a,g:b",
                                         "f:a,HBASE_TS_KEY,HBASE_ROW_KEY",
                                         "HBASE_ROW_KEY,HBASE_CELL_TTL,f:,f:b"};

// The line that says this, where every cell is there that a column names; false: it has no such
// form.
bool Write(const TsvFormat& format, const TsvLine& line, std::string* text) {
  size_t next_cell = 0;
  for (size_t i = 0; i < format.columns().size(); i++) {
    const TsvColumn& column = format.columns()[i];
    std::string field;
    const bool is_of_cell =
        column.type == TsvColumn::Type::kCellName || column.type == TsvColumn::Type::kCellValue;
    if (is_of_cell && line.cells.empty()) {
      format.AppendAbsent(i, text);
      continue;
    }
    switch (column.type) {
      case TsvColumn::Type::kRow:
        field = line.row;
        break;
      case TsvColumn::Type::kTimestamp:
        field = std::to_string(*line.timestamp);
        break;
      case TsvColumn::Type::kTtl:
        if (line.ttl_ms != 0) field = std::to_string(line.ttl_ms);  // empty: the cell has none
        break;
      case TsvColumn::Type::kCellName:
        field = line.cells[0].family + ":" + line.cells[0].qualifier;
        break;
      case TsvColumn::Type::kCellValue:
        field = line.cells[0].value;
        break;
      case TsvColumn::Type::kCell: {
        const bool is_there = next_cell < line.cells.size() &&
                              line.cells[next_cell].family == column.family &&
                              line.cells[next_cell].qualifier == column.qualifier;
        if (!is_there) {
          format.AppendAbsent(i, text);
          continue;
        }
        field = line.cells[next_cell++].value;
        break;
      }
    }
    if (!format.AppendField(i, field, text).ok()) return false;
  }
  return true;
}

bool Same(const TsvLine& left, const TsvLine& right) {
  if (left.row != right.row || left.timestamp != right.timestamp || left.ttl_ms != right.ttl_ms ||
      left.cells.size() != right.cells.size()) {
    return false;
  }
  for (size_t i = 0; i < left.cells.size(); i++) {
    if (left.cells[i].family != right.cells[i].family ||
        left.cells[i].qualifier != right.cells[i].qualifier ||
        left.cells[i].value != right.cells[i].value) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  using namespace std::string_literals;
  return {
      "\0\t"
      "row\\x00\t17\tf:q\\n\tvalue\\\\"s,
      "\0\trow\t17\tf:q\t\\N"s,
      "\1\tr\ta\tb"s,
      "\5\tr\t\\N\t\\x09"s,
      "\2,a,5,r"s,
      "\6|\\N|9|r"s,
      "\3\tr\t60000\tv"s,
      "\013\tr\t\t\t"s};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  TsvFormat::Settings settings;
  settings.columns = kColumns[data[0] % 4];
  settings.escaped = (data[0] & 4) != 0;
  settings.skip_empty = (data[0] & 8) != 0;
  settings.separator = std::string(1, static_cast<char>(data[1]));
  const auto format = TsvFormat::Parse(settings);
  Require(format.ok() || !format.status().message().empty(), "a refusal has a reason");
  if (!format.ok()) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto line = format->ParseLine(text.substr(0, text.find('\n')));
  Require(line.ok() || !line.status().message().empty(), "a bad line has a reason");
  if (!line.ok()) return 0;
  Require(!line->row.empty(), "a line has a row");
  Require(!line->timestamp || *line->timestamp <= winnow::kMaxTimestamp, "a timestamp fits");
  std::string again;
  // Without escapes a field that is not there cannot be told from an empty one, unless those are
  // none.
  const bool is_exact = format->escaped() ? !settings.skip_empty : settings.skip_empty;
  if (!is_exact || !Write(*format, *line, &again)) return 0;
  const auto reread = format->ParseLine(again);
  Require(reread.ok() && Same(*line, *reread), "a line is written and read the same");
  return 0;
}
