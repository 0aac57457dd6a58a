// winnow table export: rows as text that `winnow table import` reads.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/scan_in_parts.h"
#include "tools/winnow/table_transfer.h"

namespace winnow::cli {
namespace {

class TableExporter {
 public:
  TableExporter(const TsvFormat& format, Output& output) : format_(format), output_(output) {}

  // A row, or where lines name their cells a part of one.
  absl::Status WriteRow(const RowResult& row) {
    return format_.names_cells() ? WriteCells(row) : WriteLines(row);
  }

  uint64_t num_cells() const { return num_cells_; }

 private:
  // A line for each cell.
  absl::Status WriteCells(const RowResult& row) {
    for (const CellView& cell : row.cells()) {
      std::string line;
      for (size_t i = 0; i < format_.columns().size(); i++) {
        WINNOW_RETURN_IF_ERROR(AppendOfCell(i, row, cell, &line));
      }
      num_cells_++;
      output_.Line(line);
    }
    return absl::OkStatus();
  }

  absl::Status AppendOfCell(size_t index, const RowResult& row, const CellView& cell,
                            std::string* line) const {
    switch (format_.columns()[index].type) {
      case TsvColumn::Type::kRow:
        return Append(index, row.row(), row, line);
      case TsvColumn::Type::kTimestamp:
        return Append(index, absl::StrCat(cell.timestamp), row, line);
      case TsvColumn::Type::kTtl:
        return Append(index, TtlText(cell.ttl_ms), row, line);
      case TsvColumn::Type::kCellName:
        return Append(index, absl::StrCat(ToAbsl(cell.family), ":", ToAbsl(cell.qualifier)), row,
                      line);
      case TsvColumn::Type::kCellValue:
        return Append(index, cell.value, row, line);
      default:
        return absl::OkStatus();
    }
  }

  // What the cells of a line have in common.
  struct LineKey {
    uint64_t timestamp = 0;
    uint64_t ttl_ms = 0;
    friend auto operator<=>(const LineKey&, const LineKey&) = default;
  };

  // A line for each timestamp, the oldest first, with the cells of it, and where times to live are
  // written for each of those; without timestamps one line with the newest of each column.
  absl::Status WriteLines(const RowResult& row) {
    const bool has_timestamps = format_.Has(TsvColumn::Type::kTimestamp);
    const bool has_ttls = format_.Has(TsvColumn::Type::kTtl);
    std::map<LineKey, std::vector<const CellView*>> lines;
    for (const CellView& cell : row.cells()) {
      LineKey key;
      if (has_timestamps) key.timestamp = cell.timestamp;
      if (has_ttls) key.ttl_ms = cell.ttl_ms;
      std::vector<const CellView*>& line = lines[key];
      line.resize(format_.columns().size());
      for (size_t i = 0; i < line.size(); i++) {
        const TsvColumn& column = format_.columns()[i];
        const bool is_its = column.type == TsvColumn::Type::kCell && column.family == cell.family &&
                            column.qualifier == cell.qualifier;
        if (is_its) line[i] = &cell;
      }
    }
    for (const auto& [key, cells] : lines) {
      WINNOW_RETURN_IF_ERROR(WriteLineOf(row, key, cells));
    }
    return absl::OkStatus();
  }

  absl::Status WriteLineOf(const RowResult& row, const LineKey& key,
                           const std::vector<const CellView*>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); i++) {
      const TsvColumn::Type type = format_.columns()[i].type;
      if (type == TsvColumn::Type::kRow) {
        WINNOW_RETURN_IF_ERROR(Append(i, row.row(), row, &line));
      } else if (type == TsvColumn::Type::kTimestamp) {
        WINNOW_RETURN_IF_ERROR(Append(i, absl::StrCat(key.timestamp), row, &line));
      } else if (type == TsvColumn::Type::kTtl) {
        WINNOW_RETURN_IF_ERROR(Append(i, TtlText(key.ttl_ms), row, &line));
      } else if (cells[i] == nullptr) {
        format_.AppendAbsent(i, &line);
      } else if (cells[i]->value.empty() && !format_.escaped()) {
        return Unwritable(row,
                          "a value is empty, as a cell that is not there would be: such cells "
                          "need --escaped");
      } else {
        WINNOW_RETURN_IF_ERROR(Append(i, cells[i]->value, row, &line));
        num_cells_++;
      }
    }
    output_.Line(line);
    return absl::OkStatus();
  }

  // Empty: the cell has none of its own.
  static std::string TtlText(uint64_t ttl_ms) { return ttl_ms == 0 ? "" : absl::StrCat(ttl_ms); }

  absl::Status Append(size_t index, std::string_view bytes, const RowResult& row,
                      std::string* line) const {
    const absl::Status appended = format_.AppendField(index, bytes, line);
    return appended.ok() ? appended : Unwritable(row, ToStd(appended.message()));
  }

  static absl::Status Unwritable(const RowResult& row, std::string_view reason) {
    return absl::FailedPreconditionError(
        absl::StrCat("row '", absl::CHexEscape(ToAbsl(row.row())), "': ", ToAbsl(reason)));
  }

  const TsvFormat& format_;
  Output& output_;
  uint64_t num_cells_ = 0;
};

}  // namespace

absl::StatusOr<ExitCode> ExportTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(Table* const table, call.tables.FindTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(const TsvFormat format, TsvFormatOf(call.arguments));
  if (format.Has(TsvColumn::Type::kTtl) && !format.Has(TsvColumn::Type::kTimestamp)) {
    return absl::InvalidArgumentError(
        "--columns: HBASE_CELL_TTL counts from the timestamp, so that HBASE_TS_KEY belongs to it");
  }
  ScanOptions options;
  options.fill_cache = false;
  options.max_versions = format.Has(TsvColumn::Type::kTimestamp) ? kUnlimitedVersions : 1;
  for (const TsvColumn& column : format.columns()) {
    if (column.type == TsvColumn::Type::kCell) {
      options.columns.push_back({column.family, column.qualifier});
    }
  }
  WINNOW_RETURN_IF_ERROR(AddRowBounds(call, &options));
  TableExporter exporter(format, call.output);
  Progress progress(0, {.things = "cells", .prints_lines = true});
  // A line of columns takes a whole row.
  const std::unique_ptr<RowScanner> scanner = format.names_cells()
                                                  ? ScanInParts(call.tables, options, table)
                                                  : call.tables.Scan(options, table);
  RowResult row;
  while (call.output.ok() && scanner->Next(&row)) {
    WINNOW_RETURN_IF_ERROR(exporter.WriteRow(row));
    progress.Update(exporter.num_cells(), 0);
  }
  progress.Clear();
  WINNOW_RETURN_IF_ERROR(scanner->status());
  return ExitCode::kOk;
}

}  // namespace winnow::cli
