// winnow table explain: what is stored of one column, and why a reader sees it or does not.
#ifndef WINNOW_TOOLS_WINNOW_TABLE_EXPLAIN_H_
#define WINNOW_TOOLS_WINNOW_TABLE_EXPLAIN_H_

#include "absl/status/statusor.h"
#include "tools/winnow/table_cells.h"

namespace winnow::cli {

absl::StatusOr<ExitCode> ExplainCell(const TableCall& call);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TABLE_EXPLAIN_H_
