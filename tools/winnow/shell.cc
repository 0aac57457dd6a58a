// winnow shell: the commands of HBase's shell.
#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/version/foreign_database.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/shell/script.h"
#include "winnow/file_system.h"
#include "winnow/table.h"

namespace winnow::cli {
namespace {

constexpr size_t kDefaultTerminalWidth = 80;
constexpr size_t kLeastTerminalWidth = 20;

// 0: standard output is no terminal.
size_t TerminalWidth() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  winsize size = {};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  if (!is_known || size.ws_col < kLeastTerminalWidth) return kDefaultTerminalWidth;
  return size.ws_col;
}

shell::Session::Opener OpenerFor(const Arguments& arguments) {
  return [&arguments](bool creates) -> absl::StatusOr<std::unique_ptr<TableDatabase>> {
    WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
    WINNOW_ASSIGN_OR_RETURN(const bool exists, HoldsDatabase(path));
    if (!exists && !creates) {
      WINNOW_RETURN_IF_ERROR(RefuseForeignDatabase(*PosixFileSystem(), path));
      return absl::NotFoundError(
          absl::StrCat("no database in ", path, " yet: create 't', 'f' makes one"));
    }
    const Access access = creates ? Access::kWriteOrCreate : Access::kWriteExisting;
    WINNOW_ASSIGN_OR_RETURN(const Options options, OptionsOfAllFamilies(arguments, access));
    return TableDatabase::Open(options, path);
  };
}

// What -e says, then the files; without either standard input. Before anything is run all files are
// open.
absl::Status RunSources(const Arguments& arguments, shell::ScriptRunner& runner) {
  const std::vector<std::string>& paths = arguments.positionals();
  std::vector<InputFile> files;
  if (!arguments.Has("e") || !paths.empty()) {
    WINNOW_ASSIGN_OR_RETURN(files, OpenInputs(paths));
  }
  for (const std::string& text : arguments.All("e")) {
    if (!runner.is_finished()) runner.RunText("-e", text);
  }
  for (const InputFile& file : files) {
    if (!runner.is_finished()) WINNOW_RETURN_IF_ERROR(runner.RunFile(file));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunShell(const Arguments& arguments, Output& output) {
  WINNOW_RETURN_IF_ERROR(DatabasePath(arguments).status());
  const bool reads_terminal = !arguments.Has("e") && arguments.positionals().empty() &&
                              isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  const size_t width = TerminalWidth();
  const bool json = arguments.Has("json");
  shell::Printer printer(output, json ? shell::Printer::Form::kJson : shell::Printer::Form::kText,
                         width);
  const auto notify = [&output](std::string_view text) {
    output.Flush().IgnoreError();
    Complain("shell", absl::StrCat("note: ", ToAbsl(text)));
  };
  shell::Session session(OpenerFor(arguments), printer, notify);
  shell::ScriptRunner runner(session, output,
                             {.keeps_going = arguments.Has("keep-going") || reads_terminal,
                              .prompts = reads_terminal,
                              .shows_time = width != 0 && !json});
  if (reads_terminal) {
    output.Line("Winnow's shell, with the commands of HBase's. help shows them, exit leaves.");
  }
  const absl::Status run = RunSources(arguments, runner);
  const absl::Status closed = session.Close();
  WINNOW_RETURN_IF_ERROR(run);
  WINNOW_RETURN_IF_ERROR(closed);
  return runner.exit_code();
}

}  // namespace

Command ShellCommand() {
  return {
      .name = "shell",
      .positionals = {"[FILE]...", 0, kAnyNumber},
      .database = DatabaseUse::kFiles,
      .summary = "HBase's shell, for tables",
      .details = R"(
Runs HBase's commands from -e, from files, or from standard input; on a terminal it prompts.
Commands are create, alter, describe, list, exists, drop, truncate, put, get, scan, count,
delete, deleteall, incr, get_counter, append, flush, major_compact, help, status and exit, as
HBase writes them: 'text', "bytes \x00\xff", {KEY => VALUE}. `winnow shell -e help --db=DIR`
lists them, help 'scan' shows how one is written. Cells are printed in HBase's columns, bytes
as \xNN; "Took N seconds" and broken lines come on a terminal alone. disable and enable do
nothing. A delete hides what was written before it, never what is put later.

Without a terminal the first command that fails ends the shell, unless --keep-going is given;
what was written before stays. Exit code: that of `exit N`, else 2 if the first command that
failed is none that the shell knows or is written wrongly, 3 if it failed otherwise.)",
      .json = "a line for each cell or answer, as `winnow table`'s",
      .examples = R"(
  winnow shell --db=/tmp/people
  winnow shell --db=/tmp/people -e "create 'users', 'info'" -e "list"
  echo "put 'users', 'ann', 'info:city', 'Ulm'" | winnow shell --db=/tmp/people)",
      .flags = {{"e", "COMMAND", "run this; repeatable", /*repeatable=*/true},
                {"keep-going", "", "run what stands behind a command that failed"}},
      .run = RunShell,
  };
}

}  // namespace winnow::cli
