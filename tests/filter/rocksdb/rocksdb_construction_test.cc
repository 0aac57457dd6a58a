// Two table options that concern how a filter is built: the memory for it is charged to the block
// cache, and its size is one that the allocator fills.

#include <cmath>

#include "filter/rocksdb/allocation_fit.h"
#include "filter/rocksdb/bits_builder.h"
#include "filter/rocksdb/bits_reader.h"
#include "filter/rocksdb/construction_charge.h"
#include "filter/rocksdb/filter_bits_interface.h"
#include "filter/rocksdb/filter_policy.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace winnow::filter::internal {
namespace {

using rocksdb::CacheEntryRole;
using Decision = rocksdb::CacheEntryRoleOptions::Decision;

constexpr uint64_t kMiB = 1 << 20;

std::unique_ptr<rocksdb::FilterBitsBuilder> BuilderOf(
    const PolicyPointer& policy, const rocksdb::BlockBasedTableOptions& table) {
  return std::unique_ptr<rocksdb::FilterBitsBuilder>(
      policy->GetBuilderWithContext(rocksdb::FilterBuildingContext(table)));
}

rocksdb::BlockBasedTableOptions WithCharge(Decision all, Decision construction, uint64_t capacity,
                                           bool is_strict = false) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(capacity, /*num_shard_bits=*/0, is_strict);
  table.cache_usage_options.options.charged = all;
  table.cache_usage_options.options_overrides[CacheEntryRole::kFilterConstruction].charged =
      construction;
  return table;
}

TEST(ConstructionChargeTest, TheCacheHoldsWhatTheBuilderHolds) {
  const auto table = WithCharge(Decision::kFallback, Decision::kEnabled, 64 * kMiB);
  const PolicyPointer policy = MakeTestPolicy("blocked_bloom:10");
  auto builder = BuilderOf(policy, table);
  EXPECT_EQ(table.block_cache->GetPinnedUsage(), 0u);
  for (uint64_t i = 0; i < 400'000; ++i) builder->AddKey(NumberedKey(i));
  EXPECT_GE(table.block_cache->GetPinnedUsage(), 400'000 * 8);
  EXPECT_LE(table.block_cache->GetPinnedUsage(), 400'000 * 8 + kMiB);
  std::unique_ptr<const char[]> owner;
  const uint64_t block_bytes = builder->Finish(&owner).size();
  EXPECT_GE(table.block_cache->GetPinnedUsage(), block_bytes - 5);
  EXPECT_LE(table.block_cache->GetPinnedUsage(), block_bytes + kMiB);
  builder.reset();
  EXPECT_EQ(table.block_cache->GetPinnedUsage(), 0u);
  EXPECT_EQ(table.block_cache->GetUsage(), 0u) << "nothing is left behind";
}

TEST(ConstructionChargeTest, OnlyWhereItIsAskedFor) {
  const PolicyPointer policy = MakeTestPolicy("ribbon:8");
  const auto usage_of = [&](Decision all, Decision construction) {
    const auto table = WithCharge(all, construction, 64 * kMiB);
    const auto builder = BuilderOf(policy, table);
    for (uint64_t i = 0; i < 100'000; ++i) builder->AddKey(NumberedKey(i));
    return table.block_cache->GetPinnedUsage();
  };
  EXPECT_EQ(usage_of(Decision::kFallback, Decision::kFallback), 0u);
  EXPECT_EQ(usage_of(Decision::kDisabled, Decision::kFallback), 0u);
  EXPECT_EQ(usage_of(Decision::kEnabled, Decision::kDisabled), 0u);
  EXPECT_GE(usage_of(Decision::kEnabled, Decision::kFallback), 800'000u);
  EXPECT_GE(usage_of(Decision::kDisabled, Decision::kEnabled), 800'000u);

  auto without_cache = WithCharge(Decision::kEnabled, Decision::kEnabled, kMiB);
  without_cache.block_cache = nullptr;
  EXPECT_NE(BuilderOf(policy, without_cache), nullptr);
}

TEST(ConstructionChargeTest, AFullCacheKeepsNoFilterFromBeingBuilt) {
  const auto table = WithCharge(Decision::kEnabled, Decision::kEnabled, kMiB, /*is_strict=*/true);
  const auto builder = BuilderOf(MakeTestPolicy("blocked_bloom:10"), table);
  for (uint64_t i = 0; i < 500'000; ++i) builder->AddKey(NumberedKey(i));
  EXPECT_LE(table.block_cache->GetPinnedUsage(), kMiB);
  std::unique_ptr<const char[]> owner;
  EXPECT_GT(builder->Finish(&owner).size(), 500'000u);
}

// Sizes as jemalloc has them: four for each doubling.
size_t FourSizesADoubling(size_t bytes) {
  size_t step = 16;
  while (step * 8 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

double HalvedByEachBit(size_t bytes) { return std::exp2(-static_cast<double>(bytes) / 10'000); }

TEST(AllocationFitTest, FillsTheAllocationAndKeepsTheMeanRate) {
  AllocationFit fit(&FourSizesADoubling);
  double wanted = 0;
  double built = 0;
  uint64_t built_bytes = 0;
  uint64_t wanted_bytes = 0;
  for (size_t bytes = 60'000; bytes < 130'000; bytes += 371) {
    const size_t fitted = fit.Fit(bytes, HalvedByEachBit);
    EXPECT_EQ(FourSizesADoubling(fitted + 5), fitted + 5) << bytes;
    EXPECT_GE(fitted, bytes / 16 * 12);
    EXPECT_LE(fitted, bytes / 3 * 4);
    fit.Count(HalvedByEachBit(bytes), HalvedByEachBit(fitted));
    wanted += HalvedByEachBit(bytes);
    built += HalvedByEachBit(fitted);
    wanted_bytes += FourSizesADoubling(bytes + 5);
    built_bytes += FourSizesADoubling(fitted + 5);
  }
  EXPECT_LE(built, wanted * 1.01);
  EXPECT_LT(built_bytes, wanted_bytes) << "smaller ones make up for the larger ones";
}

TEST(AllocationFitTest, AnAllocatorWithoutWasteChangesNothing) {
  AllocationFit exact([](size_t bytes) { return bytes; });
  AllocationFit lavish([](size_t bytes) { return 2 * bytes; });
  for (size_t bytes = 133; bytes < 100'000; bytes *= 3) {
    EXPECT_EQ(exact.Fit(bytes, HalvedByEachBit), bytes);
    EXPECT_EQ(lavish.Fit(bytes, HalvedByEachBit), bytes);
  }
  EXPECT_GE(AllocatedBytes(1000), 1000u);
}

class FittedFilterTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, FittedFilterTest, testing::ValuesIn(BuildingKinds()), KindOfTest);

// Kinds whose sizes go in steps of their own come near; none spills into the next allocation.
TEST_P(FittedFilterTest, LosesLessMemoryAndNoKey) {
  uint64_t lost[2] = {0, 0};
  for (const bool is_fitted : {false, true}) {
    BitsBuilderSettings settings;
    settings.spec = *ParseFilterSpec(GetParam() + ":10");
    settings.hash_seed = 0x5eed;
    if (is_fitted) settings.fit = std::make_shared<AllocationFit>(&FourSizesADoubling);
    BitsBuilder builder(settings);
    for (uint64_t count = 20'000; count < 40'000; count += 1'500) {
      for (uint64_t i = 0; i < count; ++i) builder.AddKey(NumberedKey(i));
      std::unique_ptr<const char[]> owner;
      const rocksdb::Slice contents = builder.Finish(&owner);
      lost[is_fitted ? 1 : 0] += FourSizesADoubling(contents.size() + 5) - contents.size();
      const std::unique_ptr<rocksdb::FilterBitsReader> reader(
          MakeTestPolicy("none")->GetFilterBitsReader(contents));
      for (uint64_t i = 0; i < count; i += 7) ASSERT_TRUE(reader->MayMatch(NumberedKey(i)));
    }
  }
  EXPECT_LT(lost[1], lost[0]) << "bytes of allocations without a filter in them";
}

// The bytes of an allocation that a filter of the policy leaves unused.
size_t LostBytes(const rocksdb::FilterPolicy& policy, bool optimizes_for_memory) {
  rocksdb::BlockBasedTableOptions table;
  table.optimize_filters_for_memory = optimizes_for_memory;
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
      policy.GetBuilderWithContext(rocksdb::FilterBuildingContext(table)));
  for (uint64_t i = 0; i < 22'000; ++i) builder->AddKey(NumberedKey(i));
  std::unique_ptr<const char[]> owner;
  const size_t bytes = builder->Finish(&owner).size();
  return FourSizesADoubling(bytes + 5) - bytes;
}

TEST(FittedPolicyTest, FitsFiltersOnlyWhereTheTableOptionsAskForIt) {
  const WinnowFilterPolicy policy(*ParsePolicySpec("bloom:10"), 0x5eed,
                                  std::make_shared<AllocationFit>(&FourSizesADoubling));
  const size_t lost = LostBytes(policy, /*optimizes_for_memory=*/false);
  EXPECT_GT(lost, 1000u);
  EXPECT_LT(LostBytes(policy, /*optimizes_for_memory=*/true), lost / 2);
  EXPECT_EQ(LostBytes(policy, /*optimizes_for_memory=*/false), lost);
}

// Sizes as in malloc of the C library: little is gained, and none of it may cost a rate.
size_t SixteenBytesAStep(size_t bytes) { return (bytes + 8 + 15) / 16 * 16 - 8; }

// The rate of absent keys that a dozen filters of one policy let pass.
double RateOfFilters(const std::string& spec, uint64_t first_count,
                     std::shared_ptr<AllocationFit> fit) {
  BitsBuilderSettings settings;
  settings.spec = *ParseFilterSpec(spec);
  settings.hash_seed = 0x5eed;
  settings.fit = std::move(fit);
  BitsBuilder builder(settings);
  uint64_t num_passed = 0;
  constexpr uint64_t kFilters = 12;
  constexpr uint64_t kAbsent = 4000;
  for (uint64_t filter = 0; filter < kFilters; ++filter) {
    const uint64_t count = first_count + first_count * filter / kFilters;
    for (uint64_t i = 0; i < count; ++i) builder.AddKey(NumberedKey(i));
    std::unique_ptr<const char[]> owner;
    BitsReader reader(builder.Finish(&owner));
    for (uint64_t i = 0; i < kAbsent; ++i) {
      num_passed += reader.MayMatch(NumberedKey(10'000'000 + filter * kAbsent + i));
    }
  }
  return static_cast<double>(num_passed) / (kFilters * kAbsent);
}

// Few keys take more bits for a rate than many do, and some kinds' rates go in steps of two.
TEST_P(FittedFilterTest, KeepsTheRateThatIsAskedFor) {
  for (const std::string amount : {":1%", ":10"}) {
    const std::string spec = GetParam() + amount;
    for (const uint64_t count : {2'500, 10'000}) {
      const double wanted = RateOfFilters(spec, count, nullptr);
      for (auto* const allocated_bytes : {&SixteenBytesAStep, &FourSizesADoubling}) {
        const double fitted =
            RateOfFilters(spec, count, std::make_shared<AllocationFit>(allocated_bytes));
        EXPECT_LE(fitted, 1.2 * wanted) << spec << " of " << count << " keys and more";
      }
    }
  }
}

}  // namespace
}  // namespace winnow::filter::internal
