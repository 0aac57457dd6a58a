// Options::filter_memory_budget measured from outside: the memory that filters take of the process,
// by a hook of its own, and not by what the database says of itself.
//
// WINNOW_FILTER_KEYS=10000000 runs the same with so many keys, as in
//   WINNOW_FILTER_KEYS=10000000 bin/allocation_failure_tests --gtest_filter='FilterBudgetMemory.*'
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/filter_budget_json.h"
#include "tests/support/resident_memory_hook.h"

namespace winnow::filter_budget_memory {
namespace {

uint64_t NumKeys() {
  const char* const given = std::getenv("WINNOW_FILTER_KEYS");
  return given == nullptr ? 200'000 / kFewerBy : std::strtoull(given, nullptr, 10);
}

// A prime that no round number of keys has for a factor.
constexpr uint64_t kStride = 1009;

std::string KeyAt(uint64_t i) { return absl::StrCat("key", 1'000'000'000 + i); }

// Tables of some ten thousand keys, and indexes too small to be watched.
Options ManyTables(uint64_t budget) {
  Options options = MemoryDb::Busy();
  options.compression = Compression::kNone;
  options.block_bytes = 64 << 10;
  options.block_cache_bytes = 0;
  options.write_buffer_bytes = 1 << 20;
  options.target_file_bytes = 512 << 10;
  options.level_base_bytes = 1 << 20;
  options.filter = "blocked_bloom";
  options.filter_memory_budget = budget;
  return options;
}

class FilterBudgetMemory : public testing::Test {
 protected:
  FilterBudgetMemory()
      : num_keys_(NumKeys()),
        // Ten bits a key of half of the keys: not all units have room.
        budget_(std::max<uint64_t>(64 << 10, num_keys_ * 10 / 16)),
        before_(HeldResidentMemory()),
        db_(ManyTables(budget_)) {
    ResetMostHeldResidentMemory();
  }

  // Since the last call, by the hook.
  void ExpectWithinBudgetAndAUnit(const char* when) {
    const uint64_t most = MostHeldResidentMemory() - before_;
    const uint64_t unit = std::max(largest_, LargestResidentMemory());
    EXPECT_LE(most, budget_ + unit) << when << ", a unit of " << unit << " bytes";
    EXPECT_GE(most, budget_ / 2) << when << ": filters are seen";
    largest_ = unit;
    ResetMostHeldResidentMemory();
  }

  void SetBudget(uint64_t bytes) {
    const absl::Status set = db_->SetOption("filter_memory_budget", absl::StrCat(bytes));
    ASSERT_TRUE(set.ok()) << set;
    budget_ = bytes;
    ResetMostHeldResidentMemory();
  }

  void Refilter(const char* filter) {
    const auto info = db_->Refilter({.filter = filter});
    EXPECT_TRUE(info.ok()) << info.status();
    EXPECT_GT(info->files_refiltered, 0u);
  }

  const uint64_t num_keys_;
  uint64_t budget_;
  const uint64_t before_;
  uint64_t largest_ = 0;
  MemoryDb db_;
};

TEST_F(FilterBudgetMemory, IsKeptWhileTheTreeGrowsAndFiltersAreReplaced) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> written{0};
  std::atomic<uint64_t> missed{0};
  std::vector<std::thread> readers;
  for (uint64_t t = 0; t < 2; t++) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::string value;
      while (!stop.load(std::memory_order_relaxed)) {
        const uint64_t there = written.load(std::memory_order_acquire);
        if (there == 0) continue;
        const std::string key = KeyAt(random() % there * kStride % num_keys_);
        missed += db_->Get(ReadOptions(), key, &value).ok() ? 0 : 1;
        (void)db_->Get(ReadOptions(), absl::StrCat(key, "x"), &value);
      }
    });
  }
  // In an order in which each compaction meets keys of everywhere.
  for (uint64_t i = 0; i < num_keys_; i++) {
    db_.Put(KeyAt(i * kStride % num_keys_), "v");
    written.store(i + 1, std::memory_order_release);
  }
  EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
  ExpectWithinBudgetAndAUnit("while the tree grew");
  db_.CompactAll();
  ExpectWithinBudgetAndAUnit("while all was compacted");
  for (const char* const filter : {"ribbon", "cuckoo", "blocked_bloom"}) {
    Refilter(filter);
    ExpectWithinBudgetAndAUnit(filter);
  }
  SetBudget(budget_ * 3 / 2);
  Refilter("ribbon");
  ExpectWithinBudgetAndAUnit("under a larger budget");
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed.load(), 0u);
  // What the database says of itself is what the process has given it.
  const nlohmann::json report = FilterBudgetJson(*db_);
  const uint64_t held = HeldResidentMemory() - before_;
  EXPECT_LE(held, report["resident_bytes"]) << report;
  EXPECT_GE(held, report["resident_bytes"].get<uint64_t>() * 9 / 10) << report;
  db_.CloseDb();
  EXPECT_EQ(HeldResidentMemory(), before_);
}

}  // namespace
}  // namespace winnow::filter_budget_memory
