// What is not there costs questions to filters and no block, but for false positives: rows,
// columns, several columns of a row, several rows.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr uint64_t kRows = 2'000;
constexpr int kColumns = 10;  // the even ones are there

std::string Row(uint64_t number) { return absl::StrCat("row", 1'000'000 + number); }
std::string Column(int number) { return absl::StrCat("c", 10 + number); }

class TableAbsent : public testing::Test {
 protected:
  void Fill(const std::string& bloom) {
    table_ = tables_.Create({.name = "t", .families = {{.name = "f", .bloom_filter = bloom}}});
    TableBatch batch;
    for (uint64_t row = 0; row < kRows; row++) {
      for (int column = 0; column < kColumns; column += 2) {
        batch.Put(table_, Row(row), "f", Column(column), absl::StrCat(row, "/", column));
      }
      if (batch.num_changes() < 1000) continue;
      tables_.Write(batch);
      batch.Clear();
    }
    tables_.Write(batch);
    ASSERT_TRUE(tables_->Flush("t").ok());
  }
  // Blocks of data that reads needed since it was asked last, from files or from the cache.
  uint64_t Blocks() {
    const Statistics statistics = tables_->db().GetStatistics();
    const uint64_t all =
        statistics.Get(Ticker::kDataBlocksRead) + statistics.Get(Ticker::kBlockCacheHits);
    const uint64_t more = all - blocks_;
    blocks_ = all;
    return more;
  }
  FilterStatistics Asked(std::string_view part) {
    FilterStatistics sum;
    for (const FilterStatistics& row : tables_->db().GetStatistics().filters) {
      if (row.column_family != "t:f" || row.part != part) continue;
      sum.checked += row.checked;
      sum.rejected += row.rejected;
      sum.true_positive += row.true_positive;
      sum.false_positive += row.false_positive;
      sum.promised_fpr = row.promised_fpr;
    }
    return sum;
  }
  static TableReadOptions Columns(const std::vector<int>& numbers) {
    TableReadOptions options;
    for (const int number : numbers) options.columns.push_back({"f", Column(number)});
    return options;
  }

  MemoryTables tables_;
  Table* table_ = nullptr;
  uint64_t blocks_ = 0;
};

TEST_F(TableAbsent, SeveralColumnsOfARowAreAskedForOneByOne) {
  for (const std::string bloom : {"ROWCOL", "ROW"}) {
    SCOPED_TRACE(bloom);
    Fill(bloom);
    Blocks();
    uint64_t shown = 0;
    for (uint64_t row = 0; row < kRows; row++) {
      shown += tables_.Get(table_, Row(row), Columns({1, 3, 5, 7})).size();
      const auto exists = tables_->Exists(Columns({1, 3}), table_, Row(row));
      shown += exists.ok() && *exists ? 1 : 0;
    }
    EXPECT_EQ(shown, 0u);
    // Some 6 questions a row, of which one in a hundred is answered wrongly.
    const uint64_t blocks = Blocks();
    EXPECT_EQ(blocks < kRows / 4, bloom == "ROWCOL") << blocks;
    EXPECT_EQ(blocks > kRows, bloom == "ROW") << blocks;
    // What is there is found among what is not.
    for (uint64_t row = 0; row < kRows; row += 7) {
      EXPECT_EQ(tables_.Get(table_, Row(row), Columns({1, 2, 3, 8, 9})).size(), 2u);
      EXPECT_EQ(tables_.Get(table_, Row(row), Columns({3, 4})).size(), 1u);
      EXPECT_EQ(tables_.Get(table_, Row(row), Columns({0, 2, 4, 6, 8})).size(), 5u);
      const auto exists = tables_->Exists(Columns({1, 2}), table_, Row(row));
      EXPECT_TRUE(exists.ok() && *exists);
    }
    // In memory and in a file.
    tables_.Put(table_, Row(1), "f", Column(1), 1, "v");
    EXPECT_EQ(tables_.Get(table_, Row(1), Columns({1, 2, 3})).size(), 2u);
    ASSERT_TRUE(tables_->DropTable("t").ok());
  }
}

// What stands beside the first column that is found says what the others are, there or not; a
// filter has to be asked again only where a block ends.
TEST_F(TableAbsent, ColumnsBesideOneThatIsThereNeedNoQuestion) {
  Fill("ROWCOL");
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (uint64_t row = 0; row < kRows; row++) {
    RowResult result;
    ASSERT_TRUE(tables_->Get(Columns(all), table_, Row(row), &result).ok());
    ASSERT_EQ(result.cells().size(), 5u) << row;
    for (int i = 0; i < 5; i++) {
      const CellView& cell = result.cells()[static_cast<size_t>(i)];
      ASSERT_EQ(std::string(cell.value), absl::StrCat(row, "/", 2 * i));
      ASSERT_EQ(std::string(cell.qualifier), Column(2 * i));
    }
  }
  const FilterStatistics asked = Asked("component:2");
  EXPECT_GE(asked.checked, kRows);
  EXPECT_LT(asked.checked, 2 * kRows);
  // Columns that others lie between.
  for (uint64_t row = 0; row < kRows; row += 3) {
    ASSERT_EQ(tables_.Get(table_, Row(row), Columns({0, 8})).size(), 2u);
    ASSERT_EQ(tables_.Get(table_, Row(row), Columns({0, 5, 9})).size(), 1u);
  }
}

// A row that goes on in the next file, and columns of which a newer file, that begins among them,
// has some: each is found where it is.
TEST_F(TableAbsent, ColumnsOfARowMayBeInSeveralFiles) {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  options.write_buffer_bytes = 64 << 10;
  MemoryTables tables(options);
  Table* const table =
      tables.Create({.name = "t", .families = {{.name = "f", .bloom_filter = "ROWCOL"}}});
  // One row of many files, between two that are small.
  const auto name = [](int number) { return absl::StrCat("c", 10'000 + number); };
  constexpr int kMany = 4'000;
  for (int i = 0; i < kMany; i++) tables.Put(table, "m", "f", name(i), 1, std::string(100, 'v'));
  tables.Put(table, "a", "f", name(0), 1, "v");
  tables.Put(table, "z", "f", name(0), 1, "v");
  ASSERT_TRUE(tables->MajorCompact("t").ok());
  for (const bool has_newer : {false, true}) {
    if (has_newer) {
      for (int i = 2'000; i < 2'100; i += 11) tables.Put(table, "m", "f", name(i), 2, "new");
      ASSERT_TRUE(tables->Flush("t").ok());
    }
    for (int i = 0; i + 30 < kMany; i += 3) {
      TableReadOptions wanted;
      for (const int behind : {0, 1, 2, 7, 30}) {
        wanted.columns.push_back({"f", name(i + behind)});
        wanted.columns.push_back({"f", name(i + behind) + "x"});
      }
      RowResult result;
      ASSERT_TRUE(tables->Get(wanted, table, "m", &result).ok());
      ASSERT_EQ(result.cells().size(), 5u) << i;
      for (const CellView& cell : result.cells()) {
        const int number = std::stoi(std::string(cell.qualifier.substr(1))) - 10'000;
        const bool is_new =
            has_newer && number >= 2'000 && number < 2'100 && (number - 2'000) % 11 == 0;
        ASSERT_EQ(std::string(cell.value), is_new ? "new" : std::string(100, 'v')) << number;
      }
    }
  }
}

TEST_F(TableAbsent, RowsOfAMultiGetAreAskedForTogether) {
  Fill("ROWCOL");
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 1'000; i++) names.push_back(Row(i) + (i % 10 == 0 ? "" : "x"));
  const std::vector<std::string_view> rows(names.begin(), names.end());
  std::vector<RowResult> results;
  const auto found = [&](const TableReadOptions& options) {
    const absl::Status read = tables_->MultiGet(options, table_, rows, &results);
    EXPECT_TRUE(read.ok()) << read;
    uint64_t cells = 0;
    for (size_t i = 0; i < results.size(); i++) {
      EXPECT_EQ(results[i].empty() || results[i].row() == rows[i], true);
      EXPECT_TRUE(i % 10 == 0 || results[i].empty());
      cells += results[i].cells().size();
    }
    return cells;
  };
  Blocks();
  EXPECT_EQ(found({}), 500u);
  EXPECT_LT(Blocks(), 250u) << "of a hundred rows, and of some that filters are wrong about";
  EXPECT_EQ(found(Columns({1})), 0u);
  EXPECT_EQ(found(Columns({1, 3})), 0u);
  EXPECT_LT(Blocks(), 60u);
  EXPECT_EQ(found(Columns({2})), 100u);
  EXPECT_EQ(found(Columns({2, 3, 4})), 200u);
  // A row of which nothing is stored but a marker, in a raw read.
  TableBatch batch;
  batch.DeleteRow(table_, names[1]);
  tables_.Write(batch);
  ASSERT_TRUE(tables_->Flush("t").ok());
  TableReadOptions raw;
  raw.raw = true;
  ASSERT_TRUE(tables_->MultiGet(raw, table_, rows, &results).ok());
  EXPECT_EQ(results[1].cells().size(), 1u);
}

// A batch that writes several columns is seen whole or not at all, however filters are asked.
TEST_F(TableAbsent, SeveralColumnsAreReadAsOfOneMoment) {
  Fill("ROWCOL");
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    for (uint64_t i = 0; i < 20'000; i++) {
      TableBatch batch;
      const std::string row = absl::StrCat("pair", i);
      batch.Put(table_, row, "f", "a", "v");
      batch.Put(table_, row, "f", "b", "v");
      tables_.Write(batch);
      if (i % 5'000 == 0) {
        EXPECT_TRUE(tables_->Flush("t").ok());
      }
    }
    is_done = true;
  });
  TableReadOptions both;
  both.columns = {{"f", "a"}, {"f", "b"}};
  uint64_t next = 0;
  while (!is_done) {
    const size_t cells = tables_.Get(table_, absl::StrCat("pair", next), both).size();
    EXPECT_NE(cells, 1u);
    if (cells == 2) next++;
  }
  writer.join();
}

// WINNOW_LONG_TESTS=1: a million questions of each part.
TEST_F(TableAbsent, QuestionsAreAnsweredAsPromised) {
  const uint64_t count = LongTests() ? 1'000'000 : 20'000;
  Fill("ROWCOL");
  for (const std::string_view part : {"component:1", "component:2"}) {
    const FilterStatistics before = Asked(part);
    Blocks();
    std::string value;
    RowResult result;
    uint64_t num_found = 0;
    for (uint64_t i = 0; i < count; i++) {
      // Between the file's first key and its last, so that nothing but the filter tells.
      const std::string row = Row(i % (kRows - 1));
      if (part == "component:1") {
        ASSERT_TRUE(tables_->Get({}, table_, absl::StrCat(row, "/", i), &result).ok());
        num_found += result.cells().size();
      } else {
        num_found += tables_->GetCell({}, table_, row, "f", absl::StrCat("x", i), &value).ok();
      }
    }
    EXPECT_EQ(num_found, 0u);
    const FilterStatistics after = Asked(part);
    const uint64_t checked = after.checked - before.checked;
    const uint64_t wrong = after.false_positive - before.false_positive;
    const uint64_t blocks = Blocks();
    const double promised = after.promised_fpr;
    std::printf(
        "%s: %llu questions, %llu asked of a file, %llu false positives (%.4f%%, promised "
        "%.4f%%), %llu data blocks\n",
        std::string(part).c_str(), static_cast<unsigned long long>(count),
        static_cast<unsigned long long>(checked), static_cast<unsigned long long>(wrong),
        100 * static_cast<double>(wrong) / static_cast<double>(count), 100 * promised,
        static_cast<unsigned long long>(blocks));
    EXPECT_EQ(checked, count) << "one probe for each file and question";
    // No block was read but for them: the one where the key would be, and perhaps the one behind
    // it, once more by the cursor.
    EXPECT_LE(blocks, 4 * wrong);
    const double expected = promised * static_cast<double>(count);
    EXPECT_NEAR(static_cast<double>(wrong), expected, 5 * std::sqrt(expected) + 0.15 * expected);
  }
}

}  // namespace
}  // namespace winnow
