// winnow table import and export.
#ifndef WINNOW_TOOLS_WINNOW_TABLE_TRANSFER_H_
#define WINNOW_TOOLS_WINNOW_TABLE_TRANSFER_H_

#include "absl/status/statusor.h"
#include "tools/winnow/table_cells.h"
#include "tools/winnow/tsv.h"

namespace winnow::cli {

// What --columns, --separator, --escaped and --skip-empty-columns say.
absl::StatusOr<TsvFormat> TsvFormatOf(const Arguments& arguments);

absl::StatusOr<ExitCode> ImportTable(const TableCall& call);  // table_import.cc
absl::StatusOr<ExitCode> ExportTable(const TableCall& call);  // table_export.cc

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TABLE_TRANSFER_H_
