#include "tests/engine/table/table_crash_states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

using Texts = std::vector<std::string>;

const TableSchema kFirst{.name = "t", .families = {{.name = "a"}, {.name = "b"}}};
const TableSchema kSecond{
    .name = "t", .families = {{.name = "a"}, {.name = "b", .max_versions = 2}, {.name = "c"}}};
const TableSchema kThird{.name = "t",
                         .families = {{.name = "b", .max_versions = 2}, {.name = "c"}}};
const TableSchema kOther{.name = "u", .families = {{.name = "a"}}};

std::unique_ptr<TableDatabase> OpenTables(RecordingFileSystem* memory, const TestClock* clock) {
  Options options = MemoryDb::Quiet();
  options.file_system = memory;
  options.clock = clock;
  auto opened = TableDatabase::Open(options, "/data/db");
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

// How many operations there were when each of these was durable.
struct Milestones {
  size_t created = 0;
  size_t written = 0;
  size_t loaded = 0;
  size_t cleared = 0;
  size_t altered = 0;
  size_t narrowed = 0;
  size_t dropped = 0;
};

constexpr int kCrashBatches = 6;
constexpr int kLoadedRows = 5;

Milestones LiveAndDie(RecordingFileSystem* memory, TestClock* clock) {
  Milestones at;
  const auto tables = OpenTables(memory, clock);
  EXPECT_TRUE(memory->SyncDirectory("/data").ok());
  Table* const table = *tables->CreateTable(kFirst);
  at.created = memory->num_operations();
  WriteOptions durably;
  durably.sync = true;
  for (int i = 0; i < kCrashBatches; i++) {
    TableBatch batch;
    batch.Put(table, absl::StrCat("row", i), "b", "q", "v");
    batch.Put(table, absl::StrCat("twin", i), "b", "q", "v");
    if (i % 2 == 1) batch.DeleteRow(table, absl::StrCat("row", i - 1));
    EXPECT_TRUE(tables->Write(i % 3 == 2 ? durably : WriteOptions(), batch).ok());
  }
  at.written = memory->num_operations();
  {
    const auto writer = *tables->NewTableWriter(table, "/data/load");
    for (int i = 0; i < kLoadedRows; i++) {
      EXPECT_TRUE(writer->Put(absl::StrCat("load", i), "a", "q", 1, "v").ok());
      EXPECT_TRUE(writer->Put(absl::StrCat("load", i), "b", "q", 1, "v").ok());
    }
    EXPECT_TRUE(writer->Finish().ok());
  }
  at.loaded = memory->num_operations();
  EXPECT_TRUE(tables->DeleteRows(durably, table, "load3", "load4").ok());
  at.cleared = memory->num_operations();
  EXPECT_TRUE(tables->AlterTable(kSecond).ok());
  at.altered = memory->num_operations();
  EXPECT_TRUE(tables->AlterTable(kThird).ok());
  at.narrowed = memory->num_operations();
  EXPECT_TRUE(tables->CreateTable(kOther).ok());
  EXPECT_TRUE(tables->DropTable("t").ok());
  at.dropped = memory->num_operations();
  return at;
}

// Of each table its column families, and of none that is not one.
void CheckFamilies(TableDatabase& tables) {
  std::set<std::string> expected{"default", "winnow.tables"};
  for (const std::string& name : tables.ListTables()) {
    const TableSchema schema = *tables.DescribeTable(name);
    for (const FamilySchema& family : schema.families) {
      expected.insert(name + ":" + family.name);
    }
  }
  std::set<std::string> actual;
  for (const ColumnFamily* family : tables.db().ColumnFamilies()) {
    actual.insert(std::string(family->name()));
  }
  EXPECT_EQ(actual, expected);
}

void CheckRows(TableDatabase& tables, bool all_must_be_there) {
  Table* const table = *tables.FindTable("t");
  const auto has = [&](const std::string& row) { return *tables.Exists({}, table, row); };
  int num_batches = 0;
  for (int i = 0; i < kCrashBatches; i++) {
    const bool is_written = has(absl::StrCat("twin", i));
    if (is_written) {
      ASSERT_EQ(num_batches++, i) << "a hole";
    }
    const bool is_deleted = i % 2 == 0 && i + 1 < kCrashBatches && has(absl::StrCat("twin", i + 1));
    ASSERT_EQ(has(absl::StrCat("row", i)), is_written && !is_deleted) << i;
  }
  if (all_must_be_there) {
    ASSERT_EQ(num_batches, kCrashBatches);
  }
}

// A row that was loaded has a cell in each family, while there are both.
void CheckLoad(TableDatabase& tables, size_t operations, const Milestones& at) {
  Table* const table = *tables.FindTable("t");
  const size_t num_families = tables.DescribeTable("t")->families.front().name == "a" ? 2 : 1;
  int num_rows = 0;
  bool has_cleared = false;
  for (int i = 0; i < kLoadedRows; i++) {
    RowResult row;
    ASSERT_TRUE(tables.Get({}, table, absl::StrCat("load", i), &row).ok());
    if (row.empty()) continue;
    ASSERT_EQ(row.cells().size(), num_families) << "half a row";
    num_rows++;
    has_cleared = has_cleared || i == 3;
  }
  ASSERT_TRUE(num_rows == 0 || num_rows == kLoadedRows - (has_cleared ? 0 : 1)) << num_rows;
  if (operations >= at.loaded) {
    ASSERT_NE(num_rows, 0) << "the load was durable";
  }
  if (operations >= at.cleared) {
    ASSERT_FALSE(has_cleared) << "the deletion was durable";
  }
}

void CheckState(RecordingFileSystem& state, size_t operations, const Milestones& at) {
  TestClock clock;
  clock.SetSeconds(1);  // long before
  const auto tables = OpenTables(&state, &clock);
  ASSERT_NE(tables, nullptr);
  CheckFamilies(*tables);
  const auto schema = tables->DescribeTable("t");
  if (!schema.ok()) {
    ASSERT_TRUE(operations < at.created || operations > at.narrowed) << "the table is gone";
    return;
  }
  ASSERT_TRUE(operations < at.dropped);
  ASSERT_TRUE(*schema == kFirst || *schema == kSecond || *schema == kThird);
  if (operations >= at.altered) {
    ASSERT_NE(*schema, kFirst);
  }
  if (operations >= at.narrowed) {
    ASSERT_EQ(*schema, kThird);
  }
  ASSERT_NO_FATAL_FAILURE(CheckRows(*tables, operations >= at.altered));
  ASSERT_NO_FATAL_FAILURE(CheckLoad(*tables, operations, at));
  // The order of writes goes on: what is deleted now was written before.
  Table* const table = *tables->FindTable("t");
  const bool was_there = *tables->Exists({}, table, "twin0");
  TableBatch batch;
  batch.DeleteRow(table, "twin0");
  ASSERT_TRUE(tables->Write({}, batch).ok());
  ASSERT_FALSE(*tables->Exists({}, table, "twin0")) << was_there;
  ASSERT_TRUE(tables->DropTable("t").ok());
  ASSERT_TRUE(tables->CreateTable(kSecond).ok());
}

}  // namespace

uint64_t CheckTableCrashStates(const TableCrashPlan& plan) {
  RecordingFileSystem memory;
  TestClock clock;
  const Milestones at = LiveAndDie(&memory, &clock);
  const size_t end = memory.num_operations();
  uint64_t num_states = 0;
  for (size_t operations = 1; operations <= end; operations++) {
    if (operations % plan.num_parts != plan.part) continue;
    if (operations < at.created && operations % plan.creation_step != 0) continue;
    std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                        CrashChoice::TornLastAppend(0.5)};
    const uint64_t num_random = std::max(plan.num_random, plan.min_states / end + 1);
    for (uint64_t i = 0; i < num_random; i++) {
      choices.push_back(CrashChoice::RandomSubset(plan.seed + i));
    }
    for (const CrashChoice& choice : choices) {
      SCOPED_TRACE(absl::StrCat("after ", operations, " of ", end, " operations, the last of them ",
                                memory.operation(operations - 1).ToString()));
      const auto state = memory.StateAfterCrash(operations, choice);
      num_states++;
      CheckState(*state, operations, at);
      if (testing::Test::HasFailure()) return num_states;
    }
  }
  return num_states;
}

}  // namespace winnow
