// Creating, altering, dropping and truncating tables: what is refused, what is kept, and that a
// crash leaves all of a change or nothing of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/file_system/testing/crash_state.h"
#include "engine/table/table_schema.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

using Texts = std::vector<std::string>;

const TableSchema kTwoFamilies{
    .name = "t",
    .families = {{.name = "a", .max_versions = 3, .ttl_seconds = 60, .min_versions = 1},
                 {.name = "b", .bloom_filter = "ROWCOL", .filter = "ribbon:1%"}}};

TEST(TableSchema, IsKeptAcrossOpenings) {
  MemoryTables tables;
  tables.Create(kTwoFamilies);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(tables->ListTables(), Texts{"t"});
    const auto schema = tables->DescribeTable("t");
    ASSERT_TRUE(schema.ok());
    EXPECT_EQ(*schema, kTwoFamilies);
    const auto family = tables->db().FindColumnFamily("t:b");
    ASSERT_TRUE(family.ok());
    EXPECT_EQ(*tables->db().GetProperty(*family, "winnow.filter"), "ribbon:1%");
    EXPECT_EQ(*tables->db().GetProperty(*family, "winnow.filter-key"), "component:1+component:2");
    tables.Reopen();
  }
}

// Of short rows, and of those without the delimiter, the filter has the row, and nothing of its
// columns.
TEST(TableSchema, PrefixesInFiltersEndWithTheRow) {
  const auto filter_bytes = [](const std::string& bloom) {
    MemoryTables tables;
    Table* const table =
        tables.Create({.name = "t", .families = {{.name = "f", .bloom_filter = bloom}}});
    for (int row = 0; row < 500; row++) {
      TableBatch batch;
      for (int column = 0; column < 16; column++) {
        const std::string qualifier = absl::StrCat("longer/than/16/bytes", 10 + column);
        batch.Put(table, absl::StrCat("r", 1000 + row), "f", qualifier, "v");
      }
      tables.Write(batch);
    }
    EXPECT_TRUE(tables->Flush("t").ok());
    uint64_t bytes = 0;
    for (const LevelStatistics& level : tables->db().GetStatistics().levels) {
      if (level.column_family == "t:f") bytes += level.filter_bytes;
    }
    return bytes;
  };
  const uint64_t of_rows = filter_bytes("ROW");
  EXPECT_GT(filter_bytes("ROWCOL"), 10 * of_rows);
  for (const std::string bloom :
       {"ROWPREFIX_FIXED_LENGTH:30", "ROWPREFIX_DELIMITED:/", "component:1+prefix:60",
        "delimiter:/", "component:1+delimiter:/:2+prefix:30"}) {
    EXPECT_LE(filter_bytes(bloom), 4 * of_rows) << bloom;
  }
  MemoryTables tables;
  tables.Create({.name = "t", .families = {{.name = "f", .bloom_filter = "delimiter:/"}}});
  EXPECT_EQ(*tables->db().GetProperty(*tables->db().FindColumnFamily("t:f"), "winnow.filter-key"),
            "component:1:delimiter:/");
  EXPECT_EQ(tables->DescribeTable("t")->families[0].bloom_filter, "delimiter:/");
}

// A family that has no markers of rows any more is read again as one that never had any.
TEST(TableSchema, ForgetsMarkersOfRowsThatAreGone) {
  MemoryTables tables;
  const TableSchema schema{.name = "t", .families = {{.name = "f"}}};
  Table* table = tables.Create(schema);
  // As it is recorded with the next change.
  const auto is_flagged = [&] {
    EXPECT_TRUE(tables->AlterTable(schema).ok());
    DB& db = tables->db();
    std::string stored;
    EXPECT_TRUE(db.Get({}, *db.FindColumnFamily("winnow.tables"), "tt", &stored).ok());
    const auto decoded = DecodeTable("t", stored);
    return decoded.ok() && decoded->families[0].has_row_markers;
  };
  const auto reopen = [&] {
    tables.Reopen();
    table = tables.Find("t");
  };
  for (int i = 0; i < 2; i++) {
    EXPECT_FALSE(is_flagged());
    tables.Put(table, "r", "f", "q", 1, "v");
    TableBatch batch;
    batch.DeleteRow(table, "r");
    tables.Write(batch);
    reopen();
    EXPECT_TRUE(is_flagged()) << "in memory, from the log";
    ASSERT_TRUE(tables->Flush("t").ok());
    reopen();
    EXPECT_TRUE(is_flagged()) << "in a file";
    std::string value;
    EXPECT_TRUE(absl::IsNotFound(tables->GetCell({}, table, "r", "f", "q", &value)));
    tables.Put(table, "s", "f", "q", 1, "v");
    ASSERT_TRUE(tables->MajorCompact("t").ok());
    EXPECT_TRUE(is_flagged()) << "a snapshot might need it";
    reopen();
  }
  EXPECT_FALSE(is_flagged());
}

TEST(TableSchema, RefusesWhatMakesNoSense) {
  MemoryTables tables;
  const auto code = [&](const TableSchema& schema) {
    return tables->CreateTable(schema).status().code();
  };
  EXPECT_EQ(code({.name = "t"}), absl::StatusCode::kInvalidArgument) << "no family";
  EXPECT_EQ(code({.name = "", .families = {{.name = "f"}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.name = "a:b", .families = {{.name = "f"}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.name = "t", .families = {{.name = "f"}, {.name = "f"}}}),
            absl::StatusCode::kInvalidArgument);
  const auto family_code = [&](FamilySchema family) {
    family.name = "f";
    return code({.name = "t", .families = {family}});
  };
  EXPECT_EQ(family_code({.max_versions = 0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(family_code({.max_versions = 2, .min_versions = 1}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(family_code({.max_versions = 2, .ttl_seconds = 1, .min_versions = 2}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(family_code({.bloom_filter = "ROWCOLUMN"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(family_code({.filter = "blom:10"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tables->ListTables(), Texts{});

  tables.Create({.name = "t", .families = {{.name = "f"}}});
  EXPECT_EQ(code({.name = "t", .families = {{.name = "f"}}}), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(tables->db().CreateColumnFamily(ColumnFamilyOptions(), "u:f").ok());
  EXPECT_EQ(code({.name = "u", .families = {{.name = "f"}}}), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(tables->db().FindColumnFamily("u:f").ok()) << "somebody else's, and untouched";
}

TEST(TableSchema, AlteringAddsAndDropsFamiliesAndChangesRules) {
  MemoryTables tables;
  Table* table = tables.Create(kTwoFamilies);
  for (const uint64_t timestamp : {1, 2}) {
    tables.Put(table, "row", "a", "q", kStartMs + timestamp, "v");
  }
  tables.Put(table, "row", "b", "q", 1, "v");
  TableSchema altered = kTwoFamilies;
  altered.families[0].max_versions = 2;
  altered.families[0].min_versions = 0;
  altered.families[1] = {.name = "c"};
  ASSERT_TRUE(tables->AlterTable(altered).ok());
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(*tables->DescribeTable("t"), altered);
    EXPECT_EQ(tables.Get(table, "row", {.max_versions = 9}).size(), 2u);
    EXPECT_EQ(tables->Put({}, table, "row", "b", "q", "v").code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(tables->Put({}, table, "other", "c", "q", "v").ok());
    tables.Reopen();
    table = tables.Find("t");
  }
  EXPECT_EQ(tables->AlterTable({.name = "none", .families = {{.name = "f"}}}).code(),
            absl::StatusCode::kNotFound);
}

TEST(TableSchema, ADroppedTableIsGone) {
  MemoryTables tables;
  Table* const table = tables.Create(kTwoFamilies);
  tables.Put(table, "row", "b", "q", 1, "v");
  ASSERT_TRUE(tables->DropTable("t").ok());
  EXPECT_EQ(tables->DropTable("t").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tables->Put({}, table, "row", "b", "q", "v").code(),
            absl::StatusCode::kFailedPrecondition);
  RowResult row;
  EXPECT_EQ(tables->Get({}, table, "row", &row).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(tables->db().FindColumnFamily("t:b").ok());
  Table* const again = tables.Create(kTwoFamilies);
  EXPECT_EQ(tables.Get(again, "row", {}), Texts{});
}

TEST(TableSchema, ATruncatedTableIsEmptyAndTakesWrites) {
  MemoryTables tables;
  Table* const table = tables.Create(kTwoFamilies);
  tables.Put(table, "row", "b", "q", 1, "v");
  tables.Put(table, std::string(kMaxRowBytes, '\xff'), "b", "q", 1, "v");
  ASSERT_TRUE(tables->Flush("t").ok());
  const std::unique_ptr<TableSnapshot> snapshot = tables->GetSnapshot();
  ASSERT_TRUE(tables->TruncateTable("t").ok());
  EXPECT_EQ(tables.Scan(table, {}), Texts{});
  ScanOptions before;
  before.snapshot = snapshot.get();
  EXPECT_EQ(tables.Scan(table, before).size(), 2u);
  tables.Put(table, "row", "b", "q", 1, "new");
  EXPECT_EQ(tables.Scan(table, {}), Texts{"row/b:q@1=new"});
}

TEST(TableSchema, StoredFormRefusesDamage) {
  StoredTable table;
  table.families.push_back({kTwoFamilies.families[0], 5, true, false});
  table.families.push_back({kTwoFamilies.families[1], 0, false, true});
  const std::string stored = EncodeTable(table);
  const auto decoded = DecodeTable("t", stored);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->families[0].tightened_ms, 5u);
  EXPECT_TRUE(decoded->families[0].has_row_markers);
  EXPECT_TRUE(decoded->families[1].has_cell_ttls);
  for (size_t bytes = 0; bytes < stored.size(); bytes++) {
    EXPECT_FALSE(DecodeTable("t", stored.substr(0, bytes)).ok()) << bytes;
  }
  EXPECT_FALSE(DecodeTable("t", stored + "x").ok());
  EXPECT_EQ(DecodeTable("t", "\x02" + stored.substr(1)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace winnow
