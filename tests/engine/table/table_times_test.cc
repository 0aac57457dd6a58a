// The times of cells that each SSTable knows: reads pass over files by them, and lose nothing.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

using Texts = std::vector<std::string>;

class TableTimesTest : public testing::Test {
 protected:
  void Create(uint32_t max_versions) {
    table_ = tables_.Create(
        {.name = "t",
         .families = {{.name = "f", .max_versions = max_versions, .bloom_filter = "ROWCOL"}}});
  }
  ColumnFamily* family() { return *tables_->db().FindColumnFamily("t:f"); }
  // A file of level 0 with these versions of column q, one row each.
  void WriteFile(const std::vector<uint64_t>& timestamps, const std::string& value) {
    for (const uint64_t timestamp : timestamps) Put(timestamp, value);
    Flush();
  }
  void Put(uint64_t timestamp, const std::string& value) {
    tables_.Put(table_, "row", "f", "q", timestamp, value);
  }
  void Flush() { ASSERT_TRUE(tables_->Flush("t").ok()); }
  std::string GetCell() {
    std::string value;
    const absl::Status got = tables_->GetCell({}, table_, "row", "f", "q", &value);
    return got.ok() ? value : got.ToString();
  }
  uint64_t Passed() {
    const uint64_t all = tables_->db().GetStatistics().Get(Ticker::kFilesPassedByTime);
    const uint64_t more = all - passed_;
    passed_ = all;
    return more;
  }
  Texts GetBetween(uint64_t begin, uint64_t end) {
    return tables_.Get(table_, "row",
                       {.max_versions = 9, .min_timestamp = begin, .end_timestamp = end});
  }

  MemoryTables tables_;
  Table* table_ = nullptr;
  uint64_t passed_ = 0;
};

TEST_F(TableTimesTest, TheNewestCellIsFoundWithoutOlderFiles) {
  Create(3);
  WriteFile({10, 11}, "first");
  WriteFile({20, 21}, "second");
  WriteFile({30, 31}, "third");
  Passed();
  EXPECT_EQ(GetCell(), "third");
  EXPECT_EQ(Passed(), 2u);
  // In the memtable: no file can have a newer one.
  Put(40, "fourth");
  EXPECT_EQ(GetCell(), "fourth");
  EXPECT_EQ(Passed(), 3u);
  // What is said to be older is older, wherever it lies.
  Flush();
  WriteFile({5}, "said to be oldest");
  EXPECT_EQ(GetCell(), "fourth");
  Put(25, "between");
  EXPECT_EQ(GetCell(), "fourth");
  // The same cell once more: the newer write counts.
  WriteFile({40}, "fourth again");
  EXPECT_EQ(GetCell(), "fourth again");
}

TEST_F(TableTimesTest, AFileOfNothingButAMarkerHidesTheNewestCell) {
  Create(3);
  WriteFile({10}, "a");
  TableBatch batch;
  batch.DeleteColumn(table_, "row", "f", "q", 10);
  tables_.Write(batch);
  Flush();
  EXPECT_EQ(GetCell(), "NOT_FOUND: ");
  WriteFile({9}, "written after it");
  EXPECT_EQ(GetCell(), "written after it");
}

TEST_F(TableTimesTest, FilesOutsideOfTheTimesAreLeftOut) {
  Create(kUnlimitedVersions);
  WriteFile({10, 11}, "a");
  WriteFile({20, 21}, "b");
  WriteFile({30, 31}, "c");
  Passed();
  EXPECT_EQ(GetBetween(20, 22), (Texts{"row/f:q@21=b", "row/f:q@20=b"}));
  EXPECT_EQ(Passed(), 2u) << "all versions are kept, so that newer ones do not matter";
  EXPECT_EQ(GetBetween(11, 21), (Texts{"row/f:q@20=b", "row/f:q@11=a"}));
  EXPECT_EQ(Passed(), 1u);
  EXPECT_EQ(GetBetween(32, 40), Texts{});
  EXPECT_EQ(Passed(), 3u);
  ScanOptions scan;
  scan.min_timestamp = 31;
  EXPECT_EQ(tables_.Scan(table_, scan), (Texts{"row/f:q@31=c"}));
  EXPECT_EQ(Passed(), 2u);
  scan.reverse = true;
  EXPECT_EQ(tables_.Scan(table_, scan), (Texts{"row/f:q@31=c"}));
  EXPECT_EQ(Passed(), 2u);
  // Of all times nothing is passed.
  EXPECT_EQ(tables_.Scan(table_, {}).size(), 1u);
  EXPECT_EQ(Passed(), 0u);
}

TEST_F(TableTimesTest, NewerVersionsSupersedeWhereRulesCountThem) {
  Create(2);
  WriteFile({10}, "a");
  WriteFile({20}, "b");
  WriteFile({30}, "c");
  Passed();
  EXPECT_EQ(GetBetween(10, 25), (Texts{"row/f:q@20=b"})) << "two newer ones let 10 go";
  EXPECT_EQ(Passed(), 0u);
  EXPECT_EQ(GetBetween(25, 100), (Texts{"row/f:q@30=c"}));
  EXPECT_EQ(Passed(), 2u);
}

TEST_F(TableTimesTest, AMarkerIsReadThatReachesIntoTheTimes) {
  Create(kUnlimitedVersions);
  WriteFile({10, 20}, "a");
  TableBatch batch;
  batch.DeleteColumn(table_, "row", "f", "q", 15);
  tables_.Write(batch);
  Put(40, "b");
  Flush();
  EXPECT_EQ(GetBetween(5, 30), (Texts{"row/f:q@20=a"}));
  EXPECT_EQ(GetBetween(5, 16), Texts{});
  Passed();
  EXPECT_EQ(GetBetween(16, 30), (Texts{"row/f:q@20=a"})) << "it does not reach 16, but 40 is there";
  EXPECT_EQ(Passed(), 0u);
  batch.Clear();
  batch.DeleteFamily(table_, "row", "f", 35);
  tables_.Write(batch);
  Flush();
  EXPECT_EQ(GetBetween(5, 36), Texts{}) << "a file of nothing but a marker of the row";
  EXPECT_EQ(GetBetween(5, 41), (Texts{"row/f:q@40=b"}));
  EXPECT_EQ(GetCell(), "b");
  // Written after the marker, and with a time that it reaches: there.
  WriteFile({34}, "late");
  EXPECT_EQ(GetBetween(5, 36), (Texts{"row/f:q@34=late"}));
}

TEST_F(TableTimesTest, MarkersOfRowsAreLookedForOnlyWhereThereAreAny) {
  Create(3);
  // All files span the row.
  const auto put_around = [&] {
    for (const char* row : {"a", "z"}) tables_.Put(table_, row, "f", "q", 1, "v");
  };
  TableBatch batch;
  put_around();
  batch.DeleteFamily(table_, "other row", "f", 1000);
  tables_.Write(batch);
  Flush();
  put_around();
  WriteFile({10}, "a");
  put_around();
  WriteFile({20}, "b");
  put_around();
  WriteFile({2000}, "c");
  Passed();
  EXPECT_EQ(GetCell(), "c");
  // Two files of older cells and that of the marker; then all four for the markers of the row:
  // three have none, and the one of another row reaches no cell of this time.
  EXPECT_EQ(Passed(), 7u);
  // One that reaches the cell is read, and hides it.
  batch.Clear();
  batch.DeleteFamily(table_, "row", "f", 3000);
  tables_.Write(batch);
  Flush();
  EXPECT_EQ(GetCell(), "NOT_FOUND: ");
  ASSERT_TRUE(tables_->db().CompactRange(family(), std::nullopt, std::nullopt).ok());
  EXPECT_EQ(GetCell(), "NOT_FOUND: ");
}

TEST_F(TableTimesTest, FilesInTheMiddleOfALevelAreLeftOut) {
  Create(kUnlimitedVersions);
  // A row for each file, which a compaction moves to the next level as they are.
  for (uint64_t i = 0; i < 6; i++) {
    for (int version = 0; version < 3; version++) {
      tables_.Put(table_, absl::StrCat("row", i), "f", "q", 100 * i + version, "v");
    }
    Flush();
    ASSERT_TRUE(tables_->db()
                    .CompactRange(family(), absl::StrCat("row", i), absl::StrCat("row", i, "~"))
                    .ok());
  }
  Passed();
  for (uint64_t i = 0; i < 6; i++) {
    ScanOptions scan;
    scan.min_timestamp = 100 * i;
    scan.end_timestamp = 100 * i + 2;
    EXPECT_EQ(tables_.Scan(table_, scan),
              (Texts{absl::StrCat("row", i, "/f:q@", 100 * i + 1, "=v")}));
    EXPECT_EQ(Passed(), 5u);
    scan.min_timestamp = i == 0 ? 0 : 100 * (i - 1);
    EXPECT_EQ(tables_.Scan(table_, scan).size(), i == 0 ? 1u : 2u);
    Passed();
  }
}

TEST_F(TableTimesTest, AreKeptAcrossOpeningsAndCompactions) {
  Create(kUnlimitedVersions);
  WriteFile({10, 11}, "a");
  WriteFile({20, 21}, "b");
  tables_.Reopen();
  table_ = tables_.Find("t");
  passed_ = 0;
  EXPECT_EQ(GetBetween(20, 22).size(), 2u);
  EXPECT_EQ(Passed(), 1u);
  ASSERT_TRUE(tables_->db().CompactRange(family(), std::nullopt, std::nullopt).ok());
  EXPECT_EQ(GetBetween(5, 10), Texts{});
  EXPECT_EQ(GetBetween(22, 30), Texts{});
  EXPECT_EQ(Passed(), 2u);
  EXPECT_EQ(GetBetween(11, 21).size(), 2u);
  EXPECT_EQ(Passed(), 0u);
}

TEST_F(TableTimesTest, LoadedFilesHaveThem) {
  Create(kUnlimitedVersions);
  WriteFile({10}, "a");
  auto writer = *tables_->NewTableWriter(table_, "/load");
  ASSERT_TRUE(writer->Put("row", "f", "q", 50, "loaded").ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(GetCell(), "loaded");
  Passed();
  EXPECT_EQ(GetBetween(5, 20), (Texts{"row/f:q@10=a"}));
  EXPECT_EQ(Passed(), 1u);
}

class ExpiringTablesTest : public testing::Test {
 protected:
  static Options WithAutomaticCompactions() {
    Options options = MemoryDb::Quiet();
    options.disable_auto_compactions = false;
    options.level0_compaction_trigger = 15;  // none is due but for what expires
    return options;
  }
  Table* Create(FamilySchema family) {
    family.name = "f";
    return tables_.Create({.name = "t", .families = {std::move(family)}});
  }
  // Of the present, and of the seconds before it.
  void WriteFile(Table* table, std::string_view row, int seconds_back = 0) {
    for (int i = 0; i <= seconds_back; i++) {
      const uint64_t timestamp = kStartMs + 1000 * static_cast<uint64_t>(seconds_ - i);
      tables_.Put(table, row, "f", absl::StrCat("q", i), timestamp, "v");
    }
    ASSERT_TRUE(tables_->Flush("t").ok());
    ASSERT_TRUE(tables_->db().WaitForBackgroundWork().ok());
  }
  void Advance(int seconds) {
    tables_.clock().AdvanceSeconds(seconds);
    seconds_ += seconds;
  }
  void SetTtl(uint64_t seconds) {
    TableSchema schema = *tables_->DescribeTable("t");
    schema.families[0].ttl_seconds = seconds;
    const absl::Status altered = tables_->AlterTable(schema);
    ASSERT_TRUE(altered.ok()) << altered;
  }
  uint64_t Ticks(Ticker ticker) { return tables_->db().GetStatistics().Get(ticker); }

  MemoryTables tables_{WithAutomaticCompactions()};
  int seconds_ = 0;
};

TEST_F(ExpiringTablesTest, FilesOfExpiredCellsAreDroppedUnread) {
  Table* const table = Create({.ttl_seconds = 10});
  WriteFile(table, "a");
  TableBatch batch;
  batch.DeleteRow(table, "a");
  tables_.Write(batch);
  WriteFile(table, "b");
  std::unique_ptr<TableSnapshot> snapshot = tables_->GetSnapshot();
  Advance(11);
  WriteFile(table, "c");
  EXPECT_EQ(Ticks(Ticker::kExpiredFilesDropped), 0u) << "the snapshot shows them";
  EXPECT_EQ(tables_.Get(table, "b", {.snapshot = snapshot.get()}).size(), 1u);
  snapshot.reset();
  WriteFile(table, "d");
  EXPECT_EQ(Ticks(Ticker::kExpiredFilesDropped), 1u) << "a marker stays for what it hides";
  EXPECT_EQ(Ticks(Ticker::kExpiredEntriesDropped), 1u);
  EXPECT_EQ(Ticks(Ticker::kCompactionBytesRead), 0u);
  EXPECT_EQ(tables_.Scan(table, {}), (Texts{absl::StrCat("c/f:q0@", kStartMs + 11000, "=v"),
                                            absl::StrCat("d/f:q0@", kStartMs + 11000, "=v")}));
}

// The marker's file expires as a whole before that of the cell that it hides.
TEST_F(ExpiringTablesTest, WhatWasDeletedStaysDeletedWhereRulesAreLoosened) {
  for (const bool is_of_column : {false, true}) {
    const std::string row = is_of_column ? "column" : "row";
    Table* const table = is_of_column ? tables_.Find("t") : Create({.ttl_seconds = 10});
    if (is_of_column) SetTtl(10);
    const uint64_t now = kStartMs + 1000 * static_cast<uint64_t>(seconds_);
    tables_.Put(table, row, "f", "q", now, "deleted");
    tables_.Put(table, row, "f", "later", now + 100'000, "v");
    ASSERT_TRUE(tables_->Flush("t").ok());
    TableBatch batch;
    is_of_column ? batch.DeleteColumn(table, row, "f", "q") : batch.DeleteFamily(table, row, "f");
    tables_.Write(batch);
    ASSERT_TRUE(tables_->Flush("t").ok());
    Advance(20);
    WriteFile(table, "z");
    WriteFile(table, "z");
    EXPECT_EQ(tables_.Versions(table, row, "f", "q"), "");
    SetTtl(1000);
    EXPECT_EQ(tables_.Versions(table, row, "f", "q"), "");
  }
}

TEST_F(ExpiringTablesTest, WhatMayHaveToStayIsNotDropped) {
  Table* const table = Create({.max_versions = 3, .ttl_seconds = 10, .min_versions = 1});
  WriteFile(table, "a");
  Advance(100);
  WriteFile(table, "b");
  WriteFile(table, "b");
  EXPECT_EQ(Ticks(Ticker::kExpiredFilesDropped), 0u);
  EXPECT_EQ(tables_.Get(table, "a", {}).size(), 1u);
}

// On the deepest level, where half of what it has is over.
TEST_F(ExpiringTablesTest, ExpiredSpaceReturnsByItself) {
  Table* const table = Create({.ttl_seconds = 100});
  Advance(50);
  WriteFile(table, "a", 50);
  ColumnFamily* const family = *tables_->db().FindColumnFamily("t:f");
  ASSERT_TRUE(tables_->db().CompactRange(family, std::nullopt, std::nullopt).ok());
  const auto count = [&] { return *tables_->db().GetProperty(family, "winnow.estimate-num-keys"); };
  EXPECT_EQ(count(), "51");
  Advance(70);
  WriteFile(table, "b");
  EXPECT_EQ(count(), "52") << "a fifth is not worth it";
  Advance(10);
  WriteFile(table, "b");
  EXPECT_EQ(count(), "23") << "21 of row a, 2 of row b";
  // No more of it, though some more expire.
  const uint64_t compactions = Ticks(Ticker::kCompactions);
  Advance(1);
  WriteFile(table, "b");
  EXPECT_EQ(Ticks(Ticker::kCompactions), compactions);
}

// The store alone knows nothing of cells, and so no times of the files that it writes.
TEST(TableTimes, AFileThatWasWrittenWithoutTablesIsRead) {
  TestClock clock;
  const std::unique_ptr<RecordingFileSystem> file_system = NewUnrecordedFileSystem();
  Options options = MemoryDb::Quiet();
  options.file_system = file_system.get();
  options.clock = &clock;
  const auto put = [](TableDatabase& tables, uint64_t timestamp, std::string_view value) {
    TableBatch batch;
    batch.Put(*tables.FindTable("t"), "row", "f", "q", value, {.timestamp = timestamp});
    EXPECT_TRUE(tables.Write({}, batch).ok());
  };
  {
    auto tables = *TableDatabase::Open(options, "/db");
    ASSERT_TRUE(tables
                    ->CreateTable({.name = "t",
                                   .families = {{.name = "f", .max_versions = kUnlimitedVersions}}})
                    .ok());
    put(*tables, 50, "newest");
    put(*tables, 10, "oldest");
    ASSERT_TRUE(tables->Close().ok());
  }
  {
    auto store = *DB::Open(options, "/db");
    ASSERT_TRUE(store->Flush(*store->FindColumnFamily("t:f")).ok());
    ASSERT_TRUE(store->Close().ok());
  }
  auto tables = *TableDatabase::Open(options, "/db");
  put(*tables, 30, "written last");
  ASSERT_TRUE(tables->Flush("t").ok());
  Table* const table = *tables->FindTable("t");
  std::string value;
  ASSERT_TRUE(tables->GetCell({}, table, "row", "f", "q", &value).ok());
  EXPECT_EQ(value, "newest");
  RowResult row;
  ASSERT_TRUE(tables->Get({.end_timestamp = 20}, table, "row", &row).ok());
  ASSERT_EQ(row.cells().size(), 1u);
  EXPECT_EQ(row.cells()[0].value, "oldest");
  EXPECT_EQ(tables->db().GetStatistics().Get(Ticker::kFilesPassedByTime), 1u)
      << "that of 30, by the second read";
}

}  // namespace
}  // namespace winnow
