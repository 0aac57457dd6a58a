// The column families of tables, as calls below the tables meet them, and tables that have lost
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/table/reserve_tables.h"
#include "tests/engine/table/table_fixture.h"
#include "winnow/merge_operator.h"
#include "winnow/table.h"

namespace winnow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// As a program opens the database that knows of no tables.
std::unique_ptr<DB> OpenWithoutTables(MemoryTables& tables) {
  EXPECT_TRUE(tables->Close().ok());
  Options options = MemoryDb::Quiet();
  options.file_system = &tables.file_system();
  options.clock = &tables.clock();
  return OpenOrFail(options, "/db");
}

void DropWithoutTables(MemoryTables& tables, std::string_view name) {
  const std::unique_ptr<DB> db = OpenWithoutTables(tables);
  const auto family = db->FindColumnFamily(name);
  ASSERT_TRUE(family.ok()) << family.status();
  const absl::Status dropped = db->DropColumnFamily(*family);
  ASSERT_TRUE(dropped.ok()) << dropped;
  ASSERT_TRUE(db->Close().ok());
}

TEST(TableColumnFamilies, TheStoreBelowRefusesWhatSchemasGovern) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  tables.Put(table, "r", "f", "q", 1, "v");
  for (int i = 0; i < 2; i++) {
    DB& db = tables->db();
    for (const char* const name : {"t:f", "winnow.tables"}) {
      ColumnFamily* const family = *db.FindColumnFamily(name);
      EXPECT_TRUE(absl::IsInvalidArgument(db.DropColumnFamily(family))) << name;
      EXPECT_TRUE(absl::IsInvalidArgument(db.SetOption(family, "ttl_seconds", "1"))) << name;
      EXPECT_TRUE(absl::IsInvalidArgument(db.SetFilter(family, "cuckoo:12", ""))) << name;
      EXPECT_TRUE(absl::IsInvalidArgument(db.SetFilter(family, "", "prefix:3"))) << name;
      EXPECT_TRUE(absl::IsInvalidArgument(db.SetOption(family, "compaction", "fifo:1M"))) << name;
      EXPECT_TRUE(absl::IsInvalidArgument(db.Refilter(family, {.filter = "cuckoo:12"}).status()));
      EXPECT_TRUE(absl::IsInvalidArgument(db.Put({}, family, "k", "v"))) << name;
      // What changes no cell is the user's.
      EXPECT_TRUE(db.SetOption(family, "target_file_bytes", "1M").ok()) << name;
      EXPECT_TRUE(db.SetOption(family, "compaction", "tiered").ok()) << name;
      EXPECT_TRUE(db.SetOption(family, "ttl_seconds", "0").ok()) << "nothing changes";
      EXPECT_TRUE(db.Refilter(family, {}).ok()) << name;
      EXPECT_TRUE(db.CompactRange(family, std::nullopt, std::nullopt).ok()) << name;
    }
    tables.Reopen();
  }
  EXPECT_EQ(tables.Versions(tables.Find("t"), "r", "f", "q"), "v@1");
}

TEST(TableColumnFamilies, WhatWasSetWithoutTablesIsAsTheSchemaSaysAgain) {
  MemoryTables tables;
  tables.Create({.name = "t", .families = {{.name = "f", .filter = "ribbon:1%"}}});
  {
    const std::unique_ptr<DB> db = OpenWithoutTables(tables);
    ColumnFamily* const family = *db->FindColumnFamily("t:f");
    EXPECT_TRUE(db->SetOption(family, "ttl_seconds", "1").ok());
    EXPECT_TRUE(db->SetFilter(family, "none", "").ok());
    EXPECT_TRUE(db->Close().ok());
  }
  tables.Reopen();
  ColumnFamily* const family = *tables->db().FindColumnFamily("t:f");
  EXPECT_EQ(*tables->db().GetOption(family, "ttl_seconds"), "0");
  EXPECT_EQ(*tables->db().GetOption(family, "filter"), "ribbon:1%");
}

TEST(TableColumnFamilies, ATableThatHasLostOneLeavesTheOthersInReach) {
  MemoryTables tables;
  Table* whole = tables.Create({.name = "whole", .families = {{.name = "f"}}});
  Table* table = tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  tables.Put(whole, "r", "f", "q", 1, "v");
  tables.Put(table, "r", "f", "q", 1, "lost");
  tables.Put(table, "r", "g", "q", 1, "kept");
  DropWithoutTables(tables, "t:f");
  tables.Reopen();

  EXPECT_EQ(tables.Versions(tables.Find("whole"), "r", "f", "q"), "v@1");
  EXPECT_THAT(tables->ListTables(), ElementsAre("t", "whole"));
  table = tables.Find("t");
  const auto tells = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("'t:f' is missing"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("winnow table alter t f"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("winnow table drop t"));
  };
  RowResult row;
  tells(tables->Get({}, table, "r", &row));
  tells(tables->Scan({}, table)->status());
  tells(tables->Put({}, table, "r", "g", "q", "v"));
  tells(tables->Increment({}, table, "r", "g", "n", 1).status());
  tells(tables->DeleteRows({}, table, "a", "z"));
  tells(tables->NewTableWriter(table, "/bulk").status());
  tells(tables->Flush("t"));
  tells(tables->MajorCompact("t"));
  tells(tables->TruncateTable("t"));
  const auto schema = tables->DescribeTable("t");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->families.size(), 2u);

  // It is made anew, and the handle is good again.
  const absl::Status altered = tables->AlterTable(*schema);
  ASSERT_TRUE(altered.ok()) << altered;
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(tables.Versions(table, "r", "f", "q"), "");
    EXPECT_EQ(tables.Versions(table, "r", "g", "q"), "kept@1");
    tables.Put(table, "r", "f", "q", 2, "new");
    EXPECT_EQ(tables.Versions(table, "r", "f", "q"), "new@2");
    EXPECT_TRUE(tables->TruncateTable("whole").ok());
    tables.Put(table, "r", "f", "q", 2, "new");
    TableBatch batch;
    batch.DeleteColumn(table, "r", "f", "q");
    tables.Write(batch);
    tables.Reopen();
    table = tables.Find("t");
  }
}

TEST(TableColumnFamilies, ATableThatHasLostOneCanBeDroppedOrDoWithoutIt) {
  MemoryTables tables;
  for (const char* const name : {"t", "u"}) {
    Table* const table = tables.Create({.name = name, .families = {{.name = "f"}, {.name = "g"}}});
    tables.Put(table, "r", "g", "q", 1, "kept");
  }
  DropWithoutTables(tables, "t:f");
  tables.Reopen();
  DropWithoutTables(tables, "u:f");
  tables.Reopen();
  ASSERT_TRUE(tables->DropTable("t").ok());
  EXPECT_FALSE(tables->db().FindColumnFamily("t:g").ok());
  tables.Create({.name = "t", .families = {{.name = "f"}}});
  ASSERT_TRUE(tables->AlterTable({.name = "u", .families = {{.name = "g"}}}).ok());
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(tables.Versions(tables.Find("u"), "r", "g", "q"), "kept@1");
    tables.Put(tables.Find("t"), "r", "f", "q", 1, "v");
    tables.Reopen();
  }
}

// Options may name the families of tables that come later.
TEST(TableColumnFamilies, OptionsWaitForTheirTable) {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 1 << 20;
  ColumnFamilyOptions& own = options.column_families["t:f"];
  own.compression = Compression::kNone;
  own.target_file_bytes = 3 << 20;
  MemoryTables tables(options);
  tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  for (int i = 0; i < 2; i++) {
    DB& db = tables->db();
    EXPECT_EQ(*db.GetOption(*db.FindColumnFamily("t:f"), "target_file_bytes"), "3M");
    EXPECT_EQ(*db.GetOption(*db.FindColumnFamily("t:g"), "target_file_bytes"), "1M");
    tables.Reopen();
  }
  // A name that no table can have is a slip, as in DB::Open.
  options.column_families["f"] = ColumnFamilyOptions();
  options.file_system = &tables.file_system();
  ASSERT_TRUE(tables->Close().ok());
  EXPECT_TRUE(absl::IsNotFound(TableDatabase::Open(options, "/db").status()));
}

class Reversed final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.Reversed"; }
  bool EqualKeysHaveEqualBytes() const override { return true; }
};

TEST(TableColumnFamilies, AreInBytewiseOrderWhateverOptionsSay) {
  static const Reversed reversed;
  Options options = MemoryDb::Quiet();
  ColumnFamilyOptions& own = options.column_families["t:f"];
  own.comparator = &reversed;
  own.allow_ingest_behind = true;
  MemoryTables tables(options);
  Table* const table = tables.Create(
      {.name = "t", .families = {{.name = "f", .bloom_filter = "NONE", .filter = "none"}}});
  tables.Put(table, "a", "f", "q", 1, "v");
  tables.Put(table, "b", "f", "q", 1, "v");
  EXPECT_EQ(tables.Scan(table, {}), (std::vector<std::string>{"a/f:q@1=v", "b/f:q@1=v"}));
  EXPECT_EQ(*tables->db().GetOption(*tables->db().FindColumnFamily("t:f"), "allow_ingest_behind"),
            "false");
  tables.Reopen(MemoryDb::Quiet());
  EXPECT_EQ(tables.Versions(tables.Find("t"), "a", "f", "q"), "v@1");
}

// One of the user's own.
class Join final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.Join"; }
  absl::Status FullMerge(std::string_view, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    result->assign(existing.value_or(""));
    for (const std::string_view operand : operands) result->append(operand);
    return absl::OkStatus();
  }
};

TEST(TableColumnFamilies, AFamilyWithAColonThatIsNoTablesKeepsItsMergeOperator) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = std::make_shared<Join>();
  for (const bool is_named : {false, true}) {
    MemoryTables tables(options);
    ColumnFamilyOptions own;
    own.merge_operator = options.merge_operator;
    {
      const auto family = tables->db().CreateColumnFamily(own, "a:b");
      ASSERT_TRUE(family.ok()) << family.status();
      EXPECT_TRUE(tables->db().Merge({}, *family, "k", "v").ok());
    }
    tables.Create({.name = "t", .families = {{.name = "f"}}});
    Options again = options;
    if (is_named) again.column_families["a:b"] = own;
    tables.Reopen(again);
    ColumnFamily* const family = *tables->db().FindColumnFamily("a:b");
    EXPECT_TRUE(tables->db().Merge({}, family, "k", "w").ok());
    std::string value;
    EXPECT_TRUE(tables->db().Get({}, family, "k", &value).ok());
    EXPECT_EQ(value, "vw");
    EXPECT_FALSE(tables->db().Merge({}, *tables->db().FindColumnFamily("t:f"), "k", "w").ok());
  }
}

TEST(TableColumnFamilies, ProgramsWithoutTablesReserveThem) {
  MemoryTables tables;
  tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  DropWithoutTables(tables, "t:g");
  const std::unique_ptr<DB> db = OpenWithoutTables(tables);
  const auto reserved = ReserveTables(*db);
  ASSERT_TRUE(reserved.ok()) << reserved.status();
  EXPECT_THAT(*reserved, ElementsAre("t:f", "t:g"));
  ColumnFamily* const family = *db->FindColumnFamily("t:f");
  EXPECT_TRUE(absl::IsInvalidArgument(db->Put({}, family, "k", "v")));
  EXPECT_TRUE(absl::IsInvalidArgument(db->DropColumnFamily(family)));
  EXPECT_TRUE(db->Put({}, "k", "v").ok());
  // None is made where there is no catalog.
  MemoryDb without;
  EXPECT_THAT(*ReserveTables(*without), ElementsAre());
  EXPECT_EQ(without->ColumnFamilies().size(), 1u);
}

}  // namespace
}  // namespace winnow
