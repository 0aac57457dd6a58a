// Scans that hold a part of a wide row at a time.
#ifndef WINNOW_TOOLS_WINNOW_SCAN_IN_PARTS_H_
#define WINNOW_TOOLS_WINNOW_SCAN_IN_PARTS_H_

#include <memory>

#include "winnow/table.h"

namespace winnow::cli {

// A row of more cells comes in several results. Not where the filter decides by whole rows.
std::unique_ptr<RowScanner> ScanInParts(TableDatabase& tables, ScanOptions options, Table* table);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_SCAN_IN_PARTS_H_
