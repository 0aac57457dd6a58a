#include "tools/winnow/shell/parser.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/shell/lexer.h"

namespace winnow::shell {
namespace {

constexpr int kMaxDepth = 32;

std::string Describe(const Token& token) {
  switch (token.type) {
    case Token::Type::kEnd:
      return "the end";
    case Token::Type::kArrow:
      return "'=>'";
    case Token::Type::kText:
      return "a text";
    case Token::Type::kInteger:
      return absl::StrCat(token.integer);
    default:
      return absl::StrCat("'", token.text, "'");
  }
}

class Parser {
 public:
  explicit Parser(std::string_view statement) : lexer_(statement) {}

  absl::StatusOr<std::optional<CommandLine>> Parse() {
    WINNOW_RETURN_IF_ERROR(Advance());
    if (token_.type == Token::Type::kEnd) return std::optional<CommandLine>();
    if (token_.type != Token::Type::kWord) return Expected("the name of a command");
    CommandLine line;
    line.name = token_.text;
    WINNOW_RETURN_IF_ERROR(Advance());
    if (token_.Is('.')) return Lexer::ErrorAt(token_.begin, kNoMethods);
    const bool in_parentheses = token_.Is('(');
    if (in_parentheses) WINNOW_RETURN_IF_ERROR(Advance());
    const bool is_empty = in_parentheses ? token_.Is(')') : token_.type == Token::Type::kEnd;
    if (!is_empty) WINNOW_RETURN_IF_ERROR(ParseArguments(&line));
    if (in_parentheses) {
      if (!token_.Is(')')) return Expected("',' or ')'");
      WINNOW_RETURN_IF_ERROR(Advance());
    }
    if (token_.type != Token::Type::kEnd) return Expected("','");
    return std::optional<CommandLine>(std::move(line));
  }

 private:
  static constexpr std::string_view kNoMethods =
      "references to tables and methods are Ruby that this shell does not run; write the command, "
      "as get 't', 'r'";

  absl::Status Advance() {
    WINNOW_ASSIGN_OR_RETURN(token_, lexer_.Next());
    return absl::OkStatus();
  }

  absl::Status Expected(std::string_view what) const {
    return Lexer::ErrorAt(token_.begin,
                          absl::StrCat(Describe(token_), " where ", ToAbsl(what), " should stand"));
  }

  absl::Status ParseArguments(CommandLine* line) {
    Value pairs;
    pairs.type = Value::Type::kHash;
    while (true) {
      const size_t begin = token_.begin;
      WINNOW_ASSIGN_OR_RETURN(Value value, ParseValue(0));
      if (token_.type == Token::Type::kArrow) {
        WINNOW_RETURN_IF_ERROR(ParsePair(std::move(value), 0, &pairs));
      } else if (!pairs.entries.empty()) {
        return Lexer::ErrorAt(begin, "behind a KEY => VALUE there can only be others");
      } else {
        line->arguments.push_back(std::move(value));
      }
      if (!token_.Is(',')) break;
      WINNOW_RETURN_IF_ERROR(Advance());
    }
    if (!pairs.entries.empty()) line->arguments.push_back(std::move(pairs));
    return absl::OkStatus();
  }

  // At the arrow.
  absl::Status ParsePair(Value key, int depth, Value* hash) {
    if (!key.Is(Value::Type::kText) && !key.Is(Value::Type::kWord)) {
      return Lexer::ErrorAt(token_.begin, "a key is a text or a word");
    }
    WINNOW_RETURN_IF_ERROR(Advance());
    WINNOW_ASSIGN_OR_RETURN(Value value, ParseValue(depth));
    hash->entries.push_back({std::move(key), std::move(value)});
    return absl::OkStatus();
  }

  absl::StatusOr<Value> ParseValue(int depth) {
    Value value;
    switch (token_.type) {
      case Token::Type::kText:
        value = Value::Text(std::move(token_.text));
        break;
      case Token::Type::kInteger:
        value.type = Value::Type::kInteger;
        value.integer = token_.integer;
        break;
      case Token::Type::kWord:
        if (token_.text == "nil") break;
        value.boolean = token_.text == "true";
        value.type =
            value.boolean || token_.text == "false" ? Value::Type::kBoolean : Value::Type::kWord;
        value.text = std::move(token_.text);
        break;
      default:
        if (token_.Is('[') || token_.Is('{')) {
          if (depth == kMaxDepth) return Lexer::ErrorAt(token_.begin, "nested too deeply");
          return token_.Is('[') ? ParseList(depth) : ParseHash(depth);
        }
        return Expected("a value");
    }
    WINNOW_RETURN_IF_ERROR(Advance());
    return value;
  }

  absl::StatusOr<Value> ParseList(int depth) {
    Value list;
    list.type = Value::Type::kList;
    WINNOW_RETURN_IF_ERROR(Advance());
    while (!token_.Is(']')) {
      WINNOW_ASSIGN_OR_RETURN(Value item, ParseValue(depth + 1));
      list.items.push_back(std::move(item));
      WINNOW_RETURN_IF_ERROR(SkipComma(']'));
    }
    WINNOW_RETURN_IF_ERROR(Advance());
    return list;
  }

  absl::StatusOr<Value> ParseHash(int depth) {
    Value hash;
    hash.type = Value::Type::kHash;
    WINNOW_RETURN_IF_ERROR(Advance());
    while (!token_.Is('}')) {
      WINNOW_ASSIGN_OR_RETURN(Value key, ParseValue(depth + 1));
      if (token_.type != Token::Type::kArrow) return Expected("'=>'");
      WINNOW_RETURN_IF_ERROR(ParsePair(std::move(key), depth + 1, &hash));
      WINNOW_RETURN_IF_ERROR(SkipComma('}'));
    }
    WINNOW_RETURN_IF_ERROR(Advance());
    return hash;
  }

  // Between two items, or behind the last.
  absl::Status SkipComma(char end) {
    if (token_.Is(',')) return Advance();
    if (token_.Is(end)) return absl::OkStatus();
    return Expected(absl::StrCat("',' or '", std::string(1, end), "'"));
  }

  Lexer lexer_;
  Token token_;
};

}  // namespace

absl::StatusOr<std::optional<CommandLine>> ParseStatement(std::string_view statement) {
  return Parser(statement).Parse();
}

}  // namespace winnow::shell
