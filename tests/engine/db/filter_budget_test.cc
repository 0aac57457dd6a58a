// Options::filter_memory_budget: filters of the whole database within one number of bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "tests/support/filter_budget_json.h"
#include "tests/support/steady_clock_hook.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr uint64_t kKiB = 1024;

// Even numbers are there, odd ones are not.
std::string KeyAt(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

// Tables of about 1800 keys each, at the last level.
Options ManyTables() {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 * kKiB;
  options.filter = "blocked_bloom";
  return options;
}

void Fill(MemoryDb* db, uint64_t num_keys) {
  for (uint64_t i = 0; i < num_keys; i++) db->Put(KeyAt(2 * i), "v");
}

void FillLastLevel(MemoryDb* db, uint64_t num_keys) {
  Fill(db, num_keys);
  db->CompactAll();
  SettledFilterBudgetJson(**db);
}

// Blocks that look-ups of absent keys near those of [begin, end) come to.
uint64_t AskForAbsent(DB& db, uint64_t begin, uint64_t end, uint64_t seed, int times) {
  const uint64_t before = db.GetStatistics().Get(Ticker::kDataBlocksRead) +
                          db.GetStatistics().Get(Ticker::kBlockCacheHits);
  std::mt19937_64 random(seed);
  std::string value;
  for (int i = 0; i < times; i++) {
    const uint64_t key = 2 * (begin + random() % (end - begin)) + 1;
    EXPECT_TRUE(absl::IsNotFound(
        db.Get(ReadOptions(), absl::StrCat(KeyAt(key), "/", random() % 1'000'000), &value)));
  }
  return db.GetStatistics().Get(Ticker::kDataBlocksRead) +
         db.GetStatistics().Get(Ticker::kBlockCacheHits) - before;
}

// Every change of the budget plans anew, with what was measured.
void Replan(DB& db) {
  const uint64_t bytes = FilterBudgetJson(db)["budget_bytes"];
  for (const uint64_t budget : {bytes + 1, bytes}) {
    const absl::Status set = db.SetOption("filter_memory_budget", absl::StrCat(budget));
    ASSERT_TRUE(set.ok()) << set;
  }
}

TEST(FilterBudget, AllIsInMemoryWhereThereIsRoomAndNoMoreWhereThereIsNot) {
  Options options = ManyTables();
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  FillLastLevel(&db, 40'000);
  Json ample = FilterBudgetJson(*db);
  EXPECT_GT(ample["resident_bytes"], 0u);
  EXPECT_EQ(ample["dropped_bytes"], 0u) << ample;
  const uint64_t all = ample["resident_bytes"];
  ASSERT_GT(all, 80 * kKiB) << "20 bits and less are planned for 40,000 keys";

  // Half of it: each file has a weaker filter, and none has none.
  ASSERT_TRUE(db->SetOption("filter_memory_budget", absl::StrCat(all * 2 / 3)).ok());
  const Json tight = FilterBudgetJson(*db);
  EXPECT_LE(tight["resident_bytes"], all * 2 / 3);
  EXPECT_GT(tight["dropped_bytes"], 0u) << tight;
  for (const Json& row : tight["levels"]) EXPECT_LT(row["expected_fpr"], 0.2) << row;
  for (uint64_t i = 0; i < 40'000; i += 7) ASSERT_EQ(db.Get(KeyAt(2 * i)), "v");
  EXPECT_GT(db->GetStatistics().Get(Ticker::kFilterUnitsDropped), 0u);

  ASSERT_TRUE(db->SetOption("filter_memory_budget", "1M").ok());
  EXPECT_EQ(FilterBudgetJson(*db)["resident_bytes"], all)
      << "units that were dropped are read again";
  EXPECT_GT(db->GetStatistics().Get(Ticker::kFilterUnitsLoaded), 0u);
  ASSERT_TRUE(db->SetOption("filter_memory_budget", "0").ok());
  EXPECT_EQ(FilterBudgetJson(*db)["resident_bytes"], all);
}

TEST(FilterBudget, ABudgetThatDoesNotSufficeForAUnitOfEachIsRefusedWithOneThatDoes) {
  Options options = ManyTables();
  options.filter_memory_budget = 4 << 20;
  MemoryDb db(options);
  FillLastLevel(&db, 200'000);
  const absl::Status refused = db->SetOption("filter_memory_budget", "64K");
  ASSERT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_EQ(*db->GetOption("filter_memory_budget"), "4M");
  const std::string text(refused.message());
  const std::string words = "the smallest that works is ";
  ASSERT_THAT(text, HasSubstr(words));
  const uint64_t least = std::stoull(text.substr(text.find(words) + words.size()));
  EXPECT_GT(least, 64 * kKiB);
  EXPECT_FALSE(db->SetOption("filter_memory_budget", absl::StrCat(least - 1)).ok());
  EXPECT_TRUE(db->SetOption("filter_memory_budget", absl::StrCat(least)).ok());
  EXPECT_LE(FilterBudgetJson(*db)["resident_bytes"], least);

  db.options().filter_memory_budget = 64 * kKiB;
  db.CloseDb();
  const auto opened = DB::Open(db.options(), MemoryDb::kPath);
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(opened.status().message()), HasSubstr(absl::StrCat(words, least)));
}

// Look-ups that came to a file without a filter in memory.
uint64_t NotAsked(DB& db) {
  uint64_t count = 0;
  for (const FilterStatistics& row : db.GetStatistics().filters) {
    count += row.eligible - row.checked;
  }
  return count;
}

// An eighth of ten bits a key, of files that are written under it.
TEST(FilterBudget, AShortageMakesFiltersWeakerAndNoneAbsent) {
  const StoppedSteadyClock clock;
  constexpr uint64_t kFilledKeys = 100'000;
  for (const char* const filter : {"blocked_bloom", "bloom", "ribbon"}) {
    SCOPED_TRACE(filter);
    Options options = ManyTables();
    options.target_file_bytes = 512 * kKiB;
    options.filter = filter;
    options.filter_memory_budget = kFilledKeys * 10 / 8 / 8;
    MemoryDb db(options);
    FillLastLevel(&db, kFilledKeys);
    Replan(*db);
    AskForAbsent(*db, 0, kFilledKeys, 1, 20'000);
    EXPECT_EQ(NotAsked(*db), 0u) << FilterBudgetJson(*db);
    EXPECT_LE(FilterBudgetJson(*db)["resident_bytes"], options.filter_memory_budget);
    EXPECT_LT(FilterBudgetJson(*db)["levels"][0]["expected_fpr"], 0.7);
  }
}

TEST(FilterBudget, TheSmallestThatAnErrorNamesLeavesEachFileAUnit) {
  const StoppedSteadyClock clock;
  constexpr uint64_t kFilledKeys = 100'000;
  Options options = ManyTables();
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  FillLastLevel(&db, kFilledKeys);
  const auto smallest = [](const absl::Status& refused) {
    const std::string text(refused.message());
    const std::string words = "the smallest that works is ";
    EXPECT_THAT(text, HasSubstr(words));
    return std::stoull(text.substr(text.find(words) + words.size()));
  };
  const uint64_t at_once = smallest(db->SetOption("filter_memory_budget", "1K"));
  ASSERT_TRUE(db->SetOption("filter_memory_budget", absl::StrCat(at_once)).ok());
  AskForAbsent(*db, 0, kFilledKeys, 1, 20'000);
  EXPECT_EQ(NotAsked(*db), 0u);
  const uint64_t refiltered = smallest(db->Refilter({.filter_memory_budget = kKiB}).status());
  EXPECT_LT(refiltered, at_once / 2);
  ASSERT_TRUE(db->Refilter({.filter_memory_budget = refiltered}).ok());
  ASSERT_TRUE(db->SetOption("filter_memory_budget", absl::StrCat(refiltered)).ok());
  AskForAbsent(*db, 0, kFilledKeys, 2, 20'000);
  EXPECT_EQ(NotAsked(*db), 0u);
  EXPECT_LE(FilterBudgetJson(*db)["resident_bytes"], refiltered);
}

TEST(FilterBudget, ABudgetAndBitsAreNotBothGiven) {
  Options options = MemoryDb::Quiet();
  options.filter_memory_budget = 1 << 20;
  for (const char* const filter : {"blocked_bloom:10", "ribbon:1%"}) {
    options.filter = filter;
    const absl::Status status = DB::Open(options, "/nowhere").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("filter_memory_budget")) << status;
  }
  options.filter.clear();
  options.column_families["users"].filter = "bloom:3";
  EXPECT_FALSE(DB::Open(options, "/nowhere").ok());
  options.column_families.clear();
  options.filter_memory_budget = 1000;
  EXPECT_FALSE(DB::Open(options, "/nowhere").ok()) << "less than 64 KiB";
  options.filter_memory_budget = 1 << 20;
  options.filter = "ribbon";
  MemoryDb db(options);
  EXPECT_FALSE(db->SetFilter("bloom:10", "whole").ok());
  EXPECT_TRUE(db->SetFilter("bloom", "whole").ok());
  ColumnFamilyOptions family;
  family.filter = "bloom:10";
  EXPECT_FALSE(db->CreateColumnFamily(family, "a").ok());
  family.filter.clear();
  EXPECT_TRUE(db->CreateColumnFamily(family, "a").ok());
}

// Whoever gives a budget to a database that has bits per key decides anew.
TEST(FilterBudget, ARecordedAmountGivesWay) {
  Options options = ManyTables();
  options.filter = "ribbon:1%";
  MemoryDb db(options);
  FillLastLevel(&db, 5000);
  ASSERT_TRUE(db->SetOption("filter_memory_budget", "1M").ok());
  EXPECT_EQ(*db->GetOption("filter"), "ribbon");
  Options loaded;
  loaded.file_system = &db.file_system();
  ASSERT_TRUE(DB::LoadOptions(MemoryDb::kPath, &loaded).ok());
  EXPECT_EQ(loaded.filter, "ribbon");
  EXPECT_EQ(loaded.filter_memory_budget, 1u << 20);
  db.options() = loaded;
  db.Reopen();
  for (uint64_t i = 0; i < 5000; i += 3) ASSERT_EQ(db.Get(KeyAt(2 * i)), "v");
}

TEST(FilterBudget, FilesThatAreAskedMoreHaveMoreInMemory) {
  const StoppedSteadyClock clock;  // the upkeep would plan while `before` is counted
  Options options = ManyTables();
  options.filter_memory_budget =
      80 * kKiB;  // about ten bits a key, and files have half as many more
  MemoryDb db(options);
  constexpr uint64_t kFilledKeys = 60'000;
  FillLastLevel(&db, kFilledKeys);
  const uint64_t before = AskForAbsent(*db, 0, kFilledKeys / 20, 1, 40'000);
  AdvanceSteadyClock(std::chrono::minutes(1));
  Replan(*db);
  const uint64_t after = AskForAbsent(*db, 0, kFilledKeys / 20, 2, 40'000);
  EXPECT_LE(after * 4, before) << "the twentieth of the keys that is asked for has whole filters";
  EXPECT_GT(FilterBudgetJson(*db)["dropped_bytes"], 0u);
  EXPECT_LE(FilterBudgetJson(*db)["peak_bytes"], 84 * kKiB);
  EXPECT_THAT(FilterBudgetJson(*db)["last_decision"].get<std::string>(),
              HasSubstr("blocks in vain"));
}

// What is measured lies within the interval around what the plan promises.
TEST(FilterBudget, MeasuredRatesAreThoseThatThePlanPromises) {
  Options options = ManyTables();
  options.filter_memory_budget = 120 * kKiB;
  MemoryDb db(options);
  constexpr uint64_t kFilledKeys = 90'000;
  FillLastLevel(&db, kFilledKeys);
  const Json written = FilterBudgetJson(*db);
  const uint64_t all =
      written["resident_bytes"].get<uint64_t>() + written["dropped_bytes"].get<uint64_t>();
  for (const uint64_t share : {45u, 60u, 80u, 100u}) {
    const absl::Status set = db->SetOption("filter_memory_budget", absl::StrCat(all * share / 100));
    ASSERT_TRUE(set.ok()) << set;
    const FilterPlans plans = *db->PlanFilters(all * share / 100);
    constexpr int kLookups = 200'000;
    const uint64_t reads = AskForAbsent(*db, 0, kFilledKeys, share, kLookups);
    const double expected = plans.now.needless_reads_per_miss * kLookups;
    EXPECT_NEAR(static_cast<double>(reads), expected,
                3.29 * std::sqrt(expected) + 0.03 * expected + 3)
        << share << " %";
  }
}

TEST(FilterBudget, ThePromisedRateIsThatOfWhatIsInMemory) {
  const StoppedSteadyClock clock;
  Options options = ManyTables();
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  constexpr uint64_t kFilledKeys = 40'000;
  FillLastLevel(&db, kFilledKeys);
  const Json all = FilterBudgetJson(*db);
  const uint64_t bytes = all["resident_bytes"];
  // Of some files one unit of two, of others both.
  ASSERT_TRUE(db->SetOption("filter_memory_budget", absl::StrCat(bytes * 3 / 4)).ok());
  AskForAbsent(*db, 0, kFilledKeys, 1, 200'000);
  const std::vector<FilterStatistics> rows = db->GetStatistics().filters;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NEAR(rows[0].promised_fpr, rows[0].MeasuredFpr(), 0.1 * rows[0].promised_fpr);
  const Json now = FilterBudgetJson(*db)["levels"][0];
  EXPECT_NEAR(now["expected_fpr"], rows[0].promised_fpr, 0.1 * rows[0].promised_fpr);
  EXPECT_EQ(now["all_units_fpr"], all["levels"][0]["all_units_fpr"]);
  EXPECT_LT(now["all_units_fpr"].get<double>() * 10, rows[0].promised_fpr);
}

TEST(FilterBudget, APlanSaysWhatABudgetBringsAndChangesNothing) {
  Options options = ManyTables();
  options.filter = "blocked_bloom:10";
  MemoryDb db(options);
  FillLastLevel(&db, 30'000);
  Fill(&db, 1000);
  db.Flush();
  const FilterPlans plans = *db->PlanFilters(64 * kKiB);
  ASSERT_EQ(plans.planned.rows.size(), 2u);
  const FilterPlanRow& newest = plans.planned.rows[0];
  const FilterPlanRow& oldest = plans.planned.rows[1];
  EXPECT_EQ(newest.level, 0);
  EXPECT_EQ(oldest.level, 6);
  EXPECT_GT(newest.bits_per_key, oldest.bits_per_key) << "Monkey";
  EXPECT_LE(plans.planned.memory_bytes, 64 * kKiB);
  EXPECT_LE(plans.at_half.memory_bytes, 32 * kKiB);
  EXPECT_GT(plans.at_half.needless_reads_per_miss, plans.planned.needless_reads_per_miss);
  EXPECT_LT(plans.at_double.needless_reads_per_miss, plans.planned.needless_reads_per_miss);
  EXPECT_NEAR(plans.now.needless_reads_per_miss, 2 * 0.0097, 0.003);
  EXPECT_THAT(plans.ToTable(), HasSubstr("reads/miss"));
  const Json json = Json::parse(plans.ToJson());
  EXPECT_EQ(json["planned"]["levels"].size(), 2u);
  EXPECT_FALSE(db->PlanFilters(0).ok());
  EXPECT_EQ(*db->GetOption("filter_memory_budget"), "0");
  ASSERT_TRUE(db->Close().ok());
  EXPECT_FALSE(db->PlanFilters(1 << 20).ok());
}

// They pass everything, and what they are given takes of the budget like that of any other.
TEST(FilterBudget, TablesWithoutAFilterArePlannedFor) {
  Options options = ManyTables();
  options.filter = "none";
  MemoryDb db(options);
  FillLastLevel(&db, 30'000);
  constexpr uint64_t kBudget = 40 * kKiB;
  const FilterPlans none = *db->PlanFilters(kBudget);
  ASSERT_EQ(none.planned.rows.size(), 1u);
  EXPECT_EQ(none.planned.rows[0].kind, "none");
  EXPECT_EQ(none.planned.rows[0].num_keys, 30'000u);
  EXPECT_EQ(none.planned.memory_bytes, 0u);
  EXPECT_NEAR(none.planned.needless_reads_per_miss, 1, 0.02);

  ASSERT_TRUE(db->SetOption("filter_memory_budget", absl::StrCat(kBudget)).ok());
  ASSERT_TRUE(db->SetFilter("blocked_bloom", "").ok());
  const FilterPlans plans = *db->PlanFilters(kBudget);
  EXPECT_NEAR(plans.now.needless_reads_per_miss, 1, 0.02);
  EXPECT_NEAR(plans.at_once.needless_reads_per_miss, 1, 0.02);
  EXPECT_GT(plans.planned.memory_bytes, kBudget / 2);
  EXPECT_LE(plans.planned.memory_bytes, kBudget);
  ASSERT_TRUE(db->Refilter({}).ok());
  const Json budget = FilterBudgetJson(*db);
  EXPECT_LE(budget["resident_bytes"].get<uint64_t>() + budget["dropped_bytes"].get<uint64_t>(),
            kBudget * 3 / 2 + 4 * kKiB)
      << "what is planned for, and half as much again";
}

// They ask the runs above their keys in vain, and the last one never.
TEST(FilterBudget, LookupsThatHitMakeNoMissCheaper) {
  const StoppedSteadyClock clock;
  Options options = ManyTables();
  options.filter_memory_budget = 60 * kKiB;
  MemoryDb db(options);
  constexpr uint64_t kFilledKeys = 60'000;
  FillLastLevel(&db, kFilledKeys);
  for (uint64_t i = 0; i < kFilledKeys; i += 20) db.Put(KeyAt(2 * i), "newer");
  db.Flush();
  for (uint64_t i = 0; i < 5 * kFilledKeys; i++) {
    if (i % 20 == 0) continue;
    ASSERT_EQ(db.Get(KeyAt(2 * (i % kFilledKeys))), "v");
  }
  // As many as hits: look-ups are sampled, and of fewer the measured share wavers too much.
  AskForAbsent(*db, 0, kFilledKeys, 1, 300'000);
  // The upkeep's round and those of Replan, at one time, count them with the time in which they
  // came.
  AdvanceSteadyClock(std::chrono::minutes(10));
  Replan(*db);
  const FilterPlanSummary now = db->PlanFilters(60 * kKiB)->now;
  ASSERT_EQ(now.rows.size(), 2u);
  constexpr int kLookups = 200'000;
  const double expected = now.needless_reads_per_miss * kLookups;
  EXPECT_NEAR(static_cast<double>(AskForAbsent(*db, 0, kFilledKeys, 2, kLookups)), expected,
              3.29 * std::sqrt(expected) + 0.05 * expected);
  // The last run has those alone that find nothing, 500 a second.
  EXPECT_NEAR(now.rows[1].needless_reads_per_second, now.rows[1].needless_reads_per_miss * 500,
              now.rows[1].needless_reads_per_miss * 75);
}

TEST(FilterBudget, WhatAPlanPromisesOfRewrittenFilesIsKept) {
  for (const char* const filter : {"blocked_bloom", "bloom", "ribbon", "cuckoo", "auto"}) {
    SCOPED_TRACE(filter);
    const StoppedSteadyClock clock;
    Options options = ManyTables();
    options.filter = "none";
    options.filter_memory_budget = 60 * kKiB;
    MemoryDb db(options);
    constexpr uint64_t kFilledKeys = 60'000;
    FillLastLevel(&db, kFilledKeys);
    ASSERT_TRUE(db->SetFilter(filter, "").ok());
    const FilterPlanSummary promised = db->PlanFilters(60 * kKiB)->planned;
    EXPECT_LE(promised.memory_bytes, 60 * kKiB);
    ASSERT_TRUE(db->Refilter({}).ok());
    constexpr int kLookups = 400'000;
    const auto reads = static_cast<double>(AskForAbsent(*db, 0, kFilledKeys, 1, kLookups));
    const double expected = promised.needless_reads_per_miss * kLookups;
    EXPECT_LE(reads, 1.1 * expected + 3.29 * std::sqrt(expected) + 3);
    EXPECT_GE(reads, 0.85 * expected - 3.29 * std::sqrt(expected));
  }
}

TEST(FilterBudget, InPlaceOfAHalfThatIsTooSmallThePlanHasTheSmallestThatWorks) {
  for (const char* const filter : {"blocked_bloom", "cuckoo"}) {
    SCOPED_TRACE(filter);
    Options options = ManyTables();
    options.filter = filter;
    MemoryDb db(options);
    constexpr uint64_t kFilledKeys = 60'000;
    FillLastLevel(&db, kFilledKeys);
    uint64_t least = kKiB;
    while (!db->PlanFilters(least).ok()) least += 64;
    const FilterPlans plans = *db->PlanFilters(least * 3 / 2);
    EXPECT_GE(plans.at_half.budget_bytes + 64, least);
    EXPECT_LE(plans.at_half.budget_bytes, least);
    EXPECT_LE(plans.at_half.memory_bytes, plans.at_half.budget_bytes);
    EXPECT_LE(plans.planned.memory_bytes, plans.planned.budget_bytes);
    EXPECT_GE(plans.at_half.needless_reads_per_miss, plans.planned.needless_reads_per_miss);
    EXPECT_THAT(plans.ToTable(), HasSubstr("\nthe smallest that works "));
    EXPECT_THAT(db->PlanFilters(least * 2)->ToTable(), HasSubstr("\nhalf of it "));
  }
}

class Events final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kFilterDegraded) degraded++;
    if (event.kind == Event::Kind::kFilterRateOffPromise) alerts++;
  }
  std::atomic<int> degraded{0};
  std::atomic<int> alerts{0};
};

// A second of the database's own work. Whatever is set, filters are looked at.
void NextRound(DB& db) {
  AdvanceSteadyClock(std::chrono::seconds(1));
  for (const char* const bytes : {"2G", "1G"}) {
    ASSERT_TRUE(db.SetOption("max_log_bytes", bytes).ok());
  }
}

// Look-ups that come to a file without a filter in memory all pass; nothing else is promised.
TEST(FilterBudget, FilesWithoutAUnitInMemoryAreNoReasonForAnAlert) {
  const StoppedSteadyClock clock;
  const auto events = std::make_shared<Events>();
  Options options = MemoryDb::Quiet();
  options.filter = "cuckoo";
  options.filter_memory_budget = 4 * kKiB;
  options.listeners = {events};
  MemoryDb db(options);
  constexpr uint64_t kFilledKeys = 2000;
  constexpr int kTables = 10;
  for (int table = 0; table < kTables; table++) {
    Fill(&db, kFilledKeys);
    db.Flush();
  }
  NextRound(*db);
  constexpr int kLookups = 50'000;
  const auto reads = static_cast<double>(AskForAbsent(*db, 0, kFilledKeys, 1, kLookups));
  ASSERT_GT(reads, kLookups * 2.0) << "some files have no filter in memory";
  NextRound(*db);
  const double measured = FilterBudgetJson(*db)["measured_fpr"];
  EXPECT_NEAR(measured * kLookups * kTables, reads, 0.1 * reads);
  EXPECT_LE(FilterBudgetJson(*db)["low_fpr"], measured);
  EXPECT_GE(FilterBudgetJson(*db)["high_fpr"], measured);
  db.CloseDb();
  EXPECT_EQ(events->alerts.load(), 0);
}

TEST(FilterBudget, UnitsThatGiveWayToNewTablesAreNoReasonForAnAlert) {
  const StoppedSteadyClock clock;
  const auto events = std::make_shared<Events>();
  Options options = ManyTables();
  options.filter_memory_budget = 64 * kKiB;
  options.listeners = {events};
  MemoryDb db(options);
  constexpr uint64_t kFilledKeys = 25'000;
  FillLastLevel(&db, kFilledKeys);
  NextRound(*db);
  AskForAbsent(*db, 0, kFilledKeys, 1, 100'000);
  const uint64_t dropped = FilterBudgetJson(*db)["dropped_bytes"];
  // Further tables, whose first units need the room.
  for (uint64_t table = 1; table < 4; table++) {
    for (uint64_t i = 0; i < 10'000; i++) db.Put(KeyAt(2 * i + table * 1'000'000), "v");
    db.Flush();
  }
  ASSERT_GT(FilterBudgetJson(*db)["dropped_bytes"].get<uint64_t>(), dropped);
  NextRound(*db);
  db.CloseDb();
  EXPECT_EQ(events->alerts.load(), 0);
}

// One damaged byte costs one unit: the others go on.
TEST(FilterBudget, ADamagedUnitAnswersMayContainAndIsCounted) {
  const auto events = std::make_shared<Events>();
  Options options = ManyTables();
  options.target_file_bytes = 64 << 20;
  options.filter_memory_budget = 1 << 20;
  options.listeners = {events};
  MemoryDb db(options);
  FillLastLevel(&db, 20'000);
  std::string path;
  const auto names = db.file_system().List(MemoryDb::kPath);
  for (const std::string& name : *names) {
    if (name.ends_with(".sst")) path = absl::StrCat(MemoryDb::kPath, "/", name);
  }
  std::string bytes = *ReadFile(db.file_system(), path, 1 << 26);
  const size_t filter_at = bytes.find("WNWFILTR");
  ASSERT_NE(filter_at, std::string::npos);
  const double sound = FilterBudgetJson(*db)["levels"][0]["expected_fpr"];
  for (const bool first : {true, false}) {
    db.CloseDb();
    std::string damaged = bytes;
    const size_t at = first ? filter_at + 64 + 1000 : filter_at + 64 + 30'000;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    auto file = db.file_system().Create(path, {});
    ASSERT_TRUE((*file)->Append(damaged).ok() && (*file)->Sync().ok() && (*file)->Close().ok());
    db.Reopen();
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
    for (uint64_t i = 0; i < 20'000; i += 3) ASSERT_EQ(db.Get(KeyAt(2 * i)), "v");
    const uint64_t reads = AskForAbsent(*db, 0, 20'000, 1, 20'000);
    EXPECT_GT(static_cast<double>(reads), 20'000 * sound) << "weaker,";
    EXPECT_LT(reads, 2000u) << "and not absent";
    const auto problems = db->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    EXPECT_FALSE(problems->empty());
  }
  db.CloseDb();
  EXPECT_GE(events->degraded.load(), 2);
}

TEST(FilterBudget, OneThatComesLateJudgesByTheTimeThatHasPassed) {
  MemoryDb db(ManyTables());
  const auto opened = std::chrono::steady_clock::now();
  constexpr uint64_t kFilledKeys = 20'000;
  constexpr int kLookups = 200'000;
  FillLastLevel(&db, kFilledKeys);
  AskForAbsent(*db, 0, kFilledKeys, 1, kLookups);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - opened;
  ASSERT_TRUE(db->SetOption("filter_memory_budget", "1M").ok());
  Replan(*db);
  const FilterPlans plans = *db->PlanFilters(1 << 20);
  EXPECT_GT(plans.lookups_per_second, 0);
  EXPECT_LT(plans.lookups_per_second, 1.5 * kLookups / passed.count());
}

TEST(FilterBudget, APlanOfTheLargestBudgetsHasADouble) {
  Options options = ManyTables();
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  FillLastLevel(&db, 10'000);
  const FilterPlans plans = *db->PlanFilters(uint64_t{1} << 63);
  EXPECT_GE(plans.at_double.budget_bytes, plans.planned.budget_bytes);
  EXPECT_LE(plans.at_double.needless_reads_per_miss, plans.planned.needless_reads_per_miss);
}

// At each moment, during compactions too, by the ledger's own peak.
TEST(FilterBudget, MemoryKeepsWithinTheBudgetAndOneUnitWhileTheTreeGrows) {
  Options options = MemoryDb::Busy();
  options.target_file_bytes = 256 * kKiB;
  options.compression = Compression::kNone;
  options.filter = "blocked_bloom";
  options.filter_memory_budget = 64 * kKiB;
  MemoryDb db(options);
  std::mt19937_64 random(5);
  for (uint64_t i = 0; i < 60'000; i++) db.Put(KeyAt(random() % 500'000), std::string(20, 'v'));
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  db.CompactAll();
  // What found no room while the inputs were there is loaded within a second, or now.
  Replan(*db);
  const Json budget = FilterBudgetJson(*db);
  // The largest unit is ten bits of all keys that a table of 256 KiB has, and a bit.
  EXPECT_LE(budget["peak_bytes"], 64 * kKiB + 12 * kKiB) << budget;
  EXPECT_GT(budget["resident_bytes"], 16 * kKiB) << budget;
}

TEST(FilterBudget, EveryKindOpensAgainWithItsUnits) {
  for (const char* const filter : {"bloom", "blocked_bloom", "cuckoo", "cuckoo:semi_sorted",
                                   "binary_fuse", "ribbon", "auto", "none"}) {
    Options options = ManyTables();
    options.filter = filter;
    options.filter_memory_budget = 256 * kKiB;
    MemoryDb db(options);
    FillLastLevel(&db, 20'000);
    db.Reopen();
    for (uint64_t i = 0; i < 20'000; i += 11) ASSERT_EQ(db.Get(KeyAt(2 * i)), "v") << filter;
    const auto problems = db->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    EXPECT_TRUE(problems->empty()) << filter;
    if (std::string_view(filter) == "none") continue;
    EXPECT_LT(AskForAbsent(*db, 0, 20'000, 3, 20'000), 1500u) << filter;
  }
}

}  // namespace
}  // namespace winnow
