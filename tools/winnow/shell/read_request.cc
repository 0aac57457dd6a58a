#include "tools/winnow/shell/read_request.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/shell/columns.h"

namespace winnow::shell {
namespace {

// Of caches, replicas, metrics and other things of a cluster.
constexpr std::string_view kClusterKeywords[] = {
    "CACHE",           "CONSISTENCY",           "REGION_REPLICA_ID", "ATTRIBUTES",
    "ISOLATION_LEVEL", "ALL_METRICS",           "METRICS",           "READ_TYPE",
    "MAX_RESULT_SIZE", "ALLOW_PARTIAL_RESULTS", "FORMATTER_CLASS"};

absl::Status TakeTimes(Keywords* keywords, ReadRequest* request) {
  TableReadOptions& options = request->options;
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> timestamp,
                          keywords->TakeNumber("TIMESTAMP"));
  if (timestamp) {
    options.min_timestamp = *timestamp;
    options.end_timestamp = std::min(*timestamp, kMaxTimestamp) + 1;
  }
  const std::optional<Value> range = keywords->Take("TIMERANGE");
  if (!range) return absl::OkStatus();
  if (!range->Is(Value::Type::kList) || range->items.size() != 2) {
    return absl::InvalidArgumentError("TIMERANGE must be [FROM, BEFORE]");
  }
  WINNOW_ASSIGN_OR_RETURN(options.min_timestamp, NumberOf(range->items[0], "TIMERANGE"));
  WINNOW_ASSIGN_OR_RETURN(options.end_timestamp, NumberOf(range->items[1], "TIMERANGE"));
  options.end_timestamp = std::min(options.end_timestamp, kMaxTimestamp + 1);
  if (options.min_timestamp <= options.end_timestamp) return absl::OkStatus();
  return absl::InvalidArgumentError("TIMERANGE must not end before it begins");
}

absl::Status TakeFilter(Keywords* keywords, ReadRequest* request) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> text, keywords->TakeText("FILTER"));
  if (!text) return absl::OkStatus();
  absl::StatusOr<TableFilter> filter = TableFilter::Parse(*text);
  if (!filter.ok()) return WithContext(filter.status(), "FILTER");
  request->options.filter = *std::move(filter);
  return absl::OkStatus();
}

absl::Status TakeFormat(Keywords* keywords, ReadRequest* request) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> method, keywords->TakeText("FORMATTER"));
  if (method) {
    const std::optional<ValueFormat> format = FormatOfMethod(*method);
    if (!format) {
      return absl::InvalidArgumentError(
          "FORMATTER is toStringBinary, toString, toInt, toLong or toShort");
    }
    request->format = *format;
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> length, keywords->TakeNumber("MAXLENGTH"));
  if (length) request->max_cell_text = *length;
  return absl::OkStatus();
}

}  // namespace

ValueFormat ReadRequest::FormatOf(const CellView& cell) const {
  for (const auto& [column, column_format] : column_formats) {
    if (column.family == cell.family && column.qualifier == cell.qualifier) return column_format;
  }
  return format;
}

void AddColumn(std::string_view text, ReadRequest* request) {
  const size_t last = text.rfind(':');
  const bool has_two = last != std::string_view::npos && text.find(':') != last;
  const std::optional<ValueFormat> format =
      has_two ? FormatOfMethod(text.substr(last + 1)) : std::nullopt;
  ColumnSelection column = ParseColumnName(format ? text.substr(0, last) : text);
  if (format) request->column_formats.emplace_back(column, *format);
  request->options.columns.push_back(std::move(column));
}

absl::Status TakeReadKeywords(Keywords* keywords, ReadRequest* request) {
  for (const std::string_view key : {"COLUMN", "COLUMNS"}) {
    const std::optional<Value> value = keywords->Take(key);
    if (!value) continue;
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> columns, TextsOf(*value, key));
    for (const std::string& column : columns) AddColumn(column, request);
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> versions, keywords->TakeNumber("VERSIONS"));
  if (versions) {
    if (*versions == 0) return absl::InvalidArgumentError("VERSIONS must be at least 1");
    request->options.max_versions =
        static_cast<uint32_t>(std::min<uint64_t>(*versions, kUnlimitedVersions));
  }
  WINNOW_RETURN_IF_ERROR(TakeTimes(keywords, request));
  WINNOW_RETURN_IF_ERROR(TakeFormat(keywords, request));
  WINNOW_RETURN_IF_ERROR(TakeFilter(keywords, request));
  const std::optional<Value> cache_blocks = keywords->Take("CACHE_BLOCKS");
  if (cache_blocks) {
    WINNOW_ASSIGN_OR_RETURN(request->options.fill_cache, BooleanOf(*cache_blocks, "CACHE_BLOCKS"));
  }
  if (keywords->Has("AUTHORIZATIONS")) {
    return absl::InvalidArgumentError("AUTHORIZATIONS is not possible: cells have no labels");
  }
  for (const std::string_view key : kClusterKeywords) keywords->Take(key);
  return absl::OkStatus();
}

absl::Status TakeScanKeywords(Keywords* keywords, ReadRequest* request) {
  ScanOptions& options = request->options;
  WINNOW_ASSIGN_OR_RETURN(options.start_row, keywords->TakeText("STARTROW"));
  for (const std::string_view key : {"ENDROW", "STOPROW"}) {
    WINNOW_ASSIGN_OR_RETURN(std::optional<std::string> stop, keywords->TakeText(key));
    if (stop) options.stop_row = std::move(stop);
  }
  if (options.start_row == "") options.start_row.reset();
  if (options.stop_row == "") options.stop_row.reset();
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> prefix,
                          keywords->TakeText("ROWPREFIXFILTER"));
  options.row_prefix = prefix.value_or("");
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, keywords->TakeNumber("LIMIT"));
  if (limit && *limit == 0) return absl::InvalidArgumentError("LIMIT must be at least 1");
  options.max_rows = limit.value_or(0);
  WINNOW_ASSIGN_OR_RETURN(options.reverse, keywords->TakeBoolean("REVERSED"));
  WINNOW_ASSIGN_OR_RETURN(options.raw, keywords->TakeBoolean("RAW"));
  return absl::OkStatus();
}

}  // namespace winnow::shell
