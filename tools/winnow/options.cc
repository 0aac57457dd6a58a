// winnow options: what --set takes, and what a database was last open with.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "engine/db/option_table.h"
#include "engine/db/recorded_options.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/options.h"

namespace winnow::cli {
namespace {

std::string_view ChangeText(OptionChange change) {
  switch (change) {
    case OptionChange::kWhileOpen:
      return "while open";
    case OptionChange::kAtOpening:
      return "at opening";
    case OptionChange::kNever:
      break;
  }
  return "never";
}

std::string DefaultText(std::string_view name) { return OptionText(Options(), name).value_or(""); }

absl::StatusOr<ExitCode> ListOptions(const Arguments& arguments, Output& output) {
  Json list = Json::array();
  if (!arguments.Has("json")) {
    output.Line(absl::StrFormat("%-28s %-14s %-11s %s", "name", "of", "changes", "default"));
  }
  for (const OptionDescription& option : DescribeOptions()) {
    const std::string_view of = option.is_of_family ? "column family" : "database";
    const std::string value = DefaultText(option.name);
    list.push_back({{"name", option.name},
                    {"of", of},
                    {"changes", ChangeText(option.change)},
                    {"default", value}});
    if (arguments.Has("json")) continue;
    output.Line(absl::StrFormat("%-28s %-14s %-11s %s", ToAbsl(option.name), ToAbsl(of),
                                ToAbsl(ChangeText(option.change)),
                                value.empty() ? "(as recorded)" : value));
  }
  if (arguments.Has("json")) output.Write(ToLine(Json{{"options", std::move(list)}}));
  return ExitCode::kOk;
}

// Every option that is recorded, those with their defaults included, in the order of the list; then
// those that this version does not know.
using Values = std::vector<std::pair<std::string, std::string>>;
Values ValuesOf(const OptionTexts& recorded, const OptionTexts& known, bool of_family) {
  Values values;
  OptionTexts rest = recorded;
  for (const OptionDescription& option : DescribeOptions()) {
    const std::string name(option.name);
    if (option.is_of_family != of_family) continue;
    if (const auto own_field = known.find(name); own_field != known.end()) {
      values.emplace_back(name, own_field->second);
    } else if (const auto text = rest.find(name); text != rest.end()) {
      values.emplace_back(name, text->second);
    } else if (IsRecordedOption(name)) {
      values.emplace_back(name, DefaultText(name));
    }
    rest.erase(name);
  }
  for (const auto& [name, text] : rest) values.emplace_back(name, text);
  return values;
}

Values ValuesOf(const RecordedOptions::Family& family) {
  return ValuesOf(
      family.options,
      {{"filter", family.filter},
       {"filter_key", family.filter_key},
       {"merge_operator", family.merge_operator.empty() ? "none" : family.merge_operator},
       {"ttl_seconds", absl::StrCat(family.ttl_seconds)}},
      /*of_family=*/true);
}

Json AsJson(const Values& values) {
  Json json = Json::object();
  for (const auto& [name, text] : values) AddBytes(&json, name, text, /*hex=*/false);
  return json;
}

void PrintValues(const Values& values, Output& output) {
  for (const auto& [name, text] : values) {
    const std::string usual = DefaultText(name);
    const std::string shown = ToText(text, TextForm::kEscaped);
    // What is recorded of each family has no default of its own to differ from.
    const bool differs = !usual.empty() && usual != "unset" && usual != text;
    output.Line(differs ? absl::StrFormat("  %-28s %-16s (default %s)", name, shown, usual)
                        : absl::StrFormat("  %-28s %s", name, shown));
  }
}

absl::StatusOr<ExitCode> PrintRecorded(const Arguments& arguments, const std::string& path,
                                       Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const RecordedOptions recorded,
                          ReadRecordedOptions(*FileSystemAsTyped(), path));
  const Values of_database = ValuesOf(recorded.database, {}, /*of_family=*/false);
  const std::optional<std::string> only = arguments.Text("family");
  if (only.has_value() &&
      std::none_of(recorded.families.begin(), recorded.families.end(),
                   [&](const RecordedOptions::Family& family) { return family.name == *only; })) {
    return absl::NotFoundError(absl::StrCat("no column family \"", *only, "\""));
  }
  Json families = Json::array();
  if (!arguments.Has("json")) {
    output.Line("database");
    PrintValues(of_database, output);
  }
  for (const RecordedOptions::Family& family : recorded.families) {
    if (only.has_value() && *only != family.name) continue;
    const Values values = ValuesOf(family);
    if (arguments.Has("json")) {
      Json json = Json::object();
      AddBytes(&json, "name", family.name, /*hex=*/false);
      AddBytes(&json, "comparator", family.comparator, /*hex=*/false);
      json["options"] = AsJson(values);
      families.push_back(std::move(json));
      continue;
    }
    output.Line(absl::StrCat("column family ", ToText(family.name, TextForm::kEscaped)));
    output.Line(
        absl::StrFormat("  %-28s %s", "comparator", ToText(family.comparator, TextForm::kEscaped)));
    PrintValues(values, output);
  }
  if (arguments.Has("json")) {
    output.Write(
        ToLine(Json{{"database", AsJson(of_database)}, {"families", std::move(families)}}));
  }
  return ExitCode::kOk;
}

// What is about one opening is kept by none. A name that is no option's is left to the opening,
// which suggests another.
absl::Status CheckAreKept(const Arguments& arguments) {
  for (const std::string& assignment : arguments.All("set")) {
    const std::string name = assignment.substr(0, assignment.find('='));
    const absl::StatusOr<const TextOption*> option = FindTextOption(name);
    if (option.ok() && (*option)->record == TextOption::Record::kNot) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set=", name, ": it is about one opening, and no database keeps it"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunOptions(const Arguments& given, Output& output) {
  Arguments arguments = given;
  if (!given.positionals().empty()) {
    if (given.Has("db")) return absl::InvalidArgumentError("name the database once: DIR or --db");
    arguments.Set("db", given.positionals()[0]);
  }
  const bool changes =
      arguments.Has("set") || arguments.Has("filter") || arguments.Has("filter-key");
  if (!arguments.Has("db")) {
    if (!changes && !arguments.Has("family")) return ListOptions(arguments, output);
    return absl::InvalidArgumentError("name the database directory: options DIR");
  }
  if (changes) {
    WINNOW_RETURN_IF_ERROR(CheckAreKept(arguments));
    // Whoever opens a database records what it is open with.
    WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
    WINNOW_RETURN_IF_ERROR(opened.db->Close());
    return PrintDone(arguments, output);
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string path, ExistingDatabasePath(arguments));
  return PrintRecorded(arguments, path, output);
}

}  // namespace

Command OptionsCommand() {
  return {
      .name = "options",
      .positionals = {"[DIR]", 0, 1},
      .database = DatabaseUse::kWrite,
      .summary = "list the options; those that a database was last open with; change them",
      .details = R"(
Without DIR: all options that --set takes, whether each is of a column family or of the
database, and when it changes: while the database is open (in its program with
DB::SetOption), at an opening, or never. winnow/options.h explains each, with unit and range.

With DIR: what the database was last open with, changes while it was open included; it may
be open now. With --set, --filter or --filter-key: opens it with what it was last open with
and these, which it keeps. So does every command that writes. What is about one opening
(create_if_missing, error_if_exists, read_only, recovery_mode) is never kept, and refused here.
A program that opens the database brings options of its own, unless it asks for these
(DB::LoadOptions).)",
      .json = R"(
{"options":[{"name":NAME,"of":"database" or "column family","changes":WHEN,"default":TEXT},...]}
With DIR: {"database":{NAME:TEXT,...},
           "families":[{"name":NAME,"comparator":NAME,"options":{NAME:TEXT,...}},...]}
Where they are changed: {"ok":true})",
      .examples = R"(
  winnow options
  winnow options /tmp/fruit
  winnow options /tmp/fruit --set=compression=zstd --set=block_bytes=16K
  winnow load --db=/tmp/fruit --set=write_buffer_bytes=256M fruit.tsv)",
      .run = RunOptions,
  };
}

}  // namespace winnow::cli
