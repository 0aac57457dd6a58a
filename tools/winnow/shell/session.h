// One run of the shell: its database, opened when it is first needed, and what it prints to.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_SESSION_H_
#define WINNOW_TOOLS_WINNOW_SHELL_SESSION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/winnow/command.h"
#include "tools/winnow/shell/printer.h"
#include "winnow/table.h"

namespace winnow::shell {

class Session {
 public:
  // Opens the database; NotFound if there is none and `creates` is false.
  using Opener = std::function<absl::StatusOr<std::unique_ptr<TableDatabase>>(bool creates)>;
  // Tells the user something beside the answers.
  using Notice = std::function<void(std::string_view text)>;

  Session(Opener opener, Printer& printer, Notice notice)
      : opener_(std::move(opener)), printer_(printer), notice_(std::move(notice)) {}

  Printer& printer() { return printer_; }
  void Notify(std::string_view text) const { notice_(text); }

  absl::StatusOr<TableDatabase*> Tables(bool creates = false);
  // NotFound: "Unknown table NAME!".
  absl::StatusOr<Table*> FindTable(const std::string& name);
  absl::StatusOr<TableSchema> Describe(const std::string& name);

  // After `exit` no further statement is run; the shell ends with this code, if one was given.
  void Exit(std::optional<cli::ExitCode> code) {
    has_exited_ = true;
    exit_code_ = code;
  }
  bool has_exited() const { return has_exited_; }
  const std::optional<cli::ExitCode>& exit_code() const { return exit_code_; }

  absl::Status Close();

 private:
  const Opener opener_;
  Printer& printer_;
  const Notice notice_;
  std::unique_ptr<TableDatabase> tables_;
  bool has_exited_ = false;
  std::optional<cli::ExitCode> exit_code_;
};

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_SESSION_H_
