// The tokens of the shell's language.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_LEXER_H_
#define WINNOW_TOOLS_WINNOW_SHELL_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::shell {

struct Token {
  enum class Type { kEnd, kWord, kText, kInteger, kArrow, kPunctuation };

  Type type = Type::kEnd;
  std::string text;  // of a word; the bytes of a quoted text; one character of punctuation
  int64_t integer = 0;
  size_t begin = 0;  // its place in the statement, and that of what follows
  size_t end = 0;

  bool Is(char punctuation) const {
    return type == Type::kPunctuation && text.size() == 1 && text[0] == punctuation;
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view statement) : text_(statement) {}

  // The next token; kEnd again and again behind the last. InvalidArgument says what is wrong, and
  // at which column.
  absl::StatusOr<Token> Next();

  // InvalidArgument: "column N: REASON".
  static absl::Status ErrorAt(size_t position, std::string_view reason);

 private:
  void SkipBlanks();
  absl::Status ReadSingleQuoted(Token* token);
  absl::Status ReadDoubleQuoted(Token* token);
  // Behind a backslash in double quotes.
  absl::Status ReadEscape(std::string* bytes);
  absl::Status ReadUnicodeEscape(std::string* bytes);
  absl::Status ReadInteger(Token* token);

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_LEXER_H_
