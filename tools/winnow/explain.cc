// winnow explain: how a look-up of one key goes, or a scan between two.
#include <optional>
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunExplain(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  const std::optional<std::string> to = arguments.Text("to");
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  if (to.has_value()) {
    WINNOW_ASSIGN_OR_RETURN(const std::string upper, BytesFromWord(arguments, *to));
    WINNOW_ASSIGN_OR_RETURN(const RangeExplanation explanation,
                            opened.db->ExplainRange(opened.family, key, upper));
    output.Text(arguments.Has("json") ? explanation.ToJson() : explanation.ToString());
    return explanation.found ? ExitCode::kOk : ExitCode::kNo;
  }
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
Exit code 1 if the key is absent. Merge operands count as found: whether they make a value only
get tells. With --to, the same for a scan from KEY to before the other:
what each file's range filter answers, or its filter where that knows a part that all keys of
the range have, and whether the file has entries there; exit code 1 if no place has any.)",
      .json = "one object: filter_key, key_hash, found, steps; with --to found, steps",
      .examples = R"(
  winnow explain --db=/tmp/fruit apple
  winnow explain --db=/tmp/fruit apple --to=apricot)",
      .flags = {{"to", "KEY", "explain a scan from KEY to before this key"}, kEscapedFlag},
      .run = RunExplain,
  };
}

}  // namespace winnow::cli
