// Calls of tables for which there is no memory: they say so, and give nothing that is not whole.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/table/table_fixture.h"
#include "tests/support/allocation_hook.h"

namespace winnow {
namespace table_allocation {

// The library's part of a call: only here do requests of this thread fail.
template <typename Call>
auto Failing(const Call& call) {
  const AllocationsOfThisThread fail(true);
  return call();
}

// Runs `once` with the first request failing, then with the second, and so on, until none is left
// to fail.
void ForEachRequest(const std::function<void()>& once) {
  for (uint64_t number = 0; !testing::Test::HasFailure(); number++) {
    SCOPED_TRACE(number);
    CountAllocations({.nothrow = false}, number, /*for_ever=*/false);
    once();
    uint64_t failed = 0;
    StopCountingAllocations(&failed);
    if (failed == 0) return;
  }
}

// Two families, and values for which a result that begins small has to grow.
class TableAllocation : public testing::Test {
 protected:
  TableAllocation() {
    table_ = tables_.Create({.name = "t", .families = {{.name = "f"}, {.name = "g"}}});
    for (const std::string row : {"a", "b", "c"}) {
      tables_.Put(table_, row, "f", "q", 1, std::string(200, 'f'));
      tables_.Put(table_, row, "g", "q", 1, std::string(1000, 'g'));
    }
  }

  const AllocationsOfThisThread spare_{false};
  MemoryTables tables_;
  Table* table_ = nullptr;
};

TEST_F(TableAllocation, CallsSaySo) {
  const std::string missing = "there is no table that has a name of this length";
  const std::vector<TableFilter> two = {*TableFilter::Parse("PageFilter(1)"),
                                        *TableFilter::Parse("FirstKeyOnlyFilter()")};
  const std::vector<TableFilter::FuzzyRow> fuzzy = {{"a row", "00100"}};
  const std::vector<TableFilter::RowRange> ranges = {{.start = "a", .stop = "z"}};
  const std::pair<absl::StatusCode, std::function<absl::Status()>> calls[] = {
      {absl::StatusCode::kNotFound, [&] { return tables_->FindTable(missing).status(); }},
      {absl::StatusCode::kNotFound, [&] { return tables_->Flush(missing); }},
      {absl::StatusCode::kOk, [&] { return tables_->DescribeTable("t").status(); }},
      {absl::StatusCode::kOk, [&] { return TableFilter::And(two).status(); }},
      {absl::StatusCode::kOk, [&] { return TableFilter::Or(two).status(); }},
      {absl::StatusCode::kOk, [&] { return TableFilter::FuzzyRows(fuzzy).status(); }},
      {absl::StatusCode::kOk, [&] { return TableFilter::RowRanges(ranges).status(); }},
  };
  for (const auto& [code, call] : calls) {
    int num_failed = 0;
    ForEachRequest([&, usual = code, &run = call] {
      const absl::StatusCode told = Failing([&] { return run().code(); });
      if (told == absl::StatusCode::kResourceExhausted) {
        num_failed++;
      } else {
        EXPECT_EQ(told, usual);
      }
    });
    EXPECT_GT(num_failed, 0);
  }
}

TEST_F(TableAllocation, AScanEndsAndGivesWholeRowsAlone) {
  for (const bool is_plain : {true, false}) {
    const size_t num_cells = is_plain ? 1 : 2;
    ScanOptions options;
    if (is_plain) options.columns = {{"g", std::nullopt}};
    int num_failed = 0;
    ForEachRequest([&] {
      uint64_t failed = 0;
      StopCountingAllocations(&failed);
      RowResult row;
      const std::unique_ptr<RowScanner> scanner = tables_->Scan(options, table_);
      int num_rows = 0;
      int num_parts = 0;
      ResumeCountingAllocations();
      Failing([&] {
        while (scanner->Next(&row)) (row.cells().size() == num_cells ? num_rows : num_parts)++;
      });
      EXPECT_EQ(num_parts, 0);
      EXPECT_TRUE(row.empty());
      if (scanner->status().ok()) {
        EXPECT_EQ(num_rows, 3);
        return;
      }
      EXPECT_TRUE(absl::IsResourceExhausted(scanner->status())) << scanner->status();
      EXPECT_FALSE(scanner->Next(&row)) << "not the rest of the row";
      num_failed++;
    });
    EXPECT_GT(num_failed, 0);
  }
}

TEST_F(TableAllocation, AReadGivesNothingOfARowThatItCouldNotReadWhole) {
  const std::vector<std::string_view> rows = {"a", "b"};
  int num_failed = 0;
  ForEachRequest([&] {
    RowResult row;
    const absl::Status got = Failing([&] { return tables_->Get({}, table_, "a", &row); });
    EXPECT_EQ(row.cells().size(), got.ok() ? 2u : 0u) << got;
    num_failed += got.ok() ? 0 : 1;
  });
  ForEachRequest([&] {
    std::vector<RowResult> results;
    const absl::Status got = Failing([&] { return tables_->MultiGet({}, table_, rows, &results); });
    for (const RowResult& row : results) EXPECT_EQ(row.cells().size(), got.ok() ? 2u : 0u) << got;
    num_failed += got.ok() ? 0 : 1;
  });
  EXPECT_GT(num_failed, 0);
}

// The first request is of the write with which a database is closed.
TEST_F(TableAllocation, ADatabaseIsClosedWithoutTheBoundsOfItsClock) {
  CountAllocations({.nothrow = false}, 0, /*for_ever=*/false);
  const absl::Status closed = Failing([&] { return tables_->Close(); });
  uint64_t failed = 0;
  StopCountingAllocations(&failed);
  EXPECT_EQ(failed, 1u);
  EXPECT_TRUE(absl::IsResourceExhausted(closed)) << closed;
  tables_.Reopen();
  EXPECT_EQ(tables_.Scan(tables_.Find("t"), {}).size(), 6u);
}

TEST_F(TableAllocation, AThreadKeepsNoLargeValueThatItHasRead) {
  constexpr size_t kValueBytes = size_t{8} << 20;
  tables_.Put(table_, "large", "f", "q", 1, std::string(kValueBytes, 'v'));
  const auto read = [&](const std::string& row, size_t num_bytes) {
    std::string value;
    ASSERT_TRUE(tables_->GetCell({}, table_, row, "f", "q", &value).ok());
    EXPECT_EQ(value.size(), num_bytes);
    RowResult result;
    ASSERT_TRUE(tables_->Get({.columns = {{"f", "q"}}}, table_, row, &result).ok());
    EXPECT_EQ(result.cells().size(), 1u);
  };
  read("a", 200);
  const size_t before = AllocatedBytes();
  read("large", kValueBytes);
  EXPECT_LT(AllocatedBytes(), before + kValueBytes / 2);
}

// How many requests there are tells what is copied how often.
TEST_F(TableAllocation, AFilterOfManyRangesCopiesEachAFewTimes) {
  constexpr size_t kNumRanges = 1000;
  std::vector<TableFilter::RowRange> ranges;
  for (size_t i = 0; i < kNumRanges; i++) {
    const std::string row = "a row with a name that takes memory " + std::to_string(1000 + i);
    ranges.push_back({.start = row, .stop = row + "z"});
  }
  CountAllocations({}, UINT64_MAX, /*for_ever=*/false);
  Failing([&] {
    TableReadOptions options;
    options.filter = *TableFilter::RowRanges(ranges);
    RowResult row;
    EXPECT_TRUE(tables_->Get(options, table_, "a", &row).ok());
  });
  uint64_t failed = 0;
  EXPECT_LT(StopCountingAllocations(&failed), 100 * kNumRanges);
}

}  // namespace table_allocation
}  // namespace winnow
