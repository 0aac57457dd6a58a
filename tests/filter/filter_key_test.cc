#include "winnow/filter/filter_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
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

TEST(FilterKeyTest, ComponentsEndWithAZeroByteThatIsNotEscaped) {
  using namespace std::literals;
  const FilterKeyExtractor row = Parsed("component:1");
  EXPECT_EQ(row.FilterKey("row\0\1column\0\1 12345678"sv), "row\0\1"sv);
  EXPECT_EQ(row.FilterKey("r\0\xffow\0\1column\0\1"sv), "r\0\xffow\0\1"sv);
  EXPECT_EQ(row.FilterKey("\0\1"sv), "\0\1"sv) << "an empty component";
  EXPECT_EQ(row.FilterKey("row\0\0marker"sv), "row\0\0"sv) << "any byte but FF ends it";
  EXPECT_EQ(row.FilterKey("row\0\xff\0\xff"sv), "row\0\xff\0\xff"sv) << "no end";
  EXPECT_EQ(row.FilterKey("row\0"sv), "row\0"sv) << "half an end";
  EXPECT_EQ(row.FilterKey("row"sv), "row"sv);
  EXPECT_FALSE(row.lookup_part().Length("row\0"sv).has_value());

  const FilterKeyExtractor column = Parsed("component:2");
  EXPECT_EQ(column.FilterKey("row\0\1column\0\1 12345678"sv), "row\0\1column\0\1"sv);
  EXPECT_EQ(column.FilterKey("row\0\1\0\xff\0\1 12345678"sv), "row\0\1\0\xff\0\1"sv);
  EXPECT_EQ(column.FilterKey("row\0\1column"sv), "row\0\1column"sv);
  EXPECT_FALSE(column.lookup_part().Length("row\0\1column"sv).has_value());
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
      {"whole+prefix:8", "whole+prefix:8"},
      {"whole+prefix:8+prefix:4", "whole+prefix:4+prefix:8"},
      {"whole+delimiter:/:2+delimiter:/+prefix:3", "whole+prefix:3+delimiter:/+delimiter:/:2"},
      {"prefix:8+prefix:4", "prefix:8+prefix:4"},
      {"component:65535", "component:65535"},
      {"component:2+component:1", "component:2+component:1"},
      {"whole+component:1+delimiter:/+prefix:3", "whole+prefix:3+delimiter:/+component:1"},
      {"prefix:4+prefix:8", "prefix:4+prefix:8"},
      {"component:1:prefix:8", "component:1:prefix:8"},
      {"component:1:delimiter:+:1+component:1", "component:1:delimiter:++component:1"},
      {"whole+component:1:delimiter:\\x2f:2+component:1:prefix:8+component:2",
       "whole+component:2+component:1:prefix:8+component:1:delimiter:/:2"},
      // A '+' as the delimiter, and as what joins.
      {"delimiter:+", "delimiter:+"},
      {"delimiter:+:2", "delimiter:+:2"},
      {"delimiter:\\x2B", "delimiter:+"},
      {"whole+delimiter:+", "whole+delimiter:+"},
      {"delimiter:++prefix:4", "delimiter:++prefix:4"},
      {"delimiter:+:3+prefix:4", "delimiter:+:3+prefix:4"},
      {"whole+delimiter::", "whole+delimiter::"},
      {"delimiter:::2+delimiter::", "delimiter:::2+delimiter::"},
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
    texts.insert(Parsed("component:" + std::to_string(length)).ToString());
    count += 2;
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
                           "row",
                           "component",
                           "component:",
                           "component:0",
                           "component:65536",
                           "component:01",
                           "component:1:2",
                           "component:1:",
                           "component:1:whole",
                           "component:1:component:1",
                           "component:1:prefix:0",
                           "component:1:delimiter:",
                           "component:2:prefix:1",
                           "component:1:prefix:1+component:1:prefix:1",
                           "whole+component:1+component:1",
                           "+",
                           "whole+",
                           "+whole",
                           "whole++prefix:8",
                           "whole,prefix:8",
                           "whole + prefix:8",
                           "wholeprefix:8",
                           "whole+whole",
                           "prefix:8+whole",
                           "whole+prefix:0",
                           "whole+prefix:8+",
                           "whole+prefix:8+prefix:8",
                           "whole+delimiter:/+delimiter:/:1",
                           "whole+row",
                           "delimiter:++",
                           "delimiter:++whole",
                           "prefix:1+prefix:2+prefix:3+prefix:4+prefix:5"}) {
    const auto extractor = FilterKeyExtractor::Parse(text);
    ASSERT_FALSE(extractor.ok()) << text;
    EXPECT_EQ(extractor.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(extractor.status().message()), testing::HasSubstr("filter key '"));
  }
}

TEST(FilterKeyTest, PartsOfTheFirstComponentEndWithIt) {
  using namespace std::literals;
  const FilterKeyExtractor prefix = Parsed("component:1:prefix:4");
  EXPECT_EQ(prefix.FilterKey("abcdef\0\1q"sv), "abcd");
  EXPECT_EQ(prefix.FilterKey("abcd\0\1q"sv), "abcd");
  EXPECT_EQ(prefix.FilterKey("ab\0\1qqqq"sv), "ab\0\1"sv);
  EXPECT_EQ(prefix.FilterKey("a\0\0qqqq"sv), "a\0\0"sv);
  EXPECT_EQ(prefix.FilterKey("abc\0\1qqqq"sv), "abc\0"sv) << "as of abc\\0, which goes on so";
  EXPECT_EQ(prefix.FilterKey("abc\0\xffqqqq"sv), "abc\0"sv);
  EXPECT_EQ(prefix.FilterKey("a\0\xff"sv), "a\0\xff"sv) << "too short, and its own";
  EXPECT_FALSE(prefix.lookup_part().Length("a\0\xff"sv).has_value());
  const FilterKeyExtractor delimiter = Parsed("component:1:delimiter:/:2");
  EXPECT_EQ(delimiter.FilterKey("a/b/c\0\1q"sv), "a/b/");
  EXPECT_EQ(delimiter.FilterKey("a/b\0\1q/q"sv), "a/b\0\1"sv);
  EXPECT_EQ(delimiter.FilterKey("a\0\xff/b/c"sv), "a\0\xff/b/"sv);
  EXPECT_FALSE(delimiter.lookup_part().Length("a/b\0"sv).has_value());
  const FilterKeyExtractor zero = Parsed("component:1:delimiter:\\x00");
  EXPECT_EQ(zero.FilterKey("a\0\xff"
                           "b\0\1"sv),
            "a\0\xff"sv);
  EXPECT_EQ(zero.FilterKey("ab\0\1q\0\1"sv), "ab\0\1"sv);
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

constexpr uint64_t kQuestionSeed = 7;
// Of bytes that end parts and keys, or stand beside those that do.
const std::string kAlphabets[] = {{"./0", 3}, {"\0/\xff", 3}, {"\0\1\xff", 3}};

// Sound: whatever key may lie in a range that was granted, its filter key is the granted one.
TEST_P(RangeTest, EveryKeyOfAGrantedRangeHasItsFilterKey) {
  const FilterKeyExtractor extractor = Parsed(GetParam());
  size_t granted = 0;
  for (const std::string& alphabet : kAlphabets) {
    const std::vector<std::string> keys = AllStrings(alphabet, 4);
    for (size_t lower = 0; lower < keys.size(); ++lower) {
      for (size_t upper = 0; upper < keys.size(); ++upper) {
        const auto question = extractor.QuestionOfRange(keys[lower], keys[upper], kQuestionSeed);
        if (!question) continue;
        ++granted;
        ASSERT_LT(lower, upper) << "an empty range was granted";
        for (size_t key = lower; key < upper; ++key) {
          ASSERT_EQ(question->part.FilterKey(keys[key]), question->filter_key)
              << testing::PrintToString(keys[lower]) << " to "
              << testing::PrintToString(keys[upper]);
        }
      }
    }
  }
  EXPECT_GT(granted, 0u);
}

// Of a prefix the same, and nothing longer could be asked: a part that all keys with the prefix
// have in common and that is longer than the granted one would be granted instead.
TEST_P(RangeTest, EveryKeyWithAGrantedPrefixHasItsFilterKey) {
  const FilterKeyExtractor extractor = Parsed(GetParam());
  size_t granted = 0;
  for (const std::string& alphabet : kAlphabets) {
    const std::vector<std::string> keys = AllStrings(alphabet, 4);
    for (const std::string& prefix : keys) {
      if (prefix.empty()) continue;
      FilterKeyExtractor::Question question;
      const bool is_granted = extractor.AskForPrefix(prefix, kQuestionSeed, &question);
      granted += is_granted ? 1 : 0;
      // The same where the ends of the components are known.
      std::vector<size_t> ends;
      for (size_t at = 0; at + 1 < prefix.size(); at++) {
        if (prefix[at] != '\0') continue;
        at++;
        if (prefix[at] != '\xff') ends.push_back(at + 1);
      }
      if (!ends.empty() && ends.back() == prefix.size()) {
        FilterKeyExtractor::Question again;
        ASSERT_EQ(extractor.AskForPrefix(prefix, ends, kQuestionSeed, &again), is_granted);
        if (is_granted) {
          ASSERT_EQ(again.hash, question.hash) << testing::PrintToString(prefix);
          ASSERT_EQ(again.filter_key, question.filter_key);
        }
      }
      std::string upper = prefix;
      while (!upper.empty() && upper.back() == '\xff') upper.pop_back();
      if (!upper.empty()) {
        upper.back() = static_cast<char>(upper.back() + 1);
        const auto of_range = extractor.QuestionOfRange(prefix, upper, kQuestionSeed);
        ASSERT_EQ(is_granted, of_range.has_value()) << testing::PrintToString(prefix);
        if (is_granted) {
          ASSERT_EQ(question.filter_key.size(), of_range->filter_key.size());
        }
      }
      if (!is_granted) continue;
      for (const std::string& key : keys) {
        if (!key.starts_with(prefix)) continue;
        ASSERT_EQ(question.part.FilterKey(key), question.filter_key)
            << testing::PrintToString(prefix) << " of " << testing::PrintToString(key);
      }
    }
  }
  EXPECT_EQ(granted > 0, !extractor.is_whole_key());
}

INSTANTIATE_TEST_SUITE_P(Extractors, RangeTest,
                         testing::Values("whole", "prefix:1", "prefix:2", "prefix:3", "delimiter:/",
                                         "delimiter:/:2", "delimiter:\\xff", "delimiter:\\x00:2",
                                         "whole+prefix:2", "whole+delimiter:/", "prefix:3+prefix:1",
                                         "whole+prefix:2+delimiter:/+delimiter:/:2",
                                         "delimiter:\\xff+prefix:1", "component:1",
                                         "component:2+component:1",
                                         "whole+prefix:1+component:1+component:2",
                                         "component:1:prefix:2", "component:1:delimiter:/",
                                         "component:1+component:1:prefix:3+component:1:prefix:1",
                                         "component:1:delimiter:\\xff+component:1",
                                         "component:1:delimiter:\\x00:2+component:1:prefix:1",
                                         "whole+component:1:delimiter:\\x01+prefix:1"));

// A set in the place of a filter: exact, so that what it answers wrongly was asked or given
// wrongly.
class ExactFilter {
 public:
  explicit ExactFilter(const FilterKeyExtractor& extractor) : extractor_(extractor) {}

  // In ascending order.
  void Add(std::string_view key) {
    size_t shared = 0;
    while (shared < std::min(key.size(), last_.size()) && key[shared] == last_[shared]) ++shared;
    FilterKeyExtractor::Hashes hashes;
    const size_t count = extractor_.NewHashes(key, shared, kQuestionSeed, &hashes);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(hashes_.insert(hashes[i]).second) << "given twice: " << key;
    }
    last_ = key;
  }
  bool Has(uint64_t hash) const { return hashes_.contains(hash); }
  size_t size() const { return hashes_.size(); }

 private:
  const FilterKeyExtractor extractor_;
  std::set<uint64_t> hashes_;
  std::string last_;
};

// What may not be refuted is not, by whatever question; and each entry is given once.
TEST_P(RangeTest, KeysThatAreThereAreFoundByEveryQuestion) {
  const FilterKeyExtractor extractor = Parsed(GetParam());
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; ++round) {
    const std::vector<std::string> all = AllStrings(kAlphabets[round % 3], 4);
    ExactFilter filter(extractor);
    std::set<std::string> present;
    for (const std::string& key : all) {
      if (random() % 8 != 0 && !(round == 0 && key.empty())) continue;
      present.insert(key);
      filter.Add(key);
    }
    for (const std::string& key : all) {
      const bool may_contain = filter.Has(extractor.LookupHash(key, kQuestionSeed));
      if (present.contains(key)) {
        ASSERT_TRUE(may_contain) << key;
        for (size_t part = 0; part < extractor.num_parts(); ++part) {
          const auto hash = extractor.PartHash(part, key, kQuestionSeed);
          ASSERT_TRUE(!hash || filter.Has(*hash)) << key;
        }
      } else if (extractor.lookup_part().is_whole_key()) {
        // Also where the key is the prefix of another.
        ASSERT_FALSE(may_contain) << key;
      }
    }
    for (int scan = 0; scan < 2000; ++scan) {
      const std::string& lower = all[random() % all.size()];
      const std::string upper =
          scan % 2 == 0 ? all[random() % all.size()] : lower + std::string(1, '\0');
      const auto question = extractor.QuestionOfRange(lower, upper, kQuestionSeed);
      if (!question || filter.Has(question->hash)) continue;
      const auto first = present.lower_bound(lower);
      ASSERT_TRUE(first == present.end() || *first >= upper) << *first << " from " << lower;
    }
  }
}

TEST(FilterKeyTest, SeveralPartsAreSeveralEntries) {
  const FilterKeyExtractor both = Parsed("whole+prefix:3");
  EXPECT_FALSE(both.is_whole_key());
  EXPECT_EQ(both.FilterKey("abcdef"), "abcdef");
  ExactFilter filter(both);
  for (const char* key : {"ab", "abc", "abcd", "abce", "abd", "b"}) filter.Add(key);
  EXPECT_EQ(filter.size(), 6u + 2u) << "six keys, and the prefixes abc and abd";
  EXPECT_FALSE(both.PartHash(1, "ab", kQuestionSeed).has_value());
  EXPECT_NE(both.PartHash(1, "abc", kQuestionSeed), both.LookupHash("abc", kQuestionSeed));
  EXPECT_EQ(both.PartHash(1, "abc", kQuestionSeed), both.PartHash(1, "abcd", kQuestionSeed));

  const FilterKeyExtractor first_is_short = Parsed("prefix:1+prefix:3");
  EXPECT_EQ(first_is_short.FilterKey("abcdef"), "a");
}

std::string Granted(const FilterKeyExtractor& extractor, std::string_view lower,
                    std::optional<std::string_view> upper) {
  const auto question = extractor.QuestionOfRange(lower, upper, kQuestionSeed);
  if (!question) return "(nothing)";
  return question->part.ToString() + " " + std::string(question->filter_key);
}

// Useful: the ranges that applications scan are granted.
TEST(GrantedRangeTest, ScansOfOnePrefixAreGranted) {
  const FilterKeyExtractor prefix = Parsed("prefix:3");
  EXPECT_EQ(Granted(prefix, "abc", "abd"), "prefix:3 abc");
  EXPECT_EQ(Granted(prefix, "abcdef", "abczzz"), "prefix:3 abc");
  EXPECT_EQ(Granted(prefix, "ab\xff", "ac"), "prefix:3 ab\xff");
  EXPECT_EQ(Granted(prefix, "a\xff\xff", "b"), "prefix:3 a\xff\xff");
  EXPECT_EQ(Granted(prefix, "\xff\xff\xff", "\xff\xff\xff\xff"), "prefix:3 \xff\xff\xff");
  EXPECT_EQ(Granted(prefix, "abc", "abe"), "(nothing)");
  EXPECT_EQ(Granted(prefix, "abc", std::nullopt), "(nothing)");
  EXPECT_EQ(Granted(prefix, "ab", "abc"), "(nothing)") << "ab and ab\\0 differ";
  EXPECT_EQ(Granted(prefix, "abc", "abc"), "(nothing)");

  const FilterKeyExtractor delimiter = Parsed("delimiter:/");
  EXPECT_EQ(Granted(delimiter, "user42/", "user420"), "delimiter:/ user42/");
  EXPECT_EQ(Granted(delimiter, "user42/a", "user42/b"), "delimiter:/ user42/");
  EXPECT_EQ(Granted(delimiter, "user42", "user42/"), "(nothing)");

  const FilterKeyExtractor whole;
  EXPECT_EQ(Granted(whole, "key", std::string_view("key\0", 4)), "whole key");
  EXPECT_EQ(Granted(whole, "key", "kez"), "(nothing)");
  EXPECT_EQ(Granted(whole, "", std::string_view("\0", 1)), "whole ");
}

TEST(GrantedRangeTest, ScansInsideOneRowOrColumnAreGranted) {
  using namespace std::literals;
  const FilterKeyExtractor parts = Parsed("component:1+component:2");
  EXPECT_EQ(Granted(parts, "row\0\1"sv, "row\0\2"sv), "component:1 row\0\1"s);
  EXPECT_EQ(Granted(parts, "row\0\1a"sv, "row\0\1b"sv), "component:1 row\0\1"s);
  EXPECT_EQ(Granted(parts, "row\0\1a\0\1"sv, "row\0\1a\0\2"sv), "component:2 row\0\1a\0\1"s);
  EXPECT_EQ(Granted(parts, "row\0\0"sv, "row\0\1"sv), "component:1 row\0\0"s);
  EXPECT_EQ(Granted(parts, "row\0\0"sv, "row\0\2"sv), "(nothing)");
  EXPECT_EQ(Granted(parts, "row"sv, "rox"sv), "(nothing)");
}

TEST(GrantedRangeTest, OfSeveralPartsTheLongestIsAsked) {
  const FilterKeyExtractor parts = Parsed("whole+prefix:2+prefix:4+delimiter:/");
  EXPECT_EQ(Granted(parts, "abcdef", "abcdeg"), "prefix:4 abcd");
  EXPECT_EQ(Granted(parts, "abcd", "abce"), "prefix:4 abcd");
  EXPECT_EQ(Granted(parts, "abcd", "abcz"), "prefix:2 ab");
  EXPECT_EQ(Granted(parts, "abcdef/", "abcdef/x"), "delimiter:/ abcdef/");
  EXPECT_EQ(Granted(parts, "a/", "a0"), "prefix:2 a/");
  EXPECT_EQ(Granted(parts, "abcd", std::string_view("abcd\0", 5)), "whole abcd");
  EXPECT_EQ(Granted(parts, "ab", "b"), "(nothing)");
}

}  // namespace
}  // namespace winnow::filter
