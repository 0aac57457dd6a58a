// winnow stats, winnow property: what a database says about itself.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/statistics/statistics_report.h"
#include "tools/flags/nearest_name.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

constexpr std::string_view kPropertyPrefix = "winnow.";

// When the counters were saved, and by whom.
std::string SavedText(const SavedStatistics& saved) {
  return absl::StrCat("Opened ", UtcText(saved.opened_unix_seconds), ", counters saved ",
                      UtcText(saved.saved_unix_seconds),
                      saved.is_closed ? " as it was closed."
                                      : " by a process that has it open, or has not closed it.");
}

Json ParsedJson(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// What this command itself would count says nothing. The counters are those that the process has
// saved which has the database open, or had it last.
absl::StatusOr<ExitCode> RunStats(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const Options options, DatabaseOptions(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  absl::StatusOr<SavedStatistics> read = DB::ReadStatistics(options, path);
  const std::string missing = read.ok() ? ""
                              : absl::IsNotFound(read.status())
                                  ? "Nothing has been counted yet: counters are saved when a "
                                    "process that writes closes the "
                                    "database, and every minute while it is open."
                                  : absl::StrCat("Counters begin anew: ", read.status().message());
  const SavedStatistics saved = read.ok() ? *std::move(read) : SavedStatistics();
  if (arguments.Has("json")) {
    WINNOW_ASSIGN_OR_RETURN(const std::string levels,
                            opened.db->GetProperty(opened.family, "winnow.levels-json"));
    WINNOW_ASSIGN_OR_RETURN(const std::string budget,
                            opened.db->GetProperty(opened.family, "winnow.filter-budget-json"));
    Json all = Json::object();
    all["levels"] = ParsedJson(levels);
    all["filter_budget"] = ParsedJson(budget);
    all["counters"] = ParsedJson(SavedStatisticsJson(saved));
    all["filters"] = std::move(all["counters"]["filters"]);
    all["counters"].erase("filters");
    output.Write(ToLine(all));
    return ExitCode::kOk;
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string levels,
                          opened.db->GetProperty(opened.family, "winnow.levels"));
  if (!levels.empty()) output.Text(levels);
  output.Line("");
  WINNOW_ASSIGN_OR_RETURN(const std::string budget,
                          opened.db->GetProperty(opened.family, "winnow.filter-budget"));
  output.Text(budget);
  output.Line("");
  if (!missing.empty()) {
    output.Line(missing);
    return ExitCode::kOk;
  }
  output.Text(FilterStatsTable(saved.since_opening, saved.in_all));
  output.Line("");
  output.Text(CountersTable(saved.since_opening, saved.in_all));
  output.Line(SavedText(saved));
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
Levels and filter sizes are the files'; filter memory is what an opening with the recorded
budget takes at first. The counters are those of the process that has the
database open, which saves them every minute, or had it last: since it opened the database,
and in all, with every opening before. A program prints its own, as they are now, with
DB::GetProperty("winnow.stats").)",
      .json =
          R"({"levels":...,"filter_budget":{"budget_bytes":...},"filters":{"since_opening":...,"in_all":...},
"counters":{"opened_unix_seconds":...,"saved_unix_seconds":...,"is_closed":...,
"since_opening":...,"in_all":...}})",
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
