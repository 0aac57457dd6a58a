// What Options::filter_memory_budget saves: the blocks that look-ups of absent keys read in vain on
// a tree of four levels and more, with the same bits for every key, and with the same memory as the
// planner spreads it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/filter_budget_json.h"
#include "tests/support/steady_clock_hook.h"

namespace winnow::filter_budget_gain {
namespace {

constexpr uint64_t kNumKeys = 200'000;
constexpr char kValue[] = "a value of so many bytes";
constexpr char kUniformBits[] = "blocked_bloom:10";

std::string KeyAt(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

// A place among the keys.
using Distribution = std::function<uint64_t(std::mt19937_64&)>;

uint64_t AnyPlace(std::mt19937_64& random) { return random() % kNumKeys; }

// By rank to the power of -0.99, the first places being the likeliest.
Distribution ZipfianPlaces() {
  std::vector<double> sums(kNumKeys);
  double sum = 0;
  for (uint64_t i = 0; i < kNumKeys; i++) {
    sum += std::pow(static_cast<double>(i + 1), -0.99);
    sums[i] = sum;
  }
  return [sums = std::move(sums)](std::mt19937_64& random) {
    const double at = std::uniform_real_distribution<double>(0, sums.back())(random);
    return static_cast<uint64_t>(std::lower_bound(sums.begin(), sums.end(), at) - sums.begin());
  };
}

class FilterBudgetGain : public testing::Test {
 protected:
  FilterBudgetGain() : db_(SmallLevels()) {
    std::vector<uint64_t> order(kNumKeys);
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    for (const uint64_t i : order) db_.Put(KeyAt(i), kValue);
    EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
    // The smallest level is empty now and then.
    for (size_t i = 0; i < kNumKeys && NumLevelsBelowZero() < 3;) {
      for (size_t end = i + 500; i < end; i++) db_.Put(KeyAt(order[i]), kValue);
      EXPECT_TRUE(db_->WaitForBackgroundWork().ok());
    }
    // And four files of level 0.
    EXPECT_TRUE(db_->SetOption("disable_auto_compactions", "true").ok());
    for (size_t file = 0; file < 4; file++) {
      for (size_t i = 0; i < 1000; i++) db_.Put(KeyAt(order[file * 1000 + i]), kValue);
      db_.Flush();
    }
  }

  static Options SmallLevels() {
    Options options = MemoryDb::Busy();
    options.compression = Compression::kNone;
    options.filter = kUniformBits;
    options.level0_compaction_trigger = 4;
    // Heads of units, and what rounds them up, are little beside filters of some thousand keys.
    options.target_file_bytes = 256 << 10;
    options.level_size_multiplier = 8;
    options.block_cache_bytes = 0;  // every block is counted that is read
    return options;
  }

  uint64_t NumLevelsBelowZero() {
    uint64_t levels = 0;
    for (const LevelStatistics& level : db_->GetStatistics().levels) {
      levels += level.level > 0 && level.num_files > 0 ? 1 : 0;
    }
    return levels;
  }

  // Blocks that so many look-ups read; no key is asked for twice, and none is there.
  uint64_t NeedlessReads(uint64_t lookups, const Distribution& places, uint64_t seed) {
    const uint64_t before = db_->GetStatistics().Get(Ticker::kDataBlocksRead);
    std::mt19937_64 random(seed);
    std::string value;
    for (uint64_t i = 0; i < lookups; i++) {
      const absl::Status got =
          db_->Get(ReadOptions(),
                   absl::StrCat(KeyAt(places(random)), "/", random() % 1'000'000'000), &value);
      EXPECT_TRUE(absl::IsNotFound(got)) << got;
    }
    return db_->GetStatistics().Get(Ticker::kDataBlocksRead) - before;
  }

  // Makes filters of the planned sizes, for the look-ups that have been measured.
  void PlanAndRefilter(uint64_t bytes) {
    const absl::Status set = db_->SetOption("filter_memory_budget", absl::StrCat(bytes));
    ASSERT_TRUE(set.ok()) << set;
    const auto info = db_->Refilter({});
    ASSERT_TRUE(info.ok()) << info.status();
  }

  // The share of the needless reads that is left, of a database whose filters take the same memory.
  void Measure(const Distribution& places, double most_left) {
    constexpr uint64_t kLookups = 150'000;
    ASSERT_GE(NumLevelsBelowZero(), 3u) << *db_->GetProperty("winnow.levels");
    const uint64_t bytes = std::stoull(*db_->GetProperty("winnow.filter-memory"));
    // The database spreads the memory anew as time passes. Here it does when it is told to.
    const StoppedSteadyClock clock;
    const uint64_t with_uniform_bits = NeedlessReads(kLookups, places, 2);
    PlanAndRefilter(bytes);
    // One look-up in 64 is counted for its file. What is expected of files counts as half a minute
    // of them.
    NeedlessReads(10 * kLookups, places, 3);
    AdvanceSteadyClock(std::chrono::hours(1));
    PlanAndRefilter(bytes + 1);
    EXPECT_LE(FilterBudgetJson(*db_)["resident_bytes"], bytes + 1);
    const double promised =
        db_->PlanFilters(bytes + 1)->now.needless_reads_per_miss * static_cast<double>(kLookups);
    const uint64_t as_planned = NeedlessReads(kLookups, places, 4);
    const double left = static_cast<double>(as_planned) / static_cast<double>(with_uniform_bits);
    RecordProperty("share_of_needless_reads_left", absl::StrCat(left));
    EXPECT_LE(left, most_left) << as_planned << " of " << with_uniform_bits << "\n"
                               << FilterBudgetJson(*db_);
    // Two numbers of chance: what is measured, and the filters themselves.
    EXPECT_NEAR(static_cast<double>(as_planned), promised,
                3.29 * std::sqrt(promised) + 0.03 * promised)
        << FilterBudgetJson(*db_);
    for (uint64_t i = 0; i < kNumKeys; i += 11) ASSERT_EQ(db_.Get(KeyAt(i)), kValue);
  }

  MemoryDb db_;
};

TEST_F(FilterBudgetGain, UniformLookupsReadAThirdInVain) { Measure(AnyPlace, 1.0 / 3); }

TEST_F(FilterBudgetGain, ZipfianLookupsReadAFifthInVain) { Measure(ZipfianPlaces(), 1.0 / 5); }

}  // namespace
}  // namespace winnow::filter_budget_gain
