#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/table/table_fixture.h"
#include "tests/engine/table/table_histories.h"
#include "tests/engine/table/table_model.h"

namespace winnow {
namespace {

class ShortHistories {
 public:
  explicit ShortHistories(uint32_t max_versions) {
    TableSchema schema{.name = "t", .families = {{.name = "f", .max_versions = max_versions}}};
    table_ = tables_.Create(schema);
    model_schema_ = schema;
  }

  void Run(int length) {
    length_ = length;
    Extend({});
    for (const bool is_compacted : {false, true, true}) {
      CompareAll(is_compacted ? "compacted" : "written");
      if (testing::Test::HasFailure()) return;
      ASSERT_TRUE(is_compacted ? tables_->MajorCompact("t").ok() : CompactStore());
    }
  }

  uint64_t num_histories() const { return num_histories_; }

 private:
  static constexpr int kKinds = 13;

  bool CompactStore() {
    const auto family = tables_->db().FindColumnFamily("t:f");
    return family.ok() && tables_->db().CompactRange(*family, {}, {}).ok();
  }

  static void Apply(int kind, int step, Table* table, const std::string& row, TableBatch* batch,
                    TableModel* model) {
    const TableModel::ColumnName name(row, "f", "q");
    const auto timestamp = static_cast<uint64_t>(kind % 3 + 1);
    const std::string value(1, static_cast<char>('a' + step));
    switch (kind / 3) {
      case 0:
        batch->Put(table, row, "f", "q", value, {.timestamp = timestamp});
        return model->Put(name, timestamp, value, 0);
      case 1:
        batch->DeleteVersion(table, row, "f", "q", timestamp);
        return model->DeleteVersion(name, timestamp);
      case 2:
        batch->DeleteColumn(table, row, "f", "q", timestamp);
        return model->DeleteColumn(name, timestamp);
      case 3:
        batch->DeleteFamily(table, row, "f", timestamp);
        return model->DeleteFamily(row, "f", timestamp);
      default:
        batch->DeleteVersion(table, row, "f", "q", std::nullopt);
        return model->DeleteVersion(name, std::nullopt);
    }
  }

  static std::string RowOf(const std::vector<int>& history) {
    std::string row;
    for (const int kind : history) row.push_back(static_cast<char>('A' + kind));
    return row;
  }

  void Extend(std::vector<int> history) {
    if (static_cast<int>(history.size()) < length_) {
      for (int kind = 0; kind < kKinds; kind++) {
        history.push_back(kind);
        Extend(history);
        history.pop_back();
      }
      return;
    }
    num_histories_++;
    const std::string row = RowOf(history);
    TableModel model;
    model.SetSchema(model_schema_);
    for (size_t step = 0; step < history.size(); step++) {
      TableBatch batch;
      Apply(history[step], static_cast<int>(step), table_, row, &batch, &model);
      tables_.Write(batch);
    }
    ScanOptions all;
    all.max_versions = kUnlimitedVersions;
    for (std::string& cell : model.Read(all)) expected_.push_back(std::move(cell));
  }

  void CompareAll(const std::string& when) {
    ScanOptions all;
    all.max_versions = kUnlimitedVersions;
    const std::vector<std::string> actual = tables_.Scan(table_, all);
    for (size_t i = 0; i < std::min(actual.size(), expected_.size()); i++) {
      ASSERT_EQ(actual[i], expected_[i]) << when;
    }
    ASSERT_EQ(actual.size(), expected_.size()) << when;
  }

  MemoryTables tables_;
  Table* table_ = nullptr;
  TableSchema model_schema_;
  int length_ = 0;
  uint64_t num_histories_ = 0;
  std::vector<std::string> expected_;
};

}  // namespace

uint64_t RunShortHistories(uint32_t max_versions, int length) {
  SCOPED_TRACE(max_versions);
  ShortHistories histories(max_versions);
  histories.Run(length);
  return histories.num_histories();
}

}  // namespace winnow
