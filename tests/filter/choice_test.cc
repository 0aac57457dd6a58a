#include "winnow/filter/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/filter/filter_fixture.h"

namespace winnow::filter {
namespace {

using testing::HasSubstr;

constexpr uint64_t kManyKeys = 1'000'000;

FilterChoice ChooseFor(const char* spec, FilterBuildContext context, uint64_t num_keys) {
  return ChooseFilter(*ParseFilterSpec(spec), context, num_keys);
}

TEST(ChoiceTest, UpperLevelsGetTheKindThatIsQuickestToBuild) {
  for (int level = 0; level < 6; ++level) {
    const FilterChoice choice = ChooseFor("auto:8", {.level = level, .num_levels = 7}, kManyKeys);
    EXPECT_EQ(ToString(choice.spec), "blocked_bloom:8");
    EXPECT_THAT(choice.reason, HasSubstr("level " + std::to_string(level) + " of 7"));
  }
}

TEST(ChoiceTest, TheLastLevelGetsTheSmallestKind) {
  for (const FilterBuildContext& context :
       {FilterBuildContext{.level = 6, .num_levels = 7},
        FilterBuildContext{.level = 2, .num_levels = 7, .is_bottommost = true},
        FilterBuildContext{}}) {
    EXPECT_EQ(ToString(ChooseFor("auto:8", context, kManyKeys).spec), "ribbon:8");
    EXPECT_EQ(ToString(ChooseFor("auto:1%", context, kManyKeys).spec), "ribbon:1%");
  }
  EXPECT_THAT(ChooseFor("auto:8", {}, kManyKeys).reason, HasSubstr("level is not known"));
}

// Eight bits of fingerprint in 8.64 bits: a ribbon would gain 7 %, not worth its slower queries.
TEST(ChoiceTest, WholeFingerprintsAreLeftToBinaryFuse) {
  EXPECT_EQ(ChooseFor("auto:8.65", {}, kManyKeys).spec.kind, FilterKind::kBinaryFuse);
  EXPECT_EQ(ChooseFor("auto:8.2", {}, kManyKeys).spec.kind, FilterKind::kRibbon);
}

TEST(ChoiceTest, FewKeysAreLeftToBlockedBloom) {
  const FilterChoice choice = ChooseFor("auto:8", {}, 100);
  EXPECT_EQ(ToString(choice.spec), "blocked_bloom:8");
  EXPECT_THAT(choice.reason, HasSubstr("100 keys"));
}

TEST(ChoiceTest, OtherKindsAreNotTouched) {
  const FilterChoice choice = ChooseFor("cuckoo:12", {.level = 0, .num_levels = 7}, kManyKeys);
  EXPECT_EQ(ToString(choice.spec), "cuckoo:12");
  EXPECT_EQ(choice.reason, "as asked for");
}

TEST(AutoTest, BuildersSayWhatTheyChoseAndKeepEveryKey) {
  const std::vector<uint64_t> hashes = MemberHashes(1, 20'000);
  for (const int level : {0, 6}) {
    FilterBuildContext context{.level = level, .num_levels = 7};
    auto builder = FilterBuilder::Create(*ParseFilterSpec("auto:1%"), 1, {}, context);
    ASSERT_TRUE(builder.ok()) << builder.status();
    for (const uint64_t hash : hashes) (*builder)->Add(hash);
    const BuiltFilter built = (*builder)->Finish();
    EXPECT_EQ(built.kind, level == 0 ? FilterKind::kBlockedBloom : FilterKind::kRibbon);
    EXPECT_THAT(built.reason, HasSubstr(std::string(KindName(built.kind))));
    EXPECT_LE(built.expected_fpr, 0.0101);
    const FilterReader reader = OpenSound(built.block);
    EXPECT_EQ(reader.kind(), built.kind);
    EXPECT_EQ(CountFound(reader, hashes), hashes.size());
    EXPECT_LT(CountFalsePositives(reader, 1, 10'000), 200u);
  }
}

TEST(AutoTest, NoKeysMakeAFilterThatRefutesEverything) {
  const BuiltFilter built = BuildFrom("auto", {});
  EXPECT_EQ(CountFalsePositives(OpenSound(built.block), 1, 100), 0u);
}

TEST(AutoTest, TheFallBackSaysWhatFailed) {
  FilterBuildLimits limits;
  limits.on_block_built = [](FilterKind kind, int, std::string* block) {
    if (kind == FilterKind::kRibbon) block->back() ^= 1;
  };
  const BuiltFilter built = BuildFrom("ribbon:8", MemberHashes(2, 3000), limits);
  EXPECT_TRUE(built.fell_back);
  EXPECT_EQ(built.kind, FilterKind::kBlockedBloom);
  EXPECT_EQ(built.reason, "ribbon could not be built");
}

}  // namespace
}  // namespace winnow::filter
