// A database of tables in memory, with a clock that stands until a test moves it.
#ifndef WINNOW_TESTS_ENGINE_TABLE_TABLE_FIXTURE_H_
#define WINNOW_TESTS_ENGINE_TABLE_TABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "tests/engine/table/table_model.h"
#include "tests/support/db_fixture.h"
#include "tests/support/test_clock.h"
#include "winnow/table.h"

namespace winnow {

inline constexpr uint64_t kStartMs = 1'000'000'000;  // of a TestClock

class MemoryTables {
 public:
  explicit MemoryTables(Options options = MemoryDb::Quiet()) : options_(std::move(options)) {
    options_.file_system = file_system_.get();
    options_.clock = &clock_;
    Reopen();
  }

  void Reopen() {
    if (tables_ != nullptr) {
      EXPECT_TRUE(tables_->Close().ok());
    }
    tables_.reset();
    auto opened = TableDatabase::Open(options_, "/db");
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    tables_ = *std::move(opened);
  }
  void Reopen(const Options& options) {
    options_ = options;
    options_.file_system = file_system_.get();
    options_.clock = &clock_;
    Reopen();
  }
  TableDatabase* operator->() { return tables_.get(); }
  TableDatabase& operator*() { return *tables_; }
  TestClock& clock() { return clock_; }
  RecordingFileSystem& file_system() { return *file_system_; }

  Table* Create(const TableSchema& schema) {
    auto created = tables_->CreateTable(schema);
    EXPECT_TRUE(created.ok()) << created.status().ToString();
    return created.ok() ? *created : nullptr;
  }
  Table* Find(std::string_view name) {
    auto found = tables_->FindTable(name);
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? *found : nullptr;
  }
  void Write(const TableBatch& batch) {
    const absl::Status written = tables_->Write(WriteOptions(), batch);
    EXPECT_TRUE(written.ok()) << written.ToString();
  }
  void Put(Table* table, std::string_view row, std::string_view family, std::string_view qualifier,
           uint64_t timestamp, std::string_view value) {
    TableBatch batch;
    batch.Put(table, row, family, qualifier, value, {.timestamp = timestamp});
    Write(batch);
  }

  // Cells as TableModel::Read writes them.
  std::vector<std::string> Scan(Table* table, const ScanOptions& options) {
    std::vector<std::string> cells;
    RowResult row;
    const std::unique_ptr<RowScanner> scanner = tables_->Scan(options, table);
    while (scanner->Next(&row)) Add(row, &cells);
    EXPECT_TRUE(scanner->status().ok()) << scanner->status().ToString();
    return cells;
  }
  // The rows that a scan with the filter shows, joined by spaces.
  std::string Rows(Table* table, const std::string& filter, ScanOptions options) {
    const auto parsed = TableFilter::Parse(filter);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    if (!parsed.ok()) return "";
    options.filter = *parsed;
    std::vector<std::string> rows;
    RowResult row;
    const std::unique_ptr<RowScanner> scanner = tables_->Scan(options, table);
    while (scanner->Next(&row)) rows.emplace_back(row.row());
    EXPECT_TRUE(scanner->status().ok()) << scanner->status();
    return absl::StrJoin(rows, " ");
  }
  std::vector<std::string> Get(Table* table, std::string_view row, TableReadOptions options) {
    std::vector<std::string> cells;
    RowResult result;
    const absl::Status got = tables_->Get(options, table, row, &result);
    EXPECT_TRUE(got.ok()) << got.ToString();
    Add(result, &cells);
    return cells;
  }
  // Newest values of a column, all versions: "value@timestamp" joined by spaces.
  std::string Versions(Table* table, std::string_view row, std::string_view family,
                       std::string_view qualifier) {
    TableReadOptions options;
    options.columns = {{std::string(family), std::string(qualifier)}};
    options.max_versions = kUnlimitedVersions;
    RowResult result;
    EXPECT_TRUE(tables_->Get(options, table, row, &result).ok());
    std::string text;
    for (const CellView& cell : result.cells()) {
      if (!text.empty()) text += " ";
      text.append(cell.value).append("@").append(std::to_string(cell.timestamp));
    }
    return text;
  }

 private:
  static void Add(const RowResult& row, std::vector<std::string>* cells) {
    for (const CellView& cell : row.cells()) {
      cells->push_back(
          TableModel::Text(row.row(), cell.family, cell.qualifier, cell.timestamp, cell.value));
    }
  }

  TestClock clock_;
  std::unique_ptr<RecordingFileSystem> file_system_ = NewUnrecordedFileSystem();
  Options options_;
  std::unique_ptr<TableDatabase> tables_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_TABLE_TABLE_FIXTURE_H_
