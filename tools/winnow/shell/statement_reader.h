// Cuts what is typed or read into statements of the shell's language.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_STATEMENT_READER_H_
#define WINNOW_TOOLS_WINNOW_SHELL_STATEMENT_READER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace winnow::shell {

// A statement ends at a semicolon, or at the end of a line unless a quotation or bracket is open
// there, or it stands behind a comma, "=>" or a backslash. '#' begins a comment.
class StatementReader {
 public:
  // Adds text, in pieces of any size.
  void Add(std::string_view text) { buffer_.append(text); }
  // The next statement, without what ended it; unset: none is whole yet. Comments and lines with
  // nothing in them are part of the statement behind them.
  std::optional<std::string> Take();
  // What is there and has no end. Everything is taken then.
  std::string TakeRest();

  // Of the first character of the statement that was taken last that is no blank, from 1 on.
  size_t line_number() const { return statement_line_; }
  bool has_unfinished() const { return has_text_; }
  size_t unfinished_bytes() const { return buffer_.size(); }

 private:
  enum class Quotation { kNone, kSingle, kDouble, kComment };

  // True if the statement ends before this character.
  bool Scan(char letter);
  void Significant(char letter);
  std::string Finish(size_t length, size_t with_end);

  std::string buffer_;
  size_t scanned_ = 0;
  size_t line_ = 1;
  size_t begin_line_ = 0;  // of the statement that is being read
  size_t statement_line_ = 1;
  Quotation quotation_ = Quotation::kNone;
  bool is_escaped_ = false;
  int depth_ = 0;
  bool has_text_ = false;
  char last_ = '\n';  // that is no blank
  char last_but_one_ = '\n';
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_STATEMENT_READER_H_
