// Options::optimize_filters_for_hits: filters of the last level leave memory while they save
// nothing, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/engine/db/hits_database.h"
#include "tests/support/filter_budget_json.h"
#include "tests/support/verify_messages.h"

namespace winnow::optimize_for_hits {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

uint64_t Resident(DB& db) { return FilterBudgetJson(db)["resident_bytes"]; }

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
  EXPECT_EQ(Resident(*db), 0u) << FilterBudgetJson(*db);
  EXPECT_EQ(FilterBudgetJson(*db)["dropped_bytes"], all);
  EXPECT_THAT(FilterBudgetJson(*db)["last_decision"].get<std::string>(),
              HasSubstr("the last level of 'default' does without filters: "));
  const auto explained = db->Explain(KeyAt(1));
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kUnusable);
  EXPECT_EQ(explained->steps.back().detail, "no part of the filter is in memory now");
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());

  // No filter is there to count what it would have refuted, and it is counted all the same.
  Ask(*db, 40'000, 0.5);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all) << FilterBudgetJson(*db);
  EXPECT_THAT(FilterBudgetJson(*db)["last_decision"].get<std::string>(),
              Not(HasSubstr("does without")));
  const uint64_t rejected = Rejected(*db);
  Ask(*db, 1'000, 0);
  EXPECT_GT(Rejected(*db), rejected + 950);
}

TEST(OptimizeForHits, WhatWasDecidedOutlivesTheOpening) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  const uint64_t all = Resident(*db);
  Ask(*db, 40'000, 0.99);
  Replan(*db);
  ASSERT_EQ(Resident(*db), 0u) << FilterBudgetJson(*db);
  for (int opening = 0; opening < 2; opening++) {
    db.Reopen();
    EXPECT_EQ(Resident(*db), 0u) << FilterBudgetJson(*db);
    EXPECT_THAT(FilterBudgetJson(*db)["last_decision"].get<std::string>(),
                HasSubstr("the last level of 'default' does without filters: so it was decided"));
    // Too few to decide otherwise.
    Ask(*db, 500, 0);
    Replan(*db);
    EXPECT_EQ(Resident(*db), 0u) << FilterBudgetJson(*db);
  }
  Ask(*db, 40'000, 0.5);
  Replan(*db);
  EXPECT_EQ(Resident(*db), all) << FilterBudgetJson(*db);
  db.Reopen();
  EXPECT_EQ(Resident(*db), all) << FilterBudgetJson(*db);
  db.options().optimize_filters_for_hits = false;
  db.Reopen();
  EXPECT_EQ(Resident(*db), all) << FilterBudgetJson(*db);
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
  EXPECT_EQ(Resident(*db), all) << FilterBudgetJson(*db);
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
  const FilterPlans plans = *db->PlanFilters(1 << 20);
  EXPECT_EQ(plans.at_once.memory_bytes, 0u) << "what is left out does not come back by itself";
  EXPECT_NEAR(plans.at_once.needless_reads_per_miss, 1, 0.02);
  EXPECT_EQ(plans.planned.memory_bytes, 0u);
  Ask(*db, 40'000, 0);
  Replan(*db);
  EXPECT_GT(Resident(*db), 0u);
  EXPECT_GT(db->PlanFilters(1 << 20)->at_once.memory_bytes, 0u);
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

}  // namespace
}  // namespace winnow::optimize_for_hits
