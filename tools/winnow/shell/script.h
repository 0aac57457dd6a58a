// Runs the shell's statements, one after another, from texts, files or a terminal.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_SCRIPT_H_
#define WINNOW_TOOLS_WINNOW_SHELL_SCRIPT_H_

#include <string_view>

#include "tools/winnow/command.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/shell/session.h"
#include "tools/winnow/shell/statement_reader.h"

namespace winnow::shell {

class ScriptRunner {
 public:
  struct Settings {
    bool keeps_going = false;  // after a statement that failed
    bool prompts = false;      // a terminal is read
    bool shows_time = false;   // of each command
  };

  ScriptRunner(Session& session, cli::Output& output, Settings settings)
      : session_(session), output_(output), settings_(settings) {}

  // Runs the statements of a text, of which the last may lack its end. `name` is for messages.
  void RunText(std::string_view name, std::string_view text);
  // The same, as they are read.
  absl::Status RunFile(const cli::InputFile& file);

  // True once nothing further is to be run: `exit`, or an error.
  bool is_finished() const { return is_finished_; }
  // That of `exit N`; else kUsage if the first statement that failed was written wrongly, kError if
  // it failed otherwise.
  cli::ExitCode exit_code() const;

 private:
  void RunWhole(std::string_view name, StatementReader& reader);
  void RunStatement(std::string_view name, size_t line, std::string_view statement);
  void Report(std::string_view name, size_t line, const absl::Status& status);
  void Prompt(bool goes_on);

  Session& session_;
  cli::Output& output_;
  const Settings settings_;
  bool is_finished_ = false;
  cli::ExitCode exit_code_ = cli::ExitCode::kOk;
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_SCRIPT_H_
