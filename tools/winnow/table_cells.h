// The verbs of `winnow table` that read and write cells.
#ifndef WINNOW_TOOLS_WINNOW_TABLE_CELLS_H_
#define WINNOW_TOOLS_WINNOW_TABLE_CELLS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/command.h"
#include "winnow/table.h"

namespace winnow::cli {

// One verb: `words` are the verb and what stands behind it, as many as it takes.
struct TableCall {
  TableDatabase& tables;
  const std::vector<std::string>& words;
  const Arguments& arguments;
  Output& output;
};

// Where a single cell is: TABLE ROW FAMILY:QUALIFIER.
struct CellPlace {
  Table* table = nullptr;
  std::string row = {};
  std::string family = {};
  std::string qualifier = {};
};
absl::StatusOr<CellPlace> ParsePlace(const TableCall& call);

// What --from, --to, --prefix, --reverse and --limit say; a limit of 0 is InvalidArgument.
absl::Status AddRowBounds(const TableCall& call, ScanOptions* options);

absl::StatusOr<ExitCode> PutCell(const TableCall& call);
absl::StatusOr<ExitCode> GetCells(const TableCall& call);
absl::StatusOr<ExitCode> ScanCells(const TableCall& call);
absl::StatusOr<ExitCode> CountRows(const TableCall& call);
absl::StatusOr<ExitCode> DeleteCell(const TableCall& call);
absl::StatusOr<ExitCode> DeleteAll(const TableCall& call);
absl::StatusOr<ExitCode> IncrementCell(const TableCall& call);
absl::StatusOr<ExitCode> AppendToCell(const TableCall& call);
absl::StatusOr<ExitCode> ReadCounter(const TableCall& call);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_TABLE_CELLS_H_
