// The planner against every other choice on small trees, and against equal bits on large ones.
#include "engine/filter_memory/filter_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "winnow/filter/sizing.h"

namespace winnow {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr uint64_t kAllOfIt = uint64_t{1} << 60;

uint64_t BytesOf(const std::vector<PlannedFilter>& filters, const std::vector<size_t>& resident) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < filters.size(); i++) {
    for (size_t step = 0; step < resident[i]; step++) bytes += filters[i].steps[step].bytes;
  }
  return bytes;
}

// The least sum of needless reads within the budget, of all choices in which each filter has a
// step.
double BestOfAll(const std::vector<PlannedFilter>& filters, uint64_t budget) {
  double best = 1e300;
  std::vector<size_t> resident(filters.size(), 1);
  const std::function<void(size_t)> choose = [&](size_t i) {
    if (i == filters.size()) {
      if (BytesOf(filters, resident) <= budget) {
        best = std::min(best, NeedlessReads(filters, resident));
      }
      return;
    }
    for (resident[i] = 1; resident[i] <= filters[i].steps.size(); resident[i]++) choose(i + 1);
  };
  choose(0);
  return best;
}

PlannedFilter RandomFilter(std::mt19937* random, bool equal_bytes) {
  std::uniform_real_distribution<double> real(0, 1);
  PlannedFilter filter;
  filter.lookups = std::exp(6 * real(*random));
  const uint64_t bytes = 1 + (*random)() % 100;
  for (int i = 0; i < 3; i++) {
    const uint64_t step_bytes = equal_bytes ? 64 : bytes + (*random)() % 100;
    filter.steps.push_back({step_bytes, 0.05 + 0.4 * real(*random)});
  }
  return filter;
}

TEST(FilterPlan, EqualUnitsAreSpreadAsWellAsByTryingAllChoices) {
  for (uint32_t seed = 1; seed <= 60; seed++) {
    std::mt19937 random(seed);
    std::vector<PlannedFilter> filters;
    for (int i = 0; i < 6; i++) filters.push_back(RandomFilter(&random, /*equal_bytes=*/true));
    for (uint64_t budget = 6 * 64; budget <= 18 * 64; budget += 64) {
      const FilterPlan plan = PlanFilterMemory(filters, budget);
      EXPECT_LE(plan.bytes, budget);
      EXPECT_EQ(plan.bytes, BytesOf(filters, plan.num_resident));
      EXPECT_THAT(plan.needless_reads, DoubleNear(BestOfAll(filters, budget), 1e-6))
          << "seed " << seed << ", budget " << budget;
    }
  }
}

// Of unequal ones some bytes may be left for which no next unit is small enough.
TEST(FilterPlan, NoChoiceIsBetterButByLessThanAUnit) {
  for (uint32_t seed = 1; seed <= 60; seed++) {
    std::mt19937 random(seed);
    std::vector<PlannedFilter> filters;
    uint64_t first_bytes = 0;
    uint64_t largest = 0;
    for (int i = 0; i < 6; i++) {
      filters.push_back(RandomFilter(&random, /*equal_bytes=*/false));
      const std::vector<FilterStep>& steps = filters.back().steps;
      first_bytes += steps[0].bytes;
      largest = std::max(largest, steps[1].bytes + steps[2].bytes);
    }
    for (uint64_t budget = first_bytes + largest; budget <= first_bytes + 12 * largest;
         budget += 37) {
      const FilterPlan plan = PlanFilterMemory(filters, budget);
      EXPECT_LE(plan.bytes, budget);
      EXPECT_LE(plan.needless_reads, BestOfAll(filters, budget - largest) + 1e-6)
          << "seed " << seed << ", budget " << budget;
    }
  }
}

// A step that saves nothing by itself, but with the next one more than any other.
TEST(FilterPlan, StepsAreWeighedTogetherWhereTheLaterOneIsWorthMore) {
  const std::vector<PlannedFilter> filters = {
      {.lookups = 100, .steps = {{10, 0.5}, {10, 0.99}, {10, 0.01}}},
      {.lookups = 10, .steps = {{10, 0.5}, {10, 0.5}, {10, 0.5}}},
  };
  EXPECT_THAT(PlanFilterMemory(filters, 40).num_resident, ElementsAre(3, 1));
}

TEST(FilterPlan, OfStepsThatDoNotFitTogetherTheFirstAreTaken) {
  const std::vector<PlannedFilter> filters = {
      {.lookups = 100, .steps = {{10, 0.5}, {10, 0.9}, {10, 0.9}, {10, 0.01}}},
      {.lookups = 1, .steps = {{10, 0.5}, {5, 0.9}}},
  };
  EXPECT_THAT(PlanFilterMemory(filters, 45).num_resident, ElementsAre(3, 2));
  EXPECT_THAT(PlanFilterMemory(filters, 39).num_resident, ElementsAre(2, 2));
  EXPECT_THAT(PlanFilterMemory(filters, 50).num_resident, ElementsAre(4, 1));
}

TEST(FilterPlan, FiltersAreWeakerBeforeAnyIsAbsent) {
  std::vector<PlannedFilter> filters;
  for (int i = 0; i < 10; i++) {
    filters.push_back({.lookups = std::pow(10.0, i), .steps = {{100, 0.1}, {100, 0.1}}});
  }
  const FilterPlan plan = PlanFilterMemory(filters, 1000);
  EXPECT_THAT(plan.num_resident, Each(1));
  const FilterPlan most = PlanFilterMemory(filters, kAllOfIt);
  EXPECT_THAT(most.num_resident, Each(2));
  const FilterPlan short_plan = PlanFilterMemory(filters, 250);
  EXPECT_THAT(short_plan.num_resident, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 1));
}

TEST(FilterPlan, WhatIsLeftOutLeavesItsRoomToOthers) {
  std::vector<PlannedFilter> filters(2);
  for (PlannedFilter& filter : filters) filter = {10, {{64, 0.1}, {64, 0.1}}};
  filters[0].lookups = 1000;
  filters[0].num_resident = 2;
  filters[0].is_left_out = true;
  const FilterPlan plan = PlanFilterMemory(filters, 128, kReplacementGain);
  EXPECT_THAT(plan.num_resident, ElementsAre(0, 2));
  EXPECT_THAT(plan.needless_reads, DoubleNear(1000 + 10 * 0.01, 1e-9))
      << "it is said what it costs";
  EXPECT_THAT(PlanFilterMemory(filters, kAllOfIt).num_resident, ElementsAre(0, 2));
}

TEST(FilterPlan, WhatIsInMemoryStaysUnlessAnotherIsWorthAQuarterMore) {
  std::vector<PlannedFilter> filters = {
      {.lookups = 100, .steps = {{100, 0.1}, {100, 0.1}}, .num_resident = 2},
      {.lookups = 110, .steps = {{100, 0.1}, {100, 0.1}}, .num_resident = 1},
  };
  EXPECT_THAT(PlanFilterMemory(filters, 300, kReplacementGain).num_resident, ElementsAre(2, 1));
  EXPECT_THAT(PlanFilterMemory(filters, 300).num_resident, ElementsAre(1, 2));
  filters[1].lookups = 130;
  EXPECT_THAT(PlanFilterMemory(filters, 300, kReplacementGain).num_resident, ElementsAre(1, 2));
}

TEST(FilterPlan, NothingToPlanAndNothingToSpend) {
  EXPECT_TRUE(PlanFilterMemory({}, 100).num_resident.empty());
  const std::vector<PlannedFilter> filters = {{.lookups = 3, .steps = {{100, 0.1}}}, {}};
  const FilterPlan plan = PlanFilterMemory(filters, 0);
  EXPECT_THAT(plan.num_resident, ElementsAre(0, 0));
  EXPECT_EQ(plan.bytes, 0u);
  EXPECT_EQ(plan.needless_reads, 3);
}

// A tree of four tables in level 0 and `num_levels` levels, each ten times the one above it; all
// tables hold as many keys. Steps of half a bit, as filters that are yet to be written have.
struct Tree {
  std::vector<PlannedFilter> filters;
  std::vector<double> keys;
  double uniform_reads = 0;
  uint64_t uniform_bytes = 0;
};

Tree MakeTree(filter::FilterKind kind, double uniform_bits, int num_levels,
              const std::function<double(int rank)>& weight) {
  constexpr double kKeysOfTable = 10'000;
  constexpr double kStepBits = 0.5;
  std::vector<FilterStep> steps;
  double before = 1;
  for (double bits = 1; bits <= 30; bits += kStepBits) {
    const double rate = filter::ExpectedFpr(kind, bits, 1'000'000);
    const double step_bits = steps.empty() ? bits : kStepBits;
    steps.push_back(
        {static_cast<uint64_t>(kKeysOfTable * step_bits / 8), std::min(1.0, rate / before)});
    before = std::min(before, rate);
  }
  Tree tree;
  const double uniform_rate = filter::ExpectedFpr(kind, uniform_bits, 1'000'000);
  const auto add_run = [&](int num_tables) {
    double weights = 0;
    for (int i = 0; i < num_tables; i++) weights += weight(i);
    for (int i = 0; i < num_tables; i++) {
      tree.filters.push_back({.lookups = weight(i) / weights, .steps = steps});
      tree.uniform_bytes += static_cast<uint64_t>(kKeysOfTable * uniform_bits / 8);
    }
    tree.uniform_reads += uniform_rate;
  };
  for (int i = 0; i < 4; i++) add_run(1);
  for (int level = 1, tables = 1; level <= num_levels; level++, tables *= 10) add_run(tables);
  return tree;
}

double ShareOfUniform(const Tree& tree) {
  const FilterPlan plan = PlanFilterMemory(tree.filters, tree.uniform_bytes);
  EXPECT_LE(plan.bytes, tree.uniform_bytes);
  return plan.needless_reads / tree.uniform_reads;
}

TEST(FilterPlan, UniformLookupsReadAThirdAsOftenInVainAsWithEqualBits) {
  for (const double bits : {6.0, 8.0, 10.0}) {
    for (const filter::FilterKind kind :
         {filter::FilterKind::kBlockedBloom, filter::FilterKind::kBloom,
          filter::FilterKind::kRibbon}) {
      const Tree tree = MakeTree(kind, bits, 4, [](int) { return 1.0; });
      EXPECT_LE(ShareOfUniform(tree), 1.0 / 3) << filter::KindName(kind) << ":" << bits;
    }
  }
}

TEST(FilterPlan, ZipfianLookupsReadAFifthAsOftenInVainAsWithEqualBits) {
  for (const double bits : {6.0, 8.0, 10.0}) {
    for (const filter::FilterKind kind :
         {filter::FilterKind::kBlockedBloom, filter::FilterKind::kBloom,
          filter::FilterKind::kRibbon}) {
      const Tree tree = MakeTree(kind, bits, 4, [](int rank) { return 1.0 / (rank + 1); });
      EXPECT_LE(ShareOfUniform(tree), 1.0 / 5) << filter::KindName(kind) << ":" << bits;
    }
  }
}

// Monkey: where bits grow with the logarithm of the rate, the sum is least if each run's rate is in
// proportion to its keys; what is left of the budget is less than a step of the largest run.
TEST(FilterPlan, TheSumIsThatOfMonkeysClosedForm) {
  const std::vector<double> runs = {1000, 10'000, 100'000};
  std::vector<PlannedFilter> filters;
  double keys = 0;
  double keys_log_keys = 0;
  for (const double run : runs) {
    PlannedFilter& filter = filters.emplace_back();
    filter.lookups = 1;
    for (int i = 0; i < 400; i++) {
      filter.steps.push_back({static_cast<uint64_t>(run * 0.08 / 8), std::exp2(-0.08)});
    }
    keys += run;
    keys_log_keys += run * std::log2(run);
  }
  constexpr uint64_t kBudget = 111'000;
  const FilterPlan plan = PlanFilterMemory(filters, kBudget);
  const double rate_of_a_key = std::exp2(-(8.0 * kBudget + keys_log_keys) / keys);
  EXPECT_GE(plan.needless_reads, rate_of_a_key * keys * 0.999);
  EXPECT_LE(plan.needless_reads, rate_of_a_key * keys * std::exp2(0.08));
}

}  // namespace
}  // namespace winnow
