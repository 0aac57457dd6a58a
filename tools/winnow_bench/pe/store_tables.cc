// Winnow's tables.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow_bench/pe/store_factory.h"
#include "tools/winnow_bench/pe/winnow_settings.h"
#include "winnow/table.h"

namespace winnow::bench::pe {
namespace {

void CountRow(const RowResult& row, ReadCount* count) {
  if (row.empty()) return;
  count->rows++;
  count->cells += row.cells().size();
  for (const CellView& cell : row.cells()) count->bytes += cell.value.size();
}

class TableWalk final : public RowWalk {
 public:
  explicit TableWalk(std::unique_ptr<RowScanner> scanner) : scanner_(std::move(scanner)) {}

  bool Next(ReadCount* count) override {
    if (!scanner_->Next(&row_)) return false;
    CountRow(row_, count);
    return true;
  }
  absl::Status status() const override { return scanner_->status(); }

 private:
  const std::unique_ptr<RowScanner> scanner_;
  RowResult row_;
};

class FailedWalk final : public RowWalk {
 public:
  explicit FailedWalk(absl::Status status) : status_(std::move(status)) {}
  bool Next(ReadCount*) override { return false; }
  absl::Status status() const override { return status_; }

 private:
  const absl::Status status_;
};

// Rows whose first column has this value, as PerformanceEvaluation asks for them.
absl::StatusOr<TableFilter> FirstColumnIs(const std::string& value) {
  return TableFilter::Parse(
      absl::StrCat("SingleColumnValueFilter(", TableFilter::Quote(FamilyName(0)), ", ",
                   TableFilter::Quote(ColumnName(0)), ", =, ",
                   TableFilter::Quote(absl::StrCat("binary:", value)), ", true, true)"));
}

class TableClient final : public RowClient {
 public:
  TableClient(TableDatabase& tables, Table* table, const PeOptions& options,
              std::vector<CellColumn> read_columns)
      : tables_(tables), table_(table) {
    write_.disable_wal = !options.write_to_wal;
    for (CellColumn& column : read_columns) {
      read_.columns.push_back({std::move(column.family), std::move(column.qualifier)});
    }
    for (uint64_t i = 0; i < options.families; i++) families_.push_back(FamilyName(i));
    for (uint64_t i = 0; i < options.columns; i++) qualifiers_.push_back(ColumnName(i));
  }

  absl::Status Put(std::span<const std::string> rows, const ValueOf& value) override {
    if (rows.size() * families_.size() * qualifiers_.size() == 1) {
      return tables_.Put(write_, table_, rows[0], families_[0], qualifiers_[0], value());
    }
    batch_.Clear();
    for (const std::string& row : rows) {
      for (const std::string& family : families_) {
        for (const std::string& qualifier : qualifiers_) {
          batch_.Put(table_, row, family, qualifier, value());
        }
      }
    }
    return tables_.Write(write_, batch_);
  }

  absl::Status Get(std::span<const std::string> rows, ReadCount* count) override {
    if (rows.size() == 1) {
      WINNOW_RETURN_IF_ERROR(tables_.Get(read_, table_, rows[0], &row_));
      CountRow(row_, count);
      return absl::OkStatus();
    }
    const std::vector<std::string_view> views(rows.begin(), rows.end());
    WINNOW_RETURN_IF_ERROR(tables_.MultiGet(read_, table_, views, &rows_));
    for (const RowResult& row : rows_) CountRow(row, count);
    return absl::OkStatus();
  }

  std::unique_ptr<RowWalk> Walk(const WalkRange& range) override {
    ScanOptions scan;
    static_cast<TableReadOptions&>(scan) = read_;
    scan.start_row = range.start_row;
    scan.stop_row = range.stop_row;
    scan.max_rows = range.max_rows;
    scan.reverse = range.reverse;
    if (range.first_value) {
      absl::StatusOr<TableFilter> filter = FirstColumnIs(*range.first_value);
      if (!filter.ok()) return std::make_unique<FailedWalk>(filter.status());
      scan.filter = *std::move(filter);
    }
    return std::make_unique<TableWalk>(tables_.Scan(scan, table_));
  }

  absl::Status Delete(const std::string& row) override {
    batch_.Clear();
    batch_.DeleteRow(table_, row);
    return tables_.Write(write_, batch_);
  }

  absl::Status Increment(const std::string& row, const std::string& qualifier) override {
    for (const std::string& family : families_) {
      WINNOW_RETURN_IF_ERROR(tables_.Increment(write_, table_, row, family, qualifier, 1).status());
    }
    return absl::OkStatus();
  }

  absl::Status Append(const std::string& row, const std::string& qualifier,
                      std::string_view suffix) override {
    for (const std::string& family : families_) {
      WINNOW_RETURN_IF_ERROR(
          tables_.Append(write_, table_, row, family, qualifier, suffix).status());
    }
    return absl::OkStatus();
  }

  absl::Status CheckAndWrite(const std::string& row, const std::string& qualifier,
                             std::string_view value, Then then) override {
    batch_.Clear();
    if (then == Then::kPut) {
      batch_.Put(table_, row, families_[0], qualifier, value);
    } else {
      batch_.DeleteColumn(table_, row, families_[0], qualifier);
    }
    const CellCondition condition = {
        .row = row, .family = families_[0], .qualifier = qualifier, .value = std::string(value)};
    return tables_.CheckAndMutate(write_, table_, condition, batch_).status();
  }

  absl::Status PutOne(const std::string& row, const std::string& qualifier,
                      std::string_view value) override {
    return tables_.Put(write_, table_, row, families_[0], qualifier, value);
  }

 private:
  TableDatabase& tables_;
  Table* const table_;
  WriteOptions write_;
  TableReadOptions read_;
  std::vector<std::string> families_;
  std::vector<std::string> qualifiers_;
  TableBatch batch_;
  RowResult row_;
  std::vector<RowResult> rows_;
};

class TableStore final : public RowStore {
 public:
  TableStore(std::unique_ptr<TableDatabase> tables, Table* table, const PeOptions& options)
      : tables_(std::move(tables)), table_(table), options_(options) {}

  absl::StatusOr<std::unique_ptr<RowClient>> NewClient(
      std::vector<CellColumn> read_columns) override {
    return std::make_unique<TableClient>(*tables_, table_, options_, std::move(read_columns));
  }
  absl::Status Settle() override {
    WINNOW_RETURN_IF_ERROR(tables_->MajorCompact(options_.table));
    return tables_->db().WaitForBackgroundWork();
  }
  absl::Status Flush() override { return tables_->Flush(options_.table); }
  EngineCounters Counters() override { return CountersOf(tables_->db()); }
  absl::Status Close() override { return tables_->Close(); }

 private:
  const std::unique_ptr<TableDatabase> tables_;
  Table* const table_;
  const PeOptions& options_;
};

absl::StatusOr<std::unique_ptr<RowStore>> OpenTables(const PeOptions& options,
                                                     const std::string& directory) {
  WINNOW_ASSIGN_OR_RETURN(const Options database, WinnowOptionsOf(options));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<TableDatabase> tables,
                          TableDatabase::Open(database, directory));
  absl::StatusOr<Table*> table = tables->FindTable(options.table);
  if (absl::IsNotFound(table.status())) {
    TableSchema schema{.name = options.table};
    for (uint64_t i = 0; i < options.families; i++) {
      schema.families.push_back(
          {.name = FamilyName(i), .bloom_filter = options.bloom_filter, .filter = options.filter});
    }
    table = tables->CreateTable(schema);
  }
  if (!table.ok()) return table.status();
  return std::make_unique<TableStore>(std::move(tables), *table, options);
}

}  // namespace

const RowStoreFactory kTablesFactory = {
    "tables", "Winnow's tables", OpenTables,
    [](const std::string& directory) { return DB::Destroy(Options(), directory); }};

}  // namespace winnow::bench::pe
