// Eight threads of a process that is killed count in a table, each step synced: what a call has
// returned is counted after the kill, once, and nothing that was never begun. WINNOW_LONG_TESTS=1:
// ten times as many kills; WINNOW_SEED chooses the moments.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/crash/kill_test_rows.h"
#include "tests/engine/crash/shared_with_child.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/verify_messages.h"
#include "winnow/table.h"

namespace winnow {
namespace {

constexpr size_t kCounters = 8;
constexpr char kShared[] = "shared";

std::string OwnCounter(size_t thread) { return absl::StrCat("own", thread); }

// In memory that parent and child share. Each step of a thread is one of the shared counter and
// then one of its own.
struct Steps {
  struct OfThread {
    std::atomic<int64_t> shared_begun{0};
    std::atomic<int64_t> shared_done{0};
    std::atomic<int64_t> own_begun{0};
    std::atomic<int64_t> own_done{0};
  };
  std::array<OfThread, kCounters> threads;

  int64_t NumDone() const {
    int64_t done = 0;
    for (const OfThread& thread : threads) done += thread.own_done;
    return done;
  }
};
static_assert(std::atomic<int64_t>::is_always_lock_free);

// The process that is killed. Its end by itself is a failure, which its exit code tells.
[[noreturn]] void CountForEver(const std::string& path, Steps* steps) {
  auto opened = TableDatabase::Open(KillTestOptions(), path);
  if (!opened.ok()) _exit(1);
  TableDatabase& tables = **opened;
  const auto table = tables.FindTable("t");
  if (!table.ok()) _exit(2);
  WriteOptions durably;
  durably.sync = true;
  std::vector<std::thread> threads;
  for (size_t number = 0; number < kCounters; number++) {
    threads.emplace_back([&, number] {
      Steps::OfThread& mine = steps->threads[number];
      const std::string own = OwnCounter(number);
      for (;;) {
        mine.shared_begun++;
        if (!tables.Increment(durably, *table, "r", "f", kShared, 1).ok()) _exit(3);
        mine.shared_done++;
        mine.own_begun++;
        const auto counted = tables.Increment(durably, *table, "r", "f", own, 1);
        // Nobody else counts there.
        if (!counted.ok() || *counted != mine.own_begun) _exit(4);
        mine.own_done++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(5);
}

int64_t Counted(TableDatabase& tables, Table* table, const std::string& counter) {
  // Of an absent one, too.
  const auto read = tables.Increment(WriteOptions(), table, "r", "f", counter, 0);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.value_or(0);
}

// After the kill what was begun and not done may have been counted or not: from here on it is
// known.
void CheckCounters(const std::string& path, Steps* steps) {
  auto opened = TableDatabase::Open(KillTestOptions(), path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  TableDatabase& tables = **opened;
  Table* const table = *tables.FindTable("t");
  int64_t begun = 0;
  int64_t done = 0;
  for (size_t number = 0; number < kCounters; number++) {
    Steps::OfThread& thread = steps->threads[number];
    begun += thread.shared_begun;
    done += thread.shared_done;
    const int64_t own = Counted(tables, table, OwnCounter(number));
    EXPECT_GE(own, thread.own_done) << number;
    EXPECT_LE(own, thread.own_begun) << number;
    thread.own_begun = thread.own_done = own;
    thread.shared_begun = thread.shared_done = 0;
  }
  const int64_t shared = Counted(tables, table, kShared);
  EXPECT_GE(shared, done);
  EXPECT_LE(shared, begun);
  EXPECT_LE(begun - done, static_cast<int64_t>(kCounters));
  steps->threads[0].shared_begun = steps->threads[0].shared_done = shared;
  EXPECT_EQ(VerifyMessages(tables.db()), std::vector<std::string>());
  EXPECT_TRUE(tables.Close().ok());
}

TEST(IncrementsKill, CountsWhatWasCountedAndNothingElse) {
  const ScratchDirectory directory("increments");
  const std::string path = directory.path() + "/db";
  {
    auto tables = *TableDatabase::Open(KillTestOptions(), path);
    ASSERT_TRUE(tables->CreateTable({.name = "t", .families = {{.name = "f"}}}).ok());
    ASSERT_TRUE(tables->Close().ok());
  }
  const SharedWithChild<Steps> steps;
  const uint64_t seed = Seeds(1).front();
  std::mt19937_64 random(seed);
  for (int kill_number = 0; kill_number < (LongTests() ? 100 : 10); kill_number++) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) CountForEver(path, steps.get());
    // The others may be killed while they open the database.
    if (kill_number % 2 == 0) {
      const int64_t before = steps->NumDone();
      WaitForChild([&] { return steps->NumDone() > before; });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended with " << WEXITSTATUS(status);
    CheckCounters(path, steps.get());
    if (testing::Test::HasFailure()) FAIL() << "WINNOW_SEED=" << seed << ", kill " << kill_number;
  }
  EXPECT_GT(steps->threads[0].shared_done, 0);
}

}  // namespace
}  // namespace winnow
