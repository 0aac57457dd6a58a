// Options::filter_memory_budget beside readers: units of filters come and go under them.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow::filter_budget_threads {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kFilledKeys = 60'000;

std::string KeyAt(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

// Readers, a writer whose flushes and compactions go on, and a budget that goes up and down.
TEST(FilterBudgetThreads, NoKeyIsMissedWhileUnitsComeAndGo) {
  Options options = MemoryDb::Busy();
  options.filter = "blocked_bloom";
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  for (uint64_t i = 0; i < kFilledKeys; i++) db.Put(KeyAt(2 * i), "v");
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> missed{0};
  std::atomic<uint64_t> found{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::string value;
      while (!stop.load(std::memory_order_relaxed)) {
        const std::string key = KeyAt(2 * (random() % kFilledKeys));
        if (db->Get(ReadOptions(), key, &value).ok()) {
          found.fetch_add(1, std::memory_order_relaxed);
        } else {
          missed.fetch_add(1, std::memory_order_relaxed);
        }
        (void)db->Get(ReadOptions(), absl::StrCat(key, "x"), &value);
        if (!db->MayExist(ReadOptions(), key)) missed.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  std::mt19937_64 random(99);
  uint64_t changes = 0;
  for (int i = 0; i < (LongTests() ? 2000 : 60); i++) {
    for (int write = 0; write < 200; write++) db.Put(KeyAt(2 * (random() % kFilledKeys)), "v");
    const uint64_t budget = 64 * kKiB + random() % (96 * kKiB);
    changes += db->SetOption("filter_memory_budget", absl::StrCat(budget)).ok() ? 1 : 0;
    std::this_thread::yield();
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed.load(), 0u);
  EXPECT_GT(found.load(), 0u);
  EXPECT_GT(changes, 0u);
  EXPECT_GT(db->GetStatistics().Get(Ticker::kFilterUnitsDropped), 0u);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
}

}  // namespace
}  // namespace winnow::filter_budget_threads
