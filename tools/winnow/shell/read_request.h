// What get, scan and count are asked for, from their keywords.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_READ_REQUEST_H_
#define WINNOW_TOOLS_WINNOW_SHELL_READ_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/winnow/shell/binary_text.h"
#include "tools/winnow/shell/parameters.h"
#include "winnow/table.h"

namespace winnow::shell {

struct ReadRequest {
  ScanOptions options;  // for a get, its part that TableReadOptions are
  // How the values of a column are shown; of others as `format` says.
  std::vector<std::pair<ColumnSelection, ValueFormat>> column_formats;
  ValueFormat format = ValueFormat::kBinary;
  size_t max_cell_text = SIZE_MAX;  // characters of a cell that are shown

  ValueFormat FormatOf(const CellView& cell) const;
};

// Adds a column, which may end in a formatter: 'f:q', 'f', 'f:q:toLong'.
void AddColumn(std::string_view text, ReadRequest* request);

// COLUMN(S), VERSIONS, TIMESTAMP, TIMERANGE, FILTER, MAXLENGTH, FORMATTER; and those that HBase's
// clients have for its servers, which are let pass.
absl::Status TakeReadKeywords(Keywords* keywords, ReadRequest* request);
// STARTROW, STOPROW, ROWPREFIXFILTER, LIMIT, REVERSED, RAW.
absl::Status TakeScanKeywords(Keywords* keywords, ReadRequest* request);

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_READ_REQUEST_H_
