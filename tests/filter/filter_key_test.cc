#include "winnow/filter/filter_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace winnow::filter {
namespace {

FilterKeyExtractor Parsed(std::string_view text) {
  const auto extractor = FilterKeyExtractor::Parse(text);
  EXPECT_TRUE(extractor.ok()) << extractor.status();
  return *extractor;
}

TEST(FilterKeyTest, DefaultIsTheWholeKey) {
  const FilterKeyExtractor extractor;
  EXPECT_TRUE(extractor.is_whole_key());
  EXPECT_EQ(extractor.ToString(), "whole");
  EXPECT_EQ(extractor.FilterKey("any key"), "any key");
  EXPECT_EQ(extractor.FilterKey(""), "");
}

// RocksDB #5190: a key shorter than the prefix was read beyond its end.
TEST(FilterKeyTest, PrefixOfEveryLengthOfKey) {
  const FilterKeyExtractor extractor = Parsed("prefix:5");
  const std::string key = "abcdefghij";
  for (size_t length = 0; length <= key.size(); ++length) {
    // Exact memory, so that a sanitizer sees a read past the end.
    const std::vector<char> exact(key.begin(), key.begin() + static_cast<int64_t>(length));
    const std::string_view view(exact.data(), exact.size());
    EXPECT_EQ(extractor.FilterKey(view), key.substr(0, std::min<size_t>(length, 5)));
  }
}

TEST(FilterKeyTest, DelimiterIncludesItself) {
  const FilterKeyExtractor first = Parsed("delimiter:/");
  EXPECT_EQ(first.FilterKey("user/42/name"), "user/");
  EXPECT_EQ(first.FilterKey("user/"), "user/");
  EXPECT_EQ(first.FilterKey("/"), "/");
  EXPECT_EQ(first.FilterKey("user"), "user");
  EXPECT_EQ(first.FilterKey(""), "");
  const FilterKeyExtractor second = Parsed("delimiter:/:2");
  EXPECT_EQ(second.FilterKey("user/42/name"), "user/42/");
  EXPECT_EQ(second.FilterKey("//"), "//");
  EXPECT_EQ(second.FilterKey("user/42"), "user/42");
  EXPECT_EQ(Parsed("delimiter:\\x00").FilterKey(std::string_view("a\0b", 3)),
            std::string_view("a\0", 2));
  EXPECT_EQ(Parsed("delimiter:\\xff")
                .FilterKey("a\xff"
                           "b"),
            "a\xff");
}

TEST(FilterKeyTest, CanonicalTextsReadBack) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"whole", "whole"},
      {"prefix:1", "prefix:1"},
      {"prefix:65535", "prefix:65535"},
      {"delimiter:/", "delimiter:/"},
      {"delimiter:/:1", "delimiter:/"},
      {"delimiter::", "delimiter::"},
      {"delimiter:::3", "delimiter:::3"},
      {"delimiter:\\x2F", "delimiter:/"},
      {"delimiter:\\x00:2", "delimiter:\\x00:2"},
      {"delimiter:\\x5c", "delimiter:\\x5c"},
      {"delimiter: ", "delimiter:\\x20"},
      {"delimiter:\\xFf", "delimiter:\\xff"},
  };
  for (const auto& [text, canonical] : texts) {
    const FilterKeyExtractor extractor = Parsed(text);
    EXPECT_EQ(extractor.ToString(), canonical);
    EXPECT_EQ(Parsed(canonical), extractor);
  }
}

TEST(FilterKeyTest, DifferentExtractionsHaveDifferentTexts) {
  std::set<std::string> texts = {"whole"};
  size_t count = 1;
  for (const int length : {1, 2, 10, 65535}) {
    texts.insert(Parsed("prefix:" + std::to_string(length)).ToString());
    ++count;
  }
  for (int byte = 0; byte < 256; ++byte) {
    char hex[8];
    std::snprintf(hex, sizeof(hex), "\\x%02x", byte);
    for (const char* suffix : {"", ":2", ":58"}) {
      const FilterKeyExtractor extractor = Parsed(std::string("delimiter:") + hex + suffix);
      texts.insert(extractor.ToString());
      EXPECT_EQ(Parsed(extractor.ToString()), extractor);
      ++count;
    }
  }
  EXPECT_EQ(texts.size(), count);
}

TEST(FilterKeyTest, BadTextsAreRefused) {
  for (const char* text : {"",
                           "Whole",
                           "whole:",
                           "prefix",
                           "prefix:",
                           "prefix:0",
                           "prefix:65536",
                           "prefix:-1",
                           "prefix:+1",
                           "prefix: 1",
                           "prefix:01",
                           "prefix:1x",
                           "prefix:99999999999",
                           "delimiter",
                           "delimiter:",
                           "delimiter:ab",
                           "delimiter:/:",
                           "delimiter:/:0",
                           "delimiter:/:65536",
                           "delimiter:/:x",
                           "delimiter:\\",
                           "delimiter:\\x",
                           "delimiter:\\x2",
                           "delimiter:\\xzz",
                           "delimiter:\\n",
                           "row"}) {
    const auto extractor = FilterKeyExtractor::Parse(text);
    ASSERT_FALSE(extractor.ok()) << text;
    EXPECT_EQ(extractor.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(extractor.status().message()), testing::HasSubstr("filter key '"));
  }
}

// All strings of up to `most` bytes over the alphabet, in bytewise order.
std::vector<std::string> AllStrings(const std::string& alphabet, size_t most) {
  std::set<std::string> all = {""};
  std::vector<std::string> longest = {""};
  for (size_t length = 1; length <= most; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : longest) {
      for (const char letter : alphabet) longer.push_back(text + letter);
    }
    all.insert(longer.begin(), longer.end());
    longest = longer;
  }
  return {all.begin(), all.end()};
}

class RangeTest : public testing::TestWithParam<const char*> {};

// Sound: whatever key may lie in a range that was granted, its filter key is the granted one.
TEST_P(RangeTest, EveryKeyOfAGrantedRangeHasItsFilterKey) {
  const FilterKeyExtractor extractor = Parsed(GetParam());
  size_t granted = 0;
  for (const std::string& alphabet : {std::string("\0/\xff", 3), std::string("./0", 3)}) {
    const std::vector<std::string> keys = AllStrings(alphabet, 4);
    for (size_t lower = 0; lower < keys.size(); ++lower) {
      for (size_t upper = 0; upper < keys.size(); ++upper) {
        std::string_view filter_key;
        if (!extractor.RangeFilterKey(keys[lower], keys[upper], &filter_key)) continue;
        ++granted;
        ASSERT_LT(lower, upper) << "an empty range was granted";
        for (size_t key = lower; key < upper; ++key) {
          ASSERT_EQ(extractor.FilterKey(keys[key]), filter_key)
              << testing::PrintToString(keys[lower]) << " to "
              << testing::PrintToString(keys[upper]);
        }
      }
    }
  }
  EXPECT_GT(granted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Extractors, RangeTest,
                         testing::Values("whole", "prefix:1", "prefix:2", "prefix:3", "delimiter:/",
                                         "delimiter:/:2", "delimiter:\\xff", "delimiter:\\x00:2"));

// Useful: the ranges that applications scan are granted.
TEST(GrantedRangeTest, ScansOfOnePrefixAreGranted) {
  std::string_view filter_key;
  const FilterKeyExtractor prefix = Parsed("prefix:3");
  EXPECT_TRUE(prefix.RangeFilterKey("abc", "abd", &filter_key));
  EXPECT_EQ(filter_key, "abc");
  EXPECT_TRUE(prefix.RangeFilterKey("abcdef", "abczzz", &filter_key));
  EXPECT_EQ(filter_key, "abc");
  EXPECT_TRUE(prefix.RangeFilterKey("ab\xff", "ac", &filter_key));
  EXPECT_TRUE(prefix.RangeFilterKey("a\xff\xff", "b", &filter_key));
  EXPECT_TRUE(prefix.RangeFilterKey("\xff\xff\xff", "\xff\xff\xff\xff", &filter_key));
  EXPECT_FALSE(prefix.RangeFilterKey("abc", "abe", &filter_key));
  EXPECT_FALSE(prefix.RangeFilterKey("abc", std::nullopt, &filter_key));
  EXPECT_FALSE(prefix.RangeFilterKey("ab", "abc", &filter_key)) << "ab and ab\\0 differ";
  EXPECT_FALSE(prefix.RangeFilterKey("abc", "abc", &filter_key));

  const FilterKeyExtractor delimiter = Parsed("delimiter:/");
  EXPECT_TRUE(delimiter.RangeFilterKey("user42/", "user420", &filter_key));
  EXPECT_EQ(filter_key, "user42/");
  EXPECT_TRUE(delimiter.RangeFilterKey("user42/a", "user42/b", &filter_key));
  EXPECT_FALSE(delimiter.RangeFilterKey("user42", "user42/", &filter_key));

  const FilterKeyExtractor whole;
  EXPECT_TRUE(whole.RangeFilterKey("key", std::string_view("key\0", 4), &filter_key));
  EXPECT_EQ(filter_key, "key");
  EXPECT_FALSE(whole.RangeFilterKey("key", "kez", &filter_key));
  EXPECT_TRUE(whole.RangeFilterKey("", std::string_view("\0", 1), &filter_key));
}

}  // namespace
}  // namespace winnow::filter
