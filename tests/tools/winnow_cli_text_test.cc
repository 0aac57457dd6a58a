// Text in and out of the winnow program: escapes, hexadecimal, records, arguments.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "tools/flags/arguments.h"
#include "tools/flags/nearest_name.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/record_reader.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/options.h"

namespace winnow::cli {
namespace {

TEST(TextEncoding, EveryPairOfBytesSurvivesEscapesOnOneLine) {
  for (int first = 0; first < 256; first++) {
    for (int second = 0; second < 256; second++) {
      const std::string bytes = {static_cast<char>(first), static_cast<char>(second)};
      const std::string text = ToText(bytes, TextForm::kEscaped);
      ASSERT_TRUE(IsUtf8(text)) << first << " " << second;
      ASSERT_EQ(text.find_first_of(std::string("\t\n\r\0", 4)), std::string::npos) << text;
      const auto back = FromText(text, TextForm::kEscaped);
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_EQ(*back, bytes);
    }
  }
}

TEST(TextEncoding, RandomBytesSurviveEscapesAndHex) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; i++) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const TextForm form : {TextForm::kEscaped, TextForm::kHex, TextForm::kRaw}) {
      const auto back = FromText(ToText(bytes, form), form);
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_EQ(*back, bytes);
    }
  }
}

TEST(TextEncoding, PrintableUtf8StaysAsItIsAndTheRestIsEscaped) {
  EXPECT_EQ(ToText("Käse €𝄞", TextForm::kEscaped), "Käse €𝄞");
  EXPECT_EQ(ToText("a\tb\nc\\d", TextForm::kEscaped), "a\\tb\\nc\\\\d");
  EXPECT_EQ(ToText(std::string_view("\0\x7f\r", 3), TextForm::kEscaped), "\\x00\\x7f\\x0d");
  EXPECT_EQ(ToText("\xc0\xaf", TextForm::kEscaped), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(ToText("\xed\xa0\x80", TextForm::kEscaped), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(ToText("\xf4\x90\x80\x80", TextForm::kEscaped), "\\xf4\\x90\\x80\\x80") << "too large";
  EXPECT_EQ(ToText("\xe2\x82", TextForm::kEscaped), "\\xe2\\x82") << "cut short";
}

TEST(TextEncoding, BadTextNamesThePosition) {
  EXPECT_EQ(FromText("ab\\q", TextForm::kEscaped).status().message(),
            "unknown escape \"\\q\" at position 3; known are \\t \\n \\\\ \\xNN");
  EXPECT_FALSE(FromText("\\", TextForm::kEscaped).ok());
  EXPECT_FALSE(FromText("\\x4", TextForm::kEscaped).ok());
  EXPECT_FALSE(FromText("\\x4g", TextForm::kEscaped).ok());
  EXPECT_EQ(FromText("00g0", TextForm::kHex).status().message(),
            "\"g0\" at position 3 is not a pair of hexadecimal digits");
  EXPECT_EQ(FromText("abc", TextForm::kHex).status().message(),
            "hexadecimal text has an odd number of digits");
}

TEST(TextEncoding, JsonNamesBytesThatAreNoTextAsHex) {
  Json json = Json::object();
  AddBytes(&json, "key", "plain", /*hex=*/false);
  AddBytes(&json, "value", "\xff", /*hex=*/false);
  AddBytes(&json, "forced", "a", /*hex=*/true);
  EXPECT_EQ(ToLine(json), R"({"key":"plain","value_hex":"ff","forced_hex":"61"})"
                          "\n");
}

TEST(HumanText, RoundsToWhatAPersonReads) {
  using report::HumanBytes;
  using report::HumanCount;
  using report::HumanSeconds;
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(5.0 * (1 << 30)), "5.0 GiB");
  EXPECT_EQ(HumanSeconds(0.44), "0.4 s");
  EXPECT_EQ(HumanSeconds(185), "3 min 05 s");
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(999), "999");
  EXPECT_EQ(HumanCount(1000), "1,000");
  EXPECT_EQ(HumanCount(1234567), "1,234,567");
  EXPECT_EQ(HumanCount(1, "file", "files"), "1 file");
  EXPECT_EQ(HumanCount(0, "file", "files"), "0 files");
}

constexpr FlagSpec kFlags[] = {{"db", "DIR", ""},
                               {"limit", "N", ""},
                               {"reverse", "", ""},
                               {"set", "NAME=VALUE", "", /*repeatable=*/true},
                               {"e", "COMMAND", ""}};

absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) {
  return Arguments::Parse(kFlags, words);
}

std::string ParseError(const std::vector<std::string>& words) {
  return std::string(Parse(words).status().message());
}

TEST(Arguments, FlagsMayStandAnywhereUntilTwoDashes) {
  const auto arguments =
      Parse({"first", "--db=d=1", "-", "--set", "a=1", "--reverse", "--set=b=2", "--", "--limit"});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->positionals(), (std::vector<std::string>{"first", "-", "--limit"}));
  EXPECT_EQ(arguments->Text("db"), "d=1");
  EXPECT_EQ(arguments->All("set"), (std::vector<std::string>{"a=1", "b=2"}));
  EXPECT_TRUE(arguments->Has("reverse"));
  EXPECT_FALSE(arguments->Has("limit"));
  EXPECT_EQ(arguments->Text("limit"), std::nullopt);
}

TEST(Arguments, AnEmptyWordIsAnArgument) {
  const auto arguments = Parse({"", "--db="});
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->positionals(), std::vector<std::string>{""});
  EXPECT_EQ(arguments->Text("db"), "");
}

TEST(Arguments, MistakesAreNamedWithTheNearestFlag) {
  EXPECT_EQ(ParseError({"--limt=3"}), "unknown flag --limt; did you mean --limit?");
  EXPECT_EQ(ParseError({"-db=3"}), "unknown flag -db; did you mean --db?");
  EXPECT_EQ(ParseError({"--e=list"}), "unknown flag --e; did you mean -e?");
  EXPECT_EQ(ParseError({"--colour"}), "unknown flag --colour");
  EXPECT_EQ(ParseError({"--db"}), "--db needs a value: --db=DIR");
  EXPECT_EQ(ParseError({"-e"}), "-e needs a value: -e COMMAND");
  EXPECT_EQ(ParseError({"--reverse=yes"}), "--reverse is a switch and takes no value");
  EXPECT_EQ(ParseError({"--db=1", "--db=2"}), "--db is given twice");
}

TEST(Arguments, NumbersAreWholeAndInRange) {
  EXPECT_EQ(**Parse({"--limit=18446744073709551615"})->Number("limit"), ~uint64_t{0});
  EXPECT_EQ(**Parse({"--limit=0"})->Number("limit"), 0u);
  EXPECT_FALSE(Parse({})->Number("limit")->has_value());
  for (const char* bad : {"-1", "1.5", "x", "", "18446744073709551616"}) {
    EXPECT_FALSE(Parse({std::string("--limit=") + bad})->Number("limit").ok()) << bad;
  }
}

TEST(NearestName, FindsTyposAndBeginningsButNothingFar) {
  constexpr std::string_view kNames[] = {"families", "get", "mget", "manifest"};
  EXPECT_EQ(NearestName("famlies", kNames), "families");
  EXPECT_EQ(NearestName("mani", kNames), "manifest");
  EXPECT_EQ(NearestName("git", kNames), "get");
  EXPECT_EQ(NearestName("gte", kNames), "get");
  EXPECT_EQ(NearestName("xyzzy", kNames), "");
}

// A record that stands by itself.
struct OwnRecord {
  std::string key;
  std::string value;
};

absl::StatusOr<OwnRecord> ParseRecord(std::string_view line, RecordFormat format, TextForm form) {
  RecordParser parser(format, form);
  const absl::StatusOr<Record> record = parser.Parse(line);
  if (!record.ok()) return record.status();
  return OwnRecord{std::string(record->key), std::string(record->value)};
}

TEST(ParseRecord, TakesTheFirstTabAsTheSeparator) {
  const auto record = ParseRecord("k\tv\tw", RecordFormat::kTabSeparated, TextForm::kEscaped);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->key, "k");
  EXPECT_EQ(record->value, "v\tw");
}

TEST(ParseRecord, EmptyKeyAndValueAreFine) {
  const auto record = ParseRecord("\t", RecordFormat::kTabSeparated, TextForm::kEscaped);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->key + record->value, "");
}

TEST(ParseRecord, RawLinesKeepTheirBackslashes) {
  const auto record = ParseRecord("k\\q\tv\\n", RecordFormat::kTabSeparated, TextForm::kRaw);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->key, "k\\q");
  EXPECT_EQ(record->value, "v\\n");
}

TEST(ParseRecord, JsonTakesTextOrHexMembersAndPassesOverOthers) {
  const auto record = ParseRecord(R"({"value_hex":"00FF","n":1,"key":"é\n"})",
                                  RecordFormat::kJsonLines, TextForm::kEscaped);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->key, "é\n");
  EXPECT_EQ(record->value, std::string("\0\xff", 2));
}

TEST(ParseRecord, BadJsonIsAnErrorNeverAnException) {
  for (const char* bad : {"", "{", "[]", "1", "\"k\"", R"({"key":"a"})", R"({"key":1,"value":""})",
                          R"({"key_hex":"0","value":""})", R"({"key_hex":[],"value":""})",
                          R"({"key":"\ud800","value":""})", "{\"key\":\"\xff\",\"value\":\"\"}",
                          R"({"key":"a","value":"b"} x)"}) {
    EXPECT_FALSE(ParseRecord(bad, RecordFormat::kJsonLines, TextForm::kEscaped).ok()) << bad;
  }
}

TEST(ParseRecord, KeysUpToTheLimitAndNoFurther) {
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_TRUE(ParseRecord(longest + "\tv", RecordFormat::kTabSeparated, TextForm::kEscaped).ok());
  const auto over = ParseRecord(longest + "k\tv", RecordFormat::kTabSeparated, TextForm::kEscaped);
  EXPECT_EQ(over.status().message(), "key of 1048577 bytes; the limit is 1048576");
}

// A file with the given content, open for reading.
class InputOf {
 public:
  explicit InputOf(const std::string& content) : file_(std::tmpfile()) {
    std::fwrite(content.data(), 1, content.size(), file_);
    std::rewind(file_);
  }
  ~InputOf() { std::fclose(file_); }
  InputOf(const InputOf&) = delete;
  InputOf& operator=(const InputOf&) = delete;
  int descriptor() const { return fileno(file_); }

 private:
  FILE* file_;
};

std::vector<std::string> LinesOf(const std::string& content) {
  const InputOf input(content);
  LineReader reader(input.descriptor(), "input");
  std::vector<std::string> lines;
  std::string_view line;
  while (true) {
    const auto has_line = reader.Next(&line);
    EXPECT_TRUE(has_line.ok()) << has_line.status();
    if (!has_line.ok() || !*has_line) break;
    lines.emplace_back(line);
    EXPECT_EQ(reader.line_number(), lines.size());
  }
  EXPECT_EQ(reader.bytes_read(), content.size());
  return lines;
}

TEST(LineReader, GivesEveryLineWithOrWithoutALastNewline) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(LinesOf(""), Lines());
  EXPECT_EQ(LinesOf("\n"), Lines{""});
  EXPECT_EQ(LinesOf("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(LinesOf(std::string("a\0b\n", 4)), Lines{std::string("a\0b", 3)});
}

TEST(LineReader, LinesLongerThanItsBufferStayWhole) {
  std::string content;
  std::vector<std::string> expected;
  for (const size_t length : {size_t{1} << 20, (size_t{1} << 20) - 1, size_t{5} << 20, size_t{3}}) {
    expected.emplace_back(length, static_cast<char>('a' + expected.size()));
    content += expected.back() + "\n";
  }
  EXPECT_EQ(LinesOf(content), expected);
}

TEST(LineReader, AReadErrorIsNotTheEnd) {
  const int directory = open("/", O_RDONLY | O_DIRECTORY);
  ASSERT_GE(directory, 0);
  LineReader reader(directory, "root");
  std::string_view line;
  EXPECT_TRUE(absl::IsUnavailable(reader.Next(&line).status()));
  close(directory);
}

}  // namespace
}  // namespace winnow::cli
