// Any bytes as what is typed into `winnow shell`. Cut into statements in two ways, at once and byte
// by byte, they must be the same ones; what a statement says is read back from how it is written.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tools/winnow/shell/binary_text.h"
#include "tools/winnow/shell/family_text.h"
#include "tools/winnow/shell/parameters.h"
#include "tools/winnow/shell/parser.h"
#include "tools/winnow/shell/read_request.h"
#include "tools/winnow/shell/statement_reader.h"

namespace {

using winnow::fuzz::Require;
using winnow::shell::Value;

std::vector<std::string> Statements(std::string_view text, size_t piece) {
  winnow::shell::StatementReader reader;
  std::vector<std::string> statements;
  for (size_t begin = 0; begin < text.size(); begin += piece) {
    reader.Add(text.substr(begin, piece));
    while (std::optional<std::string> statement = reader.Take()) {
      statements.push_back(*std::move(statement));
    }
  }
  if (reader.has_unfinished()) statements.push_back(reader.TakeRest());
  return statements;
}

std::string Written(const Value& value) {
  std::string text;
  switch (value.type) {
    case Value::Type::kNil:
      return "nil";
    case Value::Type::kBoolean:
      return value.boolean ? "true" : "false";
    case Value::Type::kInteger:
      return std::to_string(value.integer);
    case Value::Type::kWord:
      return value.text;
    case Value::Type::kText:
      return winnow::shell::Quoted(value.text);
    case Value::Type::kList:
      for (const Value& item : value.items) text += Written(item) + ", ";
      return "[" + text + "]";
    case Value::Type::kHash:
      for (const auto& [key, of] : value.entries) text += Written(key) + " => " + Written(of) + ",";
      return "{" + text + "}";
  }
  return text;
}

std::string Written(const winnow::shell::CommandLine& line) {
  std::string text = line.name;
  for (const Value& argument : line.arguments) {
    text += (&argument == &line.arguments.front() ? " " : ", ") + Written(argument);
  }
  return text;
}

void UseAsKeywords(const Value& value) {
  if (!value.Is(Value::Type::kHash)) return;
  winnow::shell::ReadRequest request;
  winnow::shell::Keywords keywords(value);
  const absl::Status read = winnow::shell::TakeReadKeywords(&keywords, &request);
  Require(read.ok() || !read.message().empty(), "a refusal has a reason");
  winnow::shell::Keywords of_scan(value);
  winnow::shell::TakeScanKeywords(&of_scan, &request).IgnoreError();
  winnow::FamilySchema family;
  std::vector<std::string> ignored;
  const absl::Status set =
      winnow::shell::SetAttributes(winnow::shell::Keywords(value), &family, &ignored);
  if (set.ok()) Require(!winnow::shell::DescribeFamily(family).empty(), "a family is described");
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  return {"create 't', {NAME => 'f', VERSIONS => 3, BLOOMFILTER => 'ROWCOL'}, 'g' # comment\n",
          "create 't', {NAME => 'f', BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH',\n"
          " CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '10'}}; list\n",
          "put('t', \"r\\x00\\377\\u00e9\\n\", 'f:it\\'s', 5, 1_000)\nscan 't'",
          "scan 't', {STARTROW => 'a', COLUMNS => ['f:q:toLong', 'g'], TIMERANGE => [0, 9],\n"
          "REVERSED => true, LIMIT => nil}\n",
          "alter 't', NAME => 'f', METHOD => 'delete'\\\n\nget 't', -5, [[], {}]"};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> statements = Statements(text, text.size() + 1);
  Require(statements == Statements(text, 1), "statements do not depend on how they are read");
  for (const std::string& statement : statements) {
    const auto line = winnow::shell::ParseStatement(statement);
    Require(line.ok() || !line.status().message().empty(), "a refusal has a reason");
    if (!line.ok() || !line->has_value()) continue;
    const std::string written = Written(**line);
    const auto again = winnow::shell::ParseStatement(written);
    Require(again.ok() && again->has_value() && Written(**again) == written,
            "what a statement says is written and read the same");
    for (const Value& argument : (*line)->arguments) UseAsKeywords(argument);
  }
  return 0;
}
