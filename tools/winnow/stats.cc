// winnow stats, winnow property: what a database says about itself.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/flags/nearest_name.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

constexpr std::string_view kPropertyPrefix = "winnow.";

// The tables that make up `winnow stats`, and their members in JSON.
struct StatsTable {
  std::string_view property;
  std::string_view json_member;
};
constexpr StatsTable kStatsTables[] = {
    {"winnow.levels", "levels"}, {"winnow.filter-stats", "filters"}, {"winnow.stats", "counters"}};

absl::StatusOr<ExitCode> RunStats(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  if (arguments.Has("json")) {
    Json all = Json::object();
    for (const StatsTable& table : kStatsTables) {
      WINNOW_ASSIGN_OR_RETURN(
          const std::string text,
          opened.db->GetProperty(opened.family, std::string(table.property) + "-json"));
      all[std::string(table.json_member)] = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    }
    output.Write(ToLine(all));
    return ExitCode::kOk;
  }
  for (const StatsTable& table : kStatsTables) {
    WINNOW_ASSIGN_OR_RETURN(const std::string text,
                            opened.db->GetProperty(opened.family, table.property));
    if (!text.empty()) output.Text(text);
    output.Line("");
  }
  output.Line(
      "Counters begin at zero when a database is opened, here by this command; levels and\n"
      "filter sizes are those of the files on disk.");
  return ExitCode::kOk;
}

std::string UnknownProperty(const std::string& name) {
  std::vector<std::string_view> names = DB::PropertyNames();
  const std::string nearest = DidYouMean(name, names);
  return absl::StrCat("unknown property \"", name, "\"", nearest.empty() ? ";" : nearest,
                      " `winnow property` lists them");
}

absl::StatusOr<ExitCode> ListProperties(const Arguments& arguments, Output& output) {
  const std::vector<std::string_view> names = DB::PropertyNames();
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"properties", names}}));
  } else {
    for (const std::string_view name : names) output.Line(name);
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunProperty(const Arguments& arguments, Output& output) {
  if (arguments.positionals().empty()) return ListProperties(arguments, output);
  std::string name = arguments.positionals()[0];
  if (name.rfind(kPropertyPrefix, 0) != 0) name.insert(0, kPropertyPrefix);
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  absl::StatusOr<std::string> value = opened.db->GetProperty(opened.family, name);
  if (absl::IsNotFound(value.status())) {
    return absl::InvalidArgumentError(UnknownProperty(name));
  }
  if (!value.ok()) return value.status();
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"property", name}, {"value", *value}}));
  } else {
    output.Text(*value);
  }
  return ExitCode::kOk;
}

}  // namespace

Command StatsCommand() {
  return {
      .name = "stats",
      .summary = "print the tables of levels, filters and counters",
      .details = R"(
The counters are those of this opening: a program that uses the database prints its own
with DB::GetProperty("winnow.stats"). Levels and filter sizes are the files'.)",
      .json = R"({"levels":...,"filters":...,"counters":...})",
      .examples = R"(
  winnow stats --db=/tmp/fruit
  winnow stats --db=/tmp/fruit --json | python3 -m json.tool)",
      .run = RunStats,
  };
}

Command PropertyCommand() {
  return {
      .name = "property",
      .positionals = {"[NAME]", 0, 1},
      .summary = "print one property of a database, or list their names",
      .details = "The leading \"winnow.\" may be left out. Without NAME no database is needed.",
      .json = R"({"property":NAME,"value":TEXT} or {"properties":[NAME,...]})",
      .examples = R"(
  winnow property
  winnow property --db=/tmp/fruit estimate-num-keys)",
      .run = RunProperty,
  };
}

}  // namespace winnow::cli
