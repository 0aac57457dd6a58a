// The commands of the shell, by HBase's names.
#ifndef WINNOW_TOOLS_WINNOW_SHELL_COMMANDS_H_
#define WINNOW_TOOLS_WINNOW_SHELL_COMMANDS_H_

#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "tools/winnow/shell/parameters.h"
#include "tools/winnow/shell/session.h"
#include "tools/winnow/shell/value.h"

namespace winnow::shell {

struct ShellCommand {
  std::string_view name;
  std::string_view group;    // as HBase groups them
  std::string_view summary;  // one line
  std::string_view usage;    // examples, a line each
  // Takes all of the parameters. InvalidArgument: they are not what the command takes.
  absl::Status (*run)(Session& session, Parameters& parameters);
};

std::span<const ShellCommand> SchemaCommands();   // schema_commands.cc
std::span<const ShellCommand> ReadCommands();     // read_commands.cc
std::span<const ShellCommand> WriteCommands();    // write_commands.cc
std::span<const ShellCommand> GeneralCommands();  // general_commands.cc

// Null if there is none of this name.
const ShellCommand* FindShellCommand(std::string_view name);

// Runs one line. InvalidArgument: it is none that the shell knows, or is used wrongly.
absl::Status RunCommandLine(Session& session, CommandLine line);

}  // namespace winnow::shell

#endif  // WINNOW_TOOLS_WINNOW_SHELL_COMMANDS_H_
