// A power failure at every step of the work that a time to live makes: what has expired never comes
// back in an older version, whatever part of the work was done.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/test_clock.h"

namespace winnow {
namespace {

constexpr char kExpiringDatabase[] = "/data/db";
constexpr int kExpiringKeys = 6;

Options ExpiryCrashOptions(FileSystem* file_system, const Clock* clock, uint64_t ttl_seconds) {
  Options options = MemoryDb::Quiet();
  options.file_system = file_system;
  options.clock = clock;
  options.ttl_seconds = ttl_seconds;
  return options;
}

std::string ExpiringKey(int i) { return absl::StrCat("key", i); }

// Of each key: a value without a time on the last level, and one with a time above it; besides,
// keys with a time alone, in files that can go whole. Then everything expires. Returns how many
// operations there were before the work, and after it.
std::pair<size_t, size_t> RunExpiry(RecordingFileSystem* memory, TestClock* clock) {
  auto db = OpenOrFail(ExpiryCrashOptions(memory, clock, 0), kExpiringDatabase);
  EXPECT_TRUE(memory->SyncDirectory("/data").ok());
  for (int i = 0; i < kExpiringKeys; i++) {
    EXPECT_TRUE(db->Put(WriteOptions(), ExpiringKey(i), "replaced").ok());
  }
  EXPECT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_TRUE(db->Close().ok());
  Options options = ExpiryCrashOptions(memory, clock, 100);
  options.disable_auto_compactions = false;
  db = OpenOrFail(options, kExpiringDatabase);
  for (int i = 0; i < kExpiringKeys; i++) {
    EXPECT_TRUE(db->Put(WriteOptions(), ExpiringKey(i), "expired").ok());
  }
  EXPECT_TRUE(db->Flush().ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "alone", "expired").ok());
  EXPECT_TRUE(db->Flush().ok());
  EXPECT_TRUE(db->Put(WriteOptions(), "in memory", "expired").ok());
  // A job that looked for files to drop before the time passes, and for files to rewrite after it,
  // would rewrite the file that is to be dropped.
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  const size_t begin = memory->num_operations();
  clock->AdvanceSeconds(100);
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  const Statistics statistics = db->GetStatistics();
  EXPECT_EQ(statistics.Get(Ticker::kExpiredFilesDropped), 1u);
  EXPECT_EQ(statistics.Get(Ticker::kExpiredEntriesDropped), uint64_t{kExpiringKeys} + 1);
  const size_t end = memory->num_operations();
  return {begin, end};
}

// Under each time to live; with none, what has not been dropped yet is there again.
void CheckExpiryState(RecordingFileSystem& state, const Clock& clock, bool must_be_gone,
                      size_t* gone) {
  for (const uint64_t ttl_seconds : {100, 0}) {
    const auto db = OpenOrFail(ExpiryCrashOptions(&state, &clock, ttl_seconds), kExpiringDatabase);
    ASSERT_NE(db, nullptr);
    for (int i = 0; i <= kExpiringKeys; i++) {
      const std::string key = i == kExpiringKeys ? "alone" : ExpiringKey(i);
      std::string value;
      const absl::Status status = db->Get(ReadOptions(), key, &value);
      if (ttl_seconds != 0 || must_be_gone) {
        ASSERT_TRUE(absl::IsNotFound(status)) << key << " = " << value;
      } else if (status.ok()) {
        ASSERT_EQ(value, "expired") << key;
      }
      *gone += absl::IsNotFound(status) ? 1 : 0;
    }
    const auto problems = db->Verify();
    ASSERT_TRUE(problems.ok());
    for (const VerifyProblem& problem : *problems) {
      ASSERT_TRUE(absl::StrContains(problem.path, ".log")) << problem.status;
    }
  }
}

TEST(ExpiryCrash, NothingComesBackThatWasReplaced) {
  RecordingFileSystem memory;
  TestClock clock;
  const auto [begin, end] = RunExpiry(&memory, &clock);
  size_t states = 0;
  size_t gone = 0;
  for (size_t operations = begin; operations <= end; operations++) {
    std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                        CrashChoice::TornLastAppend(0.5)};
    for (uint64_t seed = 1; seed <= 3; seed++) choices.push_back(CrashChoice::RandomSubset(seed));
    for (const CrashChoice& choice : choices) {
      SCOPED_TRACE(absl::StrCat("after ", operations - begin, " operations"));
      const auto state = memory.StateAfterCrash(operations, choice);
      ASSERT_NO_FATAL_FAILURE(CheckExpiryState(*state, clock, operations == end, &gone));
      states++;
    }
  }
  EXPECT_GT(gone, states * (kExpiringKeys + 1)) << "the work was done in some of them";
}

}  // namespace
}  // namespace winnow
