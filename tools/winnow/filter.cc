// winnow filter: the noun whose verbs are in filter_*.cc.
#include <string>

#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/winnow/commands.h"

namespace winnow::cli {
namespace {

// "  plan      compare the kinds ..." for each verb.
const std::string& VerbLines() {
  static const std::string* const lines = [] {
    auto* text = new std::string("What to do:\n");
    for (const Command& verb :
         {FilterPlanCommand(), FilterBuildCommand(), FilterQueryCommand(), FilterInfoCommand(),
          FilterMergeCommand(), FilterConvertCommand(), FilterBenchCommand()}) {
      const std::string_view name = verb.name.substr(verb.name.find(' ') + 1);
      absl::StrAppendFormat(text, "  %-9s %s\n", ToAbsl(name), ToAbsl(verb.summary));
    }
    *text +=
        "`winnow filter VERB --help` explains each. No database is needed: a filter in a file of "
        "its\n"
        "own answers \"no\", which is certain, or \"maybe\". The kinds and how to ask for one by "
        "spec,\n"
        "KIND:BITS or KIND:RATE%, are what --filter of a database takes too.";
    return text;
  }();
  return *lines;
}

absl::StatusOr<ExitCode> RunFilter(const Arguments&, Output&) {
  return absl::InvalidArgumentError(
      "name what to do: plan, build, query, info, merge, convert or bench");
}

}  // namespace

Command FilterCommand() {
  return {
      .name = "filter",
      .positionals = {"VERB ...", 0, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "plan, build, query, merge and convert filters in files of their own",
      .details = VerbLines(),
      .json = "each verb's help says what it prints",
      .examples = R"(
  winnow filter plan --keys=1e6 --fpr=1%
  winnow filter build --filter=blocked_bloom:10 --out=words.filter words.txt
  echo apple | winnow filter query words.filter)",
      .run = RunFilter,
  };
}

}  // namespace winnow::cli
