// What each style of compaction writes, in trees as deep as those of large databases. Whatever is
// due is waited for after each flush, so that two runs do the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

using Kind = CompactionStyle::Kind;

constexpr uint64_t kNumKeys = 60'000;
constexpr uint64_t kEntriesOfAFlush = 140;  // 16 KiB: four of them are a full level 0

struct Costs {
  double bytes_written = 0;  // by flushes and compactions, for each byte that flushes wrote
  double space = 0;          // bytes of files, for each byte of the keys and values there are
  double needless = 0;       // tables that were read for each absent key
  double asked = 0;          // filters asked for each
  int most_levels = 0;       // below level 0 that hold data at one moment
};

std::string NumberedKey(uint64_t number) { return absl::StrFormat("key%013d", number); }

// Levels four times the size of each other, from 64 KiB on: four or five of them with what is
// written here.
Options DeepTree(CompactionStyle style, bool has_budget) {
  Options options = MemoryDb::Busy();
  options.compaction = style;
  options.compression = Compression::kNone;
  options.level0_compaction_trigger = 4;
  options.level_size_multiplier = 4;
  options.background_threads = 1;
  options.filter = has_budget ? "blocked_bloom" : "blocked_bloom:10";
  if (has_budget) options.filter_memory_budget = kNumKeys * 12 / 8;
  return options;
}

void WriteRandomly(MemoryDb* db, uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string filler(90, 'v');
  for (uint64_t i = 0; i < count; i++) {
    db->Put(NumberedKey(2 * (random() % kNumKeys)), absl::StrFormat("%010d", i) + filler);
    if (i % kEntriesOfAFlush != kEntriesOfAFlush - 1) continue;
    db->Flush();
    ASSERT_TRUE((*db)->WaitForBackgroundWork().ok());
  }
}

// A round of the budget's planner. It runs by itself once a second: how many rounds a tree has had,
// and how old its last plan is, would follow from how quick the machine is.
void PlanFiltersNow(MemoryDb* db, const Options& options) {
  ASSERT_TRUE(
      (*db)
          ->SetOption(nullptr, "filter_memory_budget", absl::StrCat(options.filter_memory_budget))
          .ok());
}

// Of as many random overwrites as there are keys, once each has been written. Where a tree gathers
// runs and lets them go, absent keys cost more and less in turn: they are asked for at many
// moments.
Costs CostsOf(CompactionStyle style, bool has_budget) {
  const Options options = DeepTree(style, has_budget);
  MemoryDb db(options);
  WriteRandomly(&db, 2 * kNumKeys, 1);
  const Statistics before = db->GetStatistics();
  constexpr uint64_t kMoments = 30;
  constexpr uint64_t kLookupsAtOnce = 2000;
  constexpr double kLookups = kMoments * kLookupsAtOnce;
  Costs costs;
  std::mt19937_64 random(3);
  for (uint64_t moment = 0; moment < kMoments; moment++) {
    WriteRandomly(&db, kNumKeys / kMoments, 2 + moment);
    if (has_budget) PlanFiltersNow(&db, options);
    for (uint64_t i = 0; i < kLookupsAtOnce; i++) {
      EXPECT_EQ(db.Get(NumberedKey(2 * (random() % kNumKeys) + 1)), "(absent)");
    }
    double bytes = 0;
    int levels = 0;
    for (const LevelStatistics& level : db->GetStatistics().levels) {
      bytes += static_cast<double>(level.file_bytes);
      if (level.level > 0 && level.num_files > 0) levels++;
    }
    constexpr double kEntryBytes = 116;
    costs.space += bytes / (kEntryBytes * kNumKeys) / kMoments;
    costs.most_levels = std::max(costs.most_levels, levels);
  }
  const Statistics after = db->GetStatistics();
  const auto grown = [&](Ticker ticker) {
    return static_cast<double>(after.Get(ticker) - before.Get(ticker));
  };
  costs.bytes_written =
      1 + grown(Ticker::kCompactionBytesWritten) / grown(Ticker::kFlushBytesWritten);
  for (const FilterStatistics& row : after.filters) {
    costs.needless += static_cast<double>(row.false_positive) / kLookups;
    costs.asked += static_cast<double>(row.checked) / kLookups;
  }
  std::cout << style.ToString() << (has_budget ? ", budget: " : ": ") << costs.bytes_written
            << " bytes written a byte, space " << costs.space << ", " << costs.asked
            << " filters asked and " << costs.needless << " tables read for an absent key, up to "
            << costs.most_levels << " levels\n";
  return costs;
}

TEST(CompactionVolume, LazyLevelingWritesMuchLessThanLeveling) {
  const Costs leveled = CostsOf({}, false);
  const Costs lazy = CostsOf({Kind::kLazyLeveled, 0}, false);
  const Costs tiered = CostsOf({Kind::kTiered, 0}, false);
  EXPECT_GE(leveled.most_levels, 4);
  EXPECT_LT(lazy.bytes_written, 0.6 * leveled.bytes_written);
  EXPECT_LT(tiered.bytes_written, lazy.bytes_written);
  // At most half of the last level lies above it, and a third and more with leveling.
  EXPECT_LT(lazy.space, leveled.space + 0.25);
  EXPECT_GT(tiered.space, lazy.space);
  // More runs to ask, each with a rate of 1 %.
  EXPECT_LT(lazy.asked, leveled.asked + 9);
  EXPECT_LT(lazy.needless, 0.015 * lazy.asked);
}

// The runs above the last level are small: what it takes to make their filters better is little.
TEST(CompactionVolume, WithABudgetAbsentKeysCostLazyLevelingLittleMore) {
  const Costs leveled = CostsOf({}, true);
  const Costs lazy = CostsOf({Kind::kLazyLeveled, 0}, true);
  EXPECT_LT(lazy.bytes_written, 0.65 * leveled.bytes_written);
  EXPECT_LT(lazy.needless, 1.3 * leveled.needless);
}

}  // namespace
}  // namespace winnow
