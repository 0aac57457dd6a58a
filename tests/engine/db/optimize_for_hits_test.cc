// Options::optimize_filters_for_hits: filters of the last level leave memory while they save
// nothing, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow::optimize_for_hits {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr int kPairs = 20'000;  // of a key that is there and one that is not

std::string KeyAt(int i) { return absl::StrCat("key", 1'000'000 + i); }

Options ForHits() {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  options.filter = "blocked_bloom:10";
  options.optimize_filters_for_hits = true;
  return options;
}

void FillLastLevel(MemoryDb& db) {
  for (int i = 0; i < kPairs; i++) db.Put(KeyAt(2 * i), "v");
  db.CompactAll();
}

// Of so many look-ups, in turn over all keys, this share finds its key.
void Ask(DB& db, int times, double present_share) {
  std::string value;
  double present = 0;
  for (int i = 0; i < times; i++) {
    present += present_share;
    const bool wanted = present >= 1;
    if (wanted) present -= 1;
    const int pair = static_cast<int>(int64_t{i} * 7919 % (kPairs - 1));
    const std::string key = KeyAt(2 * pair + (wanted ? 0 : 1));
    ASSERT_EQ(db.Get(ReadOptions(), key, &value).ok(), wanted) << key;
  }
}

// Whatever is set, filters are looked at.
void Replan(DB& db) {
  for (const char* bytes : {"2G", "1G"}) {
    const absl::Status set = db.SetOption("max_log_bytes", bytes);
    ASSERT_TRUE(set.ok()) << set;
  }
}

Json Report(DB& db) {
  return Json::parse(*db.GetProperty(db.DefaultColumnFamily(), "winnow.filter-budget-json"));
}

uint64_t Resident(DB& db) { return Report(db)["resident_bytes"]; }

uint64_t Rejected(DB& db) {
  uint64_t rejected = 0;
  for (const FilterStatistics& row : db.GetStatistics().filters) rejected += row.rejected;
  return rejected;
}

TEST(OptimizeForHits, FiltersLeaveWhileLookupsHitAndComeBackWhenTheyStopTo) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  const uint64_t all = Resident(*db);
  EXPECT_GT(all, kPairs * 10 / 8);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFilterUnitsDropped), 0u);

  Ask(*db, 40'000, 0.99);
  Replan(*db);
  EXPECT_EQ(Resident(*db), 0u) << Report(*db);
  EXPECT_EQ(Report(*db)["dropped_bytes"], all);
  EXPECT_THAT(Report(*db)["last_decision"].get<std::string>(),
              HasSubstr("the last level of 'default' does without filters: 9"));
  const auto explained = db->Explain(KeyAt(1));
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kUnusable);
  EXPECT_EQ(explained->steps.back().detail, "no part of the filter is in memory now");
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());

  // No filter is there to count what it would have refuted, and it is counted all the same.
  Ask(*db, 40'000, 0.5);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all) << Report(*db);
  EXPECT_THAT(Report(*db)["last_decision"].get<std::string>(), Not(HasSubstr("does without")));
  const uint64_t rejected = Rejected(*db);
  Ask(*db, 1'000, 0);
  EXPECT_GT(Rejected(*db), rejected + 950);
}

TEST(OptimizeForHits, BetweenTheTwoSharesWhatWasDecidedStays) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  const uint64_t all = Resident(*db);
  Ask(*db, 60'000, 0.92);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all);
  Ask(*db, 200'000, 1);
  Replan(*db);
  EXPECT_EQ(Resident(*db), 0u);
  // Of all look-ups so far 93 % have found their key.
  Ask(*db, 40'000, 0.65);
  Replan(*db);
  EXPECT_EQ(Resident(*db), 0u);
}

TEST(OptimizeForHits, FewLookupsDecideNothing) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  const uint64_t all = Resident(*db);
  Ask(*db, 1'500, 1);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all);
}

// Scans ask range filters; what they find says nothing of look-ups.
TEST(OptimizeForHits, ScansThatFindEntriesAreNoLookupsThatHit) {
  Options options = ForHits();
  options.filter = "blocked_bloom:10+range:14";
  MemoryDb db(options);
  FillLastLevel(db);
  const uint64_t all = Resident(*db);
  for (int i = 0; i < 40'000; i++) {
    const std::string begin = KeyAt(2 * (i % kPairs));
    const std::string end = begin + "\xff";
    ReadOptions read;
    read.lower_bound = begin;
    read.upper_bound = end;
    const auto iterator = db->NewIterator(read);
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
  }
  uint64_t found = 0;
  for (const FilterStatistics& row : db->GetStatistics().filters) {
    if (row.call == FilterCall::kSeek) found += row.true_positive;
  }
  ASSERT_GT(found, 30'000u) << "or nothing is tested";
  Ask(*db, 3'000, 0.5);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all) << Report(*db);
}

TEST(OptimizeForHits, OtherLevelsAndFamiliesKeepTheirs) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  const uint64_t last = Resident(*db);
  ColumnFamily* const other = *db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  for (int i = 0; i < 1000; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), other, KeyAt(2 * i), "v").ok());
  }
  ASSERT_TRUE(db->Flush(other).ok());
  for (int i = 0; i < 1000; i++) db.Put(KeyAt(2 * kPairs + i), "w");
  db.Flush();
  const uint64_t all = Resident(*db);
  Ask(*db, 40'000, 1);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all - last);
}

TEST(OptimizeForHits, UnderABudgetTheOthersHaveTheRoom) {
  Options options = ForHits();
  options.filter = "blocked_bloom";
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  FillLastLevel(db);
  EXPECT_GT(Resident(*db), 0u);
  Ask(*db, 40'000, 1);
  Replan(*db);
  EXPECT_EQ(Resident(*db), 0u);
  Ask(*db, 40'000, 0);
  Replan(*db);
  EXPECT_GT(Resident(*db), 0u);
}

TEST(OptimizeForHits, WithoutItNothingLeaves) {
  Options options = ForHits();
  options.optimize_filters_for_hits = false;
  MemoryDb db(options);
  FillLastLevel(db);
  const uint64_t all = Resident(*db);
  Ask(*db, 40'000, 1);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all);
}

TEST(OptimizeForHits, NoKeyIsMissedWhileFiltersComeAndGo) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; t++) {
    readers.emplace_back([&, t] {
      std::string value;
      for (uint32_t i = static_cast<uint32_t>(t); !stop.load(); i++) {
        const int pair = static_cast<int>(i * 7919U % kPairs);
        EXPECT_TRUE(db->Get(ReadOptions(), KeyAt(2 * pair), &value).ok());
        EXPECT_FALSE(db->Get(ReadOptions(), KeyAt(2 * pair + 1), &value).ok());
      }
    });
  }
  for (int round = 0; round < 6; round++) {
    Ask(*db, round % 2 == 0 ? 100'000 : 10'000, round % 2 == 0 ? 1 : 0);
    Replan(*db);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

}  // namespace
}  // namespace winnow::optimize_for_hits
