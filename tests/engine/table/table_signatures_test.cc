// Rows that are found by signatures: as many as without them, and fewer that have to be read.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/db/db_impl.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/version/file_names.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

// The newest version of f:q is that value.
std::string Where(std::string_view qualifier, std::string_view value) {
  return absl::StrCat("SingleColumnValueFilter('f', '", std::string(qualifier),
                      "', =, 'binary:", std::string(value), "', true, true)");
}

ScanOptions From(std::string_view start) {
  ScanOptions options;
  options.start_row = start;
  return options;
}
ScanOptions UpTo(std::string_view stop) {
  ScanOptions options;
  options.stop_row = stop;
  return options;
}

class TableSignaturesTest : public testing::Test {
 protected:
  explicit TableSignaturesTest(Options options = MemoryDb::Quiet()) : tables_(std::move(options)) {}

  void Create(const std::string& signature, uint32_t max_versions = 1) {
    table_ = tables_.Create(
        {.name = "t",
         .families = {{.name = "f", .max_versions = max_versions, .signature = signature},
                      {.name = "g", .signature = "other"}}});
  }
  void Put(std::string_view row, std::string_view qualifier, std::string_view value,
           std::string_view family = "f") {
    const absl::Status put = tables_->Put({}, table_, row, family, qualifier, value);
    ASSERT_TRUE(put.ok()) << put;
  }
  void Flush() { ASSERT_TRUE(tables_->Flush("t").ok()); }
  // Rows "r000" and on with q1 of seven values, q2 of five, and a long column.
  void PutRows(int count) {
    for (int i = 0; i < count; i++) {
      const std::string row = absl::StrCat("r", 1'000 + i);
      Put(row, "q1", absl::StrCat("a", i % 7));
      Put(row, "q2", absl::StrCat("b", i % 5));
      Put(row, "text", std::string(200, 't'));
    }
  }

  std::string Rows(const std::string& filter, const ScanOptions& options = {}) {
    return tables_.Rows(table_, filter, options);
  }
  uint64_t Counted(Ticker ticker) {
    const uint64_t all = tables_->db().GetStatistics().Get(ticker);
    uint64_t& before = counted_[static_cast<size_t>(ticker)];
    const uint64_t more = all - before;
    before = all;
    return more;
  }
  // As many rows have the value as are given. Of others, one in 3,160 sets the same two of 80 bits
  // by chance, and the seed is another one in each run.
  void ExpectCandidates(uint64_t rows) {
    const uint64_t candidates = Counted(Ticker::kSignatureCandidates);
    EXPECT_GE(candidates, rows);
    EXPECT_LE(candidates, rows + 2);
  }
  // Of what comes next.
  void CountFromHere() {
    for (uint32_t i = 0; i < static_cast<uint32_t>(Ticker::kCount); i++) {
      Counted(static_cast<Ticker>(i));
    }
  }

  MemoryTables tables_;
  Table* table_ = nullptr;
  std::array<uint64_t, static_cast<size_t>(Ticker::kCount)> counted_ = {};
};

TEST_F(TableSignaturesTest, FindRowsByAnySubsetOfColumns) {
  Create("q1,q2");
  PutRows(70);
  Flush();
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "a3") + " AND " + Where("q2", "b1")), "r1031 r1066");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 1u);
  EXPECT_EQ(Counted(Ticker::kSignatureRowsAsked), 70u);
  // A chance that hits one of the 35 combinations hits two rows.
  EXPECT_LT(Counted(Ticker::kSignatureCandidates), 14u);
  EXPECT_EQ(Counted(Ticker::kSignatureRowsFound), 2u);
  EXPECT_EQ(Rows(Where("q2", "b9")), "");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 1u);
  ScanOptions some = From("r1020");
  some.stop_row = "r1037";
  EXPECT_EQ(Rows(Where("q2", "b2"), some), "r1022 r1027 r1032");
  some = ScanOptions();
  some.row_prefix = "r104";
  EXPECT_EQ(Rows(Where("q2", "b2"), some), "r1042 r1047");
  some = ScanOptions();
  some.max_rows = 2;
  EXPECT_EQ(Rows(Where("q2", "b2"), some), "r1002 r1007");
  EXPECT_EQ(Rows("RowFilter(>, 'binary:r1055') AND " + Where("q2", "b2")), "r1057 r1062 r1067");
  EXPECT_EQ(Rows("PageFilter(1) AND " + Where("q1", "a3")), "r1003");
  EXPECT_EQ(Rows("ColumnValueFilter('f', 'q1', =, 'binary:a6') AND PageFilter(2)"), "r1006 r1013");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 6u);
}

// The rows of the moment at which it was begun, whatever becomes of the table.
TEST_F(TableSignaturesTest, AScanOutlivesItsTable) {
  Create("q1,q2", 3);
  PutRows(70);
  Flush();
  const auto begin = [&] {
    ScanOptions options;
    options.filter = *TableFilter::Parse(Where("q1", "a3"));
    auto scanner = tables_->Scan(options, table_);
    RowResult row;
    EXPECT_TRUE(scanner->Next(&row));
    EXPECT_EQ(row.row(), "r1003");
    return scanner;
  };
  const auto rest = [](RowScanner& scanner) {
    std::vector<std::string> rows;
    RowResult row;
    while (scanner.Next(&row)) rows.emplace_back(row.row());
    EXPECT_TRUE(row.empty());
    return absl::StrJoin(rows, " ");
  };
  const std::string all = "r1010 r1017 r1024 r1031 r1038 r1045 r1052 r1059 r1066";
  // Other rules, other signatures, another value of a row: none of them is of its moment.
  auto scanner = begin();
  ASSERT_TRUE(
      tables_
          ->AlterTable({.name = "t", .families = {{.name = "f", .signature = "q2"}, {.name = "g"}}})
          .ok());
  Put("r1010", "q1", "other");
  EXPECT_EQ(rest(*scanner), all);
  EXPECT_TRUE(scanner->status().ok()) << scanner->status();
  Put("r1010", "q1", "a3");
  ASSERT_TRUE(
      tables_
          ->AlterTable({.name = "t", .families = {{.name = "f", .signature = "q1"}, {.name = "g"}}})
          .ok());
  ASSERT_TRUE(tables_->MajorCompact("t").ok());
  auto of_removed = begin();
  ASSERT_TRUE(
      tables_->AlterTable({.name = "t", .families = {{.name = "f", .signature = "q1"}}}).ok());
  EXPECT_EQ(rest(*of_removed), all);
  EXPECT_TRUE(of_removed->status().ok()) << of_removed->status();
  scanner = begin();
  ASSERT_TRUE(tables_->DropTable("t").ok());
  EXPECT_EQ(rest(*scanner), all);
  EXPECT_TRUE(scanner->status().ok()) << scanner->status();
  // While it walks, too: every row is a candidate.
  Create("q1,q2");
  for (int i = 0; i < 40; i++) Put(absl::StrCat("r", 1'000 + i), "q1", "a3");
  Flush();
  ScanOptions options;
  options.filter = *TableFilter::Parse(Where("q1", "a3"));
  scanner = tables_->Scan(options, table_);
  RowResult row;
  for (int i = 0; i < 20; i++) ASSERT_TRUE(scanner->Next(&row));
  ASSERT_TRUE(tables_->DropTable("t").ok());
  for (int i = 20; i < 40; i++) {
    ASSERT_TRUE(scanner->Next(&row));
    EXPECT_EQ(row.row(), absl::StrCat("r", 1'000 + i));
  }
  EXPECT_FALSE(scanner->Next(&row));
  EXPECT_TRUE(scanner->status().ok()) << scanner->status();
}

TEST_F(TableSignaturesTest, AreLeftAloneWhereTheFilterImpliesNoValue) {
  Create("q1,q2");
  PutRows(10);
  Put("without", "text", "t");
  Flush();
  CountFromHere();
  // A row without the column is shown.
  EXPECT_TRUE(absl::StrContains(
      Rows("SingleColumnValueFilter('f', 'q1', =, 'binary:a1', false, true)"), "without"));
  EXPECT_EQ(Rows(Where("q1", "a1") + " OR " + Where("q1", "a2")), "r1001 r1002 r1008 r1009");
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'q1', =, 'substring:6', true, true)"), "r1006");
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'q1', >=, 'binary:a6', true, true)"), "r1006");
  EXPECT_EQ(Rows("SingleColumnValueFilter('g', 'q1', =, 'binary:a1', true, true)"), "");
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'text', =, 'binary:t', true, true)"), "without");
  // It ends the read at the first row that it refuses.
  EXPECT_EQ(Rows("WHILE " + Where("q1", "a1")), "");
  EXPECT_EQ(Rows("WHILE ValueFilter(!=, 'binary:a1') AND " + Where("q1", "a3")), "");
  // Two that count rows: the former counts what the latter refuses.
  EXPECT_EQ(Rows("PageFilter(2) AND (PageFilter(9) AND " + Where("q1", "a1") + ")"), "r1001");
  ScanOptions other;
  other.reverse = true;
  EXPECT_EQ(Rows(Where("q1", "a1"), other), "r1008 r1001");
  other = ScanOptions();
  other.raw = true;
  EXPECT_EQ(Rows(Where("q1", "a1"), other), "r1001 r1008");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 0u);
}

TEST_F(TableSignaturesTest, FindARowWhoseColumnsLieInDifferentFiles) {
  Create("q1,q2");
  Put("row", "q1", "a");
  Put("other", "q1", "a");
  Flush();
  Put("row", "q2", "b");
  Put("third", "q2", "b");
  Flush();
  EXPECT_EQ(Rows(Where("q1", "a") + " AND " + Where("q2", "b")), "row");
  // One of them in memory.
  Put("third", "q1", "a");
  EXPECT_EQ(Rows(Where("q1", "a") + " AND " + Where("q2", "b")), "row third");
  // Columns of two families.
  Put("third", "other", "c", "g");
  Flush();
  CountFromHere();
  EXPECT_EQ(Rows(Where("q2", "b") +
                 " AND SingleColumnValueFilter('g', 'other', =, 'binary:c', true, true)"),
            "third");
  ExpectCandidates(1);
}

TEST_F(TableSignaturesTest, NeverUncoverWhatWasSupersededOrDeleted) {
  Create("q1");
  Put("a", "q1", "old");
  Put("b", "q1", "old");
  Put("c", "q1", "old");
  Put("d", "q1", "old");
  Flush();
  Put("a", "q1", "new");
  TableBatch deletes;
  deletes.DeleteColumn(table_, "b", "f", "q1");
  deletes.DeleteRow(table_, "c");
  tables_.Write(deletes);
  EXPECT_EQ(Rows(Where("q1", "old")), "d") << "memtable over a file";
  Flush();
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "old")), "d") << "file over file";
  ExpectCandidates(4);
  EXPECT_EQ(Rows(Where("q1", "new")), "a");
  ASSERT_TRUE(tables_->DeleteRows({}, table_, "d", "e").ok());
  EXPECT_EQ(Rows(Where("q1", "old")), "");
  ASSERT_TRUE(tables_->MajorCompact("t").ok());
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "old")), "");
  ExpectCandidates(0);
  EXPECT_EQ(Rows(Where("q1", "new")), "a");
}

TEST_F(TableSignaturesTest, AnswerForSnapshotsOlderVersionsAndTimes) {
  Create("q1", 3);
  tables_.Put(table_, "a", "f", "q1", 10, "x");
  Flush();
  const std::unique_ptr<TableSnapshot> snapshot = tables_->GetSnapshot();
  tables_.Put(table_, "a", "f", "q1", 20, "y");
  tables_.Put(table_, "b", "f", "q1", 20, "x");
  Flush();
  ScanOptions before;
  before.snapshot = snapshot.get();
  EXPECT_EQ(Rows(Where("q1", "x")), "b");
  EXPECT_EQ(Rows(Where("q1", "x"), before), "a");
  EXPECT_EQ(Rows(Where("q1", "y"), before), "");
  // Of all versions that the read sees.
  ScanOptions all;
  all.max_versions = 3;
  EXPECT_EQ(Rows("SingleColumnValueFilter('f', 'q1', =, 'binary:x', true, false)", all), "a b");
  ScanOptions early;
  early.end_timestamp = 15;
  EXPECT_EQ(Rows(Where("q1", "x"), early), "a");
}

TEST_F(TableSignaturesTest, RowsComeInPartsAsElsewhere) {
  Create("q1", 3);
  for (const std::string row : {"a", "b"}) {
    for (const uint64_t timestamp : {10, 20, 30}) {
      tables_.Put(table_, row, "f", "q1", timestamp, timestamp == 30 && row == "b" ? "y" : "x");
    }
  }
  Flush();
  ScanOptions options;
  options.max_versions = 3;
  options.max_cells = 2;
  options.filter = *TableFilter::Parse("ColumnValueFilter('f', 'q1', =, 'binary:x')");
  const auto scanner = tables_->Scan(options, table_);
  std::vector<std::string> parts;
  RowResult row;
  while (scanner->Next(&row)) {
    parts.push_back(absl::StrCat(std::string(row.row()), row.cells().size()));
  }
  EXPECT_EQ(absl::StrJoin(parts, " "), "a2 a1 b2");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 1u);
}

TEST_F(TableSignaturesTest, ExpiredRowsAreNotFound) {
  table_ = tables_.Create(
      {.name = "t", .families = {{.name = "f", .ttl_seconds = 10, .signature = "q1"}}});
  Put("a", "q1", "x");
  tables_.clock().AdvanceSeconds(8);
  Put("b", "q1", "x");
  Flush();
  EXPECT_EQ(Rows(Where("q1", "x")), "a b");
  tables_.clock().AdvanceSeconds(4);
  EXPECT_EQ(Rows(Where("q1", "x")), "b");
}

TEST_F(TableSignaturesTest, AChangedListHoldsForNewFilesAndOldOnesAreReadAllTheSame) {
  Create("");
  Put("a", "q1", "x");
  Put("b", "q2", "x");
  Flush();
  TableSchema schema = *tables_->DescribeTable("t");
  EXPECT_EQ(schema.families[0].signature, "");
  schema.families[0].signature = "q2,q1";
  ASSERT_TRUE(tables_->AlterTable(schema).ok());
  EXPECT_EQ(tables_->DescribeTable("t")->families[0].signature, "q2,q1");
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "x")), "a");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 0u) << "no file has any";
  Put("c", "q1", "x");
  Put("d", "q1", "y");
  Flush();
  EXPECT_EQ(Rows(Where("q1", "x")), "a c");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 1u);
  EXPECT_EQ(Counted(Ticker::kSignatureRowsAsked), 2u) << "of the new file";

  schema.families[0].signature = "q1";
  ASSERT_TRUE(tables_->AlterTable(schema).ok());
  tables_.Reopen();
  table_ = tables_.Find("t");
  EXPECT_EQ(Rows(Where("q2", "x")), "b");
  ASSERT_TRUE(tables_->MajorCompact("t").ok());
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "x")), "a c");
  EXPECT_EQ(Counted(Ticker::kSignatureRowsAsked), 3u) << "b has nothing to sign";
  ExpectCandidates(2);

  // Signatures of q1 alone say nothing of q2, nor of rows that have no q1.
  schema.families[0].signature = "q1,q2";
  ASSERT_TRUE(tables_->AlterTable(schema).ok());
  Put("a", "q2", "x");
  Flush();
  CountFromHere();
  EXPECT_EQ(Rows(Where("q2", "x")), "a b");
  EXPECT_EQ(Rows(Where("q1", "x") + " AND " + Where("q2", "x")), "a");
  EXPECT_EQ(Counted(Ticker::kSignatureScans), 2u);
  EXPECT_EQ(Counted(Ticker::kSignatureRowsAsked), 2u) << "of the file above";
}

TEST_F(TableSignaturesTest, LoadedFilesHaveThem) {
  Create("q1");
  const auto writer = tables_->NewTableWriter(table_, "/load");
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const std::string row : {"a", "b", "c"}) {
    ASSERT_TRUE((*writer)->Put(row, "f", "q1", 5, row == "b" ? "x" : "y").ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "x")), "b");
  EXPECT_EQ(Counted(Ticker::kSignatureRowsAsked), 3u);
  EXPECT_TRUE(DamageMessages(tables_->db()).empty());
}

TEST_F(TableSignaturesTest, RowsAndQualifiersMayHaveAnyBytes) {
  const std::string zero("\0", 1);
  Create("q" + zero + "1");
  const std::vector<std::string> rows = {zero, zero + zero, "a", "a" + zero, "a\xff", "\xff\xff"};
  for (const std::string& row : rows) Put(row, "q" + zero + "1", zero + "value");
  Flush();
  TableFilter filter = *TableFilter::Parse(
      absl::StrCat("SingleColumnValueFilter('f', ", TableFilter::Quote("q" + zero + "1"), ", =, ",
                   TableFilter::Quote("binary:" + zero + "value"), ", true, true)"));
  const auto found = [&](ScanOptions options) {
    options.filter = filter;
    std::vector<std::string> result;
    RowResult row;
    const auto scanner = tables_->Scan(options, table_);
    while (scanner->Next(&row)) result.emplace_back(row.row());
    return result;
  };
  EXPECT_EQ(found({}), rows);
  for (size_t i = 0; i < rows.size(); i++) {
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(i);
    EXPECT_EQ(found(From(rows[i])), std::vector<std::string>(at, rows.end())) << i;
    EXPECT_EQ(found(UpTo(rows[i])), std::vector<std::string>(rows.begin(), at)) << i;
  }
  EXPECT_GT(Counted(Ticker::kSignatureScans), 10u);
}

TEST_F(TableSignaturesTest, SchemasThatAreWrongAreRefused) {
  std::string many = "q0";
  for (int i = 1; i <= 32; i++) absl::StrAppend(&many, ",q", i);
  for (const std::string& wrong : {std::string("a,,b"), std::string("a,"), std::string("a,b,a"),
                                   many, std::string(256, 'q')}) {
    const auto created =
        tables_->CreateTable({.name = "w", .families = {{.name = "f", .signature = wrong}}});
    ASSERT_TRUE(absl::IsInvalidArgument(created.status())) << created.status();
    EXPECT_TRUE(absl::StrContains(created.status().message(), "SIGNATURE")) << created.status();
  }
}

// Data blocks that a scan reads, with rows of 2 KiB in blocks of 4: some for each candidate, of
// which by chance there is one more in every sixth run.
TEST_F(TableSignaturesTest, ReadOnlyTheBlocksOfCandidates) {
  Create("q1");
  for (int i = 0; i < 500; i++) {
    const std::string row = absl::StrCat("r", 1'000 + i);
    Put(row, "q1", absl::StrCat("a", i));
    Put(row, "text", std::string(2'000, 't'));
  }
  ASSERT_TRUE(tables_->MajorCompact("t").ok());
  tables_.Reopen();
  table_ = tables_.Find("t");
  CountFromHere();
  EXPECT_EQ(Rows(Where("q1", "a77")), "r1077");
  const uint64_t candidates = Counted(Ticker::kSignatureCandidates);
  EXPECT_LT(candidates, 8u);
  EXPECT_LE(Counted(Ticker::kDataBlocksRead), 4 * candidates);
  EXPECT_GT(Counted(Ticker::kSignatureBlocksRead), 1u);
  EXPECT_EQ(Rows("ValueFilter(=, 'binary:a77')"), "r1077");
  EXPECT_GT(Counted(Ticker::kDataBlocksRead), 200u);
}

// Rows of two families, some without the one or the other and some deleted, in stretches in which
// every, every third or every fiftieth row has the value: what lies close together is walked to.
TEST_F(TableSignaturesTest, CandidatesThatLieCloseTogetherAreWalkedTo) {
  Create("q1");
  for (int i = 0; i < 2'000; i++) {
    const std::string row = absl::StrCat("r", 10'000 + i);
    const int distance = i % 600 < 200 ? 1 : i % 600 < 400 ? 3 : 50;
    if (i % 7 != 0) Put(row, "q1", i % distance == 0 ? "yes" : absl::StrCat("no", i));
    if (i % 5 != 0) Put(row, "other", "x", "g");
    if (i % 500 == 499) Flush();
  }
  TableBatch deletes;
  for (int i = 0; i < 2'000; i += 11) {
    const std::string row = absl::StrCat("r", 10'000 + i);
    i % 2 == 0 ? deletes.DeleteRow(table_, row) : deletes.DeleteFamily(table_, row, "g");
  }
  tables_.Write(deletes);
  ASSERT_TRUE(tables_->DeleteRows({}, table_, "r10500", "r10520").ok());
  const auto cells = [&](const std::string& filter, ScanOptions options) {
    options.filter = *TableFilter::Parse(filter);
    std::string all;
    RowResult row;
    const auto scanner = tables_->Scan(options, table_);
    while (scanner->Next(&row)) {
      absl::StrAppend(&all, std::string(row.row()), ":", row.cells().size(), " ");
    }
    EXPECT_TRUE(scanner->status().ok()) << scanner->status();
    return all;
  };
  for (const bool compacted : {false, true}) {
    if (compacted) {
      ASSERT_TRUE(tables_->MajorCompact("t").ok());
    }
    for (const char* from : {"", "r10111", "r10503", "r11990"}) {
      CountFromHere();
      const std::string found = cells(Where("q1", "yes"), From(from));
      const uint64_t seeks = Counted(Ticker::kSeeks);
      EXPECT_EQ(Counted(Ticker::kSignatureScans), 1u);
      // A predicate that signatures know nothing of.
      EXPECT_EQ(found, cells("SingleColumnValueFilter('f', 'q1', =, 'substring:yes', true, true)",
                             From(from)));
      EXPECT_EQ(Counted(Ticker::kSignatureScans), 0u);
      const auto num_rows = static_cast<uint64_t>(std::count(found.begin(), found.end(), ' '));
      if (num_rows > 100) {
        EXPECT_LT(seeks, num_rows / 2) << "two a row, each read by itself";
      }
    }
    ScanOptions in_parts = From("r10150");
    in_parts.max_cells = 1;
    in_parts.max_rows = 120;
    EXPECT_EQ(cells("ColumnValueFilter('f', 'q1', =, 'binary:yes')", in_parts),
              cells("ColumnValueFilter('f', 'q1', =, 'substring:yes')", in_parts));
  }
}

class DamagedSignaturesTest : public TableSignaturesTest {
 protected:
  // A byte of the only file's signatures, counted from their begin, or from their end if negative;
  // its data stays whole.
  void Damage(int64_t at) {
    ASSERT_TRUE(tables_->Close().ok());
    FileSystem& files = tables_.file_system();
    const auto names = files.List("/db");
    ASSERT_TRUE(names.ok());
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".sst")) continue;
      const std::string path = "/db/" + name;
      std::string bytes = ReadFile(files, path, uint64_t{1} << 30).value();
      auto file = files.OpenRandomAccess(path);
      const auto table = SstableReader::Open({}, *std::move(file), path);
      ASSERT_TRUE(table.ok()) << table.status();
      const SstableFigures& figures = (*table)->figures();
      if (figures.signature_bytes == 0) continue;
      const uint64_t end = figures.data_bytes + figures.signature_bytes;
      bytes[at >= 0 ? figures.data_bytes + static_cast<uint64_t>(at)
                    : end - static_cast<uint64_t>(-at)] ^= 1;
      ASSERT_TRUE(files.Remove(path).ok());
      auto written = files.Create(path, {});
      ASSERT_TRUE(written.ok());
      ASSERT_TRUE((*written)->Append(bytes).ok());
      ASSERT_TRUE((*written)->Sync().ok());
      ASSERT_TRUE((*written)->Close().ok());
    }
    tables_.Reopen();
    table_ = tables_.Find("t");
  }
};

TEST_F(DamagedSignaturesTest, HideNoRowAndAreReported) {
  Create("q1,q2");
  PutRows(700);
  ASSERT_TRUE(tables_->MajorCompact("t").ok());
  const std::string expected = Rows(Where("q1", "a3") + " AND " + Where("q2", "b1"));
  EXPECT_EQ(expected.size(), 20 * 6 - 1u);
  // The first block; one in the middle; the index.
  for (const int64_t at : {20, 5'000, -15}) {
    Damage(at);
    CountFromHere();
    EXPECT_EQ(Rows(Where("q1", "a3") + " AND " + Where("q2", "b1")), expected) << at;
    EXPECT_EQ(Counted(Ticker::kSignaturesRefused), 1u) << at;
    EXPECT_EQ(Rows(Where("q1", "a3"), From("r1685")), "r1689 r1696");
    const std::vector<std::string> found = DamageMessages(tables_->db());
    ASSERT_EQ(found.size(), 1u) << at;
    EXPECT_TRUE(absl::StrContains(found[0], "signature")) << found[0];
    Damage(at);  // and mended
    EXPECT_TRUE(DamageMessages(tables_->db()).empty());
  }
}

}  // namespace
}  // namespace winnow
