// help, status, exit; and how a command is found.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/flags/nearest_name.h"
#include "tools/winnow/shell/commands.h"

namespace winnow::shell {
namespace {

constexpr std::string_view kGroups[] = {"general", "ddl", "dml", "tools"};

std::vector<const ShellCommand*> AllShellCommands() {
  std::vector<const ShellCommand*> all;
  for (const auto commands :
       {GeneralCommands(), SchemaCommands(), WriteCommands(), ReadCommands()}) {
    for (const ShellCommand& command : commands) all.push_back(&command);
  }
  std::sort(all.begin(), all.end(),
            [](const auto* left, const auto* right) { return left->name < right->name; });
  return all;
}

absl::Status UnknownShellCommand(const std::string& name) {
  std::vector<std::string_view> names;
  for (const ShellCommand* command : AllShellCommands()) names.push_back(command->name);
  return absl::InvalidArgumentError(
      absl::StrCat("no command '", name, "'", cli::DidYouMean(name, names)));
}

void PrintUsage(Printer& printer, const ShellCommand& command) {
  printer.Line(absl::StrCat(ToAbsl(command.name), ": ", ToAbsl(command.summary)));
  std::string_view usage = command.usage;
  while (!usage.empty()) {
    const size_t end = std::min(usage.find('\n'), usage.size());
    printer.Line(absl::StrCat("  ", ToAbsl(usage.substr(0, end))));
    usage.remove_prefix(std::min(usage.size(), end + 1));
  }
}

void PrintOverview(Printer& printer) {
  printer.Line("Commands, by HBase's names; help 'COMMAND' shows how each is written.");
  for (const std::string_view group : kGroups) {
    std::string names;
    for (const ShellCommand* command : AllShellCommands()) {
      if (command->group == group) {
        absl::StrAppend(&names, names.empty() ? "" : ", ", ToAbsl(command->name));
      }
    }
    printer.Line(absl::StrCat("  ", ToAbsl(group), ": ", names));
  }
  printer.Line(
      "Quote tables, rows, columns and values: 'as it stands', or \"with \\x00\\xff and \\n\". A "
      "column is");
  printer.Line(
      "'FAMILY:QUALIFIER', or 'FAMILY' for all of a family. Options are {KEY => VALUE, ...}; those "
      "at the end");
  printer.Line("need no braces. A line that ends with a comma goes on; ';' ends a command, too.");
}

absl::Status Help(Session& session, Parameters& parameters) {
  if (parameters.empty()) {
    PrintOverview(session.printer());
    return absl::OkStatus();
  }
  const Value& topic = parameters.Take();
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  const std::string& name = topic.text;
  if (const ShellCommand* command = FindShellCommand(name)) {
    PrintUsage(session.printer(), *command);
    return absl::OkStatus();
  }
  if (std::find(std::begin(kGroups), std::end(kGroups), name) == std::end(kGroups)) {
    return UnknownShellCommand(name);
  }
  for (const ShellCommand* command : AllShellCommands()) {
    if (command->group == name) PrintUsage(session.printer(), *command);
  }
  return absl::OkStatus();
}

absl::Status Status(Session& session, Parameters& parameters) {
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  size_t families = 0;
  const std::vector<std::string> names = tables->ListTables();
  for (const std::string& name : names) {
    WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, tables->DescribeTable(name));
    families += schema.families.size();
  }
  session.printer().Answer(absl::StrCat(names.size(), " tables, ", families, " families"),
                           {{"tables", names.size()}, {"families", families}});
  return absl::OkStatus();
}

absl::Status Exit(Session& session, Parameters& parameters) {
  if (parameters.empty()) {
    session.Exit(std::nullopt);
    return absl::OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const uint64_t code, parameters.TakeNumber("the exit code"));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  if (code > 255) return absl::InvalidArgumentError("an exit code is from 0 to 255");
  session.Exit(static_cast<cli::ExitCode>(code));
  return absl::OkStatus();
}

constexpr ShellCommand kGeneralCommands[] = {
    {"help", "general", "shows the commands, or how one is written",
     "help\nhelp 'scan'\nhelp 'ddl'", Help},
    {"status", "general", "counts the tables and their families", "status", Status},
    {"exit", "general", "leaves the shell, with an exit code if one is given", "exit\nexit 1",
     Exit},
    {"quit", "general", "leaves the shell", "quit", Exit},
};

}  // namespace

std::span<const ShellCommand> GeneralCommands() { return kGeneralCommands; }

const ShellCommand* FindShellCommand(std::string_view name) {
  for (const ShellCommand* command : AllShellCommands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

absl::Status RunCommandLine(Session& session, CommandLine line) {
  const ShellCommand* const command = FindShellCommand(line.name);
  if (command == nullptr) return UnknownShellCommand(line.name);
  Parameters parameters(std::move(line.arguments));
  return command->run(session, parameters);
}

}  // namespace winnow::shell
