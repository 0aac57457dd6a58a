// winnow options: what --set takes.
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/options.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunOptions(const Arguments& arguments, Output& output) {
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"options", OptionNames()}}));
    return ExitCode::kOk;
  }
  for (const std::string_view name : OptionNames()) output.Line(name);
  return ExitCode::kOk;
}

}  // namespace

Command OptionsCommand() {
  return {
      .name = "options",
      .database = DatabaseUse::kNone,
      .summary = "list the options that --set takes",
      .details =
          "winnow/options.h explains each, with unit, default and range. Sizes take K, M, G or T.",
      .json = R"({"options":[NAME,...]})",
      .examples = R"(
  winnow options
  winnow load --db=/tmp/fruit --set=compression=zstd --set=block_bytes=16K fruit.tsv)",
      .run = RunOptions,
  };
}

}  // namespace winnow::cli
