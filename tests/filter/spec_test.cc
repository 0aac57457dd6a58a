#include "winnow/filter/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace winnow::filter {
namespace {

using testing::HasSubstr;

struct GoodSpec {
  const char* text;
  FilterKind kind;
  double bits_per_key;
  double fpr;
  const char* canonical;
};

class GoodSpecTest : public testing::TestWithParam<GoodSpec> {};

TEST_P(GoodSpecTest, IsReadAndWrittenBack) {
  const GoodSpec& good = GetParam();
  const auto spec = ParseFilterSpec(good.text);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->kind, good.kind);
  EXPECT_DOUBLE_EQ(spec->bits_per_key, good.bits_per_key);
  EXPECT_DOUBLE_EQ(spec->fpr, good.fpr);
  EXPECT_EQ(spec->words.empty(), std::string_view(good.text).find("semi") == std::string::npos);
  EXPECT_EQ(ToString(*spec), good.canonical);
  EXPECT_EQ(*ParseFilterSpec(ToString(*spec)), *spec);
  EXPECT_TRUE(ValidateFilterSpec(*spec).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Specs, GoodSpecTest,
    testing::Values(
        GoodSpec{"none", FilterKind::kNone, 0, 0, "none"},
        GoodSpec{"bloom", FilterKind::kBloom, 0, 0, "bloom"},
        GoodSpec{"blocked_bloom:10", FilterKind::kBlockedBloom, 10, 0, "blocked_bloom:10"},
        GoodSpec{"bloom:7.2", FilterKind::kBloom, 7.2, 0, "bloom:7.2"},
        GoodSpec{"bloom:07.20", FilterKind::kBloom, 7.2, 0, "bloom:7.2"},
        GoodSpec{"cuckoo:1%", FilterKind::kCuckoo, 0, 0.01, "cuckoo:1%"},
        GoodSpec{"cuckoo:0.1%", FilterKind::kCuckoo, 0, 0.001, "cuckoo:0.1%"},
        GoodSpec{"bloom:50%", FilterKind::kBloom, 0, 0.5, "bloom:50%"},
        GoodSpec{"bloom:0.0001%", FilterKind::kBloom, 0, 1e-6, "bloom:0.0001%"},
        GoodSpec{"bloom:1", FilterKind::kBloom, 1, 0, "bloom:1"},
        GoodSpec{"bloom:64", FilterKind::kBloom, 64, 0, "bloom:64"},
        GoodSpec{"cuckoo:3", FilterKind::kCuckoo, 3, 0, "cuckoo:3"},
        GoodSpec{"cuckoo:1%:semi_sorted", FilterKind::kCuckoo, 0, 0.01, "cuckoo:1%:semi_sorted"},
        GoodSpec{"cuckoo:9.50:semi_sorted", FilterKind::kCuckoo, 9.5, 0, "cuckoo:9.5:semi_sorted"},
        GoodSpec{"cuckoo:semi_sorted", FilterKind::kCuckoo, 0, 0, "cuckoo:semi_sorted"},
        GoodSpec{"binary_fuse:9", FilterKind::kBinaryFuse, 9, 0, "binary_fuse:9"},
        GoodSpec{"ribbon:7.2", FilterKind::kRibbon, 7.2, 0, "ribbon:7.2"},
        GoodSpec{"auto", FilterKind::kAuto, 0, 0, "auto"},
        GoodSpec{"auto:8", FilterKind::kAuto, 8, 0, "auto:8"},
        GoodSpec{"auto:0.5%", FilterKind::kAuto, 0, 0.005, "auto:0.5%"}));

struct BadSpec {
  const char* text;
  const char* part_of_error;
};

class BadSpecTest : public testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, IsRefusedWithTheNearestRightForm) {
  const auto spec = ParseFilterSpec(GetParam().text);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr(GetParam().part_of_error));
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("filter spec '"));
}

INSTANTIATE_TEST_SUITE_P(
    Specs, BadSpecTest,
    testing::Values(
        BadSpec{"", "unknown kind ''"}, BadSpec{"blom:10", "did you mean 'bloom'"},
        BadSpec{"blockedbloom:10", "did you mean 'blocked_bloom'"},
        BadSpec{"Cuckoo", "did you mean 'cuckoo'"}, BadSpec{"nome", "did you mean 'none'"},
        BadSpec{"fuse:8", "did you mean 'binary_fuse'"},
        BadSpec{"xor:1%", "unknown kind 'xor'. The kinds are "}, BadSpec{" bloom", "unknown kind"},
        BadSpec{"bloom:", "amount ''"},
        BadSpec{"bloom:ten", "amount 'ten' must be bits per key such as 'bloom:10'"},
        BadSpec{"bloom:+10", "amount"}, BadSpec{"bloom:-10", "amount"},
        BadSpec{"bloom:1e1", "amount"}, BadSpec{"bloom:nan", "amount"},
        BadSpec{"bloom:inf", "amount"}, BadSpec{"bloom:0x10", "amount"},
        BadSpec{"bloom:1.2.3", "amount"}, BadSpec{"bloom:.", "amount"},
        BadSpec{"bloom:10 ", "amount"}, BadSpec{"bloom:%", "amount"},
        BadSpec{"bloom:1%%", "amount"}, BadSpec{"bloom:0", "did you mean 'none'"},
        BadSpec{"bloom:0.1", "from 1 to 64; did you mean 'bloom:1'"},
        BadSpec{"bloom:64.5",
                "did you mean bytes for the whole database? "
                "divide them by its number of keys"},
        BadSpec{"bloom:134217728", "did you mean bytes for the whole database?"},
        BadSpec{"cuckoo:2", "from 3 to 34; did you mean 'cuckoo:3'"},
        BadSpec{"cuckoo:40", "did you mean 'cuckoo:34'"},
        BadSpec{"bloom:0%", "from 0.0001% to 50%; did you mean 'bloom:0.0001%'"},
        BadSpec{"bloom:51%", "did you mean 'bloom:50%'"},
        BadSpec{"bloom:100%", "did you mean 'bloom:50%'"},
        BadSpec{"filter=bloom:10", "there is no '=' in a filter spec"},
        BadSpec{"bloom=10", "write kind:amount"}, BadSpec{"none:10", "none takes no amount"},
        BadSpec{"bloom:10:fast", "bloom takes no further word, got 'fast'"},
        BadSpec{"bloom:1%:murmur128_mitz_64", "cannot stand in an SSTable"},
        BadSpec{"cuckoo:1%:murmur128_mitz_64", "takes no further word"},
        BadSpec{"cuckoo:1%:semisorted",
                "cuckoo takes no further word but 'semi_sorted' at the end, got 'semisorted'"},
        BadSpec{"cuckoo:1%:semi_sorted:", "got ''"},
        BadSpec{"cuckoo:1%:semi_sorted:semi_sorted", "got 'semi_sorted'"},
        BadSpec{"cuckoo:semi_sorted:1%", "got '1%'"},
        BadSpec{"cuckoo:1%:fast:semi_sorted", "got 'fast'"},
        BadSpec{"bloom:1%:semi_sorted", "bloom takes no further word, got 'semi_sorted'"},
        BadSpec{"auto:1%:semi_sorted", "auto takes no further word"},
        BadSpec{"none:semi_sorted", "none takes no amount"},
        BadSpec{"cuckoo:3:semi_sorted",
                "bits per key of cuckoo:semi_sorted must be from 4 to 32; did you mean "
                "'cuckoo:4:semi_sorted'?"},
        BadSpec{"cuckoo:60%:semi_sorted", "did you mean 'cuckoo:50%:semi_sorted'?"},
        BadSpec{"auto:34", "bits per key of auto must be from 1 to 33; did you mean 'auto:33'"},
        BadSpec{"auto:60%", "did you mean 'auto:50%'"}, BadSpec{"auto:8:fast", "no further word"},
        BadSpec{"aut", "did you mean 'auto'"}, BadSpec{"ribbon:0.5", "did you mean 'ribbon:1'"},
        BadSpec{"binary_fuse:1", "did you mean 'binary_fuse:2'"},
        BadSpec{"bloom:10+range", "such as '+range:12', got 'range'"},
        BadSpec{"bloom:10+", "such as '+range:12'"}, BadSpec{"bloom:10+range:", "'+range:12'"},
        BadSpec{"bloom:10+prefix:4", "behind '+' must be a range filter"},
        BadSpec{"bloom:10+range:2", "bits per key of a range filter must be from 3 to 34"},
        BadSpec{"bloom:10+range:35", "from 3 to 34"}, BadSpec{"bloom:10+range:1", "from 3 to 34"},
        BadSpec{"bloom:10+range:12+range:12", "'+range:12'"}, BadSpec{"+range:12", "unknown kind"},
        BadSpec{"bloom:10+range:1%", "'+range:12'"}, BadSpec{"bloom:10:", "takes no further word"},
        BadSpec{"ribon:10", "unknown kind"}));

TEST(SpecTest, NoRangeFilterCanBeSaidAloud) {
  const auto spec = ParseFilterSpec("ribbon:1%+range:0");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->range_bits, 0);
  EXPECT_EQ(ToString(*spec), "ribbon:1%");
}

TEST(SpecTest, ARangeFilterStandsBesideAnyKind) {
  for (const char* text : {"blocked_bloom:10+range:12", "none+range:3", "auto+range:34",
                           "cuckoo:1%:semi_sorted+range:7.5", "ribbon:0.1%+range:20"}) {
    const auto spec = ParseFilterSpec(text);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_GE(spec->range_bits, 3);
    EXPECT_EQ(ToString(*spec), text);
    EXPECT_TRUE(ValidateFilterSpec(*spec).ok());
    FilterSpec without = *spec;
    without.range_bits = 0;
    EXPECT_EQ(without,
              *ParseFilterSpec(std::string_view(text).substr(0, std::string_view(text).find('+'))));
  }
  FilterSpec spec = *ParseFilterSpec("bloom:10+range:12");
  spec.range_bits = 50;
  EXPECT_FALSE(ValidateFilterSpec(spec).ok());
}

TEST(SpecTest, ControlCharactersAreEscapedInErrors) {
  const auto spec = ParseFilterSpec(std::string_view("bl\0om\n", 6));
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().message().find('\n'), absl::string_view::npos);
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("\\n"));
}

TEST(SpecTest, ErrorsShowTheBeginningOfALongText) {
  const std::string letters(size_t{1} << 20, 'x');
  for (const std::string& text :
       {letters, "bloom:" + letters, "bloom:10:" + letters, "bloom:10:murmur128_mitz_" + letters,
        "bloom:10+" + letters, "none:" + letters, "bloom=" + letters}) {
    const absl::StatusOr<FilterSpec> spec = ParseFilterSpec(text);
    ASSERT_FALSE(spec.ok()) << text.substr(0, 30);
    EXPECT_LE(spec.status().message().size(), 1000u) << text.substr(0, 30);
    EXPECT_NE(spec.status().message().find("filter spec '" + text.substr(0, 64) + "...': "),
              absl::string_view::npos)
        << spec.status();
  }
}

TEST(SpecTest, AnyAmountSurvivesTheWayThroughText) {
  constexpr uint32_t kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<double> bits(1, 64);
  std::uniform_real_distribution<double> fpr(1e-6, 0.5);
  for (int i = 0; i < 1000; ++i) {
    FilterSpec spec;
    spec.kind = FilterKind::kBlockedBloom;
    (i % 2 == 0 ? spec.bits_per_key : spec.fpr) = i % 2 == 0 ? bits(random) : fpr(random);
    const auto read = ParseFilterSpec(ToString(spec));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(*read, spec) << ToString(spec);
  }
}

TEST(SpecTest, EachKindNameIsASpecByItself) {
  const std::vector<std::string> names = SpecKindNames();
  EXPECT_EQ(names.front(), "none");
  for (const std::string& name : names) {
    const auto spec = ParseFilterSpec(name);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(KindName(spec->kind), name);
  }
  EXPECT_NE(std::find(names.begin(), names.end(), "blocked_bloom"), names.end());
}

TEST(SpecTest, EverythingThatCanBeBuiltHasASpec) {
  std::vector<std::string> texts;
  for (const FilterSpec& spec : BuildableSpecs()) {
    texts.push_back(ToString(spec));
    EXPECT_EQ(*ParseFilterSpec(texts.back()), spec);
  }
  EXPECT_THAT(texts, testing::ElementsAre("bloom", "blocked_bloom", "cuckoo", "cuckoo:semi_sorted",
                                          "binary_fuse", "ribbon", "auto"));
}

TEST(SpecTest, RandomBytesAreNeverFatal) {
  constexpr uint32_t kSeed = 6;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const std::string alphabet("bloomcukn:%.0159=_\0\xff ", 21);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t length = random() % 20; length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    const auto spec = ParseFilterSpec(text);
    if (spec.ok()) {
      EXPECT_EQ(*ParseFilterSpec(ToString(*spec)), *spec);
    }
  }
}

TEST(SpecTest, AViewWithoutAnAddressIsRefusedAsAnEmptyText) {
  EXPECT_TRUE(absl::IsInvalidArgument(ParseFilterSpec(std::string_view()).status()));
}

TEST(SpecTest, ContradictionsInCodeAreRefused) {
  FilterSpec spec = *ParseFilterSpec("bloom:10");
  spec.fpr = 0.01;
  EXPECT_FALSE(ValidateFilterSpec(spec).ok());
  spec = *ParseFilterSpec("none");
  spec.bits_per_key = 3;
  EXPECT_FALSE(ValidateFilterSpec(spec).ok());
  spec = *ParseFilterSpec("ribbon:10");
  spec.words = {"semi_sorted"};
  EXPECT_FALSE(ValidateFilterSpec(spec).ok());
  EXPECT_EQ(KindName(static_cast<FilterKind>(99)), "unknown");
}

}  // namespace
}  // namespace winnow::filter
