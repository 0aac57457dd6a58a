// What the shell prints: HBase's two columns, or JSON a line.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_PRINTER_H_
#define WINNOW_TOOLS_WINNOW_SHELL_PRINTER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/winnow/output.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::shell {

class Printer {
 public:
  enum class Form { kText, kJson };

  // `width`: that of the terminal, in which the second column begins after a quarter and both are
  // broken; 0: no columns, one line for each row.
  Printer(cli::Output& output, Form form, size_t width)
      : output_(output), form_(form), width_(width) {}

  bool is_json() const { return form_ == Form::kJson; }
  bool ok() const { return output_.ok(); }

  // Each prints in one of the forms alone.
  void Header(std::string_view left, std::string_view right);  // text
  void Row(std::string_view left, std::string_view right);     // text
  void Line(std::string_view line);                            // text
  void RowCount(uint64_t count);                               // text: "N row(s)"
  void Object(const cli::Json& json);                          // JSON

  // What a command answers, in either form.
  void Answer(std::string_view line, const cli::Json& json) {
    is_json() ? Object(json) : Line(line);
  }
  void Done() { Object({{"ok", true}}); }

 private:
  void Columns(std::string_view left, std::string_view right, std::string_view indent,
               std::string_view gap);

  cli::Output& output_;
  const Form form_;
  const size_t width_;
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_PRINTER_H_
