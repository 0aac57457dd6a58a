// The commands that write cells.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/table/byte_ranges.h"
#include "tools/winnow/shell/binary_text.h"
#include "tools/winnow/shell/columns.h"
#include "tools/winnow/shell/commands.h"

namespace winnow::shell {
namespace {

// What HBase's operations may carry and cells here do not: ATTRIBUTES are let pass, since only
// coprocessors see them; a VISIBILITY that is not kept would show what it should hide.
absl::Status TakeOperationAttributes(const Session& session, Keywords* keywords) {
  if (keywords->Has("VISIBILITY")) {
    return absl::InvalidArgumentError("VISIBILITY is not possible: cells have no labels");
  }
  if (keywords->Take("ATTRIBUTES")) session.Notify("ATTRIBUTES has no meaning here");
  return keywords->Finish();
}

// A timestamp, if a number is next.
absl::StatusOr<std::optional<uint64_t>> TakeTimestamp(Parameters& parameters) {
  if (parameters.empty() || parameters.NextIs(Value::Type::kHash)) {
    return std::optional<uint64_t>();
  }
  WINNOW_ASSIGN_OR_RETURN(const uint64_t timestamp, parameters.TakeNumber("the timestamp"));
  return std::optional<uint64_t>(timestamp);
}

absl::Status WriteBatchOf(Session& session, const std::string& table, const TableBatch& batch) {
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  WINNOW_RETURN_IF_ERROR(
      ExplainMissingFamily(session, table, tables->Write(WriteOptions(), batch)));
  session.printer().Done();
  return absl::OkStatus();
}

absl::Status PutCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const CellAddress at, TakeCellAddress(session, parameters));
  WINNOW_ASSIGN_OR_RETURN(const std::string value, parameters.TakeText("the value"));
  TableBatch::PutOptions options;
  WINNOW_ASSIGN_OR_RETURN(options.timestamp, TakeTimestamp(parameters));
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> ttl_ms, keywords.TakeNumber("TTL"));
  if (ttl_ms && *ttl_ms == 0) return absl::InvalidArgumentError("TTL is at least 1 millisecond");
  options.ttl_ms = ttl_ms.value_or(0);
  WINNOW_RETURN_IF_ERROR(TakeOperationAttributes(session, &keywords));
  TableBatch batch;
  batch.Put(at.table, at.row, at.family, at.qualifier, value, options);
  return WriteBatchOf(session, at.table_name, batch);
}

absl::Status DeleteCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const CellAddress at, TakeCellAddress(session, parameters));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> timestamp, TakeTimestamp(parameters));
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(TakeOperationAttributes(session, &keywords));
  TableBatch batch;
  batch.DeleteVersion(at.table, at.row, at.family, at.qualifier, timestamp);
  return WriteBatchOf(session, at.table_name, batch);
}

// deleteall 't', {ROWPREFIXFILTER => 'p'}: all rows that begin so.
absl::Status DeleteRowsWithPrefix(Session& session, Table* table, Keywords keywords) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> prefix,
                          keywords.TakeText("ROWPREFIXFILTER"));
  keywords.Take("CACHE");  // rows a batch, in HBase
  WINNOW_RETURN_IF_ERROR(keywords.Finish());
  if (!prefix || prefix->empty()) {
    return absl::InvalidArgumentError("deleteall takes a row, or {ROWPREFIXFILTER => 'PREFIX'}");
  }
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  WINNOW_RETURN_IF_ERROR(tables->DeleteRows(WriteOptions(), table, *prefix, BehindPrefix(*prefix)));
  session.printer().Done();
  return absl::OkStatus();
}

absl::Status DeleteAllCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText("the table's name"));
  WINNOW_ASSIGN_OR_RETURN(Table* const table, session.FindTable(name));
  if (parameters.NextIs(Value::Type::kHash)) {
    Keywords keywords = parameters.TakeKeywords();
    WINNOW_RETURN_IF_ERROR(parameters.Finish());
    return DeleteRowsWithPrefix(session, table, std::move(keywords));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string row, parameters.TakeText("the row"));
  std::string column_name;  // empty: the whole row
  if (!parameters.empty() && !parameters.NextIs(Value::Type::kHash)) {
    WINNOW_ASSIGN_OR_RETURN(column_name, parameters.TakeText("the column"));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> timestamp, TakeTimestamp(parameters));
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(TakeOperationAttributes(session, &keywords));
  TableBatch batch;
  const ColumnSelection column = ParseColumnName(column_name);
  if (column_name.empty()) {
    batch.DeleteRow(table, row, timestamp);
  } else if (column.qualifier) {
    batch.DeleteColumn(table, row, column.family, *column.qualifier, timestamp);
  } else {
    batch.DeleteFamily(table, row, column.family, timestamp);
  }
  return WriteBatchOf(session, name, batch);
}

absl::Status IncrementCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const CellAddress at, TakeCellAddress(session, parameters));
  int64_t amount = 1;
  if (!parameters.empty() && !parameters.NextIs(Value::Type::kHash)) {
    if (!parameters.NextIs(Value::Type::kInteger)) {
      return absl::InvalidArgumentError("the amount must be a whole number");
    }
    amount = parameters.Take().integer;
  }
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(TakeOperationAttributes(session, &keywords));
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  const absl::StatusOr<int64_t> sum =
      tables->Increment(WriteOptions(), at.table, at.row, at.family, at.qualifier, amount);
  if (!sum.ok()) return ExplainMissingFamily(session, at.table_name, sum.status());
  session.printer().Answer(absl::StrCat("COUNTER VALUE = ", *sum), {{"value", *sum}});
  return absl::OkStatus();
}

absl::Status AppendCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const CellAddress at, TakeCellAddress(session, parameters));
  WINNOW_ASSIGN_OR_RETURN(const std::string suffix, parameters.TakeText("the value"));
  Keywords keywords = parameters.TakeKeywords();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(TakeOperationAttributes(session, &keywords));
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  const absl::StatusOr<std::string> whole =
      tables->Append(WriteOptions(), at.table, at.row, at.family, at.qualifier, suffix);
  if (!whole.ok()) return ExplainMissingFamily(session, at.table_name, whole.status());
  cli::Json json = cli::Json::object();
  cli::AddBytes(&json, "value", *whole, /*hex=*/false);
  session.printer().Answer(absl::StrCat("CURRENT VALUE = ", ToStringBinary(*whole)), json);
  return absl::OkStatus();
}

constexpr ShellCommand kWriteCommands[] = {
    {"put", "dml", "writes a cell, with the present as its timestamp unless one is given",
     "put 't', 'r', 'f:q', 'value'\n"
     "put 't', \"row\\x00\\x01\", 'f:q', \"\\x00\\x00\\x00\\x05\", 1700000000000\n"
     "put 't', 'r', 'f:q', 'value', {TTL => 60000}      # exists for a minute",
     PutCommand},
    {"delete", "dml", "deletes one version: the one with the timestamp, else the newest",
     "delete 't', 'r', 'f:q'\ndelete 't', 'r', 'f:q', 1700000000000", DeleteCommand},
    {"deleteall", "dml", "deletes all versions up to a timestamp: of a row, family or column",
     "deleteall 't', 'r'\n"
     "deleteall 't', 'r', 'f'\n"
     "deleteall 't', 'r', 'f:q', 1700000000000\n"
     "deleteall 't', {ROWPREFIXFILTER => 'r'}",
     DeleteAllCommand},
    {"incr", "dml", "adds to a counter: 1, or the number given", "incr 't', 'r', 'f:q', 10",
     IncrementCommand},
    {"append", "dml", "puts bytes behind a cell's value", "append 't', 'r', 'f:q', 'more'",
     AppendCommand},
};

}  // namespace

std::span<const ShellCommand> WriteCommands() { return kWriteCommands; }

}  // namespace winnow::shell
