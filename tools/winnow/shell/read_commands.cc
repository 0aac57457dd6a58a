// The commands that read cells.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/counter.h"
#include "tools/winnow/scan_in_parts.h"
#include "tools/winnow/shell/columns.h"
#include "tools/winnow/shell/commands.h"
#include "tools/winnow/shell/read_request.h"
#include "tools/winnow/table_json.h"

namespace winnow::shell {
namespace {

std::string CellText(const CellView& cell, const ReadRequest& request) {
  std::string text = absl::StrCat("timestamp=", cell.timestamp);
  if (cell.type == CellType::kPut) {
    if (cell.ttl_ms != 0 && request.options.raw) absl::StrAppend(&text, ", ttl=", cell.ttl_ms);
    absl::StrAppend(&text, ", value=", FormatValue(cell.value, request.FormatOf(cell)));
  } else {
    absl::StrAppend(&text, ", type=", ToAbsl(cli::NameOf(cell.type)));
  }
  if (text.size() > request.max_cell_text) text.resize(request.max_cell_text);
  return text;
}

std::string ColumnText(const CellView& cell) {
  return absl::StrCat(ToAbsl(cell.family), ":", ToStringBinary(cell.qualifier));
}

absl::Status GetCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText("the table's name"));
  WINNOW_ASSIGN_OR_RETURN(Table* const table, session.FindTable(name));
  WINNOW_ASSIGN_OR_RETURN(const std::string row, parameters.TakeText("the row"));
  ReadRequest request;
  while (!parameters.empty() && !parameters.NextIs(Value::Type::kHash)) {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> columns,
                            TextsOf(parameters.Take(), "a column"));
    for (const std::string& column : columns) AddColumn(column, &request);
  }
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(TakeReadKeywords(&keywords, &request));
  WINNOW_RETURN_IF_ERROR(keywords.Finish());

  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  RowResult result;
  WINNOW_RETURN_IF_ERROR(
      ExplainMissingFamily(session, name, tables->Get(request.options, table, row, &result)));
  Printer& printer = session.printer();
  printer.Header("COLUMN", "CELL");
  for (const CellView& cell : result.cells()) {
    if (printer.is_json()) printer.Object(cli::CellJson(row, cell, /*hex=*/false));
    printer.Row(ColumnText(cell), CellText(cell, request));
  }
  printer.RowCount(result.empty() ? 0 : 1);
  return absl::OkStatus();
}

absl::Status GetCounterCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const CellAddress at, TakeCellAddress(session, parameters));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  // By Get, since NotFound of GetCell does not tell a family from a cell.
  TableReadOptions options;
  options.columns = {{at.family, at.qualifier}};
  RowResult result;
  WINNOW_RETURN_IF_ERROR(ExplainMissingFamily(session, at.table_name,
                                              tables->Get(options, at.table, at.row, &result)));
  if (result.empty()) {
    session.printer().Answer("No counter found at specified coordinates", {{"value", nullptr}});
    return absl::OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const int64_t sum, cli::CounterOf(result.cells().front().value));
  session.printer().Answer(absl::StrCat("COUNTER VALUE = ", sum), {{"value", sum}});
  return absl::OkStatus();
}

void PrintScanned(const RowResult& row, const ReadRequest& request, Printer& printer) {
  const std::string key = ToStringBinary(row.row());
  for (const CellView& cell : row.cells()) {
    if (printer.is_json()) {
      printer.Object(cli::CellJson(row.row(), cell, /*hex=*/false));
    } else {
      printer.Row(key, absl::StrCat("column=", ColumnText(cell), ", ", CellText(cell, request)));
    }
  }
}

absl::Status ScanCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText("the table's name"));
  WINNOW_ASSIGN_OR_RETURN(Table* const table, session.FindTable(name));
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  ReadRequest request;
  WINNOW_RETURN_IF_ERROR(TakeScanKeywords(&keywords, &request));
  WINNOW_RETURN_IF_ERROR(TakeReadKeywords(&keywords, &request));
  WINNOW_RETURN_IF_ERROR(keywords.Finish());

  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  Printer& printer = session.printer();
  const std::unique_ptr<RowScanner> scanner = cli::ScanInParts(*tables, request.options, table);
  WINNOW_RETURN_IF_ERROR(ExplainMissingFamily(session, name, scanner->status()));
  printer.Header("ROW", "COLUMN+CELL");
  RowResult row;
  std::string last_row;
  uint64_t num_rows = 0;
  while (printer.ok() && scanner->Next(&row)) {
    if (num_rows == 0 || row.row() != last_row) {
      num_rows++;
      last_row = row.row();
    }
    PrintScanned(row, request, printer);
  }
  WINNOW_RETURN_IF_ERROR(ExplainMissingFamily(session, name, scanner->status()));
  printer.RowCount(num_rows);
  return absl::OkStatus();
}

absl::Status CountCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText("the table's name"));
  WINNOW_ASSIGN_OR_RETURN(Table* const table, session.FindTable(name));
  uint64_t interval = 1000;
  if (parameters.NextIs(Value::Type::kInteger)) {
    WINNOW_ASSIGN_OR_RETURN(interval, parameters.TakeNumber("INTERVAL"));
  }
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  ReadRequest request;
  request.options.fill_cache = false;
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> given, keywords.TakeNumber("INTERVAL"));
  interval = given.value_or(interval);
  WINNOW_RETURN_IF_ERROR(TakeScanKeywords(&keywords, &request));
  WINNOW_RETURN_IF_ERROR(TakeReadKeywords(&keywords, &request));
  WINNOW_RETURN_IF_ERROR(keywords.Finish());
  if (interval == 0) return absl::InvalidArgumentError("INTERVAL must be at least 1");

  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  Printer& printer = session.printer();
  const std::unique_ptr<RowScanner> scanner = cli::ScanInParts(*tables, request.options, table);
  RowResult row;
  std::string last_row;
  uint64_t count = 0;
  while (printer.ok() && scanner->Next(&row)) {
    if (count > 0 && row.row() == last_row) continue;  // another part of it
    last_row = row.row();
    if (++count % interval != 0) continue;
    printer.Line(absl::StrCat("Current count: ", count, ", row: ", ToStringBinary(last_row)));
  }
  WINNOW_RETURN_IF_ERROR(ExplainMissingFamily(session, name, scanner->status()));
  printer.Object({{"rows", count}});
  printer.RowCount(count);
  return absl::OkStatus();
}

constexpr ShellCommand kReadCommands[] = {
    {"get", "dml", "shows the cells of a row, or those of some columns",
     "get 't', 'r'\n"
     "get 't', 'r', 'f:q', 'f2'\n"
     "get 't', 'r', {COLUMN => ['f:q', 'f2'], VERSIONS => 3, TIMERANGE => [0, 1700000000000]}\n"
     "get 't', 'r', {FILTER => \"ColumnPrefixFilter('a')\"}\n"
     "get 't', 'r', {COLUMN => 'f:q:toLong'}      # toInt, toShort, toString likewise",
     GetCommand},
    {"get_counter", "dml", "shows a counter that incr writes", "get_counter 't', 'r', 'f:q'",
     GetCounterCommand},
    {"scan", "dml", "shows the cells of many rows, in order",
     "scan 't'\n"
     "scan 't', {STARTROW => 'a', STOPROW => 'b', LIMIT => 10, COLUMNS => ['f:q', 'f2']}\n"
     "scan 't', {ROWPREFIXFILTER => 'user1', REVERSED => true, VERSIONS => 2}\n"
     "scan 't', {FILTER => \"QualifierFilter(=, 'binary:q') AND ValueFilter(>, 'binary:M')\"}\n"
     "scan 't', {RAW => true, VERSIONS => 10}      # deletes, and what they hide, too",
     ScanCommand},
    {"count", "dml", "counts rows",
     "count 't'\ncount 't', INTERVAL => 100000, STARTROW => 'a', STOPROW => 'b'", CountCommand},
};

}  // namespace

std::span<const ShellCommand> ReadCommands() { return kReadCommands; }

}  // namespace winnow::shell
