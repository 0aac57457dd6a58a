// Standard output, buffered, with its errors noticed; and messages on standard error.
#ifndef WINNOW_TOOLS_WINNOW_OUTPUT_H_
#define WINNOW_TOOLS_WINNOW_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace winnow::cli {

// Used by one thread.
class Output {
 public:
  explicit Output(int file_descriptor) : file_descriptor_(file_descriptor) {}

  void Write(std::string_view text);
  void Line(std::string_view text);
  // Lines, of which the last may lack its newline.
  void Text(std::string_view lines);

  // Writes out what is buffered. After an error nothing more is written and every call returns it.
  // Cancelled: the reader of a pipe has gone, which is no one's fault.
  absl::Status Flush();

  // False once nothing can be written any more: long listings stop then.
  bool ok() const { return status_.ok(); }

 private:
  int file_descriptor_;
  std::string buffer_;
  absl::Status status_;
};

// `message` on one line, whatever bytes the names in it have: control characters, and what is not
// UTF-8, become escapes.
std::string Printable(std::string_view message);

// Writes "winnow: COMMAND: MESSAGE" to standard error, printable.
void Complain(std::string_view command, std::string_view message);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_OUTPUT_H_
