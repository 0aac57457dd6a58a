// DB::Refilter under Options::filter_memory_budget: units of filter files come and go like those of
// tables, within one number of bytes.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/db/refilter_database.h"
#include "tests/support/filter_budget_json.h"
#include "tests/support/verify_messages.h"
#include "winnow/event_listener.h"

namespace winnow::refilter {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kKiB = 1024;
// What a unit of these tables takes at most: a cuckoo filter's, which has the whole plan in one.
constexpr uint64_t kUnit = 8 * kKiB;

Json Memory(DB& db) { return Json::parse(*db.GetProperty("winnow.memory-usage-json")); }

void SetBudget(MemoryDb& db, uint64_t bytes) {
  const absl::Status set = db->SetOption("filter_memory_budget", absl::StrCat(bytes));
  ASSERT_TRUE(set.ok()) << set;
}

// Tables of about 1800 keys each, at the last level: even numbers are there, odd ones are not.
Options ManyTables(uint64_t budget) {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 * kKiB;
  options.filter_memory_budget = budget;
  options.filter = budget == 0 ? "blocked_bloom:10" : "blocked_bloom";
  return options;
}

constexpr uint64_t kNumbers = 40'000;

void FillNumbers(MemoryDb& db, uint64_t count = kNumbers) {
  for (uint64_t i = 0; i < count; i++) db.Put(Number(2 * i), "v");
  db.CompactAll();
  SettledFilterBudgetJson(*db);
}

void ExpectNumbers(MemoryDb& db, uint64_t count = kNumbers) {
  for (uint64_t i = 0; i < 2 * count; i += 7) {
    ASSERT_EQ(db.Get(Number(i)), i % 2 == 0 ? "v" : "(absent)") << i;
  }
}

void ExpectWithin(DB& db, uint64_t budget) {
  const Json report = SettledFilterBudgetJson(db);
  EXPECT_LE(report["resident_bytes"], budget + kUnit) << report;
  EXPECT_LE(report["peak_bytes"], budget + kUnit) << report;
  // Counted once, whichever file it is read from.
  EXPECT_EQ(Memory(db)["filters"], report["resident_bytes"]);
}

TEST(RefilterBudget, GivesUnitsToFiltersFromBeforeTheBudget) {
  MemoryDb db(ManyTables(0));
  FillNumbers(db);
  const size_t files = FilesNamed(db, ".sst").size();
  SetBudget(db, 1 << 20);
  EXPECT_EQ(*db->GetOption("filter"), "blocked_bloom");
  const Json whole = FilterBudgetJson(*db);
  EXPECT_EQ(whole["dropped_bytes"], 0u);

  const RefilterInfo info = RefilterOrFail(db, {});
  EXPECT_EQ(info.files_refiltered, files);
  EXPECT_EQ(info.files_restored, 0u);
  EXPECT_EQ(FilesWith(*db, "blocked_bloom"), files);
  const uint64_t all = SettledFilterBudgetJson(*db)["resident_bytes"];
  EXPECT_GT(all, whole["resident_bytes"]) << "the budget has more than ten bits a key";
  ExpectNumbers(db);

  SetBudget(db, all * 2 / 3);
  EXPECT_LE(FilterBudgetJson(*db)["resident_bytes"], all * 2 / 3);
  EXPECT_GT(FilterBudgetJson(*db)["dropped_bytes"], 0u);
  EXPECT_EQ(Memory(*db)["filters"], FilterBudgetJson(*db)["resident_bytes"]);
  ExpectNumbers(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  SetBudget(db, 1 << 20);
  const RefilterInfo again = RefilterOrFail(db, {});
  EXPECT_EQ(again.files_current, files);
  EXPECT_EQ(again.files_refiltered + again.bytes_read, 0u);
  EXPECT_EQ(SettledFilterBudgetJson(*db)["resident_bytes"], all)
      << "units are read from filter files again";
  db.CloseDb();
  db.options().filter = "";
  db.options().filter_memory_budget = 1 << 20;
  db.Reopen();
  EXPECT_EQ(SettledFilterBudgetJson(*db)["resident_bytes"], all);
  EXPECT_EQ(FilesWith(*db, "blocked_bloom"), files);
  ExpectNumbers(db);

  // Without the budget such filters are none that the settings name.
  SetBudget(db, 0);
  EXPECT_EQ(RefilterOrFail(db, {}).files_refiltered, files);
  EXPECT_EQ(RefilterOrFail(db, {}).files_current, files);
  ExpectNumbers(db);
}

TEST(RefilterBudget, SizesFiltersForABudgetThatIsSmallerThanAUnitOfEach) {
  constexpr uint64_t kMany = 200'000;
  MemoryDb db(ManyTables(1 << 20));
  FillNumbers(db, kMany);
  db.Reopen();
  const size_t files = FilesNamed(db, ".sst").size();
  const uint64_t all = FilterBudgetJson(*db)["resident_bytes"];  // 20 bits a key, in two units
  const uint64_t small = all / 6;
  const absl::Status refused = db->SetOption("filter_memory_budget", absl::StrCat(small));
  EXPECT_TRUE(absl::StrContains(refused.message(), "RefilterOptions::filter_memory_budget"))
      << refused;
  RefilterOptions options;
  options.filter_memory_budget = small;
  EXPECT_EQ(RefilterOrFail(db, options).files_refiltered, files);
  EXPECT_EQ(RefilterOrFail(db, options).files_current, files);
  SetBudget(db, small);
  ExpectWithin(*db, 1 << 20);
  EXPECT_LE(FilterBudgetJson(*db)["resident_bytes"], small);
  const Json budget = FilterBudgetJson(*db);
  for (const Json& row : budget["levels"]) EXPECT_LT(row["expected_fpr"], 0.7) << row;
  ExpectNumbers(db, kMany);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());

  // And back: the tables' own filters are of the planned size again, and nothing is read.
  SetBudget(db, 1 << 20);
  const RefilterInfo back = RefilterOrFail(db, {});
  EXPECT_EQ(back.files_restored, files);
  EXPECT_EQ(back.bytes_read, 0u);
  EXPECT_EQ(SettledFilterBudgetJson(*db)["resident_bytes"], all);
  ExpectNumbers(db, kMany);
}

// The smallest that works, as an error names it; 0: it names none.
uint64_t LeastNamed(const absl::Status& refused) {
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  const std::string text(refused.message());
  const std::string words = "the smallest that works is ";
  const size_t at = text.find(words);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + words.size()));
}

TEST(RefilterBudget, TooFewBytesAreRefusedWithTheFewestThatWork) {
  constexpr uint64_t kMany = 400'000;
  for (const char* const filter : {"blocked_bloom", "bloom", "ribbon"}) {
    SCOPED_TRACE(filter);
    MemoryDb db(ManyTables(2 << 20));
    FillNumbers(db, kMany);
    RefilterOptions options;
    options.filter = filter;
    options.filter_memory_budget = 56 * kKiB;
    const uint64_t least = LeastNamed(db->Refilter(options).status());
    ASSERT_GT(least, 56 * kKiB);
    EXPECT_LT(least, 100 * kKiB) << "a bit a key, and what tables of 1,800 keys add";
    EXPECT_EQ(*db->GetOption("filter"), "blocked_bloom") << "nothing has changed";
    EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
    EXPECT_GT(LeastNamed(db->PlanFilters(1).status()), 56 * kKiB);
    options.filter_memory_budget = least - 1;
    EXPECT_EQ(LeastNamed(db->Refilter(options).status()), least);
    options.filter_memory_budget = least;
    RefilterOrFail(db, options);
    SetBudget(db, least);
    EXPECT_LE(FilterBudgetJson(*db)["resident_bytes"], least);
    const Json budget = FilterBudgetJson(*db);
    for (const Json& row : budget["levels"]) EXPECT_LT(row["expected_fpr"], 0.7) << row;
    ExpectNumbers(db, kMany);
    // Of filters that are there the size is known exactly.
    const uint64_t exact = LeastNamed(db->SetOption("filter_memory_budget", "1K"));
    SetBudget(db, exact);
    const auto plans = db->PlanFilters(exact);
    EXPECT_TRUE(plans.ok()) << plans.status();
  }
}

// Of three bits a key one unit is written, of five two: the first of them is about as large.
TEST(RefilterBudget, OneUnitAsLargeAsTheFirstOfTwoIsNotTakenForBoth) {
  constexpr uint64_t kMany = 200'000;
  Options in_few_tables = ManyTables(1 << 20);
  in_few_tables.target_file_bytes = 1 << 20;
  in_few_tables.filter = "ribbon";
  MemoryDb db(in_few_tables);
  FillNumbers(db, kMany);
  const size_t files = FilesNamed(db, ".sst").size();
  RefilterOptions options;
  options.filter_memory_budget = kMany * 3 / 8;
  EXPECT_EQ(RefilterOrFail(db, options).files_refiltered, files);
  EXPECT_EQ(RefilterOrFail(db, options).files_current, files);
  const auto all_bytes = [&] {
    const Json budget = FilterBudgetJson(*db);
    return budget["resident_bytes"].get<uint64_t>() + budget["dropped_bytes"].get<uint64_t>();
  };
  const uint64_t few = all_bytes();
  EXPECT_LE(few, options.filter_memory_budget);

  options.filter_memory_budget = kMany * 5 / 8;
  EXPECT_EQ(RefilterOrFail(db, options).files_refiltered, files);
  EXPECT_GT(all_bytes(), few * 5 / 4);
  EXPECT_EQ(RefilterOrFail(db, options).files_current, files);
  ExpectNumbers(db, kMany);
}

// What flushes and compactions write while the call runs is of the budget that is in force.
TEST(RefilterBudget, SizesWhatIsWrittenMeanwhileToo) {
  MemoryDb db(ManyTables(1 << 20));
  FillNumbers(db);
  RefilterOptions options;
  options.filter_memory_budget = 16 * kKiB;
  bool is_first = true;
  options.on_progress = [&](const RefilterInfo&) {
    if (!is_first) return true;
    is_first = false;
    for (uint64_t i = 0; i < kNumbers; i += 2) db.Put(Number(2 * i), "v");
    EXPECT_TRUE(db->Flush().ok());
    return true;
  };
  RefilterOrFail(db, options);
  const Json levels = FilterBudgetJson(*db)["levels"];
  for (const Json& row : levels) {
    EXPECT_LE(row["resident_bytes"].get<uint64_t>() + row["dropped_bytes"].get<uint64_t>(),
              24 * kKiB)
        << row;
  }
  ExpectNumbers(db);
}

TEST(RefilterBudget, LessThanAnyBudgetMayBeIsRefused) {
  MemoryDb db(ManyTables(1 << 20));
  FillNumbers(db, 1000);
  RefilterOptions options;
  options.filter_memory_budget = 1000;
  EXPECT_EQ(LeastNamed(db->Refilter(options).status()), kKiB);
  EXPECT_EQ(LeastNamed(db->PlanFilters(1000).status()), kKiB);
}

TEST(RefilterBudget, ABudgetToSizeByNeedsABudgetToKeep) {
  MemoryDb db(ManyTables(0));
  FillNumbers(db, 1000);
  RefilterOptions options;
  options.filter_memory_budget = 1 << 20;
  const auto info = db->Refilter(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(info.status())) << info.status();
}

TEST(RefilterBudget, KeepsWithinTheBudgetWhileFiltersAreReplaced) {
  constexpr uint64_t kBudget = 64 * kKiB;
  MemoryDb db(ManyTables(kBudget));
  FillNumbers(db);
  db.Reopen();  // the first flush had larger units
  const size_t files = FilesNamed(db, ".sst").size();
  EXPECT_GT(FilterBudgetJson(*db)["dropped_bytes"], 0u);
  ExpectWithin(*db, kBudget);
  for (const char* const filter : {"ribbon", "cuckoo", "auto", "blocked_bloom"}) {
    SCOPED_TRACE(filter);
    const RefilterInfo info = RefilterOrFail(db, {.filter = filter});
    EXPECT_EQ(info.files_refiltered, files);
    EXPECT_EQ(FilesWith(*db, filter), files);
    ExpectNumbers(db);
    ExpectWithin(*db, kBudget);
    EXPECT_GT(FilterBudgetJson(*db)["resident_bytes"], kBudget / 3) << FilterBudgetJson(*db);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  }
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>()) << "the tables' own, at the end";
  // Iterators hold tables with the filters that they began with, which count as well.
  const auto iterator = db->NewIterator(ReadOptions());
  iterator->SeekToFirst();
  RefilterOrFail(db, {.filter = "ribbon"});
  ExpectNumbers(db);
  EXPECT_LE(FilterBudgetJson(*db)["peak_bytes"], kBudget + kUnit);
  for (uint64_t i = 0; i < kNumbers; i++, iterator->Next()) {
    ASSERT_TRUE(iterator->Valid());
    ASSERT_EQ(iterator->key(), Number(2 * i));
  }
}

TEST(RefilterBudget, ABudgetAndAnAmountAreNotBothGiven) {
  MemoryDb db(ManyTables(1 << 20));
  FillNumbers(db, 2000);
  EXPECT_TRUE(absl::IsInvalidArgument(db->Refilter({.filter = "ribbon:1%"}).status()));
  EXPECT_EQ(*db->GetOption("filter"), "blocked_bloom");
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  ExpectNumbers(db, 2000);
}

class DegradedFilters final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kFilterDegraded) paths.push_back(event.path);
  }
  std::vector<std::string> paths;  // by the events' own thread, and read once it is closed
};

// One table, whose filter file has units that do not all fit.
class DamagedFilterFile : public testing::Test {
 protected:
  static constexpr uint64_t kScant = 64 * kKiB;
  static constexpr uint64_t kMany = 100'000;

  DamagedFilterFile() : db_(LargeTable(events_)) {
    FillNumbers(db_, kMany);
    RefilterOrFail(db_, {.filter = "blocked_bloom"});
    EXPECT_EQ(FilesWith(*db_, "blocked_bloom"), 1u);
    EXPECT_GT(FilterBudgetJson(*db_)["dropped_bytes"], 0u);
    db_.CloseDb();
    const auto filters = BytesOf(db_, ".flt");
    EXPECT_EQ(filters.size(), 1u);
    name_ = filters.begin()->first;
    sound_ = filters.begin()->second;
    block_at_ = sound_.find("WNWFILTR");
    EXPECT_NE(block_at_, std::string::npos);
    db_.options().filter = "";
  }

  static Options LargeTable(const std::shared_ptr<DegradedFilters>& events) {
    Options options = ManyTables(kScant);
    options.target_file_bytes = 64 << 20;
    options.filter = "ribbon";
    options.listeners = {events};
    return options;
  }

  void DamageAt(size_t at) {
    std::string damaged = sound_;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    Overwrite(db_, name_, damaged);
  }

  uint64_t Damaged() { return db_->GetStatistics().Get(Ticker::kFiltersDamaged); }

  const std::shared_ptr<DegradedFilters> events_ = std::make_shared<DegradedFilters>();
  MemoryDb db_;
  std::string name_;
  std::string sound_;
  size_t block_at_ = 0;
};

TEST_F(DamagedFilterFile, InAUnitThatIsReadAtOnceLeavesTheTablesOwn) {
  DamageAt(block_at_ + 64 + 1000);
  db_.Reopen();
  EXPECT_EQ(Damaged(), 1u);
  EXPECT_EQ(FilesWith(*db_, "ribbon"), 1u);
  ExpectNumbers(db_, kMany);
  EXPECT_FALSE(VerifyMessages(*db_).empty());
  const Json report = FilterBudgetJson(*db_);
  EXPECT_GT(report["resident_bytes"], 0u);
  EXPECT_EQ(report["levels"][0]["kind"], "ribbon");
  EXPECT_EQ(Memory(*db_)["filters"], report["resident_bytes"]);
  // And the next time it is gone.
  db_.Reopen();
  EXPECT_EQ(Damaged(), 0u);
  EXPECT_EQ(FilesNamed(db_, ".flt"), std::vector<std::string>());
  EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
  RefilterOrFail(db_, {});
  EXPECT_EQ(FilesWith(*db_, "blocked_bloom"), 1u);
  ExpectNumbers(db_, kMany);
}

TEST_F(DamagedFilterFile, InAUnitThatIsReadLaterCostsThatUnit) {
  DamageAt(sound_.size() - 1000);
  db_.Reopen();
  EXPECT_EQ(Damaged(), 0u) << "nobody has read it";
  EXPECT_FALSE(VerifyMessages(*db_).empty());
  ExpectNumbers(db_, kMany);
  SetBudget(db_, 1 << 20);
  EXPECT_EQ(Damaged(), 1u);
  EXPECT_EQ(FilesWith(*db_, "blocked_bloom"), 1u) << "the other units go on";
  ExpectNumbers(db_, kMany);
  SetBudget(db_, (1 << 20) + 1);
  EXPECT_EQ(Damaged(), 1u) << "not tried again";
  const absl::StatusOr<RefilterInfo> made = db_->Refilter({.filter = "cuckoo"});
  ASSERT_TRUE(made.ok()) << made.status();
  ExpectNumbers(db_, kMany);
  EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
  db_.CloseDb();
  ASSERT_EQ(events_->paths.size(), 1u);
  EXPECT_TRUE(events_->paths[0].ends_with(name_)) << events_->paths[0];
}

// Readers, filters that are replaced, and a budget that goes up and down.
TEST(RefilterBudgetThreads, NoKeyIsMissed) {
  MemoryDb db(ManyTables(64 * kKiB));
  constexpr uint64_t kFew = 20'000;
  FillNumbers(db, kFew);
  NumberReaders readers(*db, kFew);
  std::atomic<bool> stop{false};
  std::thread changes_budget([&] {
    std::mt19937_64 random(99);
    while (!stop.load(std::memory_order_relaxed)) {
      const uint64_t budget = 64 * kKiB + random() % (64 * kKiB);
      db->SetOption("filter_memory_budget", absl::StrCat(budget)).IgnoreError();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < (LongTests() ? 200 : 6); i++) {
    for (const char* const filter : {"ribbon", "bloom", "blocked_bloom"}) {
      RefilterOrFail(db, {.filter = filter});
    }
  }
  stop.store(true);
  changes_budget.join();
  readers.Stop();
  EXPECT_EQ(readers.missed(), 0u);
  EXPECT_GT(readers.found(), 0u);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

}  // namespace
}  // namespace winnow::refilter
