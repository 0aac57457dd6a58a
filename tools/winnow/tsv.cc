#include "tools/winnow/tsv.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/table.h"

namespace winnow::cli {
namespace {

constexpr std::string_view kAbsentField = "\\N";

struct NamedColumn {
  std::string_view name;
  TsvColumn::Type type;
};
constexpr NamedColumn kNamedColumns[] = {
    {"HBASE_ROW_KEY", TsvColumn::Type::kRow},      {"HBASE_TS_KEY", TsvColumn::Type::kTimestamp},
    {"HBASE_CELL_TTL", TsvColumn::Type::kTtl},     {"WINNOW_COLUMN", TsvColumn::Type::kCellName},
    {"WINNOW_VALUE", TsvColumn::Type::kCellValue},
};

// ImportTsv's columns for what cells here do not carry.
constexpr std::string_view kRefusedColumns[] = {"HBASE_ATTRIBUTES_KEY", "HBASE_CELL_VISIBILITY"};

absl::StatusOr<TsvColumn> ParseColumnSpec(const std::string& text) {
  for (const NamedColumn& named : kNamedColumns) {
    if (named.name == text) return TsvColumn{.type = named.type};
  }
  for (const std::string_view refused : kRefusedColumns) {
    if (refused != text) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--columns: ", text, " is not possible: cells have no attributes and no labels"));
  }
  if (text.empty()) return absl::InvalidArgumentError("--columns: a name is empty");
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  return TsvColumn{.family = parts.first, .qualifier = parts.second};
}

absl::Status BadLine(std::string_view reason) { return absl::InvalidArgumentError(ToAbsl(reason)); }

}  // namespace

absl::StatusOr<TsvFormat> TsvFormat::Parse(const Settings& settings) {
  TsvFormat format(settings);
  if (format.settings_.columns.empty()) {
    format.settings_.columns = kCellColumns;
    format.settings_.escaped = true;
  }
  WINNOW_RETURN_IF_ERROR(format.CheckSeparator());
  WINNOW_RETURN_IF_ERROR(format.ParseColumns());
  return format;
}

bool TsvFormat::Has(TsvColumn::Type type) const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [type](const TsvColumn& column) { return column.type == type; });
}

absl::Status TsvFormat::CheckSeparator() const {
  const std::string& separator = settings_.separator;
  if (separator.size() != 1) {
    return absl::InvalidArgumentError(
        "--separator: TsvParser only supports single-byte separators");
  }
  const auto byte = static_cast<unsigned char>(separator[0]);
  if (byte == '\n' || byte == '\r') {
    return absl::InvalidArgumentError("--separator: lines end so");
  }
  const bool is_good = byte == '\t' || (absl::ascii_ispunct(byte) && byte != '\\');
  if (!settings_.escaped || is_good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--separator: with escapes it is a tab or a punctuation mark, but no backslash");
}

absl::Status TsvFormat::ParseColumns() {
  std::array<size_t, std::size(kNamedColumns)> counts = {};
  size_t num_cells = 0;
  for (absl::string_view text : absl::StrSplit(settings_.columns, ',')) {
    text = absl::StripAsciiWhitespace(text);
    WINNOW_ASSIGN_OR_RETURN(TsvColumn column, ParseColumnSpec(std::string(text)));
    columns_.push_back(std::move(column));
    const TsvColumn::Type type = columns_.back().type;
    if (type == TsvColumn::Type::kCell) {
      num_cells++;
      continue;
    }
    num_needed_ = columns_.size();
    for (size_t i = 0; i < std::size(kNamedColumns); i++) {
      if (kNamedColumns[i].type == type && ++counts[i] > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("--columns: ", std::string(text), " is there twice"));
      }
    }
  }
  if (!Has(TsvColumn::Type::kRow)) {
    return absl::InvalidArgumentError(
        "--columns: Must specify exactly one column as HBASE_ROW_KEY");
  }
  if (Has(TsvColumn::Type::kCellName) != Has(TsvColumn::Type::kCellValue)) {
    return absl::InvalidArgumentError("--columns: WINNOW_COLUMN and WINNOW_VALUE go together");
  }
  if (num_cells > 0 && names_cells()) {
    return absl::InvalidArgumentError("--columns: lines name their cells, or the columns do");
  }
  if (num_cells == 0 && !names_cells()) {
    return absl::InvalidArgumentError(
        "--columns: One or more columns in addition to the row key and timestamp(optional) are "
        "required");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string_view>> TsvFormat::Split(std::string_view line) const {
  std::vector<std::string_view> fields;
  const char separator = settings_.separator[0];
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(separator, begin), line.size());
    // Where there are escapes a separator inside a field is one of them.
    fields.push_back(line.substr(begin, end - begin));
    if (fields.size() > columns_.size()) return BadLine("Excessive columns");
    begin = end + 1;
  }
  if (fields.size() < 2) return BadLine("No delimiter");
  for (size_t i = fields.size(); i < num_needed_; i++) {
    switch (columns_[i].type) {
      case TsvColumn::Type::kRow:
        return BadLine("No row key");
      case TsvColumn::Type::kTimestamp:
        return BadLine("No timestamp");
      case TsvColumn::Type::kTtl:
        return BadLine("No cell TTL specified");
      case TsvColumn::Type::kCell:
        break;
      default:
        return BadLine("No column or no value");
    }
  }
  return fields;
}

absl::StatusOr<std::optional<std::string>> TsvFormat::Decode(std::string_view field) const {
  const bool is_absent =
      (settings_.escaped && field == kAbsentField) || (settings_.skip_empty && field.empty());
  if (is_absent) return std::optional<std::string>();
  if (!settings_.escaped) return std::optional<std::string>(field);
  WINNOW_ASSIGN_OR_RETURN(std::string bytes, FromText(field, TextForm::kEscaped));
  return std::optional<std::string>(std::move(bytes));
}

absl::Status TsvFormat::TakeField(const TsvColumn& column, std::string_view field,
                                  TsvLine* line) const {
  uint64_t number = 0;
  switch (column.type) {
    case TsvColumn::Type::kTimestamp:
      if (!absl::SimpleAtoi(ToAbsl(field), &number) || number > kMaxTimestamp) {
        return BadLine(absl::StrCat("Invalid timestamp ", ToAbsl(field)));
      }
      line->timestamp = number;
      return absl::OkStatus();
    case TsvColumn::Type::kTtl:
      // Empty: the cell has none, in a column that others have one in.
      if (field.empty()) return absl::OkStatus();
      if (!absl::SimpleAtoi(ToAbsl(field), &line->ttl_ms) || line->ttl_ms == 0) {
        return BadLine(absl::StrCat("Invalid cell TTL ", ToAbsl(field), ": milliseconds"));
      }
      return absl::OkStatus();
    default:
      break;
  }
  WINNOW_ASSIGN_OR_RETURN(std::optional<std::string> bytes, Decode(field));
  if (column.type == TsvColumn::Type::kRow) {
    if (!bytes || bytes->empty()) return BadLine("Empty value for ROW KEY.");
    line->row = *std::move(bytes);
  } else if (column.type == TsvColumn::Type::kCellName) {
    const std::string name = bytes.value_or("");
    const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits(':', 1));
    line->cells.push_back({parts.first, parts.second, ""});
  } else if (column.type == TsvColumn::Type::kCellValue) {
    // Put together with its name by ParseLine, whichever comes first.
    if (bytes) line->cells.push_back({"", "", *std::move(bytes)});
  } else if (bytes) {
    line->cells.push_back({column.family, column.qualifier, *std::move(bytes)});
  }
  return absl::OkStatus();
}

absl::StatusOr<TsvLine> TsvFormat::ParseLine(std::string_view line) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string_view> fields, Split(line));
  TsvLine parsed;
  std::optional<size_t> name;
  std::optional<size_t> value;
  for (size_t i = 0; i < fields.size(); i++) {
    const size_t before = parsed.cells.size();
    WINNOW_RETURN_IF_ERROR(TakeField(columns_[i], fields[i], &parsed));
    const bool is_there = parsed.cells.size() > before;
    if (columns_[i].type == TsvColumn::Type::kCellName) name = before;
    if (columns_[i].type == TsvColumn::Type::kCellValue && is_there) value = before;
  }
  if (!name) return parsed;
  // A name without a value is no cell.
  if (value) parsed.cells[*name].value = std::move(parsed.cells[*value].value);
  parsed.cells.erase(parsed.cells.begin() + static_cast<std::ptrdiff_t>(value.value_or(*name)));
  return parsed;
}

absl::Status TsvFormat::AppendField(size_t index, std::string_view bytes, std::string* line) const {
  const char separator = settings_.separator[0];
  if (index > 0) line->push_back(separator);
  if (!settings_.escaped) {
    if (bytes.find_first_of(std::string{separator, '\n', '\r'}) != std::string_view::npos) {
      return absl::InvalidArgumentError(
          "holds the separator or the end of a line: such bytes need --escaped");
    }
    line->append(bytes);
    return absl::OkStatus();
  }
  for (const char letter : ToText(bytes, TextForm::kEscaped)) {
    if (letter == separator) {
      absl::StrAppendFormat(line, "\\x%02x", static_cast<unsigned char>(letter));
    } else {
      line->push_back(letter);
    }
  }
  return absl::OkStatus();
}

void TsvFormat::AppendAbsent(size_t index, std::string* line) const {
  if (index > 0) line->push_back(settings_.separator[0]);
  if (settings_.escaped) line->append(kAbsentField);
}

}  // namespace winnow::cli
