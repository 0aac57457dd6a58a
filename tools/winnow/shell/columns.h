// Columns as the shell names them: 'FAMILY:QUALIFIER', or 'FAMILY' for a whole family.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_COLUMNS_H_
#define WINNOW_TOOLS_WINNOW_SHELL_COLUMNS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/winnow/shell/parameters.h"
#include "tools/winnow/shell/session.h"
#include "winnow/table.h"

namespace winnow::shell {

// Cut at the first colon, so that 'f:' is the column with the empty qualifier.
ColumnSelection ParseColumnName(std::string_view text);

// Where one cell is.
struct CellAddress {
  std::string table_name;
  Table* table = nullptr;
  std::string row;
  std::string family;
  std::string qualifier;
};

// Takes the table, the row and the column. InvalidArgument: one is missing, or the column is a
// family.
absl::StatusOr<CellAddress> TakeCellAddress(Session& session, Parameters& parameters);

// `status`; where it says that a family is not there, with the names of those that are.
absl::Status ExplainMissingFamily(Session& session, const std::string& table,
                                  const absl::Status& status);

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_COLUMNS_H_
