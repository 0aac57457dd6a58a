// What each style of compaction writes, in trees as deep as those of large databases. Whatever is
// due is waited for after each flush, so that two runs do the same.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

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
  int levels = 0;            // below level 0 that hold data
};

std::string NumberedKey(uint64_t number) { return absl::StrFormat("key%013d", number); }

// Levels four times the size of each other, from 64 KiB on: four or five of them with what is
// written here.
Options DeepTree(CompactionStyle style) {
  Options options = MemoryDb::Busy();
  options.compaction = style;
  options.compression = Compression::kNone;
  options.level0_compaction_trigger = 4;
  options.level_size_multiplier = 4;
  options.background_threads = 1;
  options.filter = "blocked_bloom:10";
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

// Of as many random overwrites as there are keys, once each has been written.
Costs CostsOf(CompactionStyle style) {
  MemoryDb db(DeepTree(style));
  WriteRandomly(&db, 2 * kNumKeys, 1);
  const Statistics before = db->GetStatistics();
  WriteRandomly(&db, kNumKeys, 2);
  const Statistics after = db->GetStatistics();
  const auto grown = [&](Ticker ticker) {
    return static_cast<double>(after.Get(ticker) - before.Get(ticker));
  };
  Costs costs;
  costs.bytes_written =
      1 + grown(Ticker::kCompactionBytesWritten) / grown(Ticker::kFlushBytesWritten);
  double bytes = 0;
  for (const LevelStatistics& level : after.levels) {
    bytes += static_cast<double>(level.file_bytes);
    if (level.level > 0 && level.num_files > 0) costs.levels++;
  }
  constexpr double kEntryBytes = 116;
  costs.space = bytes / (kEntryBytes * kNumKeys);

  constexpr uint64_t kLookups = 50'000;
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < kLookups; i++) {
    EXPECT_EQ(db.Get(NumberedKey(2 * (random() % kNumKeys) + 1)), "(absent)");
  }
  for (const FilterStatistics& row : db->GetStatistics().filters) {
    costs.needless += static_cast<double>(row.false_positive) / kLookups;
    costs.asked += static_cast<double>(row.checked) / kLookups;
  }
  std::cout << style.ToString() << ": " << costs.bytes_written << " bytes written a byte, space "
            << costs.space << ", " << costs.asked << " filters asked and " << costs.needless
            << " tables read for an absent key, " << costs.levels << " levels\n";
  return costs;
}

TEST(CompactionVolume, LazyLevelingWritesMuchLessThanLevelingInTheSameSpace) {
  const Costs leveled = CostsOf({});
  const Costs lazy = CostsOf({Kind::kLazyLeveled, 0});
  const Costs tiered = CostsOf({Kind::kTiered, 0});
  EXPECT_GE(leveled.levels, 4);
  EXPECT_LT(lazy.bytes_written, 0.75 * leveled.bytes_written);
  EXPECT_LT(tiered.bytes_written, lazy.bytes_written);
  // At most two fourths of the last level lie above it, and a third and more with leveling.
  EXPECT_LT(lazy.space, leveled.space + 0.2);
  EXPECT_GT(tiered.space, lazy.space);
  // Some more runs to ask, each with a rate of 1 %.
  EXPECT_LT(lazy.asked, leveled.asked + 4);
  EXPECT_LT(lazy.needless, 0.015 * lazy.asked);
}

}  // namespace
}  // namespace winnow
