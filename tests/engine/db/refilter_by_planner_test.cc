// Under Options::filter_memory_budget the database refilters by itself what repays it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "filter/base/mutex.h"
#include "tests/engine/db/refilter_database.h"
#include "tests/support/filter_budget_json.h"
#include "tests/support/steady_clock_hook.h"
#include "tests/support/verify_messages.h"
#include "winnow/event_listener.h"

namespace winnow::refilter_by_planner {
namespace {

using refilter::FilesNamed;
using refilter::FilesWith;
using refilter::Number;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr uint64_t kNumKeys = 100'000;
constexpr uint64_t kHotKeys = 1000;           // of the first table
constexpr uint64_t kSmallBudget = 64 << 10;   // about five bits a key
constexpr uint64_t kAmpleBudget = 512 << 10;  // as many as are of any use

// Kept by the events' own thread.
class PlannedRefilters final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    const bool begins = event.kind == Event::Kind::kRefilterBegin;
    if (!begins && event.kind != Event::Kind::kRefilterEnd) return;
    if (event.path.empty()) return;
    {
      MutexLock lock(&mutex_);
      events_.push_back(event);
    }
    if (begins) begun.fetch_add(1);
  }
  std::vector<Event> events() {
    MutexLock lock(&mutex_);
    return events_;
  }
  std::atomic<int> begun{0};

 private:
  Mutex mutex_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
};

// Tables of about 8000 keys each.
Options ManySmallTables(uint64_t budget) {
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.background_threads = 2;
  options.target_file_bytes = 64 << 10;
  options.filter_memory_budget = budget;
  options.filter = "blocked_bloom";
  return options;
}

// A database whose tables are all in the last level: even numbers are there, odd ones are not.
class RefilterByPlanner : public testing::Test {
 protected:
  void Open(Options options) {
    options.listeners.push_back(events_);
    db_ = std::make_unique<MemoryDb>(options);
    family_ = (*db_)->DefaultColumnFamily();
  }

  void Fill() {
    for (uint64_t i = 0; i < kNumKeys; i++) {
      ASSERT_TRUE((*db_)->Put(WriteOptions(), family_, Number(2 * i), "v").ok());
    }
    ASSERT_TRUE((*db_)->CompactRange(family_, std::nullopt, std::nullopt).ok());
  }

  // Filters of five bits, in a database that has room for twenty.
  void FillWithFiltersThatAreTooSmall(Options options = ManySmallTables(kSmallBudget)) {
    Open(options);
    Fill();
    SetBudget(kAmpleBudget);
  }

  void SetBudget(uint64_t bytes) {
    const absl::Status set = (*db_)->SetOption("filter_memory_budget", absl::StrCat(bytes));
    ASSERT_TRUE(set.ok()) << set;
  }

  // Every change of the budget plans anew, with what was measured.
  void Replan() {
    const uint64_t bytes = Budget()["budget_bytes"];
    SetBudget(bytes + 1);
    SetBudget(bytes);
  }

  Json Budget() { return FilterBudgetJson(**db_); }

  // How many blocks were read for so many look-ups of what is not there, near the first keys.
  uint64_t AskForAbsent(int times, uint64_t num_keys = kHotKeys) {
    const auto blocks = [this] {
      return Counted(Ticker::kDataBlocksRead) + Counted(Ticker::kBlockCacheHits);
    };
    const uint64_t before = blocks();
    std::string value;
    for (int i = 0; i < times; i++) {
      const std::string key = absl::StrCat(Number(2 * (random_() % num_keys)), "/", random_());
      EXPECT_TRUE(absl::IsNotFound((*db_)->Get(ReadOptions(), family_, key, &value)));
    }
    return blocks() - before;
  }

  // Looks up and plans until it is so; false: it does not come to be so.
  bool AskUntil(const std::function<bool()>& is_so, uint64_t num_keys = kHotKeys) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      AskForAbsent(5000, num_keys);
      LetTimePass();
      Replan();
    }
    return true;
  }

  bool HasEndedWith(absl::StatusCode code) {
    for (const Event& event : events_->events()) {
      if (event.kind == Event::Kind::kRefilterEnd && event.status.code() == code) return true;
    }
    return false;
  }

  int TriesOf(std::string_view file) {
    int tries = 0;
    for (const Event& event : events_->events()) {
      if (event.kind == Event::Kind::kRefilterBegin && event.path.ends_with(file)) tries++;
    }
    return tries;
  }

  // From now on a round takes as long on a slow machine as on a fast one.
  void StopClock() { clock_ = std::make_unique<StoppedSteadyClock>(); }
  // Between two rounds of look-ups.
  void LetTimePass() {
    constexpr std::chrono::milliseconds kBetweenRounds{2};
    if (clock_ != nullptr) AdvanceSteadyClock(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(kBetweenRounds);
  }

  uint64_t Counted(Ticker ticker) { return (*db_)->GetStatistics().Get(ticker); }
  uint64_t NumPlanned() { return Counted(Ticker::kFilesRefilteredByPlanner); }

  // Of one table with values of 500 bytes and a filter that is too small: rounds of few look-ups
  // until it has a larger one.
  int RoundsUntilPlanned(std::string_view key_hashes_ratio) {
    constexpr uint64_t kKeys = 8000;
    Options options = ManySmallTables(5 << 10);
    options.target_file_bytes = size_t{64} << 20;
    EXPECT_TRUE(SetOption(&options, "key_hashes_ratio", key_hashes_ratio).ok());
    Open(options);
    for (uint64_t i = 0; i < kKeys; i++) db_->Put(Number(2 * i), std::string(500, 'v'));
    db_->CompactAll();
    SetBudget(40 << 10);
    int rounds = 0;
    while (NumPlanned() == 0 && rounds < 1000) {
      AskForAbsent(200, kKeys);
      LetTimePass();
      Replan();
      rounds++;
    }
    EXPECT_EQ(NumPlanned(), 1u);
    EXPECT_EQ(VerifyMessages(**db_), std::vector<std::string>());
    return rounds;
  }

  void ExpectNumbers(uint64_t step = 7) {
    std::string value;
    for (uint64_t i = 0; i < 2 * kNumKeys; i += step) {
      const bool is_there = (*db_)->Get(ReadOptions(), family_, Number(i), &value).ok();
      ASSERT_EQ(is_there, i % 2 == 0) << i;
    }
  }
  void ExpectSound() {
    ExpectNumbers();
    EXPECT_EQ(VerifyMessages(**db_), std::vector<std::string>());
  }

  const std::shared_ptr<PlannedRefilters> events_ = std::make_shared<PlannedRefilters>();
  std::unique_ptr<StoppedSteadyClock> clock_;
  std::unique_ptr<MemoryDb> db_;
  ColumnFamily* family_ = nullptr;
  std::mt19937_64 random_{1};
};

// Of a thousand blocks of data, twice which a larger filter has to save, or of the sixteen that
// hold the hashes of its keys.
TEST_F(RefilterByPlanner, ATableWithKeyHashesIsRefilteredForFewerLookups) {
  StopClock();
  const int by_data = RoundsUntilPlanned("0");
  const uint64_t data_read = Counted(Ticker::kRefilterBytesRead);
  const int by_hashes = RoundsUntilPlanned("0.02");
  EXPECT_LT(Counted(Ticker::kRefilterBytesRead), data_read / 40);
  EXPECT_LT(3 * by_hashes, by_data);
}

TEST_F(RefilterByPlanner, TheTableThatIsAskedGetsALargerFilterAndOthersAreLeft) {
  StopClock();
  FillWithFiltersThatAreTooSmall();
  for (int i = 0; i < 20; i++) {
    LetTimePass();
    Replan();
  }
  EXPECT_EQ(events_->begun.load(), 0) << "nobody has asked";
  EXPECT_EQ(Budget()["last_refilter"], "");
  EXPECT_EQ((*db_)->PlanFilters(kAmpleBudget)->last_refilter, "");

  ASSERT_TRUE(AskUntil([&] { return NumPlanned() > 0; }));
  // A hundred rounds more, in which nothing is left to be done.
  int rounds = 0;
  ASSERT_TRUE(AskUntil([&] { return ++rounds > 100; }));
  EXPECT_EQ(NumPlanned(), 1u);
  EXPECT_EQ(FilesNamed(*db_, ".flt").size(), 1u);
  EXPECT_LT(AskForAbsent(20'000), 100u) << "where five bits let a tenth through";
  EXPECT_EQ(Counted(Ticker::kRefilters), 0u) << "calls";
  EXPECT_EQ(Counted(Ticker::kFilesRefiltered), 1u);
  EXPECT_GT(Counted(Ticker::kRefilterBytesRead), 0u);
  ExpectSound();

  const std::string said = Budget()["last_refilter"];
  EXPECT_THAT(said, StartsWith("refiltered 0"));
  EXPECT_THAT(said, HasSubstr(".sst of family 'default', level 6, from "));
  EXPECT_THAT(said, HasSubstr(" to 20 bits a key: "));
  EXPECT_THAT(said, HasSubstr(" needless reads a second less, repaid in "));
  EXPECT_THAT(*(*db_)->GetProperty("winnow.filter-budget"), HasSubstr(said));
  const FilterPlans plans = *(*db_)->PlanFilters(kAmpleBudget);
  EXPECT_EQ(plans.last_refilter, said);
  EXPECT_THAT(plans.ToTable(), HasSubstr(said));
  EXPECT_EQ(Json::parse(plans.ToJson())["last_refilter"], said);

  db_->CloseDb();
  const std::vector<Event> events = events_->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_THAT(events[0].path, HasSubstr(said.substr(11, 10)));  // NNNNNN.sst
  EXPECT_EQ(events[0].message, "blocked_bloom");
  EXPECT_THAT(events[0].ToString(), HasSubstr("chosen by the planner, begins"));
  EXPECT_EQ(events[1].num_outputs, 1u);
  EXPECT_GT(events[1].bytes_read, 0u);
  EXPECT_TRUE(events[1].status.ok()) << events[1].status;
  // Saved with the statistics, for those who look from outside.
  const auto saved = DB::ReadStatistics(db_->options(), MemoryDb::kPath);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(Json::parse(saved->filter_budget_json)["last_refilter"], said);
}

TEST_F(RefilterByPlanner, LeavesFamiliesAloneThatAreNotCompactedByThemselves) {
  Options options = ManySmallTables(kSmallBudget);
  options.disable_auto_compactions = true;
  FillWithFiltersThatAreTooSmall(options);
  int rounds = 0;
  ASSERT_TRUE(AskUntil([&] { return ++rounds > 20; }));
  EXPECT_EQ(events_->begun.load(), 0);
  EXPECT_EQ(NumPlanned(), 0u);
  ASSERT_TRUE((*db_)->SetOption("disable_auto_compactions", "false").ok());
  EXPECT_TRUE(AskUntil([&] { return NumPlanned() > 0; }));
}

TEST_F(RefilterByPlanner, ATableOfAnotherKindGetsTheKindThatIsSet) {
  Open(ManySmallTables(kSmallBudget));
  Fill();
  ASSERT_TRUE((*db_)->SetFilter("ribbon", "whole").ok());
  // Counted first, and then put into words.
  const auto last = [&] { return Budget()["last_refilter"].get<std::string>(); };
  ASSERT_TRUE(AskUntil([&] { return NumPlanned() > 0 && !last().empty(); }));
  EXPECT_EQ(FilesWith(**db_, "ribbon"), 1u);
  EXPECT_THAT(last(), HasSubstr("from blocked_bloom of "));
  ExpectSound();
}

TEST_F(RefilterByPlanner, ATableWithoutAFilterGetsOne) {
  Options options = ManySmallTables(kAmpleBudget);
  options.filter = "none";
  Open(options);
  Fill();
  ASSERT_TRUE((*db_)->SetFilter("blocked_bloom", "whole").ok());
  ASSERT_TRUE(AskUntil([&] { return NumPlanned() > 0; }));
  EXPECT_EQ(FilesWith(**db_, "blocked_bloom"), 1u);
  EXPECT_LT(AskForAbsent(20'000), 100u);
  ExpectSound();
}

TEST_F(RefilterByPlanner, NoKeyIsMissedBesideReaders) {
  FillWithFiltersThatAreTooSmall();
  refilter::NumberReaders readers(**db_, kNumKeys);
  const size_t files = FilesNamed(*db_, ".sst").size();
  // Not as many refilterings as tables: one that is asked more often gets a larger filter again,
  // before others have got theirs.
  const auto num_filters = [&] { return FilesNamed(*db_, ".flt").size(); };
  const bool are_done = AskUntil([&] { return num_filters() == files; }, kNumKeys);
  readers.Stop();
  EXPECT_TRUE(are_done) << num_filters() << " of " << files << ", " << NumPlanned()
                        << " refiltered";
  EXPECT_EQ(readers.missed(), 0u);
  EXPECT_LE(Budget()["peak_bytes"], kAmpleBudget + 8 * 1024);
  ExpectSound();
}

// Of one table, which is read for ten seconds and more, so that others come meanwhile.
class RefilterByPlannerSlowly : public RefilterByPlanner {
 protected:
  static Options OneTable(uint64_t budget = kSmallBudget) {
    Options options = ManySmallTables(budget);
    options.target_file_bytes = 4 << 20;
    return options;
  }

  void Begin() {
    SetSpeed("64K");
    ASSERT_TRUE(AskUntil([&] { return events_->begun.load() > 0; }));
  }
  void SetSpeed(const char* bytes_per_second) {
    const absl::Status set = (*db_)->SetOption("background_bytes_per_second", bytes_per_second);
    ASSERT_TRUE(set.ok()) << set;
  }
  // Once it has ended.
  absl::Status Ended() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end) {
      for (const Event& event : events_->events()) {
        if (event.kind == Event::Kind::kRefilterEnd) return event.status;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return absl::DeadlineExceededError("it does not end");
  }
};

TEST_F(RefilterByPlannerSlowly, ItGivesWayWhenItIsNotWantedAnyMore) {
  FillWithFiltersThatAreTooSmall(OneTable());
  Begin();
  ASSERT_TRUE((*db_)->SetOption("disable_auto_compactions", "true").ok());
  EXPECT_TRUE(absl::IsCancelled(Ended())) << Ended();
  EXPECT_EQ(NumPlanned(), 0u);
  EXPECT_EQ(FilesNamed(*db_, ".flt"), std::vector<std::string>());
  ExpectSound();
}

TEST_F(RefilterByPlannerSlowly, ClosingEndsIt) {
  FillWithFiltersThatAreTooSmall(OneTable());
  Begin();
  ASSERT_TRUE((*db_)->Close().ok());
  EXPECT_TRUE(Ended().ok() || absl::IsCancelled(Ended())) << Ended();
  db_->CloseDb();
  db_->options().filter_memory_budget = kAmpleBudget;
  db_->Reopen();
  family_ = (*db_)->DefaultColumnFamily();
  ExpectSound();
}

TEST_F(RefilterByPlannerSlowly, ACallOfRefilterComesFirst) {
  FillWithFiltersThatAreTooSmall(OneTable());
  Begin();
  std::thread caller([&] {
    const RefilterInfo info = refilter::RefilterOrFail(*db_, {.filter = "ribbon"});
    EXPECT_EQ(info.files_refiltered, 1u);
  });
  EXPECT_TRUE(absl::IsCancelled(Ended())) << Ended();
  SetSpeed("0");
  caller.join();
  EXPECT_EQ(FilesWith(**db_, "ribbon"), 1u);
  ExpectSound();
}

TEST_F(RefilterByPlannerSlowly, ACompactionComesFirst) {
  FillWithFiltersThatAreTooSmall(OneTable());
  Begin();
  db_->Put(Number(1), "v");
  db_->Delete(Number(1));
  std::thread caller([&] { db_->CompactAll(); });
  EXPECT_TRUE(absl::IsCancelled(Ended())) << Ended();
  SetSpeed("0");
  caller.join();
  ExpectSound();
}

TEST_F(RefilterByPlannerSlowly, DroppingTheFamilyEndsIt) {
  Open(OneTable());
  ColumnFamilyOptions options = OneTable();
  const auto users = (*db_)->CreateColumnFamily(options, "users");
  ASSERT_TRUE(users.ok()) << users.status();
  family_ = *users;
  Fill();
  SetBudget(kAmpleBudget);
  Begin();
  ASSERT_TRUE((*db_)->DropColumnFamily(family_).ok());
  EXPECT_TRUE(absl::IsCancelled(Ended())) << Ended();
  db_->options().filter_memory_budget = kAmpleBudget;
  db_->Reopen();
  EXPECT_EQ(FilesNamed(*db_, ".flt"), std::vector<std::string>());
  EXPECT_EQ(VerifyMessages(**db_), std::vector<std::string>());
}

// The database goes on, says so, and tries again later.
TEST_F(RefilterByPlanner, AFilterFileThatCannotBeWrittenHarmsNothing) {
  const auto shared_code = std::make_shared<std::atomic<int>>(0);
  std::atomic<int>& code = *shared_code;
  FillWithFiltersThatAreTooSmall();
  db_->file_system().set_error_hook([shared_code](const FileOperation& operation) {
    const bool writes = operation.kind == FileOperation::Kind::kCreate ||
                        operation.kind == FileOperation::Kind::kAppend;
    if (!writes || !operation.path.ends_with(".flt")) return absl::OkStatus();
    if (shared_code->load() == 1) return absl::ResourceExhaustedError("no space left");
    if (shared_code->load() == 2) return absl::UnavailableError("an I/O error");
    return absl::OkStatus();
  });
  for (const int failing : {1, 2}) {
    code.store(failing);
    const std::string reason = failing == 1 ? "no space left" : "an I/O error";
    ASSERT_TRUE(AskUntil([&] {
      const std::string said = Budget()["last_refilter"];
      return said.starts_with("could not refilter") && said.find(reason) != std::string::npos;
    }));
    EXPECT_EQ(FilesNamed(*db_, ".flt"), std::vector<std::string>());
    EXPECT_EQ(*(*db_)->GetProperty("winnow.background-error"), "");
    ExpectNumbers();
    db_->Put(Number(0), "v");
    db_->Flush();
  }
  code.store(0);
  EXPECT_EQ(NumPlanned(), 0u);
  ASSERT_TRUE(AskUntil([&] { return NumPlanned() > 0; }));
  ExpectSound();
  EXPECT_TRUE(HasEndedWith(absl::StatusCode::kUnavailable));
  db_->CloseDb();
}

TEST_F(RefilterByPlanner, ADamagedTableIsReportedAndLeft) {
  Options options = ManySmallTables(kSmallBudget);
  options.background_threads = 1;  // so that tables are numbered in the order of their keys
  FillWithFiltersThatAreTooSmall(options);
  const std::string first = FilesNamed(*db_, ".sst").front();
  db_->CloseDb();
  std::string bytes = refilter::BytesOf(*db_, ".sst")[first];
  const size_t at = 50'000;  // in a block that nobody asks
  ASSERT_GT(bytes.size(), at);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  refilter::Overwrite(*db_, first, bytes);
  db_->options().filter_memory_budget = kAmpleBudget;
  db_->Reopen();
  family_ = (*db_)->DefaultColumnFamily();
  ASSERT_TRUE(AskUntil([&] {
    return Budget()["last_refilter"].get<std::string>().find("is damaged") != std::string::npos;
  }));
  EXPECT_THAT(Budget()["last_refilter"].get<std::string>(), HasSubstr(first));
  ASSERT_TRUE(AskUntil([&] { return HasEndedWith(absl::StatusCode::kDataLoss); }));
  // Before that some may have given way: each round plans anew, and may end what a slow machine is
  // still at.
  const int tries = TriesOf(first);
  EXPECT_GE(tries, 1);
  int rounds = 0;
  ASSERT_TRUE(AskUntil([&] { return ++rounds > 50; }));
  EXPECT_EQ(TriesOf(first), tries) << "not tried again";
}

}  // namespace
}  // namespace winnow::refilter_by_planner
