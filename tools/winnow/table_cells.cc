#include "tools/winnow/table_cells.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/counter.h"
#include "tools/winnow/database.h"
#include "tools/winnow/scan_in_parts.h"
#include "tools/winnow/table_json.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ColumnSelection> ParseColumn(const TableCall& call, const std::string& word) {
  const size_t colon = word.find(':');
  ColumnSelection column{word.substr(0, colon), std::nullopt};
  if (colon == std::string::npos) return column;
  WINNOW_ASSIGN_OR_RETURN(column.qualifier, BytesFromWord(call.arguments, word.substr(colon + 1)));
  return column;
}

absl::Status AddColumns(const TableCall& call, size_t begin, TableReadOptions* options) {
  for (size_t i = begin; i < call.words.size(); i++) {
    WINNOW_ASSIGN_OR_RETURN(ColumnSelection column, ParseColumn(call, call.words[i]));
    options->columns.push_back(std::move(column));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> versions,
                          call.arguments.Number("versions"));
  if (versions) {
    options->max_versions =
        static_cast<uint32_t>(std::min<uint64_t>(*versions, kUnlimitedVersions));
  }
  options->raw = call.arguments.Has("raw");
  const std::optional<std::string> filter = call.arguments.Text("where");
  if (!filter) return absl::OkStatus();
  absl::StatusOr<TableFilter> parsed = TableFilter::Parse(*filter);
  if (!parsed.ok()) return WithContext(parsed.status(), "--where");
  options->filter = *std::move(parsed);
  return absl::OkStatus();
}

void PrintCells(const TableCall& call, const RowResult& row) {
  const TextForm form = PrintedForm(call.arguments);
  const bool hex = call.arguments.Has("hex");
  for (const CellView& cell : row.cells()) {
    if (call.arguments.Has("json")) {
      call.output.Write(ToLine(CellJson(row.row(), cell, hex)));
      continue;
    }
    std::string value = cell.type == CellType::kPut ? ToText(cell.value, form)
                                                    : absl::StrCat("\t", ToAbsl(NameOf(cell.type)));
    // In the place of a marker's type.
    if (cell.ttl_ms != 0 && call.arguments.Has("raw")) {
      absl::StrAppend(&value, "\tttl_ms=", cell.ttl_ms);
    }
    call.output.Line(absl::StrCat(ToText(row.row(), form), "\t", ToAbsl(cell.family), ":",
                                  ToText(cell.qualifier, form), "\t", cell.timestamp, "\t", value));
  }
}

absl::StatusOr<ExitCode> WriteChanges(const TableCall& call, const TableBatch& batch) {
  WINNOW_RETURN_IF_ERROR(call.tables.Write(WriteOptions(), batch));
  return PrintDone(call.arguments, call.output);
}

}  // namespace

absl::StatusOr<CellPlace> ParsePlace(const TableCall& call) {
  CellPlace place;
  WINNOW_ASSIGN_OR_RETURN(place.table, call.tables.FindTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(place.row, BytesFromWord(call.arguments, call.words[2]));
  WINNOW_ASSIGN_OR_RETURN(ColumnSelection column, ParseColumn(call, call.words[3]));
  if (!column.qualifier) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", call.words[3], "' is no column: write FAMILY:QUALIFIER"));
  }
  place.family = std::move(column.family);
  place.qualifier = *std::move(column.qualifier);
  return place;
}

absl::StatusOr<ExitCode> PutCell(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const CellPlace place, ParsePlace(call));
  WINNOW_ASSIGN_OR_RETURN(const std::string value, BytesFromWord(call.arguments, call.words[4]));
  TableBatch::PutOptions options;
  WINNOW_ASSIGN_OR_RETURN(options.timestamp, call.arguments.Number("timestamp"));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> ttl_ms, call.arguments.Number("ttl"));
  if (ttl_ms && *ttl_ms == 0) return absl::InvalidArgumentError("--ttl is at least 1");
  options.ttl_ms = ttl_ms.value_or(0);
  TableBatch batch;
  batch.Put(place.table, place.row, place.family, place.qualifier, value, options);
  return WriteChanges(call, batch);
}

absl::StatusOr<ExitCode> GetCells(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(Table* const table, call.tables.FindTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(const std::string row, BytesFromWord(call.arguments, call.words[2]));
  TableReadOptions options;
  WINNOW_RETURN_IF_ERROR(AddColumns(call, 3, &options));
  RowResult result;
  WINNOW_RETURN_IF_ERROR(call.tables.Get(options, table, row, &result));
  PrintCells(call, result);
  return result.empty() ? ExitCode::kNo : ExitCode::kOk;
}

absl::Status AddRowBounds(const TableCall& call, ScanOptions* options) {
  if (const auto word = call.arguments.Text("from")) {
    WINNOW_ASSIGN_OR_RETURN(options->start_row, BytesFromWord(call.arguments, *word));
  }
  if (const auto word = call.arguments.Text("to")) {
    WINNOW_ASSIGN_OR_RETURN(options->stop_row, BytesFromWord(call.arguments, *word));
  }
  if (const auto word = call.arguments.Text("prefix")) {
    WINNOW_ASSIGN_OR_RETURN(options->row_prefix, BytesFromWord(call.arguments, *word));
  }
  options->reverse = call.arguments.Has("reverse");
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, call.arguments.Number("limit"));
  if (limit && *limit == 0) return absl::InvalidArgumentError("--limit is at least 1");
  options->max_rows = limit.value_or(0);
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> ScanCells(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(Table* const table, call.tables.FindTable(call.words[1]));
  ScanOptions options;
  options.fill_cache = false;
  WINNOW_RETURN_IF_ERROR(AddColumns(call, 2, &options));
  WINNOW_RETURN_IF_ERROR(AddRowBounds(call, &options));
  const std::unique_ptr<RowScanner> scanner = ScanInParts(call.tables, options, table);
  RowResult row;
  while (call.output.ok() && scanner->Next(&row)) PrintCells(call, row);
  WINNOW_RETURN_IF_ERROR(scanner->status());
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> CountRows(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(Table* const table, call.tables.FindTable(call.words[1]));
  ScanOptions options;
  options.fill_cache = false;
  WINNOW_RETURN_IF_ERROR(AddColumns(call, 2, &options));
  WINNOW_RETURN_IF_ERROR(AddRowBounds(call, &options));
  const std::unique_ptr<RowScanner> scanner = ScanInParts(call.tables, options, table);
  RowResult row;
  std::string last_row;
  uint64_t count = 0;
  while (scanner->Next(&row)) {
    if (count > 0 && row.row() == last_row) continue;  // another part of it
    last_row = row.row();
    count++;
  }
  WINNOW_RETURN_IF_ERROR(scanner->status());
  return PrintAnswer(call.arguments, Json{{"rows", count}}, absl::StrCat(count), call.output);
}

absl::StatusOr<ExitCode> DeleteCell(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const CellPlace place, ParsePlace(call));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> timestamp,
                          call.arguments.Number("timestamp"));
  TableBatch batch;
  batch.DeleteVersion(place.table, place.row, place.family, place.qualifier, timestamp);
  return WriteChanges(call, batch);
}

absl::StatusOr<ExitCode> DeleteAll(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(Table* const table, call.tables.FindTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(const std::string row, BytesFromWord(call.arguments, call.words[2]));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> timestamp,
                          call.arguments.Number("timestamp"));
  TableBatch batch;
  if (call.words.size() == 3) {
    batch.DeleteRow(table, row, timestamp);
    return WriteChanges(call, batch);
  }
  WINNOW_ASSIGN_OR_RETURN(const ColumnSelection column, ParseColumn(call, call.words[3]));
  if (column.qualifier) {
    batch.DeleteColumn(table, row, column.family, *column.qualifier, timestamp);
  } else {
    batch.DeleteFamily(table, row, column.family, timestamp);
  }
  return WriteChanges(call, batch);
}

absl::StatusOr<ExitCode> IncrementCell(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const CellPlace place, ParsePlace(call));
  int64_t amount = 1;
  if (call.words.size() > 4 && !absl::SimpleAtoi(call.words[4], &amount)) {
    return absl::InvalidArgumentError(
        absl::StrCat("incr takes a whole number, not '", call.words[4], "'"));
  }
  WINNOW_ASSIGN_OR_RETURN(
      const int64_t sum, call.tables.Increment(WriteOptions(), place.table, place.row, place.family,
                                               place.qualifier, amount));
  return PrintAnswer(call.arguments, Json{{"value", sum}}, absl::StrCat(sum), call.output);
}

absl::StatusOr<ExitCode> AppendToCell(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const CellPlace place, ParsePlace(call));
  WINNOW_ASSIGN_OR_RETURN(const std::string suffix, BytesFromWord(call.arguments, call.words[4]));
  WINNOW_ASSIGN_OR_RETURN(const std::string whole,
                          call.tables.Append(WriteOptions(), place.table, place.row, place.family,
                                             place.qualifier, suffix));
  Json json = Json::object();
  AddBytes(&json, "value", whole, call.arguments.Has("hex"));
  return PrintAnswer(call.arguments, json, ToText(whole, PrintedForm(call.arguments)), call.output);
}

absl::StatusOr<ExitCode> ReadCounter(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const CellPlace place, ParsePlace(call));
  TableReadOptions options;
  options.columns = {{place.family, place.qualifier}};
  RowResult row;
  WINNOW_RETURN_IF_ERROR(call.tables.Get(options, place.table, place.row, &row));
  if (row.empty()) {
    PrintDone(call.arguments, Json{{"value", nullptr}}, call.output);
    return ExitCode::kNo;
  }
  WINNOW_ASSIGN_OR_RETURN(const int64_t sum, CounterOf(row.cells().front().value));
  return PrintAnswer(call.arguments, Json{{"value", sum}}, absl::StrCat(sum), call.output);
}

}  // namespace winnow::cli
