#include "tools/winnow/shell/columns.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::shell {

ColumnSelection ParseColumnName(std::string_view text) {
  const size_t colon = text.find(':');
  ColumnSelection column{std::string(text.substr(0, colon)), std::nullopt};
  if (colon != std::string_view::npos) column.qualifier = text.substr(colon + 1);
  return column;
}

absl::StatusOr<CellAddress> TakeCellAddress(Session& session, Parameters& parameters) {
  CellAddress address;
  WINNOW_ASSIGN_OR_RETURN(address.table_name, parameters.TakeText("the table's name"));
  WINNOW_ASSIGN_OR_RETURN(address.table, session.FindTable(address.table_name));
  WINNOW_ASSIGN_OR_RETURN(address.row, parameters.TakeText("the row"));
  WINNOW_ASSIGN_OR_RETURN(const std::string text, parameters.TakeText("the column"));
  ColumnSelection column = ParseColumnName(text);
  if (!column.qualifier) {
    return absl::InvalidArgumentError(
        absl::StrCat("the column must name its qualifier: '", text, ":QUALIFIER'"));
  }
  address.family = std::move(column.family);
  address.qualifier = *std::move(column.qualifier);
  return address;
}

absl::Status ExplainMissingFamily(Session& session, const std::string& table,
                                  const absl::Status& status) {
  if (!absl::IsNotFound(status)) return status;
  const absl::StatusOr<TableSchema> schema = session.Describe(table);
  if (!schema.ok()) return status;
  std::string names;
  for (const FamilySchema& family : schema->families) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", family.name, ":*");
  }
  return absl::NotFoundError(absl::StrCat("Unknown column family! Valid column names: ", names));
}

}  // namespace winnow::shell
