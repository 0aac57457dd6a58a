#include "engine/table/regular_expression.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>

namespace winnow {
namespace {

bool Finds(const std::string& pattern, const std::string& text, bool ignores_case = false) {
  const auto expression = RegularExpression::Compile(pattern, ignores_case);
  EXPECT_TRUE(expression.ok()) << pattern << ": " << expression.status();
  return expression.ok() && expression->FindIn(text);
}

TEST(RegularExpression, MatchesAsJavaDoes) {
  EXPECT_TRUE(Finds("", ""));
  EXPECT_TRUE(Finds("b", "abc"));
  EXPECT_TRUE(Finds("(?:)", "abc"));
  EXPECT_FALSE(Finds("^b", "abc"));
  EXPECT_TRUE(Finds("c$", "abc"));
  EXPECT_TRUE(Finds("c$", "abc\n"));
  EXPECT_FALSE(Finds("c\\z", "abc\n"));
  EXPECT_TRUE(Finds("^(?:a|b)+c{2,3}$", "abbacc"));
  EXPECT_FALSE(Finds("^(?:a|b)+c{2,3}$", "abbac"));
  EXPECT_FALSE(Finds("^(?:a|b)+c{2,3}$", "abbacccc"));
  EXPECT_TRUE(Finds("[a-c\\d-]x", "-x"));
  EXPECT_TRUE(Finds("^[^\\s]+$", "no-space"));
  EXPECT_FALSE(Finds("^[^\\s]+$", "a space"));
  EXPECT_TRUE(Finds("\\bword\\b", "a word."));
  EXPECT_FALSE(Finds("\\bword\\b", "swords"));
  EXPECT_TRUE(Finds("\\Q.*\\E!", "a.*!"));
  EXPECT_TRUE(Finds("^\\Qa.\\E{2}$", "a..")) << "its last byte repeats";
  EXPECT_FALSE(Finds("^\\Qa.\\E{2}$", "a.{2}"));
  EXPECT_TRUE(Finds("^\\Qa.\\E*\\Q\\Eb$", "ab"));
  EXPECT_TRUE(Finds("\\x41\\.", "A."));
  EXPECT_TRUE(Finds("(?i)AbC", "xaBcx"));
  EXPECT_TRUE(Finds("[a-z]+K", "ABCk", true));
  EXPECT_TRUE(Finds("a.c", "a\nc"));
  EXPECT_TRUE(Finds("a{0}b{2,}?", "bbb"));
  EXPECT_TRUE(Finds("(a*)*$", "b"));
  EXPECT_TRUE(Finds("[]a]", "]"));
}

TEST(RegularExpression, SaysWhatIsWrong) {
  const auto error = [](const std::string& pattern) {
    return std::string(RegularExpression::Compile(pattern, false).status().message());
  };
  for (const std::string pattern :
       {"(",       ")",      "[a",  "a**+",  "*",       "a{2",    "a{3,2}",
        "a{1001}", "\\1",    "\\",  "(?=a)", "(?<n>a)", "[z-a]",  "[a[b]]",
        "\\xg0",   "\\0101", "a++", "\\k",   "(?x)a",   "[\\d-z]"}) {
    EXPECT_NE(error(pattern), "") << pattern;
  }
  EXPECT_EQ(error("ab("), "regular expression: a '(' without its ')', at byte 3");
  EXPECT_NE(error("((a{500}){500}){500}"), "") << "over the limit of steps";
  EXPECT_NE(error(std::string(500, '(') + std::string(500, ')')), "");
  EXPECT_EQ(error("a" + std::string(60'000, '*')),
            "regular expression: over 10000 steps, at byte 5001")
      << "no further than that: each repetition copies all before it";
}

// What makes a backtracking matcher take time exponential in the text.
TEST(RegularExpression, TakesTimeLinearInTheText) {
  const std::string text(20'000, 'a');
  EXPECT_FALSE(Finds("^(a+)+b$", text));
  EXPECT_FALSE(Finds("^(a|a|aa)*b$", text));
  EXPECT_FALSE(Finds("(a*)*b", text));
}

TEST(RegularExpression, AgreesWithTheStandardLibrary) {
  static const std::string kParts[] = {"a", "b", ".", "[ab]", "[^a]",  "(", "(?:", ")",   "|",
                                       "*", "+", "?", "{2}",  "{1,2}", "^", "$",   "\\d", "c"};
  std::mt19937_64 random(7);
  int num_compared = 0;
  for (int i = 0; i < 20'000; i++) {
    std::string pattern;
    for (uint64_t left = 1 + random() % 8; left > 0; left--) pattern += kParts[random() % 18];
    std::regex expected;
    try {
      expected.assign(pattern, std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      continue;
    }
    const auto actual = RegularExpression::Compile(pattern, false);
    if (!actual.ok()) continue;
    for (int texts = 0; texts < 5; texts++) {
      std::string text;
      for (uint64_t left = random() % 6; left > 0; left--) text += "abc1"[random() % 4];
      ASSERT_EQ(actual->FindIn(text), std::regex_search(text, expected)) << pattern << " " << text;
      num_compared++;
    }
  }
  EXPECT_GT(num_compared, 10'000);
}

}  // namespace
}  // namespace winnow
