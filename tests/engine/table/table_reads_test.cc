// Raw reads, questions to filters alone, ranges of rows that are deleted.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"
#include "winnow/indexed_write_batch.h"
#include "winnow/transaction.h"

namespace winnow {
namespace {

using Texts = std::vector<std::string>;

// "qualifier@timestamp=value", with the type in front where it is no put.
Texts RawCells(MemoryTables& tables, Table* table, const ScanOptions& options) {
  Texts texts;
  RowResult row;
  const auto scanner = tables->Scan(options, table);
  while (scanner->Next(&row)) {
    for (const CellView& cell : row.cells()) {
      const char* const type = cell.type == CellType::kPut            ? ""
                               : cell.type == CellType::kDeleteColumn ? "column "
                                                                      : "family ";
      texts.push_back(absl::StrCat(type, std::string(row.row()), "/", std::string(cell.qualifier),
                                   "@", cell.timestamp, "=", std::string(cell.value)));
    }
  }
  EXPECT_TRUE(scanner->status().ok()) << scanner->status();
  return texts;
}

TEST(TableReads, ARawReadShowsWhatIsStored) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  // Flushes leave what came after it.
  std::unique_ptr<TableSnapshot> snapshot = tables->GetSnapshot();
  for (const uint64_t timestamp : {1, 2, 3}) tables.Put(table, "r", "f", "q", timestamp, "v");
  TableBatch batch;
  batch.DeleteColumn(table, "r", "f", "q", 2);
  batch.DeleteFamily(table, "s", "f", 7);
  tables.Write(batch);
  tables.Put(table, "s", "f", "p", 9, "w");
  ScanOptions raw;
  raw.raw = true;
  raw.max_versions = kUnlimitedVersions;
  const Texts all = {"r/q@3=v", "column r/q@2=", "r/q@2=v", "r/q@1=v", "family s/@7=", "s/p@9=w"};
  EXPECT_EQ(RawCells(tables, table, raw), all);
  ASSERT_TRUE(tables->Flush("t").ok());
  EXPECT_EQ(RawCells(tables, table, raw), all);
  raw.max_versions = 1;
  EXPECT_EQ(RawCells(tables, table, raw),
            (Texts{"r/q@3=v", "column r/q@2=", "family s/@7=", "s/p@9=w"}));
  raw.min_timestamp = 7;
  raw.reverse = true;
  EXPECT_EQ(RawCells(tables, table, raw), (Texts{"family s/@7=", "s/p@9=w"}));
  RowResult row;
  ASSERT_TRUE(tables->Get(raw, table, "s", &row).ok());
  EXPECT_EQ(row.cells().size(), 2u);
  raw.columns = {{"f", "q"}};
  EXPECT_EQ(tables->Get(raw, table, "s", &row).code(), absl::StatusCode::kInvalidArgument);
  snapshot.reset();
  ASSERT_TRUE(tables->MajorCompact("t").ok());
  raw.columns = {};
  raw.min_timestamp = 0;
  EXPECT_EQ(RawCells(tables, table, raw), (Texts{"s/p@9=w", "r/q@3=v"}));
}

TEST(TableReads, MayExistAsksFiltersAndMemoryAlone) {
  for (const std::string bloom : {"ROW", "ROWCOL", "NONE"}) {
    SCOPED_TRACE(bloom);
    MemoryTables tables;
    Table* const table = tables.Create(
        {.name = "t", .families = {{.name = "f", .bloom_filter = bloom}, {.name = "g"}}});
    const auto may_exist = [&](const std::string& row, const TableReadOptions& options) {
      const auto answer = tables->MayExist(options, table, row);
      EXPECT_TRUE(answer.ok()) << answer.status();
      return answer.ok() && *answer;
    };
    for (int i = 0; i < 500; i++) tables.Put(table, absl::StrCat("row", i), "f", "q", 1, "v");
    EXPECT_TRUE(may_exist("row7", {}));
    EXPECT_FALSE(may_exist("none", {})) << "in memory";
    ASSERT_TRUE(tables->Flush("t").ok());
    int num_rows = 0;
    int num_columns = 0;
    for (int i = 0; i < 500; i++) {
      ASSERT_TRUE(may_exist(absl::StrCat("row", i), {}));
      ASSERT_TRUE(may_exist(absl::StrCat("row", i), {.columns = {{"f", "q"}}}));
      ASSERT_FALSE(may_exist(absl::StrCat("row", i), {.columns = {{"g", std::nullopt}}}));
      num_rows += may_exist(absl::StrCat("row", i, "x"), {}) ? 1 : 0;
      num_columns += may_exist(absl::StrCat("row", i), {.columns = {{"f", "other"}}}) ? 1 : 0;
    }
    EXPECT_EQ(num_rows > 450, bloom == "NONE") << num_rows;
    EXPECT_EQ(num_rows < 30, bloom != "NONE") << num_rows;
    EXPECT_EQ(num_columns > 450, bloom != "ROWCOL") << num_columns;
    EXPECT_EQ(num_columns < 30, bloom == "ROWCOL") << num_columns;
    EXPECT_EQ(tables->MayExist({.columns = {{"none", std::nullopt}}}, table, "r").status().code(),
              absl::StatusCode::kNotFound);
  }
}

// The newest cell of a column is looked up without a cursor where its first entry decides.
TEST(TableReads, ALookUpOfOneColumnSeesEveryDelete) {
  for (const std::string bloom : {"ROW", "ROWCOL"}) {
    MemoryTables tables;
    Table* const table = tables.Create(
        {.name = "t", .families = {{.name = "f", .max_versions = 3, .bloom_filter = bloom}}});
    std::string value;
    const auto get = [&](const std::string& row) {
      const absl::Status got = tables->GetCell({}, table, row, "f", "q", &value);
      RowResult result;
      EXPECT_TRUE(tables->Get({.columns = {{"f", "q"}}}, table, row, &result).ok());
      EXPECT_EQ(got.ok(), !result.empty());
      if (got.ok()) {
        EXPECT_EQ(value, result.cells()[0].value);
      }
      return got.ok() ? value : "";
    };
    for (const bool flushes : {false, true}) {
      const auto apply = [&](const TableBatch& batch) {
        tables.Write(batch);
        EXPECT_TRUE(!flushes || tables->Flush("t").ok());
      };
      TableBatch batch;
      for (const std::string row : {"a", "b", "c", "d"}) {
        batch.Put(table, row, "f", "q", "1", {.timestamp = 1});
        batch.Put(table, row, "f", "q", "2", {.timestamp = 2});
      }
      apply(batch);
      EXPECT_EQ(get("a"), "2");
      EXPECT_EQ(get("none"), "");
      batch.Clear();
      batch.DeleteVersion(table, "a", "f", "q", std::nullopt);
      batch.DeleteColumn(table, "b", "f", "q", 2);
      batch.DeleteRow(table, "c", 1);
      batch.DeleteRow(table, "d", 5);
      apply(batch);
      EXPECT_EQ(get("a"), "1");
      EXPECT_EQ(get("b"), "");
      EXPECT_EQ(get("c"), "2") << "the marker reaches the older version alone";
      EXPECT_EQ(get("d"), "");
      batch.Clear();
      batch.Put(table, "d", "f", "q", "later", {.timestamp = 3});
      apply(batch);
      EXPECT_EQ(get("d"), "later");
      EXPECT_TRUE(tables->DeleteRows({}, table, "a", "b").ok());
      EXPECT_EQ(get("a"), "");
      EXPECT_TRUE(tables->MajorCompact("t").ok());
      EXPECT_EQ(get("c"), "2");
      EXPECT_TRUE(tables->TruncateTable("t").ok());
    }
  }
}

TEST(TableReads, ALookUpOfOneColumnSeesThatTimePasses) {
  MemoryTables tables;
  Table* const table =
      tables.Create({.name = "t", .families = {{.name = "f", .ttl_seconds = 10}, {.name = "g"}}});
  TableBatch batch;
  batch.Put(table, "r", "f", "q", "v");
  batch.Put(table, "r", "g", "q", "v", {.ttl_ms = 5000});
  tables.Write(batch);
  std::string value;
  EXPECT_TRUE(tables->GetCell({}, table, "r", "f", "q", &value).ok());
  EXPECT_TRUE(tables->GetCell({}, table, "r", "g", "q", &value).ok());
  tables.clock().AdvanceSeconds(11);
  EXPECT_TRUE(absl::IsNotFound(tables->GetCell({}, table, "r", "f", "q", &value)));
  EXPECT_TRUE(absl::IsNotFound(tables->GetCell({}, table, "r", "g", "q", &value)));
}

TEST(TableReads, GetCellTakesAFilter) {
  for (const uint64_t end : {kMaxTimestamp + 1, kMaxTimestamp}) {
    MemoryTables tables;
    Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
    tables.Put(table, "r", "f", "q", 1, "v");
    std::string value;
    const auto get = [&](const std::string& filter) {
      TableReadOptions options;
      options.end_timestamp = end;
      options.filter = *TableFilter::Parse(filter);
      return tables->GetCell(options, table, "r", "f", "q", &value);
    };
    EXPECT_TRUE(get("ValueFilter(=, 'binary:v')").ok());
    EXPECT_EQ(value, "v");
    EXPECT_TRUE(absl::IsNotFound(get("ValueFilter(=, 'binary:w')")));
    EXPECT_TRUE(absl::IsNotFound(get("PrefixFilter('s')")));
    EXPECT_TRUE(get("KeyOnlyFilter()").ok());
    EXPECT_EQ(value, "");
    EXPECT_TRUE(absl::IsNotFound(get("PageFilter(0)")));
    // A raw read is of families.
    TableReadOptions raw;
    raw.raw = true;
    EXPECT_TRUE(absl::IsInvalidArgument(tables->GetCell(raw, table, "r", "f", "q", &value)));
  }
}

// Somebody renews a cell, and then time passes, at the moment at which a reader asks what time it
// is.
class RenewingClock final : public Clock {
 public:
  uint64_t NowMicros() const override {
    if (renew) {
      const std::function<void()> once = std::move(renew);
      renew = nullptr;
      once();
      now += 2'000'000;
    }
    return now;
  }
  mutable uint64_t now = 1'000'000'000'000;
  mutable std::function<void()> renew;
};

TEST(TableReads, ACellThatIsRenewedMeanwhileIsThere) {
  RenewingClock clock;
  const auto file_system = NewUnrecordedFileSystem();
  Options options = MemoryDb::Quiet();
  options.file_system = file_system.get();
  options.clock = &clock;
  const auto tables = *TableDatabase::Open(options, "/db");
  TableSchema schema{.name = "t",
                     .families = {{.name = "f", .ttl_seconds = 3}, {.name = "g"}, {.name = "h"}}};
  Table* const table = *tables->CreateTable(schema);
  // With a time to live of the family's, or of its own.
  for (const std::string family : {"f", "g"}) {
    const auto put = [&] {
      TableBatch batch;
      batch.Put(table, "r", family, "q", "v", {.ttl_ms = family == "g" ? 3'000u : 0u});
      const absl::Status written = tables->Write({}, batch);
      EXPECT_TRUE(written.ok()) << written;
    };
    const std::string_view row = "r";
    std::string value;
    RowResult result;
    std::vector<RowResult> results;
    const TableReadOptions one{.columns = {{family, "q"}}};
    const TableReadOptions some{.columns = {{family, "p"}, {family, "q"}}};
    const std::vector<std::pair<const char*, std::function<bool()>>> reads = {
        {"GetCell", [&] { return tables->GetCell({}, table, row, family, "q", &value).ok(); }},
        {"Get of a column",
         [&] { return tables->Get(one, table, row, &result).ok() && !result.empty(); }},
        {"Get of columns",
         [&] { return tables->Get(some, table, row, &result).ok() && !result.empty(); }},
        {"Get of the row",
         [&] { return tables->Get({}, table, row, &result).ok() && !result.empty(); }},
        {"Exists", [&] { return *tables->Exists(one, table, row); }},
        {"MultiGet",
         [&] {
           return tables->MultiGet(one, table, {&row, 1}, &results).ok() && !results[0].empty();
         }},
        {"Scan", [&] { return tables->Scan({}, table)->Next(&result); }},
        {"snapshot",
         [&] {
           const auto snapshot = tables->GetSnapshot();
           TableReadOptions at = one;
           at.snapshot = snapshot.get();
           return tables->Get(at, table, row, &result).ok() && !result.empty();
         }},
    };
    for (const auto& [name, read] : reads) {
      put();
      // The reader's look at the clock comes when the cell has a second left.
      clock.now += 2'000'000;
      clock.renew = put;
      EXPECT_TRUE(read()) << name << " of " << family;
      clock.renew = nullptr;
    }
    ASSERT_TRUE(tables->TruncateTable("t").ok());
  }
}

TEST(TableReads, MayExistRefusesTheSnapshotOfAnotherDatabase) {
  MemoryTables tables;
  MemoryTables others;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  const auto foreign = others->GetSnapshot();
  TableReadOptions options;
  options.snapshot = foreign.get();
  EXPECT_TRUE(absl::IsInvalidArgument(tables->MayExist(options, table, "r").status()));
  RowResult result;
  EXPECT_TRUE(absl::IsInvalidArgument(tables->Get(options, table, "r", &result)));
}

// Point look-ups go on without an iterator beside ranges that were deleted elsewhere.
TEST(TableReads, LookUpsSeeRangesThatWereDeleted) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f", .max_versions = 2}}});
  std::string value;
  const auto has = [&](const std::string& row) {
    return tables->GetCell({}, table, row, "f", "q", &value).ok();
  };
  for (const bool flushes : {false, true}) {
    const auto flush = [&] { EXPECT_TRUE(!flushes || tables->Flush("t").ok()); };
    for (const std::string row : {"a", "b", "c"}) tables.Put(table, row, "f", "q", 5, "v");
    flush();
    const auto before = tables->GetSnapshot();
    ASSERT_TRUE(tables->DeleteRows({}, table, "b", "c").ok());
    flush();
    EXPECT_TRUE(has("a"));
    EXPECT_FALSE(has("b"));
    EXPECT_TRUE(has("c"));
    TableReadOptions earlier;
    earlier.snapshot = before.get();
    EXPECT_TRUE(tables->GetCell(earlier, table, "b", "f", "q", &value).ok());
    // Older than what was deleted, and written later.
    tables.Put(table, "b", "f", "q", 3, "w");
    EXPECT_TRUE(has("b"));
    EXPECT_EQ(value, "w");
    flush();
    EXPECT_TRUE(has("b"));
    TableBatch batch;
    batch.DeleteRow(table, "b", 4);
    tables.Write(batch);
    flush();
    EXPECT_FALSE(has("b"));
  }
}

TEST(TableReads, ACellTellsItsOwnTimeToLive) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  TableBatch batch;
  batch.Put(table, "r", "f", "a", "v");
  batch.Put(table, "r", "f", "b", "v", {.ttl_ms = 5000});
  batch.Put(table, "r", "g", "b", "v", {.ttl_ms = 7});
  tables.Write(batch);
  const auto expect_all = [](const RowResult& row) {
    ASSERT_EQ(row.cells().size(), 3u);
    const uint64_t wanted[] = {0, 5000, 7};
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(row.cells()[i].ttl_ms, wanted[i]) << i;
    EXPECT_EQ(row.cells()[1].family, "f");
    EXPECT_EQ(row.cells()[2].family, "g");
  };
  RowResult row;
  ASSERT_TRUE(tables->Get({}, table, "r", &row).ok());
  expect_all(row);
  ASSERT_TRUE(tables->Scan({}, table)->Next(&row));
  expect_all(row);
  ASSERT_TRUE(tables->Get({.columns = {{"f", "b"}}}, table, "r", &row).ok());
  ASSERT_EQ(row.cells().size(), 1u);
  EXPECT_EQ(row.cells()[0].ttl_ms, 5000u);
}

TEST(TableReads, CopiesOfARowAndRowsThatAreMovedKeepTheirCells) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  TableBatch batch;
  for (const std::string row : {"a", "b", "c", "d", "e"}) {
    for (const std::string family : {"f", "g"}) {
      batch.Put(table, row, family, "short", row + family);
      // Larger than what the buffer had before, so that it moves between two cells.
      batch.Put(table, row, family, std::string("zero\0byte", 9), std::string(300, row[0]));
    }
  }
  tables.Write(batch);
  std::vector<RowResult> rows;
  {
    const auto scanner = tables->Scan({}, table);
    RowResult row;
    while (scanner->Next(&row)) rows.push_back(row);
    EXPECT_TRUE(scanner->status().ok());
  }
  rows.erase(rows.begin() + 1);
  RowResult moved = std::move(rows.back());
  rows.pop_back();
  rows.push_back(moved);
  RowResult taken = std::move(moved);
  EXPECT_EQ(taken.cells().size(), 4u);
  const RowResult copy_of_nothing = moved;
  EXPECT_TRUE(copy_of_nothing.empty());
  EXPECT_EQ(copy_of_nothing.row(), "");
  ASSERT_TRUE(tables->Get({}, table, "a", &moved).ok());
  ASSERT_EQ(rows.size(), 4u);
  for (const RowResult& row : rows) {
    ASSERT_EQ(row.cells().size(), 4u);
    const std::string name(row.row());
    for (const std::string family : {"f", "g"}) {
      const CellView* const brief = row.Find(family, "short");
      const CellView* const large = row.Find(family, std::string_view("zero\0byte", 9));
      ASSERT_NE(brief, nullptr);
      ASSERT_NE(large, nullptr);
      EXPECT_EQ(brief->value, name + family);
      EXPECT_EQ(large->value, std::string(300, name[0]));
    }
  }
}

TEST(TableReads, DeleteRowsHidesARangeAndNothingLater) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
  const auto put_all = [&] {
    for (const std::string row : {"a", "b", "bb", "c", "d"}) {
      tables.Put(table, row, "f", "q", kMaxTimestamp, "v");
      tables.Put(table, row, "g", "q", 1, "v");
    }
  };
  const auto rows = [&] {
    std::string text;
    RowResult row;
    const auto scanner = tables->Scan({}, table);
    while (scanner->Next(&row)) absl::StrAppend(&text, std::string(row.row()), " ");
    return text;
  };
  put_all();
  ASSERT_TRUE(tables->DeleteRows({}, table, "b", "c").ok());
  EXPECT_EQ(rows(), "a c d ");
  ASSERT_TRUE(tables->Flush("t").ok());
  EXPECT_EQ(rows(), "a c d ");
  put_all();
  EXPECT_EQ(rows(), "a b bb c d ");
  ASSERT_TRUE(tables->DeleteRows({}, table, "bb", "").ok());
  EXPECT_EQ(rows(), "a b ");
  EXPECT_FALSE(*tables->Exists({}, table, "d")) << "whatever the filter says";
  ASSERT_TRUE(tables->DeleteRows({}, table, "", "b").ok());
  EXPECT_EQ(rows(), "b ");
  ASSERT_TRUE(tables->DeleteRows({}, table, "b", "b").ok());
  EXPECT_EQ(rows(), "b ");
  EXPECT_EQ(tables->DeleteRows({}, table, "c", "b").code(), absl::StatusCode::kInvalidArgument);
}

TEST(TableReads, CheckAndMutateTakesAFilter) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  tables.Put(table, "r", "f", "q", 1, "v");
  TableBatch batch;
  batch.Put(table, "r", "f", "done", "yes");
  const auto check = [&](const std::string& row, const std::string& text) {
    const auto done = tables->CheckAndMutate({}, table, row, *TableFilter::Parse(text), batch);
    EXPECT_TRUE(done.ok()) << done.status();
    return done.ok() && *done;
  };
  EXPECT_FALSE(check("r", "ColumnValueFilter('f', 'q', =, 'binary:w')"));
  EXPECT_FALSE(check("s", "PrefixFilter('')"));
  EXPECT_TRUE(check("r", "ColumnValueFilter('f', 'q', =, 'binary:v') AND PageFilter(1)"));
  EXPECT_EQ(tables.Versions(table, "r", "f", "done"), absl::StrCat("yes@", kStartMs));
}

// Whatever way a write comes: it would make a cell that no table has.
TEST(TableReads, OnlyTheTableWritesItsColumnFamily) {
  MemoryTables tables;
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  for (int i = 0; i < 2; i++) {
    DB& db = tables->db();
    ColumnFamily* const family = *db.FindColumnFamily("t:f");
    const auto is_refused = [](const absl::Status& status) {
      return status.code() == absl::StatusCode::kInvalidArgument;
    };
    EXPECT_TRUE(is_refused(db.Put({}, family, "k", "v")));
    EXPECT_TRUE(is_refused(db.Delete({}, family, "k")));
    EXPECT_TRUE(is_refused(db.DeleteRange({}, family, "a", "z")));
    // It has no merge operator, and is given none.
    EXPECT_FALSE(db.Merge({}, family, "k", "v").ok());
    EXPECT_TRUE(is_refused(db.SetOption(family, "merge_operator", "uint64_add")));
    WriteBatch operands;
    operands.Merge(family, "k", "v");
    EXPECT_FALSE(db.Write({}, operands).ok());
    IndexedWriteBatch indexed(db);
    EXPECT_TRUE(indexed.Put(family, "k", "v").ok());
    EXPECT_TRUE(is_refused(db.Write({}, indexed.batch())));
    WriteBatch batch;
    batch.Put("fine", "v");
    batch.Put(family, "k", "v");
    EXPECT_TRUE(is_refused(db.Write({}, batch)));
    EXPECT_TRUE(is_refused(db.Write({}, WriteBatch::FromEncoded(batch.encoded()))));
    std::string value;
    EXPECT_TRUE(absl::IsNotFound(db.Get({}, "fine", &value))) << "of the batch nothing";
    auto transaction = *db.BeginTransaction();
    EXPECT_TRUE(transaction->Put(family, "k", "v").ok());
    EXPECT_TRUE(is_refused(transaction->Commit()));
    TransactionOptions pessimistic;
    pessimistic.mode = TransactionOptions::Mode::kPessimistic;
    auto locking = *db.BeginTransaction(pessimistic);
    EXPECT_TRUE(locking->Put(family, "k", "v").ok());
    EXPECT_TRUE(is_refused(locking->Commit()));
    auto writer = *db.NewSstWriter(family, "/outside.sst");
    ASSERT_TRUE(writer->Put("k", "v").ok());
    ASSERT_TRUE(writer->Finish().ok());
    EXPECT_TRUE(is_refused(db.Ingest({{.path = "/outside.sst", .family = family}}, {}).status()));
    ASSERT_TRUE(tables.file_system().Remove("/outside.sst").ok());
    EXPECT_TRUE(db.Put({}, "k", "v").ok());
    tables.Reopen();
  }
  EXPECT_EQ(tables.Scan(tables.Find("t"), {}), Texts{});
  (void)table;
}

}  // namespace
}  // namespace winnow
