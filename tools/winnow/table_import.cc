// winnow table import: rows from text, by the rules of HBase's ImportTsv.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/bulk_cells.h"
#include "tools/winnow/database.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/record_reader.h"
#include "tools/winnow/table_transfer.h"
#include "tools/winnow/tsv.h"

namespace winnow::cli {
namespace {

// A batch is written once it has this much.
constexpr size_t kImportBatchCells = 1000;
constexpr size_t kImportBatchBytes = size_t{1} << 20;

class TableImporter {
 public:
  // `timestamp`: of cells whose lines have none. `bulk`, which may be null, takes the cells in the
  // place of batches.
  TableImporter(const TableCall& call, Table* table, const TableSchema& schema, TsvFormat format,
                uint64_t timestamp, BulkCells* bulk, uint64_t total_bytes)
      : call_(call),
        table_(table),
        schema_(schema),
        format_(std::move(format)),
        timestamp_(timestamp),
        bulk_(bulk),
        progress_(total_bytes) {}

  absl::Status ImportFile(const InputFile& file) {
    LineReader lines(file.descriptor(), file.name());
    const auto import = [&](std::string_view line) -> absl::Status {
      num_lines_++;
      WINNOW_RETURN_IF_ERROR(ImportLine(line, lines));
      progress_.Update(num_cells_, finished_bytes_ + lines.bytes_read());
      return absl::OkStatus();
    };
    WINNOW_RETURN_IF_ERROR(lines.ForEach(import));
    finished_bytes_ += lines.bytes_read();
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (bulk_ != nullptr) {
      const absl::Status finished = bulk_->Finish();
      num_cells_ = bulk_->num_ingested();
      return finished;
    }
    WINNOW_RETURN_IF_ERROR(WriteOut());
    return is_dry() ? absl::OkStatus() : call_.tables.Flush(schema_.name);
  }

  void Report() {
    progress_.Clear();
    const double seconds = progress_.seconds();
    if (call_.arguments.Has("json")) {
      call_.output.Write(ToLine(Json{{"lines", num_lines_},
                                     {"cells", num_cells_},
                                     {"bad_lines", num_bad_},
                                     {"seconds", seconds},
                                     {"cells_per_second", PerSecond(num_cells_, seconds)}}));
      return;
    }
    std::string text = absl::StrFormat(
        "%s, %s in %s: %s cells/s", report::HumanCount(num_lines_, "line", "lines"),
        report::HumanCount(num_cells_, "cell", "cells"), report::HumanSeconds(seconds),
        report::HumanCount(PerSecond(num_cells_, seconds)));
    if (num_bad_ > 0) {
      absl::StrAppend(&text, "; ", report::HumanCount(num_bad_, "bad line", "bad lines"),
                      " skipped");
    }
    if (bulk_ != nullptr) absl::StrAppend(&text, "; ingested");
    if (is_dry()) absl::StrAppend(&text, "; nothing was written");
    Complain("table import", text);
  }

 private:
  bool is_dry() const { return call_.arguments.Has("dry-run"); }

  absl::Status ImportLine(std::string_view text, const LineReader& lines) {
    absl::StatusOr<TsvLine> line = format_.ParseLine(text);
    if (line.ok()) line = Checked(*std::move(line));
    if (!line.ok()) return BadLine(line.status(), lines);
    const uint64_t timestamp = line->timestamp.value_or(timestamp_);
    if (bulk_ != nullptr) return lines.InContext(AddToBulk(*std::move(line), timestamp));
    for (const TsvCell& cell : line->cells) {
      batch_.Put(table_, line->row, cell.family, cell.qualifier, cell.value,
                 {.timestamp = timestamp, .ttl_ms = line->ttl_ms});
      batch_bytes_ += line->row.size() + cell.qualifier.size() + cell.value.size();
    }
    if (batch_.num_changes() < kImportBatchCells && batch_bytes_ < kImportBatchBytes) {
      return absl::OkStatus();
    }
    return lines.InContext(WriteOut());
  }

  absl::Status AddToBulk(TsvLine line, uint64_t timestamp) {
    for (TsvCell& cell : line.cells) {
      WINNOW_RETURN_IF_ERROR(
          bulk_->Add({line.row, std::move(cell.family), std::move(cell.qualifier), timestamp,
                      std::move(cell.value)}));
    }
    num_cells_ = bulk_->num_ingested();
    return absl::OkStatus();
  }

  // A line that the table would refuse is a bad one: it must not take its batch with it.
  absl::StatusOr<TsvLine> Checked(TsvLine line) const {
    if (line.row.size() > kMaxRowBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the row has ", line.row.size(), " bytes, over ", kMaxRowBytes));
    }
    for (const TsvCell& cell : line.cells) {
      const bool is_known =
          std::any_of(schema_.families.begin(), schema_.families.end(),
                      [&](const FamilySchema& family) { return family.name == cell.family; });
      if (!is_known) {
        return absl::InvalidArgumentError(absl::StrCat("no family '", cell.family, "'"));
      }
      if (cell.qualifier.size() > kMaxQualifierBytes || cell.value.size() > kMaxCellBytes) {
        return absl::InvalidArgumentError("a qualifier or value is over its limit");
      }
    }
    return line;
  }

  absl::Status BadLine(const absl::Status& reason, const LineReader& lines) {
    const std::string message =
        absl::StrCat(lines.name(), ":", lines.line_number(), ": ", reason.message());
    if (call_.arguments.Has("fail-on-bad-line")) return absl::DataLossError(message);
    num_bad_++;
    if (call_.arguments.Has("log-bad-lines")) {
      progress_.Clear();
      Complain("table import", absl::StrCat(message, " (skipped)"));
    }
    return absl::OkStatus();
  }

  absl::Status WriteOut() {
    if (!is_dry() && batch_.num_changes() > 0) {
      WINNOW_RETURN_IF_ERROR(call_.tables.Write(WriteOptions(), batch_));
    }
    num_cells_ += batch_.num_changes();
    batch_.Clear();
    batch_bytes_ = 0;
    return absl::OkStatus();
  }

  const TableCall& call_;
  Table* const table_;
  const TableSchema& schema_;
  const TsvFormat format_;
  const uint64_t timestamp_;
  BulkCells* const bulk_;
  Progress progress_;
  TableBatch batch_;
  size_t batch_bytes_ = 0;
  uint64_t num_lines_ = 0;
  uint64_t num_cells_ = 0;  // in the database by now
  uint64_t num_bad_ = 0;
  uint64_t finished_bytes_ = 0;
};

absl::Status CheckFamilies(const TsvFormat& format, const TableSchema& schema) {
  for (const TsvColumn& column : format.columns()) {
    if (column.type != TsvColumn::Type::kCell) continue;
    const bool is_known =
        std::any_of(schema.families.begin(), schema.families.end(),
                    [&](const FamilySchema& family) { return family.name == column.family; });
    if (!is_known) {
      return absl::NotFoundError(
          absl::StrCat("--columns: table '", schema.name, "' has no family '", column.family, "'"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TsvFormat> TsvFormatOf(const Arguments& arguments) {
  TsvFormat::Settings settings;
  settings.columns = arguments.Text("columns").value_or("");
  if (arguments.Has("columns") && settings.columns.empty()) {
    return absl::InvalidArgumentError("--columns names no column");
  }
  WINNOW_ASSIGN_OR_RETURN(settings.separator,
                          FromText(arguments.Text("separator").value_or("\t"), TextForm::kEscaped));
  settings.escaped = arguments.Has("escaped");
  settings.skip_empty = arguments.Has("skip-empty-columns");
  return TsvFormat::Parse(settings);
}

absl::StatusOr<ExitCode> ImportTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(Table* const table, call.tables.FindTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, call.tables.DescribeTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(const TsvFormat format, TsvFormatOf(call.arguments));
  WINNOW_RETURN_IF_ERROR(CheckFamilies(format, schema));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> timestamp,
                          call.arguments.Number("timestamp"));
  if (timestamp && *timestamp > kMaxTimestamp) {
    return absl::InvalidArgumentError(
        absl::StrCat("--timestamp=", *timestamp, ": the greatest is ", kMaxTimestamp));
  }
  const std::vector<std::string> paths(call.words.begin() + 2, call.words.end());
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> files, OpenInputs(paths));

  std::optional<BulkCells> bulk;
  if (call.arguments.Has("bulk")) {
    if (format.Has(TsvColumn::Type::kTtl) || call.arguments.Has("dry-run")) {
      return absl::InvalidArgumentError("--bulk goes with neither HBASE_CELL_TTL nor --dry-run");
    }
    WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(call.arguments));
    bulk.emplace(call.tables, table, path);
  }
  // One moment for the whole import, as in ImportTsv.
  const uint64_t moment = timestamp ? *timestamp : call.tables.GetSnapshot()->timestamp();
  TableImporter importer(call, table, schema, format, moment, bulk ? &*bulk : nullptr,
                         TotalBytes(files));
  absl::Status imported;
  for (const InputFile& file : files) {
    imported = importer.ImportFile(file);
    if (!imported.ok()) break;
  }
  imported.Update(importer.Finish());  // what stands before a bad line is kept
  importer.Report();
  if (!imported.ok()) return imported;
  return ExitCode::kOk;
}

}  // namespace winnow::cli
