// Which runs are merged: the schedule's cost, counted on runs that are numbers.
#include "engine/compaction/tiers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace winnow {
namespace {

struct Tiers {
  explicit Tiers(size_t num_levels) : bytes(num_levels, 0) {}

  void Add(uint64_t newest) {
    const int level = TierToMergeInto(newest, bytes);
    ASSERT_GE(level, 1);
    ASSERT_LE(level, static_cast<int>(bytes.size()));
    uint64_t merged = newest;
    for (int i = 0; i < level; i++) {
      merged += bytes[static_cast<size_t>(i)];
      bytes[static_cast<size_t>(i)] = 0;
    }
    bytes[static_cast<size_t>(level) - 1] = merged;
    written += merged;
    total += newest;
  }

  std::vector<uint64_t> bytes;
  uint64_t written = 0;
  uint64_t total = 0;
};

TEST(TierToMergeInto, WithFiveLevelsNoRunIsWrittenMoreOftenThanTheBinomialScheduleNeeds) {
  // C(5 + d, 5) runs can come before one is written more than d + 1 times.
  const std::vector<std::pair<int, double>> limits = {{5, 1}, {20, 2}, {55, 3}, {125, 4}, {251, 5}};
  for (const auto& [runs, most_times] : limits) {
    Tiers tiers(5);
    for (int i = 0; i < runs; i++) tiers.Add(1000);
    EXPECT_LE(tiers.written, tiers.total * static_cast<uint64_t>(most_times))
        << runs << " runs: each was written "
        << static_cast<double>(tiers.written) / static_cast<double>(tiers.total) << " times";
  }
}

TEST(TierToMergeInto, EveryRunBelowAMergedOneStaysAndNoneIsLost) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    std::mt19937_64 random(seed);
    Tiers tiers(1 + random() % 6);
    for (int i = 0; i < 300; i++) {
      tiers.Add(500 + random() % 1000);
      ASSERT_EQ(std::accumulate(tiers.bytes.begin(), tiers.bytes.end(), uint64_t{0}), tiers.total);
    }
  }
}

TEST(TierToMergeInto, GoesToTheDeepestEmptyLevelOverAllRuns) {
  EXPECT_EQ(TierToMergeInto(10, std::vector<uint64_t>{0, 0, 0}), 3);
  EXPECT_EQ(TierToMergeInto(10, std::vector<uint64_t>{0, 0, 10}), 2);
  EXPECT_EQ(TierToMergeInto(10, std::vector<uint64_t>{0, 10, 10}), 1);
  EXPECT_EQ(TierToMergeInto(10, std::vector<uint64_t>{10, 10, 10}), 3);
  EXPECT_EQ(TierToMergeInto(10, std::vector<uint64_t>{10, 10, 10000}), 2);
}

}  // namespace
}  // namespace winnow
