// winnow explain: how a look-up of one key goes.
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunExplain(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const KeyExplanation explanation, opened.db->Explain(opened.family, key));
  output.Text(arguments.Has("json") ? explanation.ToJson() : explanation.ToString());
  return explanation.found ? ExitCode::kOk : ExitCode::kNo;
}

}  // namespace

Command ExplainCommand() {
  return {
      .name = "explain",
      .positionals = {"KEY", 1, 1},
      .summary = "show how a look-up goes: candidate files, their filters' answers, the block's",
      .details = R"(
One line for each place that could hold the key, in the order in which a look-up checks them.
Exit code 1 if the key is absent.)",
      .json = "one object: filter_key, key_hash, found, steps",
      .examples = "  winnow explain --db=/tmp/fruit apple",
      .run = RunExplain,
  };
}

}  // namespace winnow::cli
