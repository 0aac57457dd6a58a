#include "tools/winnow/scan_in_parts.h"

#include "absl/status/status.h"

namespace winnow::cli {

namespace {

constexpr size_t kMaxCellsOfPart = 10'000;

}  // namespace

std::unique_ptr<RowScanner> ScanInParts(TableDatabase& tables, ScanOptions options, Table* table) {
  options.max_cells = kMaxCellsOfPart;
  std::unique_ptr<RowScanner> scanner = tables.Scan(options, table);
  if (!options.filter.is_set() || !absl::IsInvalidArgument(scanner->status())) return scanner;
  // Only the store knows which filters those are; what else is wrong it says again.
  options.max_cells = 0;
  return tables.Scan(options, table);
}

}  // namespace winnow::cli
