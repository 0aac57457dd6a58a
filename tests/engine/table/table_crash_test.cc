// A power failure at every step of a table's life: schemas and batches are there whole or not at
// all, and nothing is left over of tables that are not.
#include <gtest/gtest.h>

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
  size_t altered = 0;
  size_t narrowed = 0;
  size_t dropped = 0;
};

constexpr int kCrashBatches = 6;

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

TEST(TableCrash, SchemasAndBatchesAreWholeOrAbsent) {
  RecordingFileSystem memory;
  TestClock clock;
  const Milestones at = LiveAndDie(&memory, &clock);
  const size_t end = memory.num_operations();
  for (size_t operations = 1; operations <= end; operations++) {
    if (operations < at.created && !LongTests() && operations % 3 != 0) continue;
    std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                        CrashChoice::TornLastAppend(0.5)};
    for (uint64_t seed = 1; seed <= (LongTests() ? 20 : 2); seed++) {
      choices.push_back(CrashChoice::RandomSubset(seed));
    }
    for (const CrashChoice& choice : choices) {
      SCOPED_TRACE(absl::StrCat("after ", operations, " of ", end, " operations, the last of them ",
                                memory.operation(operations - 1).ToString()));
      const auto state = memory.StateAfterCrash(operations, choice);
      ASSERT_NO_FATAL_FAILURE(CheckState(*state, operations, at));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace winnow
