// How bits are spread over levels, and what a policy learns of the tree.

#include <cmath>
#include <numeric>

#include "filter/rocksdb/tree_observer.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"
#include "winnow/filter/level_allocation.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter::internal {
namespace {

struct Sums {
  double bits_per_key = 0;    // over all keys
  double needless_reads = 0;  // of one absent key
};

// The sums of a tree whose level 0 has kLevelZeroRuns runs of `bits`[0].
Sums SumsOf(const FilterSpec& spec, const TreeShape& shape, const std::vector<double>& bits) {
  const uint64_t last_keys = 100'000'000;
  Sums sums;
  double all_keys = 0;
  const auto add = [&](double runs, double run_keys, double run_bits) {
    sums.bits_per_key += runs * run_keys * run_bits;
    all_keys += runs * run_keys;
    sums.needless_reads += runs * ExpectedFpr(spec, run_bits, static_cast<uint64_t>(run_keys));
  };
  for (int level = shape.base_level; level <= shape.last_level; ++level) {
    const double keys = last_keys * std::pow(shape.size_ratio, level - shape.last_level);
    add(1, keys, bits[static_cast<size_t>(level)]);
    if (level == shape.base_level) add(kLevelZeroRuns, keys / kLevelZeroRuns, bits[0]);
  }
  sums.bits_per_key /= all_keys;
  return sums;
}

class SpreadTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, SpreadTest, testing::ValuesIn(BuildingKinds()), KindOfTest);
INSTANTIATE_TEST_SUITE_P(Layouts, SpreadTest, testing::Values("cuckoo:semi_sorted"));

TEST_P(SpreadTest, KeepsTheBudgetAndHalvesTheNeedlessReads) {
  const FilterSpec spec = *ParseFilterSpec(GetParam());
  for (const double uniform : {8.0, 10.0, 14.0}) {
    for (const TreeShape shape : {TreeShape{1, 4, 10}, TreeShape{3, 6, 10}, TreeShape{1, 4, 4}}) {
      const std::vector<double> spread = SpreadBits(spec, uniform, shape);
      ASSERT_EQ(spread.size(), static_cast<size_t>(shape.last_level) + 1);
      const Sums sums = SumsOf(spec, shape, spread);
      const Sums even = SumsOf(spec, shape, std::vector<double>(spread.size(), uniform));
      EXPECT_LE(sums.bits_per_key, uniform * 1.001);
      EXPECT_LT(sums.needless_reads * 2, even.needless_reads)
          << uniform << " bits, ratio " << shape.size_ratio;
      for (int level = shape.base_level; level < shape.last_level; ++level) {
        EXPECT_GE(spread[static_cast<size_t>(level)], spread[static_cast<size_t>(level) + 1]);
      }
      EXPECT_GE(spread[0], spread[static_cast<size_t>(shape.base_level)]);
    }
  }
}

TEST_P(SpreadTest, GivesLegalBitsAtTheLimits) {
  const FilterSpec spec = *ParseFilterSpec(GetParam());
  const BitsPerKeyRange range = AllowedBitsPerKey(spec);
  for (const double uniform : {range.min, range.max}) {
    for (const TreeShape shape : {TreeShape{1, 1, 2}, TreeShape{1, 6, 100}, TreeShape{6, 6, 10}}) {
      for (const double bits : SpreadBits(spec, uniform, shape)) {
        EXPECT_GE(bits, range.min);
        EXPECT_LE(bits, range.max);
      }
    }
  }
}

TEST_P(SpreadTest, GivesLevelsOfAnySizesNoMoreThanTheirTotal) {
  const FilterSpec spec = *ParseFilterSpec(GetParam());
  const std::vector<LevelKeys> levels = {{1000, 30'000}, {50'000, 50'000}, {20'000, 20'000}};
  const std::vector<double> bits = SpreadBits(spec, 12.0 * 100'000, levels);
  ASSERT_EQ(bits.size(), 3u);
  double total = 0;
  for (size_t i = 0; i < 3; ++i) total += bits[i] * levels[i].total_keys;
  EXPECT_LE(total, 12.0 * 100'000);
  EXPECT_GE(total, 11.5 * 100'000);
  EXPECT_GT(bits[0], bits[2]) << "the smallest run";
  EXPECT_GE(bits[2], bits[1]) << "the largest";
}

TEST(ObserverTest, KnowsNothingBeforeTheLastRunIsSeen) {
  TreeObserver observer(10);
  EXPECT_EQ(observer.Observe({{nullptr, "cf"}, 0, false}).shape, std::nullopt);
  EXPECT_EQ(observer.Observe({{nullptr, "cf"}, 1, false}).shape, std::nullopt);
  EXPECT_EQ(observer.Observe({{nullptr, "cf"}, 2, true}).shape, (TreeShape{1, 2, 10}));
  EXPECT_EQ(observer.Observe({{nullptr, "cf"}, 0, false}).shape, (TreeShape{1, 2, 10}));
}

TEST(ObserverTest, FollowsATreeThatGrowsDownOrUp) {
  TreeObserver down(10);
  down.Observe({{nullptr, "cf"}, 1, true});
  EXPECT_EQ(down.Observe({{nullptr, "cf"}, 1, false}).shape, (TreeShape{1, 2, 10}))
      << "something lies below";
  EXPECT_EQ(down.Observe({{nullptr, "cf"}, 3, true}).shape, (TreeShape{1, 3, 10}));
  EXPECT_EQ(down.Observe({{nullptr, "cf"}, 2, true}).shape, (TreeShape{1, 3, 10}))
      << "last for its keys only";

  TreeObserver up(8);
  up.Observe({{nullptr, "cf"}, 6, true});
  EXPECT_EQ(up.Observe({{nullptr, "cf"}, 5, false}).shape, (TreeShape{5, 6, 8}));
  EXPECT_EQ(up.Observe({{nullptr, "cf"}, 4, false}).shape, (TreeShape{4, 6, 8}));
}

TEST(ObserverTest, ColumnFamiliesAreApart) {
  TreeObserver observer(10);
  observer.Observe({{nullptr, "deep"}, 6, true});
  EXPECT_EQ(observer.Observe({{nullptr, "flat"}, 1, true}).shape, (TreeShape{1, 1, 10}));
  EXPECT_EQ(observer.Observe({{nullptr, "deep"}, 5, false}).shape, (TreeShape{5, 6, 10}));
}

}  // namespace
}  // namespace winnow::filter::internal
