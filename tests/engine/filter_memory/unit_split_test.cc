#include "engine/filter_memory/unit_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "winnow/filter/builder.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/sizing.h"

namespace winnow {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::SizeIs;

filter::FilterSpec Spec(std::string_view text) { return *filter::ParseFilterSpec(text); }

TEST(UnitSplit, HalvesOfThePlanAndOneMoreForWhatIsAskedMore) {
  EXPECT_THAT(SplitIntoUnits(Spec("blocked_bloom"), 10), ElementsAre(5, 5, 5));
  EXPECT_THAT(SplitIntoUnits(Spec("blocked_bloom"), 16), ElementsAre(8, 8));
  EXPECT_THAT(SplitIntoUnits(Spec("blocked_bloom"), 2), ElementsAre(2));
  EXPECT_THAT(SplitIntoUnits(Spec("blocked_bloom"), 1), ElementsAre(1));
}

TEST(UnitSplit, UnitsThatMakeUpThePlanErrHardlyMoreThanOneOfTheirBits) {
  for (const filter::FilterSpec& spec : filter::BuildableSpecs()) {
    const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(spec);
    for (double bits = kLeastPlannedBits; bits <= kMostPlannedBits; bits += 0.5) {
      const double whole =
          filter::ExpectedFpr(spec, std::clamp(bits, allowed.min, allowed.max), 1'000'000);
      EXPECT_LE(PlannedFpr(spec, bits, 1'000'000), 1.125 * whole)
          << filter::ToString(spec) << ", " << bits << " bits";
    }
  }
}

TEST(UnitSplit, KindsThatLoseBySplittingHaveThePlanInOneUnit) {
  EXPECT_THAT(SplitIntoUnits(Spec("cuckoo"), 12), ElementsAre(12, 6));
  EXPECT_THAT(SplitIntoUnits(Spec("cuckoo"), 16), ElementsAre(16));
}

TEST(UnitSplit, NoUnitIsSmallerThanItsKindAllows) {
  for (const filter::FilterSpec& spec : filter::BuildableSpecs()) {
    const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(spec);
    for (double bits = kLeastPlannedBits; bits <= kMostPlannedBits; bits += 0.5) {
      const std::vector<double> units = SplitIntoUnits(spec, bits);
      ASSERT_FALSE(units.empty());
      ASSERT_LE(units.size(), filter::FilterBuilder::kMaxUnitsToBuild);
      for (const double unit : units) EXPECT_GE(unit, allowed.min) << filter::ToString(spec);
    }
  }
}

// What the split costs: two units of half the bits, each erring by itself, beside one unit.
TEST(UnitSplit, UnitsErrIndependentlyAndNoKeyIsRefuted) {
  std::mt19937_64 random(22);
  std::vector<uint64_t> keys(100'000);
  for (uint64_t& key : keys) key = random();
  for (const std::string_view text :
       {"bloom", "blocked_bloom", "cuckoo", "cuckoo:semi_sorted", "binary_fuse", "ribbon"}) {
    const filter::FilterSpec spec = Spec(text);
    auto builder = *filter::FilterBuilder::Create(spec, 7);
    for (const uint64_t key : keys) builder->Add(key);
    const std::vector<double> unit_bits = SplitIntoUnits(spec, 12);
    builder->set_unit_bits(unit_bits);
    const filter::BuiltFilter built = builder->Finish();
    ASSERT_THAT(built.units, SizeIs(unit_bits.size())) << text;

    std::vector<filter::FilterReader> readers;
    uint64_t offset = filter::kFilterBlockHeaderBytes;
    for (const filter::BuiltUnit& unit : built.units) {
      const std::string_view bytes = std::string_view(built.block).substr(offset, unit.bytes);
      filter::FilterState state;
      readers.push_back(filter::FilterReader::OpenUnit(bytes, unit.checksum, &state));
      ASSERT_EQ(state.code, filter::FilterStateCode::kOk) << text << ": " << state.reason;
      offset += unit.bytes;
    }
    EXPECT_EQ(offset, built.block.size());
    filter::FilterState state;
    const filter::FilterReader whole = filter::FilterReader::Open(built.block, &state);
    ASSERT_EQ(state.code, filter::FilterStateCode::kOk) << state.reason;

    for (const uint64_t key : keys) {
      ASSERT_TRUE(whole.MayContain(key)) << text;
      for (const filter::FilterReader& reader : readers) ASSERT_TRUE(reader.MayContain(key));
    }
    // The first two together: the product of their rates, within its 99.9 % interval.
    constexpr int kProbes = 2'000'000;
    const double expected =
        built.units[0].expected_fpr * (built.units.size() > 1 ? built.units[1].expected_fpr : 1);
    double passed = 0;
    double all_passed = 0;
    for (int i = 0; i < kProbes; i++) {
      const uint64_t hash = random();
      bool here = readers[0].MayContain(hash);
      if (readers.size() > 1) here = here && readers[1].MayContain(hash);
      passed += here ? 1 : 0;
      const bool everywhere = here && (readers.size() < 3 || readers[2].MayContain(hash));
      all_passed += everywhere ? 1 : 0;
      ASSERT_EQ(whole.MayContain(hash), everywhere) << text;
    }
    const double mean = kProbes * expected;
    EXPECT_THAT(passed, DoubleNear(mean, 3.29 * std::sqrt(mean) + 0.03 * mean)) << text;
    const double mean_of_all = kProbes * built.expected_fpr;
    EXPECT_THAT(all_passed,
                DoubleNear(mean_of_all, 4 * std::sqrt(mean_of_all) + 0.05 * mean_of_all))
        << text;
    RecordProperty(std::string(text), std::to_string(passed / kProbes));
  }
}

TEST(UnitSplit, AUnitOfAnotherTableIsNoUnit) {
  auto builder = *filter::FilterBuilder::Create(Spec("blocked_bloom"), 7);
  auto other = *filter::FilterBuilder::Create(Spec("blocked_bloom"), 7);
  for (uint64_t i = 0; i < 1000; i++) {
    builder->Add(i * 0x9e3779b97f4a7c15);
    other->Add(i * 0xd1342543de82ef95);
  }
  const filter::BuiltFilter mine = builder->Finish();
  const filter::BuiltFilter foreign = other->Finish();
  const std::string_view bytes =
      std::string_view(foreign.block).substr(filter::kFilterBlockHeaderBytes);
  filter::FilterState state;
  EXPECT_FALSE(
      filter::FilterReader::OpenUnit(bytes, foreign.units[0].checksum, &state).always_true());
  EXPECT_TRUE(filter::FilterReader::OpenUnit(bytes, mine.units[0].checksum, &state).always_true());
  EXPECT_EQ(state.code, filter::FilterStateCode::kDamaged);
}

TEST(PlanBitsPerKey, SmallLevelsGetMoreAndAllTogetherWhatThereIs) {
  std::vector<PlannedLevel> levels;
  double keys = 0;
  for (const double level_keys : {1e4, 1e5, 1e6}) {
    levels.push_back({Spec("blocked_bloom"), level_keys, 1});
    keys += level_keys;
  }
  const auto budget = static_cast<uint64_t>(keys * 10 / 8);
  const std::vector<double> bits = PlanBitsPerKey(levels, budget);
  ASSERT_THAT(bits, SizeIs(3));
  EXPECT_GT(bits[0], bits[1]);
  EXPECT_GT(bits[1], bits[2]);
  double bytes = 0;
  for (size_t i = 0; i < levels.size(); i++) bytes += levels[i].num_keys * bits[i] / 8;
  EXPECT_LE(bytes, static_cast<double>(budget) + 10);
  EXPECT_GE(bytes, static_cast<double>(budget) * 0.93);
}

// What a level takes in memory where the plan comes true: without the unit for files that are asked
// more than others.
double BytesOfPlan(const PlannedLevel& level, double bits) {
  const double num_files = std::max(level.num_files, 1.0);
  std::vector<ExpectedUnit> units = ExpectedUnits(level.spec, {}, bits, 1'000'000);
  const size_t num_planned = SplitIntoUnits(level.spec, bits).front() < bits ? 2 : 1;
  units.resize(std::min(units.size(), num_planned));
  double bytes = 0;
  for (const ExpectedUnit& unit : units) {
    bytes += num_files * static_cast<double>(unit.BytesFor(level.num_keys / num_files));
  }
  return bytes;
}

// A kind that cannot have as few bits as are planned takes more all the same.
TEST(PlanBitsPerKey, WhatKindsMustHaveAtLeastIsSpent) {
  for (const char* const kind : {"cuckoo", "binary_fuse", "none"}) {
    const std::vector<PlannedLevel> levels = {{Spec(kind), 1e5, 1}, {Spec("ribbon"), 1e5, 1}};
    constexpr uint64_t kBudget = 250'000;
    const std::vector<double> bits = PlanBitsPerKey(levels, kBudget);
    const double bytes = BytesOfPlan(levels[0], bits[0]) + BytesOfPlan(levels[1], bits[1]);
    EXPECT_LE(bytes, kBudget + 600.0) << kind;
    EXPECT_GE(bytes, kBudget * 0.93) << kind;
  }
}

TEST(PlanBitsPerKey, TheHeadsOfUnitsAreSpent) {
  // Of 200 keys each, which makes the heads a third of the budget.
  const std::vector<PlannedLevel> levels = {{Spec("ribbon"), 2e5, 1, 1000}};
  constexpr uint64_t kBudget = 500'000;
  const double bits = PlanBitsPerKey(levels, kBudget)[0];
  EXPECT_LE(BytesOfPlan(levels[0], bits), kBudget);
  EXPECT_GE(BytesOfPlan(levels[0], bits), kBudget * 0.93);
  EXPECT_LT(bits, 10.5);
}

TEST(ExpectedUnits, AreThoseOfTheSplit) {
  const std::vector<ExpectedUnit> units = ExpectedUnits(Spec("blocked_bloom"), {}, 10, 100'000);
  ASSERT_THAT(units, SizeIs(3));
  for (const ExpectedUnit& unit : units) {
    EXPECT_EQ(unit.bits_per_key, 5);
    EXPECT_EQ(unit.rate, filter::ExpectedFpr(Spec("blocked_bloom"), 5, 100'000));
  }
  // Of the least that the kind allows.
  const double least = filter::AllowedBitsPerKey(Spec("cuckoo")).min;
  ASSERT_GT(least, kLeastPlannedBits);
  EXPECT_EQ(ExpectedUnits(Spec("cuckoo"), {}, kLeastPlannedBits, 1000)[0].bits_per_key, least);
  EXPECT_THAT(ExpectedUnits(Spec("none"), {}, 10, 100'000), SizeIs(0));
}

TEST(ExpectedUnits, AutoIsWhatItChoosesForTheLevel) {
  for (const double bits : {4.0, 10.0, 16.0}) {
    const double above = ExpectedUnits(Spec("auto"), {0, 7}, bits, 100'000)[0].rate;
    EXPECT_EQ(above, ExpectedUnits(Spec("blocked_bloom"), {0, 7}, bits, 100'000)[0].rate);
    EXPECT_LT(ExpectedUnits(Spec("auto"), {6, 7}, bits, 100'000)[0].rate, above);
  }
}

// A bit a key for each, before any has none; and where two for each fit, none has fewer.
TEST(PlanBitsPerKey, AShortageMakesAllWeaker) {
  const std::vector<PlannedLevel> levels = {{Spec("blocked_bloom"), 1e5, 1, 2},
                                            {Spec("blocked_bloom"), 1e7, 1, 150}};
  double keys = 0;
  for (const PlannedLevel& level : levels) keys += level.num_keys;
  for (const double bits : {1.25, 2.25}) {
    const auto budget = static_cast<uint64_t>(keys * bits / 8);
    const std::vector<double> planned = PlanBitsPerKey(levels, budget);
    // The step below: what is left of the eighth is the smaller level's.
    EXPECT_EQ(planned[1], bits - 0.125);
    EXPECT_GT(planned[0], planned[1]);
    double bytes = 0;
    for (size_t i = 0; i < levels.size(); i++) {
      bytes += levels[i].num_keys * planned[i] / 8 + levels[i].num_files * kBytesOfUnit;
    }
    EXPECT_LE(bytes, static_cast<double>(budget));
  }
}

// What is left of the budget is less than the deepest level would have a use for: of a third of
// ten bits a key the half bit that does not fit is a seventh.
TEST(PlanBitsPerKey, TheDeepestLevelGetsWhatIsLeft) {
  const std::vector<PlannedLevel> levels = {{Spec("ribbon"), 1e6, 1, 3},
                                            {Spec("ribbon"), 1e7, 1, 20}};
  for (double bits = 2.5; bits < 6; bits += 0.1) {
    const double budget = 1.1e7 * bits / 8;
    const std::vector<double> planned = PlanBitsPerKey(levels, static_cast<uint64_t>(budget));
    double least = std::numeric_limits<double>::max();
    for (double of_small = 1; of_small <= 16; of_small += 0.125) {
      const double of_large = (budget * 8 - 1e6 * of_small) / 1e7;
      if (of_large < 1) continue;
      least = std::min(least, PlannedFpr(Spec("ribbon"), of_small, 1'000'000) +
                                  PlannedFpr(Spec("ribbon"), of_large, 1'000'000));
    }
    const double reads = PlannedFpr(Spec("ribbon"), planned[0], 1'000'000) +
                         PlannedFpr(Spec("ribbon"), planned[1], 1'000'000);
    EXPECT_LT(reads, 1.08 * least) << bits;
  }
}

TEST(PlanBitsPerKey, NeverMoreThanIsOfAnyUseNorLessThanIsOne) {
  const std::vector<PlannedLevel> levels = {{Spec("ribbon"), 1000, 1}};
  EXPECT_THAT(PlanBitsPerKey(levels, 1 << 30), ElementsAre(kMostPlannedBits));
  EXPECT_THAT(PlanBitsPerKey(levels, 1), ElementsAre(kLeastPlannedBits));
}

}  // namespace
}  // namespace winnow
