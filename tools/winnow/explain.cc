// winnow explain: how a look-up of one key goes.
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunExplain(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key,
                          BytesFromWord(arguments, arguments.positionals()[0]));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const KeyExplanation explanation, opened.db->Explain(opened.family, key));
  const std::string text = arguments.Has("json") ? explanation.ToJson() : explanation.ToString();
  output.Write(text);
  if (text.empty() || text.back() != '\n') output.Write("\n");
  return explanation.found ? ExitCode::kOk : ExitCode::kNo;
}

}  // namespace

Command ExplainCommand() {
  Command command;
  command.name = "explain";
  command.positionals = "KEY";
  command.min_positionals = command.max_positionals = 1;
  command.summary = "show how a look-up goes: candidate files, their filters' answers, the block's";
  command.details =
      "One line for each place that could hold the key, in the order in which a look-up asks "
      "them.\n"
      "Exit code 1 if the key is absent.";
  command.json = "one object: filter_key, key_hash, found, steps";
  command.examples = "  winnow explain --db=/tmp/fruit apple";
  command.run = RunExplain;
  return command;
}

}  // namespace winnow::cli
