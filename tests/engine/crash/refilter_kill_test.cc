// A process that refilters, writes and compacts without end, and is killed at random moments: no
// key is missed, every filter is sound, and no filter file is left over. WINNOW_LONG_TESTS=1: ten
// times as many kills; WINNOW_SEED chooses the moments.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/verify_messages.h"

namespace winnow::refilter_kill {
namespace {

constexpr int kNumKeys = 3000;
constexpr const char* kFilters[] = {"ribbon:1%", "cuckoo:12", "none", "blocked_bloom:10",
                                    "binary_fuse:0.4%"};
constexpr const char* kUnderBudget[] = {"ribbon", "blocked_bloom", "bloom"};

std::string KeyAt(int i) { return absl::StrCat("key", 10'000 + i); }

Options SmallTables(uint64_t budget) {
  Options options;
  options.create_if_missing = true;
  options.target_file_bytes = 64 << 10;
  options.write_buffer_bytes = 64 << 10;
  options.level_base_bytes = 256 << 10;
  options.filter = budget == 0 ? "" : "blocked_bloom";
  options.filter_memory_budget = budget;
  return options;
}

// The process that is killed. Its end by itself is a failure, which its exit code tells.
[[noreturn]] void RefilterForEver(const std::string& path, uint64_t budget, uint64_t seed) {
  auto opened = DB::Open(SmallTables(budget), path);
  if (!opened.ok()) _exit(1);
  DB& db = **opened;
  std::thread writer([&db, seed] {
    std::mt19937_64 random(seed);
    for (;;) {
      const std::string key = KeyAt(static_cast<int>(random() % kNumKeys) * 2);
      if (!db.Put(WriteOptions(), key, std::string(100, 'w')).ok()) _exit(2);
    }
  });
  for (uint64_t round = seed;; round++) {
    const char* const filter = budget == 0 ? kFilters[round % std::size(kFilters)]
                                           : kUnderBudget[round % std::size(kUnderBudget)];
    if (!db.Refilter({.filter = filter}).ok()) _exit(3);
  }
}

void Check(const std::string& path, uint64_t budget) {
  Options options = SmallTables(budget);
  options.filter = "";  // as recorded
  auto db = OpenOrFail(options, path);
  ASSERT_NE(db, nullptr);
  std::string value;
  for (int i = 0; i < 2 * kNumKeys; i++) {
    ASSERT_EQ(db->Get(ReadOptions(), KeyAt(i), &value).ok(), i % 2 == 0) << KeyAt(i);
  }
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  ASSERT_TRUE(db->Close().ok());
  // Closing and opening again has removed what no table names.
  db = OpenOrFail(options, path);
  ASSERT_NE(db, nullptr);
  size_t tables = 0;
  size_t filters = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    tables += entry.path().extension() == ".sst" ? 1 : 0;
    filters += entry.path().extension() == ".flt" ? 1 : 0;
  }
  EXPECT_LE(filters, tables);
  ASSERT_TRUE(db->Close().ok());
}

void SurvivesKills(uint64_t budget) {
  const ScratchDirectory directory("refilter-kill");
  const std::string path = directory.path() + "/db";
  {
    const auto db = OpenOrFail(SmallTables(budget), path);
    ASSERT_NE(db, nullptr);
    for (int i = 0; i < 2 * kNumKeys; i += 2) {
      ASSERT_TRUE(db->Put(WriteOptions(), KeyAt(i), std::string(100, 'v')).ok());
    }
    ASSERT_TRUE(db->Close().ok());
  }
  const uint64_t seed = Seeds(1).front();
  std::mt19937_64 random(seed);
  const uint64_t num_kills = LongTests() ? 1000 : 100 / kFewerBy;
  for (uint64_t kill_number = 0; kill_number < num_kills; kill_number++) {
    const uint64_t child_seed = random();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) RefilterForEver(path, budget, child_seed);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 70));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the process ended with " << WEXITSTATUS(status);
    Check(path, budget);
    if (testing::Test::HasFailure()) FAIL() << "WINNOW_SEED=" << seed << ", kill " << kill_number;
  }
}

TEST(RefilterKill, MissesNoKey) { SurvivesKills(0); }
TEST(RefilterKill, MissesNoKeyUnderABudget) { SurvivesKills(uint64_t{64} << 10); }

}  // namespace
}  // namespace winnow::refilter_kill
