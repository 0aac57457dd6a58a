// Loading a table past its log: whole or not at all, as if it were put now.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

using Texts = std::vector<std::string>;

const TableSchema kSchema{.name = "t",
                          .families = {{.name = "f", .max_versions = 2}, {.name = "g"}}};

TEST(TableLoad, IsSeenOnceItIsFinished) {
  MemoryTables tables;
  Table* table = tables.Create(kSchema);
  tables.Put(table, "r2", "f", "q", 5, "before");
  auto writer = *tables->NewTableWriter(table, "/load");
  for (int i = 0; i < 1000; i++) {
    const std::string row = absl::StrCat("s", 1000 + i);
    ASSERT_TRUE(writer->Put(row, "f", "q", 7, "v").ok());
    ASSERT_TRUE(writer->Put(row, "f", "q", 6, "v").ok());
    ASSERT_TRUE(writer->Put(row, "g", "", 1, "w").ok());
  }
  EXPECT_EQ(writer->num_cells(), 3000u);
  EXPECT_EQ(tables.Scan(table, {}).size(), 1u);
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(tables.Scan(table, {}).size(), 2001u);
  EXPECT_EQ(tables.Get(table, "s1500", {.max_versions = 9}),
            (Texts{"s1500/f:q@7=v", "s1500/f:q@6=v", "s1500/g:@1=w"}));
  EXPECT_EQ(writer->Finish().code(), absl::StatusCode::kFailedPrecondition);
  tables.Reopen();
  table = tables.Find("t");
  EXPECT_EQ(tables.Scan(table, {}).size(), 2001u);
  TableBatch batch;
  batch.DeleteRow(table, "s1500");
  tables.Write(batch);
  EXPECT_EQ(tables.Get(table, "s1500", {}), Texts{}) << "deleted after it was loaded";
}

TEST(TableLoad, RefusesWhatIsOutOfOrderOrOverALimit) {
  MemoryTables tables;
  Table* const table = tables.Create(kSchema);
  EXPECT_EQ(tables->NewTableWriter(table, "/db").status().code(),
            absl::StatusCode::kInvalidArgument)
      << "tables would be moved out of a database's directory";
  auto writer = *tables->NewTableWriter(table, "/load");
  ASSERT_TRUE(writer->Put("b", "f", "q", 5, "v").ok());
  EXPECT_EQ(writer->Put("b", "f", "q", 5, "v").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Put("b", "f", "q", 6, "v").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Put("a", "f", "q", 5, "v").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Put("", "f", "q", 5, "v").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Put("c", "none", "q", 5, "v").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(writer->Put("b", "f", "q", 4, "w").ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(tables.Versions(table, "b", "f", "q"), "v@5 w@4");
}

TEST(TableLoad, IsAbortedByDeletesAndChangesInBetween) {
  MemoryTables tables;
  Table* const table = tables.Create(kSchema);
  const auto load = [&](const auto& meanwhile) {
    auto writer = *tables->NewTableWriter(table, "/load");
    EXPECT_TRUE(writer->Put("r", "f", "q", 5, "v").ok());
    meanwhile();
    return writer->Finish().code();
  };
  EXPECT_EQ(load([&] {
              TableBatch batch;
              batch.DeleteColumn(table, "r", "f", "q", 9);
              tables.Write(batch);
            }),
            absl::StatusCode::kAborted);
  EXPECT_EQ(tables.Versions(table, "r", "f", "q"), "");
  EXPECT_EQ(load([&] { tables.Put(table, "r", "f", "q", 5, "earlier"); }), absl::StatusCode::kOk);
  EXPECT_EQ(tables.Versions(table, "r", "f", "q"), "v@5") << "put when it was finished";
  EXPECT_EQ(load([&] { ASSERT_TRUE(tables->DeleteRows({}, table, "a", "z").ok()); }),
            absl::StatusCode::kOk);
  EXPECT_EQ(tables.Versions(table, "r", "f", "q"), "v@5");
  EXPECT_EQ(load([&] {
              TableBatch batch;
              batch.Put(table, "x", "f", "q", "v", {.ttl_ms = 5});
              tables.Write(batch);
            }),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(load([&] { ASSERT_TRUE(tables->DropTable("t").ok()); }),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*tables.file_system().List("/load"), Texts{}) << "nothing is left over";
}

}  // namespace
}  // namespace winnow
