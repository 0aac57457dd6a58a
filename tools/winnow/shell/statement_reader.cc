#include "tools/winnow/shell/statement_reader.h"

#include <utility>

namespace winnow::shell {

std::optional<std::string> StatementReader::Take() {
  while (scanned_ < buffer_.size()) {
    const char letter = buffer_[scanned_];
    const bool ends = Scan(letter);
    if (letter == '\n') line_++;
    if (ends && has_text_) return Finish(scanned_, scanned_ + 1);
    scanned_++;
  }
  return std::nullopt;
}

std::string StatementReader::TakeRest() { return Finish(buffer_.size(), buffer_.size()); }

std::string StatementReader::Finish(size_t length, size_t with_end) {
  std::string statement = buffer_.substr(0, length);
  buffer_.erase(0, with_end);
  scanned_ = 0;
  statement_line_ = has_text_ ? begin_line_ : line_;
  quotation_ = Quotation::kNone;
  is_escaped_ = false;
  depth_ = 0;
  has_text_ = false;
  last_ = last_but_one_ = '\n';
  return statement;
}

void StatementReader::Significant(char letter) {
  if (!has_text_) begin_line_ = line_;
  has_text_ = true;
  last_but_one_ = std::exchange(last_, letter);
}

bool StatementReader::Scan(char letter) {
  if (quotation_ == Quotation::kComment) {
    if (letter != '\n') return false;
    quotation_ = Quotation::kNone;  // and the end of the line counts
  }
  if (quotation_ != Quotation::kNone) {
    const char end = quotation_ == Quotation::kSingle ? '\'' : '"';
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (letter == '\\') {
      is_escaped_ = true;
    } else if (letter == end) {
      quotation_ = Quotation::kNone;
    }
    Significant(letter);
    return false;
  }
  switch (letter) {
    case '\n':
      return depth_ == 0 && last_ != ',' && last_ != '\\' &&
             !(last_but_one_ == '=' && last_ == '>');
    case ';':
      if (depth_ == 0) return true;
      break;
    case ' ':
    case '\t':
    case '\r':
      return false;
    case '#':
      quotation_ = Quotation::kComment;
      return false;
    case '\'':
      quotation_ = Quotation::kSingle;
      break;
    case '"':
      quotation_ = Quotation::kDouble;
      break;
    case '(':
    case '[':
    case '{':
      depth_++;
      break;
    case ')':
    case ']':
    case '}':
      if (depth_ > 0) depth_--;
      break;
    default:
      break;
  }
  Significant(letter);
  return false;
}

}  // namespace winnow::shell
