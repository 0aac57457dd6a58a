// The language of `winnow shell`: what a statement is, and what it says.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tools/winnow/shell/binary_text.h"
#include "tools/winnow/shell/parser.h"
#include "tools/winnow/shell/statement_reader.h"

namespace winnow::shell {
namespace {

using namespace std::string_literals;

std::vector<std::string> StatementsOf(const std::string& text) {
  StatementReader reader;
  reader.Add(text);
  std::vector<std::string> statements;
  while (std::optional<std::string> statement = reader.Take()) {
    statements.push_back(*std::move(statement));
  }
  return statements;
}

CommandLine Parsed(const std::string& statement) {
  const auto line = ParseStatement(statement);
  EXPECT_TRUE(line.ok()) << statement << ": " << line.status();
  if (!line.ok() || !line->has_value()) return {};
  return **line;
}

std::string TextOfOnly(const std::string& literal) {
  const CommandLine line = Parsed("x " + literal);
  return line.arguments.size() == 1 ? line.arguments[0].text : "no text";
}

TEST(StatementReaderTest, EndsAtLinesAndSemicolons) {
  EXPECT_EQ(StatementsOf("list\nget 't', 'r'; list ;\n\nscan"),
            (std::vector<std::string>{"list", "get 't', 'r'", " list "}));
}

TEST(StatementReaderTest, GoesOnInsideBracketsAndQuotesAndBehindCommas) {
  for (const std::string statement :
       {"create 't', {NAME =>\n 'f',\n V => [1,\n2]\n}", "put 'a\nb;c'", "put \"a\\\"\nb\"",
        "get 't',\n'r'", "get 't', \\\n 'r'", "alter 't', NAME =>\n'f'"}) {
    EXPECT_EQ(StatementsOf(statement + "\nlist\n"), (std::vector<std::string>{statement, "list"}));
  }
}

TEST(StatementReaderTest, PassesOverComments) {
  EXPECT_EQ(StatementsOf("# it's one ; {\nlist # and 'another\nexit\n"),
            (std::vector<std::string>{"# it's one ; {\nlist # and 'another", "exit"}));
}

TEST(StatementReaderTest, KnowsTheLineOfAStatement) {
  StatementReader reader;
  reader.Add("\n# nothing\n\nlist\n  get 't',\n 'r'\nexit");
  ASSERT_TRUE(reader.Take());
  EXPECT_EQ(reader.line_number(), 4u);
  ASSERT_TRUE(reader.Take());
  EXPECT_EQ(reader.line_number(), 5u);
  EXPECT_FALSE(reader.Take());
  EXPECT_TRUE(reader.has_unfinished());
  EXPECT_EQ(reader.TakeRest(), "exit");
  EXPECT_EQ(reader.line_number(), 7u);
}

TEST(ParserTest, TakesTextsApartAsRubyDoes) {
  EXPECT_EQ(TextOfOnly(R"('a\'b\\c\n')"), R"(a'b\c\n)");
  EXPECT_EQ(TextOfOnly(R"("\x00\xfF\x5z")"), "\0\xff\5z"s);
  EXPECT_EQ(TextOfOnly(R"("\0\101\377")"), "\0A\xff"s);
  EXPECT_EQ(TextOfOnly(R"("\t\n\r\e\s\q\"\#")"), "\t\n\r\x1b q\"#");
  EXPECT_EQ(TextOfOnly(R"("\u00e9\u{1F600}")"), "\xc3\xa9\xf0\x9f\x98\x80");
  EXPECT_EQ(TextOfOnly("\"a\\\nb\""), "ab");
}

TEST(ParserTest, CollectsPairsWithoutBracesInALastHash) {
  const CommandLine line = Parsed("alter 't', NAME => 'f', VERSIONS => 1_000");
  ASSERT_EQ(line.name, "alter");
  ASSERT_EQ(line.arguments.size(), 2u);
  const Value& hash = line.arguments[1];
  ASSERT_TRUE(hash.Is(Value::Type::kHash));
  ASSERT_EQ(hash.entries.size(), 2u);
  EXPECT_TRUE(hash.entries[0].key.Is(Value::Type::kWord));
  EXPECT_EQ(hash.entries[0].key.text, "NAME");
  EXPECT_EQ(hash.entries[1].value.integer, 1000);
}

TEST(ParserTest, TakesParenthesesNestingAndCommasAtTheEnd) {
  const CommandLine line = Parsed("get('t', ['a', ['b',],], {A => {'b' => -1,}, C => nil})");
  ASSERT_EQ(line.arguments.size(), 3u);
  EXPECT_EQ(line.arguments[1].items[1].items[0].text, "b");
  EXPECT_EQ(line.arguments[2].entries[0].value.entries[0].value.integer, -1);
  EXPECT_TRUE(line.arguments[2].entries[1].value.Is(Value::Type::kNil));
}

TEST(ParserTest, AStatementOfCommentsIsEmpty) {
  for (const char* text : {"", "  \t\n", "# nothing"}) {
    const auto line = ParseStatement(text);
    ASSERT_TRUE(line.ok());
    EXPECT_FALSE(line->has_value());
  }
}

TEST(ParserTest, SaysAtWhichColumnAStatementIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } kWrong[] = {
      {"'t'", "column 1: a text where the name of a command should stand"},
      {"get 't' 'r'", "column 9: a text where ',' should stand"},
      {"get 't',", "column 9: the end where a value should stand"},
      {"get A => 1, 'r'", "column 13: behind a KEY => VALUE there can only be others"},
      {"get {1 => 2}", "column 8: a key is a text or a word"},
      {"get {'a'}", "column 9: '}' where '=>' should stand"},
      {"get 'r", "column 5: the quotation has no end"},
      {"get \"\\xg\"", "column 6: \\x takes one or two hexadecimal digits"},
      {"get \"\\ud800\"", "column 6: no character: write \\uXXXX or \\u{X...}"},
      {"get 12ab", "column 5: numbers are whole, in decimal digits"},
      {"get 010", "column 5: a number of several digits does not begin with 0"},
      {"get(1", "column 6: the end where ',' or ')' should stand"},
  };
  for (const auto& wrong : kWrong) {
    EXPECT_EQ(ParseStatement(wrong.text).status().message(), wrong.message) << wrong.text;
  }
  EXPECT_FALSE(ParseStatement("get " + std::string(1000, '[')).ok());
}

TEST(BinaryTextTest, WritesBytesAsHBaseDoes) {
  EXPECT_EQ(ToStringBinary("a b~\\\x7f\0\xff\n"s), R"(a b~\x5C\x7F\x00\xFF\x0A)");
  EXPECT_EQ(FormatValue("\xff\xff\xff\xfe", ValueFormat::kInt), "-2");
  EXPECT_EQ(FormatValue("\0\0\0\0\0\0\1\0"s, ValueFormat::kLong), "256");
  EXPECT_EQ(FormatValue("\1", ValueFormat::kShort), R"(\x01)");
  EXPECT_EQ(FormatValue("\xc3\xa9", ValueFormat::kText), "\xc3\xa9");
}

TEST(BinaryTextTest, WhatIsQuotedIsReadBack) {
  for (const std::string& bytes : {"plain"s, "it's"s, "\"#{x}\\n"s, "\0\xff\n"s, ""s}) {
    EXPECT_EQ(TextOfOnly(Quoted(bytes)), bytes) << Quoted(bytes);
  }
}

}  // namespace
}  // namespace winnow::shell
