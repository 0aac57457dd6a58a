// Tables by example: what each call does, and what it refuses.
#include "winnow/table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

using Texts = std::vector<std::string>;

TableSchema OneFamily(uint32_t max_versions = 1) {
  return {.name = "t", .families = {{.name = "f", .max_versions = max_versions}}};
}

std::string Counter(int64_t value) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift));
  }
  return bytes;
}

TEST(Table, KeepsTheNewestVersionsOfAColumn) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily(2));
  for (const uint64_t timestamp : {3, 1, 5, 4}) {
    tables.Put(table, "row", "f", "q", timestamp, absl::StrCat("v", timestamp));
  }
  EXPECT_EQ(tables.Versions(table, "row", "f", "q"), "v5@5 v4@4");
  EXPECT_EQ(tables.Get(table, "row", {}), Texts{"row/f:q@5=v5"});
  std::string value;
  EXPECT_TRUE(tables->GetCell({}, table, "row", "f", "q", &value).ok());
  EXPECT_EQ(value, "v5");
  EXPECT_EQ(tables->GetCell({}, table, "row", "f", "other", &value).code(),
            absl::StatusCode::kNotFound);
}

TEST(Table, EveryCallOfAClosedDatabaseSaysSo) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  tables.Put(table, "row", "f", "q", 1, "v");
  ASSERT_TRUE(tables->Close().ok());
  constexpr auto kClosed = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(tables->CreateTable(OneFamily()).status().code(), kClosed);
  EXPECT_EQ(tables->CreateTable({.name = "other", .families = {{.name = "f"}}}).status().code(),
            kClosed);
  EXPECT_EQ(tables->FindTable("t").status().code(), kClosed);
  EXPECT_EQ(tables->FindTable("none").status().code(), kClosed);
  EXPECT_EQ(tables->AlterTable(OneFamily(2)).code(), kClosed);
  EXPECT_EQ(tables->DropTable("t").code(), kClosed);
  EXPECT_EQ(tables->TruncateTable("t").code(), kClosed);
  EXPECT_EQ(tables->DescribeTable("t").status().code(), kClosed);
  EXPECT_EQ(tables->Flush("t").code(), kClosed);
  EXPECT_EQ(tables->MajorCompact("t").code(), kClosed);
  std::string value;
  RowResult result;
  EXPECT_EQ(tables->GetCell({}, table, "row", "f", "q", &value).code(), kClosed);
  EXPECT_EQ(tables->Get({}, table, "row", &result).code(), kClosed);
  EXPECT_EQ(tables->Exists({}, table, "row").status().code(), kClosed);
  EXPECT_EQ(tables->MayExist({}, table, "row").status().code(), kClosed);
  const std::unique_ptr<RowScanner> scanner = tables->Scan({}, table);
  EXPECT_FALSE(scanner->Next(&result));
  EXPECT_EQ(scanner->status().code(), kClosed);
  EXPECT_EQ(tables->Put({}, table, "row", "f", "q", "v").code(), kClosed);
  EXPECT_EQ(tables->Increment({}, table, "row", "f", "q", 1).status().code(), kClosed);
  EXPECT_EQ(tables->Append({}, table, "row", "f", "q", "v").status().code(), kClosed);
  EXPECT_EQ(tables->DeleteRows({}, table, "a", "z").code(), kClosed);
  TableBatch batch;
  batch.Put(table, "row", "f", "q", "v");
  EXPECT_EQ(tables->Write({}, batch).code(), kClosed);
  EXPECT_TRUE(tables->Close().ok());
}

TEST(Table, ADeleteHidesWhatWasWrittenBeforeItAndNothingLater) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily(9));
  for (const bool flushes : {false, true}) {
    const std::string row = flushes ? "flushed" : "in memory";
    const auto flush = [&] { return !flushes || tables->Flush("t").ok(); };
    for (const uint64_t timestamp : {1, 2, 3}) tables.Put(table, row, "f", "q", timestamp, "old");
    ASSERT_TRUE(flush());
    TableBatch batch;
    batch.DeleteColumn(table, row, "f", "q", 2);
    tables.Write(batch);
    ASSERT_TRUE(flush());
    EXPECT_EQ(tables.Versions(table, row, "f", "q"), "old@3");
    tables.Put(table, row, "f", "q", 1, "new");
    ASSERT_TRUE(flush());
    EXPECT_EQ(tables.Versions(table, row, "f", "q"), "old@3 new@1") << "written after the delete";
    batch.Clear();
    batch.DeleteRow(table, row, 3);
    tables.Write(batch);
    ASSERT_TRUE(flush());
    EXPECT_EQ(tables.Versions(table, row, "f", "q"), "");
    tables.Put(table, row, "f", "q", 0, "again");
    EXPECT_EQ(tables.Versions(table, row, "f", "q"), "again@0");
  }
  ASSERT_TRUE(tables->MajorCompact("t").ok());
  EXPECT_EQ(tables.Versions(table, "flushed", "f", "q"), "again@0");
}

TEST(Table, WhatWasSupersededNeverComesBack) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily(1));
  tables.Put(table, "row", "f", "q", 1, "old");
  tables.Put(table, "row", "f", "q", 2, "new");
  TableBatch batch;
  batch.DeleteVersion(table, "row", "f", "q", std::nullopt);
  tables.Write(batch);
  EXPECT_EQ(tables.Versions(table, "row", "f", "q"), "") << "HBASE-21596";

  // By a cell whose own time is up.
  batch.Clear();
  batch.Put(table, "row", "f", "q", "kept", {.timestamp = kStartMs});
  batch.Put(table, "row", "f", "q", "brief", {.timestamp = kStartMs + 1, .ttl_ms = 1000});
  tables.Write(batch);
  EXPECT_EQ(tables.Versions(table, "row", "f", "q"), absl::StrCat("brief@", kStartMs + 1));
  tables.clock().AdvanceSeconds(5);
  EXPECT_EQ(tables.Versions(table, "row", "f", "q"), "");
}

TEST(Table, ImpliedTimestampsNeverGoBackAlsoAfterAnOpening) {
  MemoryTables tables;
  Table* table = tables.Create(OneFamily(9));
  ASSERT_TRUE(tables->Put({}, table, "row", "f", "q", "first").ok());
  tables.clock().SetSeconds(1);
  ASSERT_TRUE(tables->Put({}, table, "row", "f", "r", "second").ok());
  tables.Reopen();
  table = tables.Find("t");
  ASSERT_TRUE(tables->Put({}, table, "row", "f", "s", "third").ok());
  const std::string at = absl::StrCat("@", kStartMs, "=");
  EXPECT_EQ(tables.Get(table, "row", {}),
            (Texts{"row/f:q" + at + "first", "row/f:r" + at + "second", "row/f:s" + at + "third"}));
}

// A write number that went back would let the delete hide nothing.
TEST(Table, TheOrderOfWritesGoesOnAfterAnOpening) {
  MemoryTables tables;
  Table* table = tables.Create(OneFamily());
  for (int i = 0; i < 100; i++) tables.Put(table, "row", "f", "q", 5, absl::StrCat(i));
  tables.Reopen();
  table = tables.Find("t");
  TableBatch batch;
  batch.DeleteColumn(table, "row", "f", "q", 5);
  tables.Write(batch);
  EXPECT_EQ(tables.Get(table, "row", {}), Texts{});
}

TEST(Table, ABatchIsOneChangeOverRowsFamiliesAndTables) {
  MemoryTables tables;
  Table* const one = tables.Create({.name = "one", .families = {{.name = "a"}, {.name = "b"}}});
  Table* const two = tables.Create({.name = "two", .families = {{.name = "a"}}});
  TableBatch batch;
  batch.Put(one, "r1", "a", "q", "1", {.timestamp = 1});
  batch.Put(one, "r2", "b", "q", "2", {.timestamp = 1});
  batch.Put(two, "r1", "a", "q", "3", {.timestamp = 1});
  batch.DeleteVersion(one, "r1", "a", "q", std::nullopt);  // sees what the batch has put
  tables.Write(batch);
  EXPECT_EQ(tables.Scan(one, {}), Texts{"r2/b:q@1=2"});
  EXPECT_EQ(tables.Scan(two, {}), Texts{"r1/a:q@1=3"});

  batch.Clear();
  batch.Put(one, "r3", "a", "q", "4");
  batch.Put(one, "r3", "none", "q", "5");
  EXPECT_EQ(tables->Write({}, batch).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tables.Get(one, "r3", {}), Texts{});
}

TEST(Table, CountersAddAndWrapAround) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  EXPECT_EQ(*tables->Increment({}, table, "row", "f", "n", 5), 5);
  EXPECT_EQ(*tables->Increment({}, table, "row", "f", "n", -7), -2);
  std::string value;
  ASSERT_TRUE(tables->GetCell({}, table, "row", "f", "n", &value).ok());
  EXPECT_EQ(value, Counter(-2));
  tables.Put(table, "row", "f", "max", kStartMs + 9, Counter(INT64_MAX));
  EXPECT_EQ(*tables->Increment({}, table, "row", "f", "max", 1), INT64_MIN);
  EXPECT_EQ(tables.Get(table, "row", {.columns = {{"f", "max"}}}),
            Texts{absl::StrCat("row/f:max@", kStartMs + 9, "=", Counter(INT64_MIN))})
      << "the newest version's timestamp, if it is in the future";
  tables.Put(table, "row", "f", "text", 1, "abc");
  EXPECT_EQ(tables->Increment({}, table, "row", "f", "text", 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*tables->Append({}, table, "row", "f", "text", "def"), "abcdef");
}

TEST(Table, ConcurrentIncrementsAreAllCounted) {
  MemoryTables tables(MemoryDb::Busy());
  Table* const table = tables.Create(OneFamily());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; i++) {
        EXPECT_TRUE(tables->Increment({}, table, absl::StrCat(i % 2), "f", "n", 1).ok());
        TableBatch batch;  // over both rows, in either order
        batch.Put(table, absl::StrCat(thread % 2), "f", "x", "v");
        batch.Put(table, absl::StrCat(1 - thread % 2), "f", "x", "v");
        tables.Write(batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*tables->Increment({}, table, "0", "f", "n", 0), 1000);
  EXPECT_EQ(*tables->Increment({}, table, "1", "f", "n", 0), 1000);
}

TEST(Table, CheckAndMutateWritesIfTheConditionHolds) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  TableBatch batch;
  batch.Put(table, "row", "f", "q", "m", {.timestamp = 1});
  using Operator = CellCondition::Operator;
  const auto check = [&](Operator op, std::string value) {
    return *tables->CheckAndMutate({}, table, {"row", "f", "q", op, std::move(value)}, batch);
  };
  EXPECT_FALSE(check(Operator::kNotEqual, "x")) << "absent";
  EXPECT_TRUE(check(Operator::kAbsent, ""));
  EXPECT_FALSE(check(Operator::kAbsent, ""));
  EXPECT_TRUE(check(Operator::kEqual, "m"));
  EXPECT_TRUE(check(Operator::kNotEqual, "n"));
  EXPECT_TRUE(check(Operator::kLess, "n"));
  EXPECT_FALSE(check(Operator::kLess, "m"));
  EXPECT_TRUE(check(Operator::kLessOrEqual, "m"));
  EXPECT_FALSE(check(Operator::kGreater, "m"));
  EXPECT_TRUE(check(Operator::kGreaterOrEqual, "m"));
}

TEST(Table, ScansRowsInBothDirectionsWithinBounds) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  for (const std::string row : {"a", "b", "ba", "c"}) tables.Put(table, row, "f", "q", 1, row);
  const auto rows = [&](const ScanOptions& options) {
    std::string text;
    RowResult row;
    const auto scanner = tables->Scan(options, table);
    while (scanner->Next(&row))
      absl::StrAppend(&text, row.row() == "" ? "?" : "", std::string(row.row()), " ");
    return text;
  };
  ScanOptions options;
  EXPECT_EQ(rows(options), "a b ba c ");
  options.start_row = "b";
  options.stop_row = "c";
  EXPECT_EQ(rows(options), "b ba ");
  options.start_row = "ba";
  options.stop_row = "a";
  options.reverse = true;
  EXPECT_EQ(rows(options), "ba b ");
  ScanOptions prefix;
  prefix.row_prefix = "b";
  EXPECT_EQ(rows(prefix), "b ba ");
  prefix.max_rows = 1;
  EXPECT_EQ(rows(prefix), "b ");
}

TEST(Table, AWideRowComesInBatches) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  TableBatch batch;
  for (int i = 0; i < 10; i++) batch.Put(table, "wide", "f", absl::StrCat(i), "v");
  tables.Write(batch);
  ScanOptions options;
  options.max_cells = 4;
  const auto scanner = tables->Scan(options, table);
  RowResult row;
  std::vector<size_t> sizes;
  while (scanner->Next(&row)) {
    EXPECT_EQ(row.row(), "wide");
    sizes.push_back(row.cells().size());
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 4, 2}));
}

TEST(Table, ASnapshotFreezesTheClockToo) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f", .ttl_seconds = 10}}});
  ASSERT_TRUE(tables->Put({}, table, "row", "f", "q", "v").ok());
  const std::unique_ptr<TableSnapshot> snapshot = tables->GetSnapshot();
  tables.clock().AdvanceSeconds(11);
  EXPECT_EQ(tables.Get(table, "row", {}), Texts{});
  ASSERT_TRUE(tables->MajorCompact("t").ok());
  EXPECT_EQ(tables.Get(table, "row", {.snapshot = snapshot.get()}).size(), 1u);
  EXPECT_EQ(snapshot->timestamp(), kStartMs);
}

TEST(Table, ExpiredCellsLeaveWithCompactions) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f", .ttl_seconds = 10}}});
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(tables->Put({}, table, absl::StrCat("row", i), "f", "q", "v").ok());
  }
  tables.clock().AdvanceSeconds(11);
  ASSERT_TRUE(tables->Put({}, table, "new", "f", "q", "v").ok());
  const auto family = tables->db().FindColumnFamily("t:f");
  ASSERT_TRUE(tables->db().CompactRange(*family, {}, {}).ok());
  EXPECT_EQ(*tables->db().GetProperty(*family, "winnow.estimate-num-keys"), "1");
}

TEST(Table, AMajorCompactionLeavesNothingThatNobodySees) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily(2));
  for (int i = 1; i <= 100; i++) {
    tables.Put(table, "versions", "f", "q", static_cast<uint64_t>(i), "v");
    tables.Put(table, absl::StrCat("row", i), "f", "q", 1, "v");
    TableBatch batch;
    batch.DeleteRow(table, absl::StrCat("row", i));
    batch.DeleteColumn(table, "versions", "f", "other", 1);
    tables.Write(batch);
  }
  ASSERT_TRUE(tables->MajorCompact("t").ok());
  const auto family = tables->db().FindColumnFamily("t:f");
  EXPECT_EQ(*tables->db().GetProperty(*family, "winnow.estimate-num-keys"), "2");
  EXPECT_EQ(tables.Versions(table, "versions", "f", "q"), "v@100 v@99");
}

TEST(Table, RefusesWhatIsOverItsLimits) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  const auto put = [&](size_t row, size_t qualifier, size_t value) {
    return tables
        ->Put({}, table, std::string(row, 'r'), "f", std::string(qualifier, 'q'),
              std::string(value, 'v'))
        .code();
  };
  EXPECT_EQ(put(kMaxRowBytes, kMaxQualifierBytes, kMaxCellBytes), absl::StatusCode::kOk);
  EXPECT_EQ(put(0, 1, 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(put(kMaxRowBytes + 1, 1, 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(put(1, kMaxQualifierBytes + 1, 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(put(1, 1, kMaxCellBytes + 1), absl::StatusCode::kInvalidArgument);
  TableBatch batch;
  batch.Put(table, "r", "f", "q", "v", {.timestamp = kMaxTimestamp + 1});
  EXPECT_EQ(tables->Write({}, batch).code(), absl::StatusCode::kInvalidArgument);
  tables.Put(table, "r", "f", "q", kMaxTimestamp, "v");
  EXPECT_EQ(tables.Versions(table, "r", "f", "q"), absl::StrCat("v@", kMaxTimestamp));

  MemoryTables others;
  Table* const foreign = others.Create(OneFamily());
  EXPECT_EQ(tables->Put({}, foreign, "r", "f", "q", "v").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tables->Put({}, nullptr, "r", "f", "q", "v").code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Table, TheLimitOfCellsIsTheUsers) {
  const auto file_system = NewUnrecordedFileSystem();
  Options options = MemoryDb::Quiet();
  options.file_system = file_system.get();
  for (const size_t limit : {size_t{0}, kMaxTableCellBytes + 1}) {
    const auto opened = TableDatabase::Open(options, "/db", {.max_cell_bytes = limit});
    EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << limit;
  }
  for (const size_t limit : {size_t{100}, kMaxCellBytes + 1}) {
    const auto tables = *TableDatabase::Open(options, "/db", {.max_cell_bytes = limit});
    Table* const table = limit == 100 ? *tables->CreateTable(OneFamily()) : *tables->FindTable("t");
    const std::string largest(limit, 'v');
    EXPECT_TRUE(tables->Put({}, table, "r", "f", "q", largest).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(tables->Put({}, table, "r", "f", "q", largest + "v")));
    EXPECT_TRUE(absl::IsInvalidArgument(tables->Append({}, table, "r", "f", "q", "v").status()));
    TableBatch batch;
    batch.Put(table, "r", "f", "q", largest + "v");
    EXPECT_TRUE(absl::IsInvalidArgument(tables->Write({}, batch)));
    const auto writer = *tables->NewTableWriter(table, "/bulk");
    EXPECT_TRUE(writer->Put("s", "f", "q", 1, largest).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(writer->Put("t", "f", "q", 1, largest + "v")));
  }
  // What is stored is read whatever the limit.
  const auto tables = *TableDatabase::Open(options, "/db", {.max_cell_bytes = 1});
  std::string value;
  EXPECT_TRUE(tables->GetCell({}, *tables->FindTable("t"), "r", "f", "q", &value).ok());
  EXPECT_EQ(value.size(), kMaxCellBytes + 1);
}

TEST(Table, ZerosInRowsAndColumnsTakeNoMoreThanTheirLimit) {
  MemoryTables tables;
  Table* const table = tables.Create(OneFamily());
  const std::string row(kMaxRowBytes, '\0');
  const std::string qualifier(kMaxQualifierBytes, '\0');
  ASSERT_TRUE(tables->Put({}, table, row, "f", qualifier, "v").ok());
  RowResult result;
  ASSERT_TRUE(tables->Get({}, table, row, &result).ok());
  ASSERT_EQ(result.cells().size(), 1u);
  EXPECT_EQ(result.row(), row);
  EXPECT_EQ(result.cells()[0].qualifier, qualifier);
}

}  // namespace
}  // namespace winnow
