#include "tools/winnow/shell/script.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "tools/winnow/shell/commands.h"
#include "tools/winnow/shell/parser.h"

namespace winnow::shell {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
// A statement that has no end by then has none at all, but for a cell's value in escapes.
constexpr size_t kMaxStatementBytes = 5 * kMaxCellBytes;

}  // namespace

cli::ExitCode ScriptRunner::exit_code() const { return session_.exit_code().value_or(exit_code_); }

void ScriptRunner::RunText(std::string_view name, std::string_view text) {
  StatementReader reader;
  reader.Add(text);
  RunWhole(name, reader);
  if (is_finished_ || !reader.has_unfinished()) return;
  const std::string rest = reader.TakeRest();
  RunStatement(name, reader.line_number(), rest);
}

void ScriptRunner::RunWhole(std::string_view name, StatementReader& reader) {
  while (!is_finished_) {
    const std::optional<std::string> statement = reader.Take();
    if (!statement) return;
    RunStatement(name, reader.line_number(), *statement);
  }
}

absl::Status ScriptRunner::RunFile(const cli::InputFile& file) {
  StatementReader reader;
  std::string piece(kReadBytes, '\0');
  while (!is_finished_) {
    Prompt(reader.has_unfinished());
    const ssize_t count = read(file.descriptor(), piece.data(), piece.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return absl::UnavailableError(
          absl::StrCat(file.name(), ": cannot read: ", std::strerror(errno)));
    }
    if (count == 0) break;
    reader.Add(std::string_view(piece).substr(0, static_cast<size_t>(count)));
    RunWhole(file.name(), reader);
    if (reader.unfinished_bytes() > kMaxStatementBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(file.name(), ": a command of more than ", kMaxStatementBytes, " bytes"));
    }
  }
  if (is_finished_ || !reader.has_unfinished()) return absl::OkStatus();
  const std::string rest = reader.TakeRest();
  RunStatement(file.name(), reader.line_number(), rest);
  return absl::OkStatus();
}

void ScriptRunner::RunStatement(std::string_view name, size_t line, std::string_view statement) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(std::optional<CommandLine> command, ParseStatement(statement));
    if (!command) return absl::OkStatus();
    return RunCommandLine(session_, *std::move(command));
  });
  if (!status.ok()) Report(name, line, status);
  if (settings_.shows_time && status.ok()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    output_.Line(absl::StrFormat("Took %.4f seconds", took.count()));
  }
  is_finished_ = is_finished_ || session_.has_exited() || !output_.ok();
}

void ScriptRunner::Report(std::string_view name, size_t line, const absl::Status& status) {
  output_.Flush().IgnoreError();
  const std::string where = settings_.prompts ? "" : absl::StrCat(ToAbsl(name), ":", line, ": ");
  cli::Complain("shell", absl::StrCat(where, "ERROR: ", status.message()));
  if (settings_.prompts) return;
  const cli::ExitCode code =
      absl::IsInvalidArgument(status) ? cli::ExitCode::kUsage : cli::ExitCode::kError;
  if (exit_code_ == cli::ExitCode::kOk) exit_code_ = code;
  is_finished_ = !settings_.keeps_going;
}

void ScriptRunner::Prompt(bool goes_on) {
  if (!settings_.prompts) return;
  output_.Write(goes_on ? "winnow*> " : "winnow> ");
  output_.Flush().IgnoreError();
}

}  // namespace winnow::shell
