// Filters of several parts of keys, end to end: look-ups and scans are each answered at their own
// rate, by one filter.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

Options WithFilterKey(const std::string& filter_key) {
  Options options = MemoryDb::Quiet();
  options.filter = "blocked_bloom:16";
  options.filter_key = filter_key;
  options.block_cache_bytes = 0;  // every block read is counted
  options.memtable_filter_ratio = 0;
  return options;
}

constexpr int kNumPrefixes = 300;

std::string RowPrefix(int i) { return absl::StrFormat("tab%04d:", i); }

// Ten rows under each even prefix; none under odd ones.
void FillTables(MemoryDb* db) {
  for (int i = 0; i < 2 * kNumPrefixes; i += 2) {
    for (int row = 0; row < 20; row += 2)
      db->Put(absl::StrCat(RowPrefix(i), "row", 100 + row), "v");
  }
  db->CompactAll();
}

uint64_t BlocksRead(MemoryDb* db) { return (*db)->GetStatistics().Get(Ticker::kDataBlocksRead); }

FilterStatistics SumOfCalls(MemoryDb* db, FilterCall call) {
  FilterStatistics sum;
  for (const FilterStatistics& row : (*db)->GetStatistics().filters) {
    if (row.call != call) continue;
    sum.checked += row.checked;
    sum.rejected += row.rejected;
    sum.true_positive += row.true_positive;
    sum.false_positive += row.false_positive;
  }
  return sum;
}

int CountInPrefix(MemoryDb* db, std::string_view prefix) {
  ReadOptions read;
  read.lower_bound = std::string(prefix);
  read.upper_bound = std::string(prefix) + "\xff";
  const auto iterator = (*db)->NewIterator(read);
  int count = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) count++;
  EXPECT_TRUE(iterator->status().ok());
  return count;
}

// Absent keys of prefixes that are there; the bare prefix is one of them.
std::vector<std::string> AbsentKeys() {
  std::vector<std::string> keys;
  for (int i = 2; i < 2 * kNumPrefixes - 2; i += 2) {
    keys.push_back(RowPrefix(i));
    keys.push_back(absl::StrCat(RowPrefix(i), "row", 101 + i % 10 * 2));
  }
  return keys;
}

// What an iterator between bounds asks is what is explained, with the part that it asks for.
TEST(DbFilterParts, ExplainOfARangeNamesThePart) {
  MemoryDb db(WithFilterKey("whole+prefix:8"));
  FillTables(&db);
  const auto explain = [&](const std::string& prefix) {
    const auto explained = db->ExplainRange(prefix, prefix + "\xff");
    EXPECT_TRUE(explained.ok()) << explained.status();
    EXPECT_EQ(explained->steps.size(), 2u);
    return explained->steps.back();
  };
  int refuted = 0;
  for (int i = 1; i < 41; i += 2) {
    const ExplainStep absent = explain(RowPrefix(i));
    EXPECT_EQ(absent.filter, "blocked_bloom:16 by prefix:8");
    if (absent.filter_answer != ExplainStep::FilterAnswer::kNo) continue;
    refuted++;
    EXPECT_EQ(absent.answer, ExplainStep::Answer::kNotAsked);
  }
  EXPECT_GE(refuted, 18);
  const ExplainStep present = explain(RowPrefix(2));
  EXPECT_EQ(present.filter, "blocked_bloom:16 by prefix:8");
  EXPECT_EQ(present.filter_answer, ExplainStep::FilterAnswer::kMaybe);
  EXPECT_EQ(present.answer, ExplainStep::Answer::kEntries);
  // Keys of several prefixes have no part in common.
  EXPECT_EQ(explain("tab").filter, "none");
  EXPECT_EQ(SumOfCalls(&db, FilterCall::kSeek).checked, 0u) << "explaining counts nothing";
}

// What is not flushed yet is passed over by its filter, too, which goes on with the filter key that
// it was made with.
TEST(DbFilterParts, ScansAskTheMemtablesFilter) {
  Options options = WithFilterKey("whole+prefix:8");
  options.memtable_filter_ratio = 0.02;
  MemoryDb db(options);
  for (int i = 0; i < 200; i += 2) db.Put(absl::StrCat(RowPrefix(i), "row"), "v");
  const auto refuted = [&] {
    int count = 0;
    for (int i = 1; i < 200; i += 2) {
      const auto explained = db->ExplainRange(RowPrefix(i), RowPrefix(i) + "\xff");
      EXPECT_TRUE(explained.ok());
      count += explained->steps[0].filter_answer == ExplainStep::FilterAnswer::kNo ? 1 : 0;
      EXPECT_EQ(CountInPrefix(&db, RowPrefix(i)), 0);
      EXPECT_EQ(CountInPrefix(&db, RowPrefix(i - 1)), 1);
    }
    return count;
  };
  EXPECT_GT(refuted(), 95);
  ASSERT_TRUE(db->SetOption("filter_key", "whole+prefix:7").ok());
  db.Put(absl::StrCat(RowPrefix(1), "late"), "v");
  EXPECT_EQ(CountInPrefix(&db, RowPrefix(1)), 1);
  ASSERT_TRUE(db->Delete(WriteOptions(), absl::StrCat(RowPrefix(1), "late")).ok());
  EXPECT_GT(refuted(), 94) << "all but the one that came late";
}

// With the prefix alone in the filter, each of these look-ups read a block.
TEST(DbFilterParts, AnAbsentKeyWhosePrefixIsThereReachesNoBlock) {
  const std::vector<std::string> absent = AbsentKeys();
  for (const char* filter_key : {"whole+prefix:8", "whole+delimiter::"}) {
    SCOPED_TRACE(filter_key);
    MemoryDb db(WithFilterKey(filter_key));
    FillTables(&db);
    const uint64_t before = BlocksRead(&db);
    int may_exist = 0;
    for (const std::string& key : absent) {
      ASSERT_EQ(db.Get(key), "(absent)");
      ASSERT_FALSE(*db->Exists(ReadOptions(), key));
      may_exist += db->MayExist(ReadOptions(), key) ? 1 : 0;
    }
    for (const std::string& value : db.MultiGet(absent)) ASSERT_EQ(value, "(absent)");
    const uint64_t read = BlocksRead(&db) - before;
    const FilterStatistics gets = SumOfCalls(&db, FilterCall::kGet);
    EXPECT_EQ(gets.checked, 2 * absent.size());
    EXPECT_EQ(gets.true_positive, 0u);
    EXPECT_GE(gets.rejected, gets.checked - 20);
    EXPECT_LE(read, 10u);
    EXPECT_LE(may_exist, 10);
  }
  MemoryDb db(WithFilterKey("prefix:8"));
  FillTables(&db);
  const uint64_t before = BlocksRead(&db);
  for (const std::string& key : absent) ASSERT_EQ(db.Get(key), "(absent)");
  EXPECT_GE(BlocksRead(&db) - before, absent.size());
  EXPECT_EQ(SumOfCalls(&db, FilterCall::kGet).true_positive, absent.size())
      << "it was asked for prefixes";
}

TEST(DbFilterParts, AScanOfAnAbsentPrefixReachesNoBlock) {
  for (const char* filter_key :
       {"whole+prefix:8", "whole+delimiter::", "whole+prefix:3+prefix:8"}) {
    SCOPED_TRACE(filter_key);
    MemoryDb db(WithFilterKey(filter_key));
    FillTables(&db);
    const uint64_t before = BlocksRead(&db);
    for (int i = 1; i < 2 * kNumPrefixes - 2; i += 2)
      ASSERT_EQ(CountInPrefix(&db, RowPrefix(i)), 0);
    const FilterStatistics absent = SumOfCalls(&db, FilterCall::kSeek);
    EXPECT_EQ(absent.checked, static_cast<uint64_t>(kNumPrefixes - 1));
    EXPECT_GE(absent.rejected, absent.checked - 5);
    EXPECT_EQ(absent.true_positive, 0u);
    EXPECT_LE(BlocksRead(&db) - before, 2 * absent.false_positive);

    for (int i = 0; i < 2 * kNumPrefixes; i += 2) ASSERT_EQ(CountInPrefix(&db, RowPrefix(i)), 10);
    const FilterStatistics all = SumOfCalls(&db, FilterCall::kSeek);
    EXPECT_EQ(all.true_positive, static_cast<uint64_t>(kNumPrefixes));
    EXPECT_EQ(all.false_positive, absent.false_positive);
  }
}

// The bits of the filter are for each of its entries, and both kinds of questions keep the promise.
TEST(DbFilterParts, StatisticsAreTrueOfBothQuestions) {
  Options options = WithFilterKey("whole+prefix:8");
  options.filter = "bloom:6";
  MemoryDb db(options);
  FillTables(&db);
  const LevelStatistics level = db->GetStatistics().levels.at(0);
  EXPECT_EQ(level.num_entries, 10u * kNumPrefixes);
  EXPECT_NEAR(level.filter_bits_per_key, 6, 0.5);
  EXPECT_NEAR(static_cast<double>(level.filter_bytes), 6 / 8.0 * 11 * kNumPrefixes, 200);

  for (int i = 2; i < 2 * kNumPrefixes - 2; i += 2) {
    for (int row = 1; row < 21; row += 2) db.Get(absl::StrCat(RowPrefix(i), "row", 100 + row));
    CountInPrefix(&db, RowPrefix(i + 1));
  }
  double promised = 0;
  for (const FilterStatistics& row : db->GetStatistics().filters) promised = row.promised_fpr;
  EXPECT_NEAR(promised, 0.056, 0.004);
  const FilterStatistics gets = SumOfCalls(&db, FilterCall::kGet);
  EXPECT_NEAR(static_cast<double>(gets.false_positive) / static_cast<double>(gets.checked),
              promised, 0.025);
  const FilterStatistics seeks = SumOfCalls(&db, FilterCall::kSeek);
  EXPECT_NEAR(static_cast<double>(seeks.false_positive) / static_cast<double>(seeks.checked),
              promised, 0.07);
}

// Tables of three settings, one above the other: each is asked what it knows.
TEST(DbFilterParts, TablesOfSeveralSettingsAreEachAskedWhatTheyKnow) {
  const std::vector<std::string> settings = {"whole", "prefix:8", "whole+prefix:8"};
  MemoryDb db(WithFilterKey(settings.front()));
  for (size_t file = 0; file < settings.size(); file++) {
    ASSERT_TRUE(db->SetFilter("", settings[file]).ok());
    db.Put("a", "first");
    for (int i = 2 * static_cast<int>(file); i < 60; i += 6) {
      db.Put(absl::StrCat(RowPrefix(i), "row"), settings[file]);
    }
    db.Put("z", "last");
    db.Flush();
  }
  for (const std::string& setting : settings) {
    SCOPED_TRACE(setting);
    ASSERT_TRUE(db->SetFilter("", setting).ok());
    for (int i = 0; i < 60; i += 2) {
      const std::string& value = settings[static_cast<size_t>(i / 2 % 3)];
      ASSERT_EQ(db.Get(absl::StrCat(RowPrefix(i), "row")), value);
      ASSERT_EQ(CountInPrefix(&db, RowPrefix(i)), 1);
      // The table of prefixes alone cannot tell, and the others can.
      const auto explained = db->Explain(absl::StrCat(RowPrefix(i), "other"));
      ASSERT_TRUE(explained.ok());
      int maybe = 0;
      for (const ExplainStep& step : explained->steps) {
        maybe += step.filter_answer == ExplainStep::FilterAnswer::kMaybe ? 1 : 0;
        EXPECT_FALSE(step.false_positive);
      }
      ASSERT_EQ(maybe, value == "prefix:8" ? 1 : 0) << i;
    }
  }
}

void ExpectTables(MemoryDb* db) {
  for (int i = 0; i < 2 * kNumPrefixes; i += 2) {
    ASSERT_EQ(db->Get(absl::StrCat(RowPrefix(i), "row100")), "v");
    ASSERT_EQ(CountInPrefix(db, RowPrefix(i)), 10);
  }
  EXPECT_TRUE(VerifyMessages(**db).empty());
}

TEST(DbFilterParts, ReadOnlyAndWithoutAManifestTheTextIsKept) {
  MemoryDb db(WithFilterKey("whole+delimiter::+prefix:4"));
  FillTables(&db);
  db.options().filter.clear();
  db.options().filter_key.clear();
  db.options().read_only = true;
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.filter-key"), "whole+prefix:4+delimiter::");
  ExpectTables(&db);
  db.CloseDb();

  db.options().read_only = false;
  const auto names = db.file_system().List(MemoryDb::kPath);
  for (const std::string& name : *names) {
    if (name != "CURRENT" && !absl::StartsWith(name, "MANIFEST")) continue;
    ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", name)).ok());
  }
  const auto report = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->manifest_rebuilt);
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.filter-key"), "whole+prefix:4+delimiter::");
  ExpectTables(&db);
  const uint64_t before = BlocksRead(&db);
  for (const std::string& key : AbsentKeys()) ASSERT_EQ(db.Get(key), "(absent)");
  EXPECT_LE(BlocksRead(&db) - before, 10u);
}

TEST(DbFilterParts, SeveralPartsNeedTheBytewiseOrder) {
  static const ReverseComparator reverse;
  Options options = WithFilterKey("whole+prefix:4");
  options.comparator = &reverse;
  const std::unique_ptr<RecordingFileSystem> file_system = NewUnrecordedFileSystem();
  options.file_system = file_system.get();
  const absl::Status status = DB::Open(options, MemoryDb::kPath).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "whole+prefix:4")) << status;
}

}  // namespace
}  // namespace winnow
