#include "tools/winnow/shell/lexer.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::shell {
namespace {

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }
bool BeginsWord(char letter) {
  return absl::ascii_isalpha(static_cast<unsigned char>(letter)) || letter == '_';
}

int HexDigitOf(char digit) {
  if (IsDigit(digit)) return digit - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(digit));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// What Ruby's escapes of one letter stand for; -1: for the letter itself.
int SimpleEscape(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return 7;
    case 'b':
      return 8;
    case 'v':
      return 11;
    case 'f':
      return 12;
    case 'e':
      return 27;
    case 's':
      return ' ';
    default:
      return -1;
  }
}

void AppendUtf8(uint32_t code, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace

absl::Status Lexer::ErrorAt(size_t position, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("column ", position + 1, ": ", ToAbsl(reason)));
}

void Lexer::SkipBlanks() {
  while (at_ < text_.size()) {
    const char letter = text_[at_];
    if (letter == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') at_++;
    } else if (letter == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      at_ += 2;  // the line goes on
    } else if (letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n') {
      at_++;
    } else {
      return;
    }
  }
}

absl::StatusOr<Token> Lexer::Next() {
  SkipBlanks();
  Token token;
  token.begin = at_;
  if (at_ == text_.size()) {
    token.end = at_;
    return token;
  }
  const char letter = text_[at_];
  const char following = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (letter == '\'') {
    WINNOW_RETURN_IF_ERROR(ReadSingleQuoted(&token));
  } else if (letter == '"') {
    WINNOW_RETURN_IF_ERROR(ReadDoubleQuoted(&token));
  } else if (IsDigit(letter) || (letter == '-' && IsDigit(following))) {
    WINNOW_RETURN_IF_ERROR(ReadInteger(&token));
  } else if (BeginsWord(letter)) {
    token.type = Token::Type::kWord;
    while (at_ < text_.size() && (BeginsWord(text_[at_]) || IsDigit(text_[at_]))) at_++;
    token.text = text_.substr(token.begin, at_ - token.begin);
  } else if (letter == '=' && following == '>') {
    token.type = Token::Type::kArrow;
    at_ += 2;
  } else {
    token.type = Token::Type::kPunctuation;
    token.text = letter;
    at_++;
  }
  token.end = at_;
  return token;
}

absl::Status Lexer::ReadSingleQuoted(Token* token) {
  token->type = Token::Type::kText;
  for (at_++; at_ < text_.size(); at_++) {
    const char letter = text_[at_];
    if (letter == '\'') {
      at_++;
      return absl::OkStatus();
    }
    // A backslash stands for itself, but before a quote or another.
    const bool escapes = letter == '\\' && at_ + 1 < text_.size() &&
                         (text_[at_ + 1] == '\'' || text_[at_ + 1] == '\\');
    if (escapes) at_++;
    token->text.push_back(text_[at_]);
  }
  return ErrorAt(token->begin, "the quotation has no end");
}

absl::Status Lexer::ReadDoubleQuoted(Token* token) {
  token->type = Token::Type::kText;
  at_++;
  while (at_ < text_.size()) {
    const char letter = text_[at_++];
    if (letter == '"') return absl::OkStatus();
    if (letter == '#' && at_ < text_.size() && text_[at_] == '{') {
      return ErrorAt(at_ - 1, "#{...} is Ruby that this shell does not run; write \\# for a #");
    }
    if (letter == '\\') {
      WINNOW_RETURN_IF_ERROR(ReadEscape(&token->text));
    } else {
      token->text.push_back(letter);
    }
  }
  return ErrorAt(token->begin, "the quotation has no end");
}

absl::Status Lexer::ReadEscape(std::string* bytes) {
  if (at_ == text_.size()) return absl::OkStatus();  // the quotation has no end
  const size_t begin = at_ - 1;
  const char letter = text_[at_++];
  if (letter == 'u') return ReadUnicodeEscape(bytes);
  if (letter == 'x') {
    int byte = 0;
    size_t digits = 0;
    for (; digits < 2 && at_ < text_.size() && HexDigitOf(text_[at_]) >= 0; digits++, at_++) {
      byte = byte * 16 + HexDigitOf(text_[at_]);
    }
    if (digits == 0) return ErrorAt(begin, "\\x takes one or two hexadecimal digits");
    bytes->push_back(static_cast<char>(byte));
  } else if (letter >= '0' && letter <= '7') {
    int byte = letter - '0';
    for (int i = 1; i < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; i++) {
      byte = byte * 8 + (text_[at_++] - '0');
    }
    bytes->push_back(static_cast<char>(byte));
  } else if (letter != '\n') {  // at the end of a line: nothing at all
    const int simple = SimpleEscape(letter);
    bytes->push_back(simple < 0 ? letter : static_cast<char>(simple));
  }
  return absl::OkStatus();
}

absl::Status Lexer::ReadUnicodeEscape(std::string* bytes) {
  const size_t begin = at_ - 2;
  const bool in_braces = at_ < text_.size() && text_[at_] == '{';
  if (in_braces) at_++;
  const size_t most = in_braces ? 6 : 4;
  uint32_t code = 0;
  size_t digits = 0;
  for (; digits < most && at_ < text_.size() && HexDigitOf(text_[at_]) >= 0; digits++, at_++) {
    code = code * 16 + static_cast<uint32_t>(HexDigitOf(text_[at_]));
  }
  const bool is_closed = !in_braces || (at_ < text_.size() && text_[at_] == '}');
  const bool is_whole = is_closed && (in_braces ? digits > 0 : digits == 4);
  if (!is_whole || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
    return ErrorAt(begin, "no character: write \\uXXXX or \\u{X...}");
  }
  if (in_braces) at_++;
  AppendUtf8(code, bytes);
  return absl::OkStatus();
}

absl::Status Lexer::ReadInteger(Token* token) {
  token->type = Token::Type::kInteger;
  std::string digits(1, text_[at_++]);
  while (at_ < text_.size() && (IsDigit(text_[at_]) || text_[at_] == '_')) {
    if (text_[at_] != '_') digits.push_back(text_[at_]);
    at_++;
  }
  const bool goes_on = at_ < text_.size() && (BeginsWord(text_[at_]) || text_[at_] == '.');
  if (goes_on) return ErrorAt(token->begin, "numbers are whole, in decimal digits");
  const size_t first = digits[0] == '-' ? 1 : 0;
  if (digits.size() > first + 1 && digits[first] == '0') {  // octal, in Ruby
    return ErrorAt(token->begin, "a number of several digits does not begin with 0");
  }
  if (absl::SimpleAtoi(digits, &token->integer)) return absl::OkStatus();
  return ErrorAt(token->begin, "the number is too large");
}

}  // namespace winnow::shell
