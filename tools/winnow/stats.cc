// winnow stats, winnow property: what a database says about itself.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/filter_memory/filter_budget_report.h"
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

// Why there are no counters, of which 0 would be said to have been counted.
std::string MissingText(const absl::Status& status) {
  if (absl::IsNotFound(status)) {
    return "Nothing has been counted yet: counters are saved when a process that writes closes the "
           "database, and every minute while it is open.";
  }
  return absl::StrCat(
      absl::IsDataLoss(status) ? "Counters begin anew: " : "Counters cannot be read: ",
      status.message());
}

Json ParsedJson(const std::string& text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// Of a member that is missing, or null, nothing is known.
double NumberIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}
uint64_t CountIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
std::string TextIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// What FilterBudgetJson has made, by whichever version.
FilterBudgetReport FilterBudgetOf(const Json& json) {
  FilterBudgetReport report;
  report.budget_bytes = CountIn(json, "budget_bytes");
  report.resident_bytes = CountIn(json, "resident_bytes");
  report.peak_bytes = CountIn(json, "peak_bytes");
  report.dropped_bytes = CountIn(json, "dropped_bytes");
  report.expected_fpr = NumberIn(json, "expected_fpr");
  report.low_fpr = NumberIn(json, "low_fpr");
  report.high_fpr = NumberIn(json, "high_fpr");
  report.measured_fpr = NumberIn(json, "measured_fpr");
  report.last_decision = TextIn(json, "last_decision");
  report.last_refilter = TextIn(json, "last_refilter");
  const auto levels = json.find("levels");
  if (levels == json.end() || !levels->is_array()) return report;
  for (const Json& level : *levels) {
    FilterBudgetRow& row = report.rows.emplace_back();
    row.column_family = TextIn(level, "family");
    row.level = static_cast<int>(std::min<uint64_t>(CountIn(level, "level"), 63));
    row.kind = TextIn(level, "kind");
    row.num_files = CountIn(level, "files");
    row.resident_bytes = CountIn(level, "resident_bytes");
    row.dropped_bytes = CountIn(level, "dropped_bytes");
    row.all_units_fpr = NumberIn(level, "all_units_fpr");
    row.expected_fpr = NumberIn(level, "expected_fpr");
    row.measured_fpr = NumberIn(level, "measured_fpr");
  }
  return report;
}

// What this command itself would count says nothing. The counters are those that the process has
// saved which has the database open, or had it last.
absl::StatusOr<ExitCode> RunStats(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const Options options, DatabaseOptions(arguments, Access::kRead));
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  absl::StatusOr<SavedStatistics> read = DB::ReadStatistics(options, path);
  const std::string missing = read.ok() ? "" : MissingText(read.status());
  SavedStatistics saved = read.ok() ? *std::move(read) : SavedStatistics();
  const Json budget = ParsedJson(saved.filter_budget_json);
  if (!budget.is_object()) saved.filter_budget_json.clear();  // it would spoil all of the JSON
  if (arguments.Has("json")) {
    WINNOW_ASSIGN_OR_RETURN(const std::string levels,
                            opened.db->GetProperty(opened.family, "winnow.levels-json"));
    Json all = Json::object();
    all["levels"] = ParsedJson(levels);
    if (missing.empty()) {
      all["counters"] = ParsedJson(SavedStatisticsJson(saved));
      all["filter_budget"] = std::move(all["counters"]["filter_budget"]);
      all["counters"].erase("filter_budget");
      all["filters"] = std::move(all["counters"]["filters"]);
      all["counters"].erase("filters");
    } else {
      for (const char* name : {"filter_budget", "filters", "counters"}) all[name] = nullptr;
      all["missing"] = missing;
    }
    output.Write(ToLine(all));
    return ExitCode::kOk;
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string levels,
                          opened.db->GetProperty(opened.family, "winnow.levels"));
  if (!levels.empty()) output.Text(levels);
  output.Line("");
  if (!missing.empty()) {
    output.Line(missing);
    return ExitCode::kOk;
  }
  if (budget.is_object()) {
    output.Text(FilterBudgetTable(FilterBudgetOf(budget)));
    output.Line("");
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
Levels and filter sizes are the files'. Filter memory and counters are those of the process that
has the database open, which saves them every minute, or had it last: since it opened the
database, and in all, with every opening before. A program prints its own, as they are now, with
DB::GetProperty("winnow.stats").)",
      .json =
          R"({"levels":...,"filter_budget":{"budget_bytes":...},"filters":{"since_opening":...,"in_all":...},
"counters":{"opened_unix_seconds":...,"saved_unix_seconds":...,"is_closed":...,
"since_opening":...,"in_all":...}}
Where nothing was counted yet, or it cannot be read, each but levels is null, and besides:
"missing":WHY)",
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
