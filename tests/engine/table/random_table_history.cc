#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/random_family.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/engine/table/table_histories.h"
#include "tests/engine/table/table_model.h"

namespace winnow {
namespace {

class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed)
      : random_(seed),
        families_(&random_),
        is_scattered_(seed % 3 == 2),
        tables_(StoreOptions(seed % 2 == 0)) {
    TableSchema schema{.name = "t", .families = {families_.Family("a"), families_.Family("b")}};
    if (Below(2) == 0) schema.families.push_back(families_.Family("c"));
    table_ = tables_.Create(schema);
    tables_->GetSnapshot();  // reads the clock: it may be set back from here on
    Advance();
    model_.SetSchema(schema);
  }

  void Run(int num_steps) {
    for (int i = 0; i < num_steps && !testing::Test::HasFailure(); i++) {
      SCOPED_TRACE(absl::StrCat("step ", i));
      Step();
      Compare();
    }
  }

 private:
  struct FrozenView {
    std::unique_ptr<TableSnapshot> snapshot;
    TableModel model;
  };

  // Scattered: two or three values fill a file, and some files a level, so that the cells of a
  // column and the markers of its row come to lie in any of them.
  Options StoreOptions(bool is_busy) {
    Options options = families_.StoreOptions(is_busy || is_scattered_);
    if (!is_scattered_) return options;
    options.compression = Compression::kNone;
    options.level0_compaction_trigger = 1;
    options.level_size_multiplier = 2;
    return options;
  }
  static constexpr size_t kScatteredValueBytes = 24 << 10;

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  // The table's time is the greatest that the clock ever showed.
  void Advance() { model_.AdvanceTo(tables_.clock().NowMicros() / 1000); }

  std::string RandomRow() {
    static const std::vector<std::string> kRows = {"r",     std::string("r\0", 2),  "r1",
                                                   "r\xff", std::string("\0\1", 2), "q"};
    return kRows[Below(is_scattered_ ? 2 : kRows.size())];
  }
  // In bytewise order.
  static const std::vector<std::string>& Qualifiers() {
    static const std::vector<std::string> kQualifiers = {"", "x", std::string("x\0", 2), "y"};
    return kQualifiers;
  }
  std::string RandomQualifier() { return Qualifiers()[Below(Qualifiers().size())]; }
  std::string RandomFamilyName() {
    const auto& families = model_.schema().families;
    return families[Below(families.size())].name;
  }
  // Around the present, with many ties.
  uint64_t RandomTimestamp() {
    return model_.now_ms() + 5'000 - 1'000 * Below(12) - (Below(4) == 0 ? Below(5) : 0);
  }

  void AddPut(TableBatch* batch) {
    const TableModel::ColumnName name(RandomRow(), RandomFamilyName(), RandomQualifier());
    TableBatch::PutOptions options;
    if (Below(2) == 0) options.timestamp = RandomTimestamp();
    if (uses_cell_ttls_ && Below(4) == 0) options.ttl_ms = 1 + Below(15'000);
    // Some of few, so that rows and versions have equal ones.
    std::string value =
        Below(2) == 0 ? absl::StrCat("s", Below(3)) : absl::StrCat("v", num_values_++);
    if (is_scattered_) value.append(Below(kScatteredValueBytes), '.');
    const auto& [row, family, qualifier] = name;
    batch->Put(table_, row, family, qualifier, value, options);
    model_.Put(name, options.timestamp.value_or(model_.now_ms()), value, options.ttl_ms);
  }

  void AddDelete(TableBatch* batch) {
    const TableModel::ColumnName name(RandomRow(), RandomFamilyName(), RandomQualifier());
    const auto& [row, family, qualifier] = name;
    std::optional<uint64_t> timestamp;
    if (Below(3) != 0) timestamp = RandomTimestamp();
    const uint64_t up_to = timestamp.value_or(model_.now_ms());
    // What takes away single versions, which supersede others, is most of it where files part them.
    switch (is_scattered_ && Below(2) == 0 ? 0 : Below(5)) {
      case 0:
        batch->DeleteVersion(table_, row, family, qualifier, timestamp);
        return model_.DeleteVersion(name, timestamp);
      case 1:
        batch->DeleteColumn(table_, row, family, qualifier, timestamp);
        return model_.DeleteColumn(name, up_to);
      case 2:
        batch->DeleteFamilyVersion(table_, row, family, up_to);
        return model_.DeleteFamilyVersion(row, family, up_to);
      case 3:
        batch->DeleteFamily(table_, row, family, timestamp);
        return model_.DeleteFamily(row, family, up_to);
      default:
        batch->DeleteRow(table_, row, timestamp);
        for (const FamilySchema& each : model_.schema().families) {
          model_.DeleteFamily(row, each.name, up_to);
        }
    }
  }

  void ReadModifyWrite() {
    const TableModel::ColumnName name(RandomRow(), RandomFamilyName(), RandomQualifier());
    const auto& [row, family, qualifier] = name;
    const TableModel::Column* const column = model_.Find(name);
    const std::string before = column == nullptr ? "" : column->begin()->second.value;
    const uint64_t newest = column == nullptr ? 0 : column->begin()->first;
    const auto appended = tables_->Append(WriteOptions(), table_, row, family, qualifier, "+");
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
    EXPECT_EQ(*appended, before + "+");
    model_.Put(name, std::max(model_.now_ms(), newest), before + "+", 0);
  }

  void CheckAndMutate() {
    const TableModel::ColumnName name(RandomRow(), RandomFamilyName(), RandomQualifier());
    const auto& [row, family, qualifier] = name;
    const TableModel::Column* const column = model_.Find(name);
    CellCondition condition{row, family, qualifier, CellCondition::Operator::kAbsent, ""};
    bool holds = column == nullptr;
    if (Below(2) == 0) {
      condition.op = CellCondition::Operator::kLess;
      condition.value = absl::StrCat("v", Below(num_values_ + 1));
      holds = column != nullptr && column->begin()->second.value < condition.value;
    }
    TableBatch batch;
    const TableModel before = model_;
    AddPut(&batch);
    AddDelete(&batch);
    if (!holds) model_ = before;
    const auto done = tables_->CheckAndMutate(WriteOptions(), table_, condition, batch);
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    EXPECT_EQ(*done, holds);
  }

  // What rules have let go of is collected first: it may show again under looser ones.
  void Loosen(FamilySchema* family) {
    ASSERT_TRUE(tables_->MajorCompact("t").ok());
    if (!family->garbage_rule.empty()) {
      if (family->garbage_rule == "maxversions=2")
        *family = {.name = family->name, .max_versions = 3};
    } else if (Below(2) == 0) {
      if (family->max_versions < kUnlimitedVersions) family->max_versions += 1;
    } else {
      family->ttl_seconds = Below(2) == 0 ? 0 : family->ttl_seconds * 2;
      if (family->ttl_seconds == 0) family->min_versions = 0;
    }
  }

  void Alter() {
    views_.clear();
    TableSchema schema = model_.schema();
    FamilySchema& family = schema.families[Below(schema.families.size())];
    if (Below(3) == 0) {
      Loosen(&family);
    } else if (!family.garbage_rule.empty()) {
      if (family.garbage_rule == "maxversions=2") {
        family.garbage_rule = "";
        family.max_versions = 1 + static_cast<uint32_t>(Below(2));
      }
    } else if (Below(2) == 0) {
      if (family.max_versions > family.min_versions + 1)
        family.max_versions = family.min_versions + 1;
    } else if (family.ttl_seconds > 1) {
      family.ttl_seconds = 1 + Below(family.ttl_seconds);
    } else if (family.ttl_seconds == 0) {
      family.ttl_seconds = 1 + Below(20);
    }
    family.bloom_filter = families_.BloomFilter();
    if (Below(2) == 0) family.filter = families_.Filter();
    if (Below(2) == 0) family.signature = families_.Signature();
    const absl::Status altered = tables_->AlterTable(schema);
    ASSERT_TRUE(altered.ok()) << altered.ToString();
    model_.SetSchema(schema);
  }

  void Maintain() {
    switch (Below(5)) {
      case 0:
        EXPECT_TRUE(tables_->Flush("t").ok());
        return;
      case 1:
        EXPECT_TRUE(tables_->MajorCompact("t").ok());
        return;
      case 2: {
        const auto family = tables_->db().FindColumnFamily(absl::StrCat("t:", RandomFamilyName()));
        ASSERT_TRUE(family.ok());
        EXPECT_TRUE(tables_->db().CompactRange(*family, std::nullopt, std::nullopt).ok());
        return;
      }
      case 3:
        if (Below(4) != 0) return;
        views_.clear();
        tables_.Reopen();
        table_ = tables_.Find("t");
        return;
      default:
        if (views_.size() > 2) views_.erase(views_.begin());
        views_.push_back({tables_->GetSnapshot(), model_});
    }
  }

  void MoveClock() {
    TestClock& clock = tables_.clock();
    switch (Below(4)) {
      case 0:
        clock.AdvanceMicros(1000 * Below(3));
        break;
      case 1:
        clock.AdvanceMicros(1000 * Below(2'000));
        break;
      case 2:
        clock.AdvanceSeconds(Below(10));
        break;
      default:
        clock.SetSeconds(clock.seconds() - Below(5));  // backwards
    }
  }

  void Step() {
    if (Below(3) == 0) MoveClock();
    Advance();
    const uint64_t kind = Below(40);
    if (kind == 0) return Alter();
    if (kind == 1) uses_cell_ttls_ = true;
    if (kind == 2 && Below(8) == 0) {
      EXPECT_TRUE(tables_->TruncateTable("t").ok());
      return model_.Truncate();
    }
    if (kind < 8) return Maintain();
    if (kind < 11) return ReadModifyWrite();
    if (kind < 14) return CheckAndMutate();
    TableBatch batch;
    for (uint64_t left = 1 + Below(3); left > 0; left--) {
      Below(3) == 0 ? AddDelete(&batch) : AddPut(&batch);
    }
    tables_.Write(batch);
  }

  ScanOptions RandomRead() {
    ScanOptions options;
    if (Below(2) == 0) options.max_versions = static_cast<uint32_t>(1 + Below(4));
    if (Below(3) == 0) {
      options.min_timestamp = RandomTimestamp();
      options.end_timestamp = options.min_timestamp + Below(6'000);
    }
    for (uint64_t left = Below(4); left > 0; left--) {
      ColumnSelection column{RandomFamilyName(), std::nullopt};
      if (Below(4) != 0) column.qualifier = RandomQualifier();
      options.columns.push_back(column);
    }
    return options;
  }

  void Compare() {
    Compare(model_, nullptr);
    for (const FrozenView& view : views_) Compare(view.model, view.snapshot.get());
  }

  void Compare(const TableModel& model, const TableSnapshot* snapshot) {
    ScanOptions options = RandomRead();
    options.snapshot = snapshot;
    const std::string row = RandomRow();
    ScanOptions one_row = options;
    one_row.start_row = row;
    one_row.stop_row = row + std::string(1, '\0');
    const std::vector<std::string> expected = model.Read(one_row);
    ASSERT_EQ(tables_.Get(table_, row, options), expected) << Stored(row, snapshot);
    const auto exists = tables_->Exists(options, table_, row);
    ASSERT_TRUE(exists.ok());
    ASSERT_EQ(*exists, !expected.empty());
    ASSERT_TRUE(*tables_->MayExist(options, table_, row) || expected.empty());
    ASSERT_NO_FATAL_FAILURE(CompareCell(model, snapshot));
    ASSERT_NO_FATAL_FAILURE(CompareFiltered(model, snapshot));
    ASSERT_NO_FATAL_FAILURE(CompareValues(snapshot));

    options.reverse = Below(2) == 0;
    if (Below(2) == 0) options.start_row = RandomRow();
    if (Below(2) == 0) options.stop_row = RandomRow();
    if (Below(3) == 0) options.row_prefix = "r";
    if (Below(3) == 0) options.max_rows = 1 + Below(3);
    if (Below(3) == 0) options.max_cells = 1 + Below(3);
    ASSERT_EQ(tables_.Scan(table_, options), model.Read(options));
  }

  // What a difference may come from.
  std::string Stored(const std::string& row, const TableSnapshot* snapshot) {
    std::string text = absl::StrCat("at ", model_.now_ms(), snapshot != nullptr ? ", frozen" : "");
    for (const FamilySchema& family : model_.schema().families) {
      absl::StrAppend(&text, "\n", family.name, ": VERSIONS ", family.max_versions, ", TTL ",
                      family.ttl_seconds, ", MIN_VERSIONS ", family.min_versions, ", ",
                      family.garbage_rule);
    }
    TableReadOptions raw;
    raw.raw = true;
    raw.max_versions = kUnlimitedVersions;
    raw.snapshot = snapshot;
    for (const std::string& cell : tables_.Get(table_, row, raw)) {
      absl::StrAppend(&text, "\n", cell);
    }
    return text;
  }

  void CompareCell(const TableModel& model, const TableSnapshot* snapshot) {
    const TableModel::ColumnName name(RandomRow(), RandomFamilyName(), RandomQualifier());
    const TableModel::Column* const column = model.Find(name);
    TableReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const auto& [row, family, qualifier] = name;
    const absl::Status got = tables_->GetCell(options, table_, row, family, qualifier, &value);
    ASSERT_EQ(got.ok(), column != nullptr) << got;
    if (column == nullptr) {
      ASSERT_TRUE(absl::IsNotFound(got)) << got;
      return;
    }
    ASSERT_EQ(value, column->begin()->second.value);
  }

  // What a filter shows is what it would show of all that is there.
  void CompareFiltered(const TableModel& model, const TableSnapshot* snapshot) {
    const std::string row = RandomRow();
    const std::string qualifier = RandomQualifier();
    ScanOptions options;
    options.snapshot = snapshot;
    options.max_versions = kUnlimitedVersions;
    options.reverse = Below(2) == 0;
    const bool is_or = Below(2) == 0;
    options.filter = *TableFilter::Parse(absl::StrCat(
        "RowFilter(=, ", TableFilter::Quote("binaryprefix:" + row), is_or ? ") OR " : ") AND ",
        "QualifierFilter(>=, ", TableFilter::Quote("binary:" + qualifier), ")"));
    const auto shows = [&](std::string_view cell_row, std::string_view cell_qualifier) {
      const bool by_row = cell_row.starts_with(row);
      const bool by_qualifier = cell_qualifier >= qualifier;
      return is_or ? by_row || by_qualifier : by_row && by_qualifier;
    };
    ScanOptions all = options;
    all.filter = {};
    std::vector<std::string> expected;
    std::vector<std::string> actual;
    const auto read = [&](const ScanOptions& scan, std::vector<std::string>* texts) {
      RowResult result;
      const auto scanner = tables_->Scan(scan, table_);
      while (scanner->Next(&result)) {
        for (const CellView& cell : result.cells()) {
          if (!scan.filter.is_set() && !shows(result.row(), cell.qualifier)) continue;
          texts->push_back(TableModel::Text(result.row(), cell.family, cell.qualifier,
                                            cell.timestamp, cell.value));
        }
      }
    };
    read(all, &expected);
    read(options, &actual);
    ASSERT_EQ(actual, expected) << options.filter.ToString();
    ASSERT_NO_FATAL_FAILURE(CompareFilteredRow(model, options, shows));
  }

  // Rows that have certain values: signatures find those that reading all rows does.
  void CompareValues(const TableSnapshot* snapshot) {
    struct Condition {
      std::string family;
      std::string qualifier;
      std::string value;
    };
    std::vector<Condition> conditions;
    std::string text;
    for (uint64_t left = 1 + Below(2); left > 0; left--) {
      const Condition& condition = conditions.emplace_back(
          Condition{RandomFamilyName(), RandomQualifier(), absl::StrCat("s", Below(3))});
      absl::StrAppend(&text, text.empty() ? "" : " AND ", "SingleColumnValueFilter('",
                      condition.family, "', ", TableFilter::Quote(condition.qualifier),
                      ", =, 'binary:", condition.value, "', true, true)");
    }
    ScanOptions options;
    options.snapshot = snapshot;
    options.max_versions = kUnlimitedVersions;
    if (Below(2) == 0) options.start_row = RandomRow();
    if (Below(2) == 0) options.stop_row = RandomRow();
    if (Below(4) == 0) options.row_prefix = "r";
    if (Below(4) == 0) options.min_timestamp = RandomTimestamp();
    const auto holds = [&](const RowResult& row) {
      return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
        const auto newest =
            std::find_if(row.cells().begin(), row.cells().end(), [&](const CellView& cell) {
              return cell.family == condition.family && cell.qualifier == condition.qualifier;
            });
        return newest != row.cells().end() && newest->value == condition.value;
      });
    };
    std::vector<std::string> expected;
    const auto scanner = tables_->Scan(options, table_);
    RowResult row;
    while (scanner->Next(&row)) {
      if (!holds(row)) continue;
      for (const CellView& cell : row.cells()) {
        expected.push_back(
            TableModel::Text(row.row(), cell.family, cell.qualifier, cell.timestamp, cell.value));
      }
    }
    options.filter = *TableFilter::Parse(text);
    ASSERT_EQ(tables_.Scan(table_, options), expected) << text;
  }

  // The reads of single rows ask the filter as well.
  template <typename Shows>
  void CompareFilteredRow(const TableModel& model, TableReadOptions options, const Shows& shows) {
    options.max_versions = static_cast<uint32_t>(1 + Below(3));
    const std::string row = RandomRow();
    std::vector<std::string> expected;
    for (const FamilySchema& family : model.schema().families) {
      for (const std::string& qualifier : Qualifiers()) {
        const TableModel::Column* const column = model.Find({row, family.name, qualifier});
        if (column == nullptr || !shows(row, qualifier)) continue;
        uint32_t left = options.max_versions;
        for (const auto& [timestamp, cell] : *column) {
          if (left-- == 0) break;
          expected.push_back(TableModel::Text(row, family.name, qualifier, timestamp, cell.value));
        }
      }
    }
    ASSERT_EQ(tables_.Get(table_, row, options), expected) << options.filter.ToString();
    const auto exists = tables_->Exists(options, table_, row);
    ASSERT_TRUE(exists.ok()) << exists.status();
    ASSERT_EQ(*exists, !expected.empty()) << options.filter.ToString();
    const std::string other = RandomRow();
    const std::vector<std::string_view> rows = {row, other, row};
    std::vector<RowResult> results;
    ASSERT_TRUE(tables_->MultiGet(options, table_, rows, &results).ok());
    for (const RowResult& result : {results[0], results[2]}) {
      ASSERT_EQ(result.cells().size(), expected.size()) << options.filter.ToString();
    }
    if (options.snapshot != nullptr) return;
    const auto holds =
        tables_->CheckAndMutate(WriteOptions(), table_, row, options.filter, TableBatch());
    ASSERT_TRUE(holds.ok()) << holds.status();
    ASSERT_EQ(*holds, !expected.empty()) << options.filter.ToString();
  }

  std::mt19937_64 random_;
  RandomFamilies families_;
  const bool is_scattered_;
  MemoryTables tables_;
  Table* table_ = nullptr;
  TableModel model_;
  std::vector<FrozenView> views_;
  uint64_t num_values_ = 0;
  bool uses_cell_ttls_ = false;
};

}  // namespace

void RunRandomHistory(uint64_t seed, int num_steps) {
  SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
  RandomHistory(seed).Run(num_steps);
}

}  // namespace winnow
