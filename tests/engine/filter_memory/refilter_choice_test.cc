// Which table is worth another filter, and that the choices come to an end.
#include "engine/filter_memory/refilter_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "engine/filter_memory/unit_split.h"
#include "winnow/filter/sizing.h"

namespace winnow {
namespace {

constexpr double kKeys = 10'000;
constexpr double kHorizon = 300;

filter::FilterSpec SpecOf(std::string_view text) { return *filter::ParseFilterSpec(text); }

void SetUnits(const std::vector<double>& units, std::string_view kind,
              RefilterCandidate* candidate) {
  const filter::FilterSpec spec = SpecOf(kind);
  candidate->planned.steps.clear();
  for (const double bits : units) {
    const auto bytes = static_cast<uint64_t>(bits * candidate->num_keys / 8);
    const auto keys = static_cast<uint64_t>(candidate->num_keys);
    candidate->planned.steps.push_back({bytes, filter::ExpectedFpr(spec, bits, keys)});
  }
}

// A table of 64 keys a block whose filter is of such units.
RefilterCandidate Table(double lookups, const std::vector<double>& units, size_t num_resident) {
  RefilterCandidate table;
  table.spec = SpecOf("blocked_bloom");
  table.num_keys = kKeys;
  table.planned.lookups = lookups;
  table.planned.num_resident = num_resident;
  table.measured_lookups = lookups;
  table.may_change = true;
  table.blocks_to_read = kKeys / 64;
  table.block_bytes = 4096;
  SetUnits(units, "blocked_bloom", &table);
  return table;
}

uint64_t Bytes(double bits_per_key, size_t num_tables) {
  return static_cast<uint64_t>(bits_per_key * kKeys / 8 * static_cast<double>(num_tables));
}

// As FilterBudget has units in memory.
double Plan(uint64_t budget, std::vector<RefilterCandidate>* tables) {
  std::vector<PlannedFilter> filters;
  for (const RefilterCandidate& table : *tables) filters.push_back(table.planned);
  const FilterPlan plan = PlanFilterMemory(filters, budget, kReplacementGain);
  for (size_t i = 0; i < tables->size(); i++) {
    (*tables)[i].planned.num_resident = plan.num_resident[i];
  }
  return plan.needless_reads;
}

// What is chosen is done, until nothing is. The numbers of tables, in their order.
std::vector<size_t> RefilterAll(uint64_t budget, std::vector<RefilterCandidate>* tables,
                                double horizon = kHorizon) {
  std::vector<size_t> done;
  while (const auto choice = ChooseRefilter(*tables, budget, horizon)) {
    if (done.size() > 10 * tables->size()) {
      ADD_FAILURE() << "no end";
      break;
    }
    RefilterCandidate& table = (*tables)[choice->index];
    table.tried_bits = choice->bits_per_key;
    table.has_other_kind = false;
    SetUnits(SplitIntoUnits(table.spec, choice->bits_per_key), "blocked_bloom", &table);
    table.planned.num_resident = std::min<size_t>(1, table.planned.steps.size());
    Plan(budget, tables);
    done.push_back(choice->index);
  }
  return done;
}

// One that is asked ten thousand times as often as ninety-nine others.
std::vector<RefilterCandidate> OneHotTable() {
  std::vector<RefilterCandidate> tables(100, Table(1, {5, 5, 5}, 2));
  tables[7] = Table(10'000, {5, 5, 5}, 3);
  return tables;
}

TEST(RefilterChoice, TheHotTableGetsALargerFilterAndTheColdOnesStay) {
  std::vector<RefilterCandidate> tables = OneHotTable();
  const uint64_t budget = Bytes(10.5, 100);
  const double before = Plan(budget, &tables);
  const auto choice = ChooseRefilter(tables, budget, kHorizon);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->index, 7u);
  EXPECT_EQ(choice->bits_in_memory, 15);
  EXPECT_EQ(choice->bits_per_key, kMostPlannedBits);
  EXPECT_GT(choice->reads_saved * kHorizon, kRefilterRepaid * choice->blocks);
  EXPECT_GE(choice->blocks, kKeys / 64);
  EXPECT_EQ(RefilterAll(budget, &tables), std::vector<size_t>{7});
  // What it promised is what it brings.
  EXPECT_NEAR(before - Plan(budget, &tables), choice->reads_saved, choice->reads_saved / 10);
}

TEST(RefilterChoice, NothingIsDoneForLookUpsThatWereNotMeasured) {
  std::vector<RefilterCandidate> tables = OneHotTable();
  tables[7].measured_lookups = 0;
  const uint64_t budget = Bytes(10.5, 100);
  Plan(budget, &tables);
  EXPECT_FALSE(ChooseRefilter(tables, budget, kHorizon).has_value());
}

TEST(RefilterChoice, NothingIsDoneThatWouldNotBeRepaid) {
  std::vector<RefilterCandidate> tables = OneHotTable();
  const uint64_t budget = Bytes(10.5, 100);
  Plan(budget, &tables);
  const auto choice = ChooseRefilter(tables, budget, kHorizon);
  ASSERT_TRUE(choice.has_value());
  const double enough = kRefilterRepaid * choice->blocks / choice->reads_saved;
  EXPECT_TRUE(ChooseRefilter(tables, budget, enough * 1.01).has_value());
  EXPECT_FALSE(ChooseRefilter(tables, budget, enough * 0.99).has_value());
  EXPECT_FALSE(ChooseRefilter(tables, budget, 0).has_value());
  tables[7].may_change = false;
  EXPECT_FALSE(ChooseRefilter(tables, budget, kHorizon).has_value());
}

TEST(RefilterChoice, UnitsThatComeNearThePlanAreLeftAsTheyAre) {
  for (const double bits : {4.0, 5.0, 6.0, 8.0, 12.5, 15.0, 15.4}) {
    std::vector<RefilterCandidate> tables(10, Table(100'000, {5, 5, 5}, 3));
    EXPECT_FALSE(ChooseRefilter(tables, Bytes(bits, 10), kHorizon).has_value()) << bits;
  }
  for (const double bits : {7.0, 19.5}) {
    std::vector<RefilterCandidate> tables(10, Table(100'000, {5, 5, 5}, bits < 10 ? 1 : 3));
    EXPECT_TRUE(ChooseRefilter(tables, Bytes(bits, 10), kHorizon).has_value()) << bits;
  }
}

double BytesInMemory(const std::vector<RefilterCandidate>& tables) {
  double bytes = 0;
  for (const RefilterCandidate& table : tables) {
    for (size_t i = 0; i < table.planned.num_resident; i++) {
      bytes += static_cast<double>(table.planned.steps[i].bytes);
    }
  }
  return bytes;
}

// As after a compaction: what the files above had in memory is nobody's.
TEST(RefilterChoice, MemoryThatLiesIdleIsUsed) {
  std::vector<RefilterCandidate> tables(10, Table(100'000, {3.5}, 1));
  EXPECT_FALSE(ChooseRefilter(tables, Bytes(3.6, 10), kHorizon).has_value());
  const uint64_t budget = Bytes(4.2, 10);
  const double before = Plan(budget, &tables);
  const std::vector<size_t> done = RefilterAll(budget, &tables);
  EXPECT_FALSE(done.empty());
  EXPECT_LE(done.size(), tables.size());
  EXPECT_LT(Plan(budget, &tables), 0.9 * before);
  EXPECT_GT(BytesInMemory(tables), 0.96 * static_cast<double>(budget));
}

TEST(RefilterChoice, WhatWasTriedForTheSameBitsIsNotTriedAgain) {
  std::vector<RefilterCandidate> tables(10, Table(100'000, {5, 5, 5}, 3));
  for (RefilterCandidate& table : tables) table.tried_bits = 18;
  EXPECT_FALSE(ChooseRefilter(tables, Bytes(19.5, 10), kHorizon).has_value());
  tables[3].tried_bits = 12;
  const auto choice = ChooseRefilter(tables, Bytes(19.5, 10), kHorizon);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->index, 3u);
}

// Of one unit each, as from before the budget: the cold ones have what the hot ones need.
TEST(RefilterChoice, AFilterThatIsTooLargeLeavesItsMemoryToOthers) {
  std::vector<RefilterCandidate> tables(20, Table(1, {16}, 1));
  for (size_t i = 0; i < 10; i++) tables[i] = Table(5000, {5}, 1);
  const uint64_t budget = Bytes(16, 10) + Bytes(5, 10) + Bytes(4, 1);
  const double before = Plan(budget, &tables);
  const auto choice = ChooseRefilter(tables, budget, kHorizon);
  ASSERT_TRUE(choice.has_value());
  EXPECT_GE(choice->index, 10u) << "there is no room for larger ones yet";
  EXPECT_LT(choice->bits_per_key, 5);
  RefilterAll(budget, &tables);
  EXPECT_LT(Plan(budget, &tables) * 10, before);
}

TEST(RefilterChoice, ATableWithoutAFilterGetsOne) {
  std::vector<RefilterCandidate> tables(10, Table(100, {5, 5, 5}, 2));
  tables[4] = Table(100, {}, 0);
  const auto choice = ChooseRefilter(tables, Bytes(10, 10), kHorizon);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->index, 4u);
  EXPECT_EQ(choice->bits_in_memory, 0);
  EXPECT_EQ(RefilterAll(Bytes(10, 10), &tables), std::vector<size_t>{4});
}

TEST(RefilterChoice, AnotherKindIsReplacedWhereTheNewOneSavesEnough) {
  std::vector<RefilterCandidate> tables(10, Table(1000, {5, 5, 5}, 2));
  for (RefilterCandidate& table : tables) {
    table.spec = SpecOf("ribbon");
    table.has_other_kind = true;
  }
  tables[2].planned.lookups = tables[2].measured_lookups = 2000;
  const uint64_t budget = Bytes(10, 10);
  EXPECT_EQ(ChooseRefilter(tables, budget, kHorizon)->index, 2u);
  for (RefilterCandidate& table : tables) table.measured_lookups = 1e-3;
  EXPECT_FALSE(ChooseRefilter(tables, budget, kHorizon).has_value());
  // One that errs more saves nothing.
  std::vector<RefilterCandidate> better(10, Table(1000, {10}, 1));
  for (RefilterCandidate& table : better) {
    SetUnits({10}, "ribbon", &table);
    table.has_other_kind = true;
  }
  EXPECT_FALSE(ChooseRefilter(better, budget, kHorizon).has_value());
}

TEST(RefilterChoice, NoFilterLosesItsOnlyUnitForAnothers) {
  std::vector<RefilterCandidate> tables(10, Table(1, {5, 5, 5}, 1));
  tables[0] = Table(100'000, {5, 5, 5}, 1);
  const uint64_t budget = Bytes(5, 10) + Bytes(1, 1);
  EXPECT_FALSE(ChooseRefilter(tables, budget, kHorizon).has_value());
}

struct RandomTree {
  explicit RandomTree(uint32_t seed) : random(seed) {
    for (size_t i = 0; i < kTables; i++) {
      lookups.push_back(std::exp(8 * real(random)));
      const double bits = 4 + 8 * real(random);
      tables.push_back(Table(lookups[i], SplitIntoUnits(SpecOf("blocked_bloom"), bits), 1));
    }
  }
  // Needless reads if each table had just the bits of the plan.
  double Promised() const {
    std::vector<PlannedLevel> levels;
    for (size_t i = 0; i < kTables; i++) levels.push_back({tables[i].spec, kKeys, lookups[i]});
    const std::vector<double> bits = PlanBitsPerKey(levels, budget);
    double reads = 0;
    for (size_t i = 0; i < kTables; i++) {
      reads += lookups[i] * PlannedFpr(tables[i].spec, bits[i], static_cast<uint64_t>(kKeys));
    }
    return reads;
  }

  static constexpr size_t kTables = 40;
  std::mt19937 random;
  std::uniform_real_distribution<double> real{0, 1};
  std::vector<double> lookups;
  std::vector<RefilterCandidate> tables;
  const uint64_t budget = Bytes(12, kTables);
};

TEST(RefilterChoice, ChoicesEndNearThePlan) {
  for (uint32_t seed = 1; seed <= 20; seed++) {
    RandomTree tree(seed);
    const double before = Plan(tree.budget, &tree.tables);
    const size_t done = RefilterAll(tree.budget, &tree.tables, 1000 * kHorizon).size();
    const double after = Plan(tree.budget, &tree.tables);
    EXPECT_LE(done, 2 * tree.kTables) << "seed " << seed;
    EXPECT_LT(after, before) << "seed " << seed;
    EXPECT_LT(after, 1.5 * tree.Promised()) << "seed " << seed << ", before " << before;
  }
}

// Look-ups that waver by a fifth, for a hundred rounds.
TEST(RefilterChoice, FiltersDoNotFollowWavesOfLookUps) {
  for (uint32_t seed = 1; seed <= 10; seed++) {
    RandomTree tree(seed);
    Plan(tree.budget, &tree.tables);
    RefilterAll(tree.budget, &tree.tables);
    size_t done = 0;
    size_t lately = 0;
    for (int wave = 0; wave < 100; wave++) {
      for (size_t i = 0; i < tree.kTables; i++) {
        const double lookups = tree.lookups[i] * (0.8 + 0.4 * tree.real(tree.random));
        tree.tables[i].planned.lookups = tree.tables[i].measured_lookups = lookups;
      }
      Plan(tree.budget, &tree.tables);
      const size_t more = RefilterAll(tree.budget, &tree.tables).size();
      done += more;
      if (wave >= 50) lately += more;
    }
    EXPECT_LE(done, tree.kTables / 4) << "seed " << seed;
    EXPECT_EQ(lately, 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace winnow
