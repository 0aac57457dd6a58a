// What calls of tables leave where something goes wrong in their middle, or something else happens
// there.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/table/table_schema.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

bool IsOfLog(const FileOperation& operation) { return operation.path.ends_with(".log"); }
bool IsOfManifest(const FileOperation& operation) {
  return operation.path.find("MANIFEST") != std::string::npos;
}
absl::Status NoSpace() { return absl::ResourceExhaustedError("no space left"); }

// Makes the first append to the log fail that comes behind one to the manifest: of a change of
// schema that creates column families, the one that saves the schema.
void FailToSaveASchema(MemoryTables& tables) {
  struct Progress {
    std::atomic<bool> has_created{false};
    std::atomic<bool> has_failed{false};
  };
  tables.file_system().set_error_hook(
      [progress = std::make_shared<Progress>()](const FileOperation& operation) {
        if (operation.kind != Kind::kAppend) return absl::OkStatus();
        if (IsOfManifest(operation)) progress->has_created = true;
        const bool fails =
            IsOfLog(operation) && progress->has_created && !progress->has_failed.exchange(true);
        return fails ? NoSpace() : absl::OkStatus();
      });
}

TEST(TableFaults, AChangeOfSchemaThatWasNotSavedCanBeTriedAgain) {
  MemoryTables tables;
  const TableSchema one{.name = "t", .families = {{.name = "f"}}};
  const TableSchema two{.name = "t", .families = {{.name = "f"}, {.name = "g"}}};
  FailToSaveASchema(tables);
  EXPECT_TRUE(absl::IsResourceExhausted(tables->CreateTable(one).status()));
  EXPECT_TRUE(tables->ListTables().empty());
  EXPECT_FALSE(tables->db().FindColumnFamily("t:f").ok());
  Table* table = tables.Create(one);
  ASSERT_NE(table, nullptr);
  // Saves bounds of the clock ahead, so that the alteration need not.
  tables.Put(table, "r", "f", "q", 1, "v");
  FailToSaveASchema(tables);
  EXPECT_TRUE(absl::IsResourceExhausted(tables->AlterTable(two)));
  EXPECT_EQ(*tables->DescribeTable("t"), one);
  EXPECT_FALSE(tables->db().FindColumnFamily("t:g").ok());
  const absl::Status altered = tables->AlterTable(two);
  ASSERT_TRUE(altered.ok()) << altered;
  tables.file_system().set_error_hook(nullptr);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(*tables->DescribeTable("t"), two);
    tables.Put(table, "r", "f", "q", 1, "v");
    tables.Put(table, "r", "g", "q", 1, "v");
    tables.Reopen();
    table = tables.Find("t");
  }
}

// Somebody else creates a column family under one of the names, when the table is on its way.
TEST(TableFaults, AFailedCreationDropsOnlyWhatItHasCreated) {
  MemoryTables tables;
  std::thread other;
  absl::Status made;
  std::atomic<bool> has_begun{false};
  tables.file_system().set_error_hook([&](const FileOperation& operation) {
    // Of the intents, before the first column family.
    if (operation.kind == Kind::kSync && IsOfLog(operation) && !has_begun.exchange(true)) {
      other = std::thread(
          [&] { made = tables->db().CreateColumnFamily(ColumnFamilyOptions(), "t:g").status(); });
      // For the other to wait for its turn. Should it come later, the table has the name.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return absl::OkStatus();
  });
  const absl::Status created =
      tables->CreateTable({.name = "t", .families = {{.name = "f"}, {.name = "g"}}}).status();
  ASSERT_TRUE(has_begun);
  other.join();
  tables.file_system().set_error_hook(nullptr);
  EXPECT_NE(created.ok(), made.ok()) << created << made;
  if (created.ok()) return;
  EXPECT_TRUE(absl::IsAlreadyExists(created)) << created;
  for (int i = 0; i < 2; i++) {
    EXPECT_FALSE(tables->db().FindColumnFamily("t:f").ok());
    EXPECT_TRUE(tables->db().FindColumnFamily("t:g").ok());
    tables.Reopen();
  }
}

// The schema is saved, and what comes behind that does not change what the table is.
TEST(TableFaults, AFullDiskAfterASchemaIsSavedLeavesTheNewOneInForce) {
  MemoryTables tables;
  Table* table = tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  tables.Put(table, "r", "g", "q", 1, "v");
  const TableSchema altered{
      .name = "t", .families = {{.name = "f", .max_versions = 2, .bloom_filter = "ROWCOL"}}};
  std::atomic<bool> has_failed{false};
  tables.file_system().set_error_hook([&](const FileOperation& operation) {
    const bool fails =
        operation.kind == Kind::kAppend && IsOfManifest(operation) && !has_failed.exchange(true);
    return fails ? NoSpace() : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(tables->AlterTable(altered)));
  tables.file_system().set_error_hook(nullptr);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(*tables->DescribeTable("t"), altered);
    EXPECT_TRUE(absl::IsNotFound(tables->Put({}, table, "r", "g", "q", "lost")));
    // Records a flag, and with it the schema.
    TableBatch batch;
    batch.DeleteRow(table, "s");
    tables.Write(batch);
    tables.Put(table, "r", "f", "q", 1, "v");
    tables.Put(table, "r", "f", "q", 2, "v");
    EXPECT_EQ(tables.Versions(table, "r", "f", "q"), "v@2 v@1");
    tables.Reopen();
    table = tables.Find("t");
  }
  EXPECT_FALSE(tables->db().FindColumnFamily("t:g").ok());
  EXPECT_EQ(*tables->db().GetOption(*tables->db().FindColumnFamily("t:f"), "filter_key"),
            "component:1+component:2");
}

TEST(TableFaults, ABudgetForFiltersTakesThePlaceOfTheirAmounts) {
  Options options = MemoryDb::Quiet();
  MemoryTables tables(options);
  const TableSchema first{.name = "t", .families = {{.name = "f"}, {.name = "g"}}};
  const TableSchema second{.name = "t", .families = {{.name = "f", .filter = "ribbon:1%"}}};
  const auto filter = [&] {
    return *tables->db().GetOption(*tables->db().FindColumnFamily("t:f"), "filter");
  };
  tables.Create(first);
  const absl::Status set = tables->db().SetOption("filter_memory_budget", "1M");
  ASSERT_TRUE(set.ok()) << set;
  absl::Status altered = tables->AlterTable(second);
  ASSERT_TRUE(altered.ok()) << altered;
  EXPECT_EQ(filter(), "ribbon");
  altered = tables->AlterTable(first);
  ASSERT_TRUE(altered.ok()) << altered;
  options.filter_memory_budget = 1 << 20;
  tables.Reopen(options);
  EXPECT_EQ(filter(), "blocked_bloom");
  EXPECT_EQ(*tables->DescribeTable("t"), first);
  Table* const other = tables.Create({.name = "u", .families = {{.name = "f"}}});
  ASSERT_NE(other, nullptr);
  tables.Put(other, "r", "f", "q", 1, "v");
  options.filter_memory_budget = 0;
  tables.Reopen(options);
  EXPECT_EQ(filter(), "blocked_bloom:10");
}

// A family that comes into the table between a write's checks and its latches has no flags yet.
TEST(TableFaults, AWriteThatWaitsForAnAlterationSetsTheFlagsOfItsFamilies) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  TableBatch batch;
  batch.DeleteRow(table, "r");
  tables.Write(batch);  // family f has its flag
  std::thread writer;
  std::atomic<bool> has_created{false};
  std::atomic<bool> has_begun{false};
  tables.file_system().set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == Kind::kAppend && IsOfManifest(operation)) has_created = true;
    // While the schema is saved, all rows are latched.
    if (operation.kind == Kind::kSync && IsOfLog(operation) && has_created && !has_begun) {
      has_begun = true;
      writer = std::thread([&] { tables.Write(batch); });
      // For the write to come to its latch. Should it come later, there is nothing to see.
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return absl::OkStatus();
  });
  const absl::Status altered =
      tables->AlterTable({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  ASSERT_TRUE(has_begun);
  writer.join();
  tables.file_system().set_error_hook(nullptr);
  ASSERT_TRUE(altered.ok()) << altered;
  ScanOptions raw;
  raw.raw = true;
  raw.columns = {{"g", std::nullopt}};
  ASSERT_EQ(tables.Scan(table, raw).size(), 1u) << "the marker";
  std::string record;
  ColumnFamily* const catalog = *tables->db().FindColumnFamily("winnow.tables");
  ASSERT_TRUE(tables->db().Get(ReadOptions(), catalog, "tt", &record).ok());
  const auto stored = DecodeTable("t", record);
  ASSERT_TRUE(stored.ok()) << stored.status();
  ASSERT_EQ(stored->families.size(), 2u);
  EXPECT_TRUE(stored->families[1].has_row_markers);
}

TEST(TableFaults, AReverseScanTellsOfAnErrorOfOneFamily) {
  MemoryTables tables;
  Table* table = tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  tables.Put(table, "a", "f", "q", 1, "v");
  tables.Put(table, "z", "g", "q", 1, "v");
  std::string last_created;
  tables.file_system().set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == Kind::kCreate && operation.path.ends_with(".sst")) {
      last_created = operation.path;
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(tables->Flush("t").ok());
  const std::string of_g = last_created;
  tables.file_system().set_error_hook(nullptr);
  // No block is cached, and all that is read below is blocks.
  tables.Reopen();
  table = tables.Find("t");
  ScanOptions options;
  options.fill_cache = false;
  ASSERT_EQ(tables.Scan(table, options).size(), 2u);
  std::atomic<int> num_reads{0};
  tables.file_system().set_error_hook([&](const FileOperation& operation) {
    const bool fails = operation.kind == Kind::kRead && operation.path == of_g && num_reads++ == 0;
    return fails ? absl::UnavailableError("not this time") : absl::OkStatus();
  });
  options.reverse = true;
  {
    RowResult row;
    const std::unique_ptr<RowScanner> scanner = tables->Scan(options, table);
    EXPECT_FALSE(scanner->Next(&row)) << row.row();
    EXPECT_FALSE(scanner->status().ok());
  }
  EXPECT_GT(num_reads, 0);
  tables.file_system().set_error_hook(nullptr);
}

// More garbage than goes in one batch, which one version alone keeps away, and that is garbage as
// well: its own time is up.
TEST(TableFaults, AMajorCompactionUncoversNothingInBetween) {
  MemoryTables tables;
  Table* const table =
      tables.Create({.name = "t", .families = {{.name = "f", .max_versions = kUnlimitedVersions}}});
  TableBatch batch;
  for (uint64_t timestamp = 1; timestamp <= 12'000; timestamp++) {
    batch.Put(table, "r", "f", "q", "old", {.timestamp = timestamp});
  }
  tables.Write(batch);
  batch.Clear();
  batch.Put(table, "r", "f", "q", "brief", {.timestamp = kStartMs, .ttl_ms = 1000});
  tables.Write(batch);
  ASSERT_TRUE(tables->AlterTable({.name = "t", .families = {{.name = "f"}}}).ok());
  tables.clock().AdvanceSeconds(5);
  ASSERT_EQ(tables.Versions(table, "r", "f", "q"), "");
  std::atomic<int> num_reads{0};
  std::atomic<int> num_found{0};
  tables.file_system().set_error_hook([&](const FileOperation& operation) {
    if (operation.kind == Kind::kAppend && IsOfLog(operation)) {
      // By a thread that holds none of the locks of the write.
      std::thread([&] {
        RowResult row;
        EXPECT_TRUE(tables->Get({}, table, "r", &row).ok());
        num_reads++;
        num_found += row.empty() ? 0 : 1;
      }).join();
    }
    return absl::OkStatus();
  });
  const absl::Status compacted = tables->MajorCompact("t");
  tables.file_system().set_error_hook(nullptr);
  EXPECT_TRUE(compacted.ok()) << compacted;
  EXPECT_GT(num_reads, 1) << "batches";
  EXPECT_EQ(num_found, 0);
  ScanOptions raw;
  raw.raw = true;
  EXPECT_EQ(tables.Scan(table, raw), std::vector<std::string>());
}

}  // namespace
}  // namespace winnow
