#include "tools/winnow/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::cli {
namespace {
constexpr size_t kBufferBytes = size_t{64} << 10;
}  // namespace

void Output::Write(std::string_view text) {
  buffer_.append(text);
  // The error is kept and reported by the last Flush.
  if (buffer_.size() >= kBufferBytes) Flush().IgnoreError();
}

void Output::Line(std::string_view text) {
  buffer_.append(text);
  Write("\n");
}

void Output::Text(std::string_view lines) {
  const bool is_whole = !lines.empty() && lines.back() == '\n';
  is_whole ? Write(lines) : Line(lines);
}

absl::Status Output::Flush() {
  std::string_view rest = buffer_;
  while (status_.ok() && !rest.empty()) {
    const ssize_t written = write(file_descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      status_ = absl::CancelledError("the reader of the output has gone");
    } else if (errno != EINTR) {
      status_ = absl::UnavailableError(
          absl::StrCat("cannot write standard output: ", std::strerror(errno)));
    }
  }
  buffer_.clear();
  return status_;
}

std::string Printable(std::string_view message) {
  const bool is_utf8 = IsUtf8(message);
  std::string text;
  for (const char byte : message) {
    const auto value = static_cast<uint8_t>(byte);
    const bool is_plain = value >= 0x20 && value != 0x7f && (is_utf8 || value < 0x80);
    // A backslash stays one: messages have some of their own.
    AppendText(&text, std::string_view(&byte, 1), is_plain ? TextForm::kRaw : TextForm::kEscaped);
  }
  return text;
}

void Complain(std::string_view command, std::string_view message) {
  std::string line("winnow: ");
  line.append(command).append(": ").append(Printable(message)).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace winnow::cli
