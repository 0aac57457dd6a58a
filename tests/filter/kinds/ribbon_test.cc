// What is special to ribbon: layers, bumping, fractions of a bit, shards of a core's cache.

#include <gtest/gtest.h>

#include <cmath>

#include "filter/format/block_format.h"
#include "filter/kinds/ribbon/ribbon_layer.h"
#include "filter/kinds/ribbon/ribbon_shape.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

TEST(RibbonTest, TakesHardlyMoreThanTheBound) {
  for (const char* spec : {"ribbon:1%", "ribbon:0.1%", "ribbon:7", "ribbon:12.3"}) {
    constexpr uint64_t kKeys = 1'000'000;
    const BuiltFilter built = BuildFrom(spec, MemberHashes(1, kKeys));
    const double bits = static_cast<double>(built.block.size()) * 8 / kKeys;
    EXPECT_LE(bits / -std::log2(built.expected_fpr), 1.05) << spec;
  }
}

TEST(RibbonTest, EveryFractionOfABitLowersTheRate) {
  const std::vector<uint64_t> hashes = MemberHashes(2, 50'000);
  double previous = 1;
  for (double bits = 1; bits < 9; bits += 0.1) {
    FilterSpec spec;
    spec.kind = FilterKind::kRibbon;
    spec.bits_per_key = bits;
    const BuiltFilter built = BuildFrom(ToString(spec), hashes);
    EXPECT_LT(built.expected_fpr, previous) << bits;
    previous = built.expected_fpr;
    ASSERT_LE(static_cast<double>(built.block.size()) * 8 / 50'000, bits + 0.04) << bits;
  }
}

// Few equations begin in the last block, so that of few blocks narrow ones count for more than
// their number says.
TEST(RibbonTest, SmallFiltersKeepThePromisedRate) {
  for (const char* spec : {"ribbon:1%", "ribbon:0.3%", "ribbon:1.5%"}) {
    const double promised = ParseFilterSpec(spec)->fpr;
    for (uint64_t keys = 1; keys < 3000; keys += 1 + keys / 8) {
      const BuiltFilter built = BuildFrom(spec, MemberHashes(keys, keys));
      EXPECT_LE(built.expected_fpr, promised * 1.000001) << spec << " of " << keys;
    }
  }
}

// Sizes around each change of shape: one layer, two, three; one shard, more.
TEST(RibbonTest, EveryKeyIsFoundWhereverTheShapeChanges) {
  for (const uint64_t around : {2500, 32'768, 196'608, 600'000}) {
    for (const int64_t offset : {-1, 0, 1, 777}) {
      const auto size = static_cast<uint64_t>(static_cast<int64_t>(around) + offset);
      const std::vector<uint64_t> hashes = MemberHashes(around, size);
      const BuiltFilter built = BuildFrom("ribbon:7.3", hashes);
      ASSERT_FALSE(built.fell_back);
      EXPECT_EQ(built.num_keys, size);
      const FilterReader reader = OpenSound(built.block);
      ASSERT_EQ(CountFound(reader, hashes), size);
      EXPECT_LT(CountFalsePositives(reader, around, 20'000), 300u);
    }
  }
}

// All start in one bucket: nearly all are bumped, too many for the next layer. Another salt spreads
// them.
TEST(RibbonTest, KeysThatAllCrowdAreSpreadByASalt) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 30'000; ++i) hashes.push_back(i);
  const BuiltFilter built = BuildFrom("ribbon:7", hashes);
  EXPECT_FALSE(built.fell_back);
  const FilterReader reader = OpenSound(built.block);
  EXPECT_NE(reader.Describe().salt, 0u);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  EXPECT_LT(CountFalsePositives(reader, 3, 20'000), 400u);
}

TEST(RibbonLayerTest, BumpedKeysAreFewAndTheOthersAreInTheSolution) {
  constexpr uint64_t kKeys = 60'000;
  constexpr int kColumns = 8;
  const std::vector<uint64_t> hashes = MemberHashes(4, kKeys);
  const uint64_t num_blocks = internal::BumpingLayerBlocks(kKeys);
  internal::RibbonLayer layer(kKeys, num_blocks);
  layer.Load(kKeys, num_blocks, 1, [&](auto visit) {
    for (const uint64_t hash : hashes) visit(hash);
  });
  std::vector<uint8_t> thresholds(internal::RibbonShape::ThresholdBytes(num_blocks), 0);
  std::vector<uint64_t> bumped;
  EXPECT_EQ(layer.InsertOrBump(thresholds.data(), &bumped), 0u);
  EXPECT_GT(bumped.size(), 0u);
  EXPECT_LT(static_cast<double>(bumped.size()), 2 * internal::kExpectedBumpedShare * kKeys);
  std::vector<uint8_t> blocks(num_blocks * kColumns * sizeof(uint64_t));
  layer.Solve(kColumns, 0, blocks.data());

  uint64_t num_bumped = 0;
  for (const uint64_t hash : hashes) {
    const uint64_t slot =
        internal::RibbonStartSlot(hash, 1, internal::RibbonShape::NumStarts(num_blocks));
    const uint64_t bucket = slot / internal::kBucketSlots;
    const uint64_t threshold = (thresholds[bucket / 2] >> (bucket % 2 * 4)) & 15;
    if (slot % internal::kBucketSlots / internal::kGroupSlots < threshold) {
      ++num_bumped;
      continue;
    }
    const internal::RibbonProbe probe = {blocks.data() + slot / 64 * kColumns * sizeof(uint64_t),
                                         slot % 64, internal::RibbonCoefficients(hash),
                                         internal::RibbonFingerprint(hash), kColumns};
    ASSERT_TRUE(internal::RibbonMatches(probe));
  }
  EXPECT_EQ(num_bumped, bumped.size());
}

TEST(RibbonTest, DuplicatesAreCountedOnceWhetherBumpedOrNot) {
  std::vector<uint64_t> hashes = MemberHashes(5, 100'000);
  const std::vector<uint64_t> again = MemberHashes(5, 1000);
  hashes.insert(hashes.end(), again.begin(), again.end());
  const BuiltFilter built = BuildFrom("ribbon:7", hashes);
  EXPECT_EQ(built.num_keys, 100'000u);
  EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
}

}  // namespace
}  // namespace winnow::filter
