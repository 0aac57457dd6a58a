// The commands that make, change and show tables.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "engine/base/status.h"
#include "tools/winnow/shell/commands.h"
#include "tools/winnow/shell/family_text.h"
#include "tools/winnow/table_json.h"

namespace winnow::shell {
namespace {

constexpr std::string_view kTableName = "the table's name";

void NotifyIgnored(const Session& session, const std::vector<std::string>& ignored) {
  if (ignored.empty()) return;
  session.Notify(absl::StrCat(absl::StrJoin(ignored, ", "), ignored.size() == 1 ? " has" : " have",
                              " no meaning here and changed nothing"));
}

FamilySchema* FindFamily(TableSchema* schema, const std::string& name) {
  const auto found = std::find_if(schema->families.begin(), schema->families.end(),
                                  [&](const FamilySchema& family) { return family.name == name; });
  return found == schema->families.end() ? nullptr : &*found;
}

// Attributes that HBase's tables have: of regions and coprocessors, which there are none of.
void IgnoreTableAttributes(const Value& hash, std::vector<std::string>* ignored) {
  for (const auto& [key, value] : hash.entries) ignored->push_back(key.text);
}

absl::Status Create(Session& session, Parameters& parameters) {
  TableSchema schema;
  WINNOW_ASSIGN_OR_RETURN(schema.name, parameters.TakeText(kTableName));
  std::vector<std::string> ignored;
  while (!parameters.empty()) {
    const Value argument = parameters.Take();
    FamilySchema family;
    if (argument.Is(Value::Type::kHash)) {
      Keywords attributes(argument);
      WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> name, attributes.TakeText("NAME"));
      if (!name) {
        IgnoreTableAttributes(argument, &ignored);
        continue;
      }
      family.name = *name;
      WINNOW_RETURN_IF_ERROR(SetAttributes(std::move(attributes), &family, &ignored));
    } else {
      WINNOW_ASSIGN_OR_RETURN(family.name, TextOf(argument, "a family"));
    }
    schema.families.push_back(std::move(family));
  }
  if (schema.families.empty()) {
    return absl::InvalidArgumentError("Table must have at least one column family");
  }
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables(/*creates=*/true));
  const absl::Status created = tables->CreateTable(schema).status();
  if (absl::IsAlreadyExists(created)) {
    return absl::AlreadyExistsError(absl::StrCat("Table already exists: ", schema.name, "!"));
  }
  WINNOW_RETURN_IF_ERROR(created);
  NotifyIgnored(session, ignored);
  session.printer().Line(absl::StrCat("Created table ", schema.name));
  session.printer().Done();
  return absl::OkStatus();
}

absl::Status RemoveFamily(TableSchema* schema, const std::string& name) {
  const FamilySchema* family = FindFamily(schema, name);
  if (family == nullptr) {
    return absl::NotFoundError(absl::StrCat("Column family '", name, "' does not exist"));
  }
  schema->families.erase(schema->families.begin() + (family - schema->families.data()));
  return absl::OkStatus();
}

// One argument of alter behind the table's name.
absl::Status AlterBy(const Value& argument, TableSchema* schema,
                     std::vector<std::string>* ignored) {
  Keywords attributes;
  std::optional<std::string> name;
  if (argument.Is(Value::Type::kHash)) {
    attributes = Keywords(argument);
    WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> removed,
                            attributes.TakeText("delete"));
    if (removed) {
      WINNOW_RETURN_IF_ERROR(attributes.Finish());
      return RemoveFamily(schema, *removed);
    }
    WINNOW_ASSIGN_OR_RETURN(name, attributes.TakeText("NAME"));
    WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> method, attributes.TakeText("METHOD"));
    if (method && *method == "delete") {
      if (!name) return absl::InvalidArgumentError("NAME parameter missing for delete method");
      WINNOW_RETURN_IF_ERROR(attributes.Finish());
      return RemoveFamily(schema, *name);
    }
    const bool is_of_table = method && absl::StartsWith(*method, "table_");
    if (method && !is_of_table) {
      return absl::InvalidArgumentError(absl::StrCat("Unknown method: ", *method));
    }
    if (!name || is_of_table) {
      IgnoreTableAttributes(argument, ignored);
      return absl::OkStatus();
    }
  } else {
    WINNOW_ASSIGN_OR_RETURN(name, TextOf(argument, "a family"));
  }
  FamilySchema* family = FindFamily(schema, *name);
  if (family == nullptr) {
    schema->families.push_back({.name = *name});
    family = &schema->families.back();
  }
  return SetAttributes(std::move(attributes), family, ignored);
}

absl::Status Alter(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_ASSIGN_OR_RETURN(TableSchema schema, session.Describe(name));
  if (parameters.empty()) {
    return absl::InvalidArgumentError("There should be at least one argument but the table name");
  }
  std::vector<std::string> ignored;
  while (!parameters.empty()) {
    WINNOW_RETURN_IF_ERROR(AlterBy(parameters.Take(), &schema, &ignored));
  }
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  WINNOW_RETURN_IF_ERROR(tables->AlterTable(schema));
  NotifyIgnored(session, ignored);
  session.printer().Line("Done.");
  session.printer().Done();
  return absl::OkStatus();
}

absl::Status DescribeCommand(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, session.Describe(name));
  Printer& printer = session.printer();
  printer.Object(cli::SchemaJson(schema));
  printer.Line(absl::StrCat("Table ", name, " is ENABLED"));
  printer.Line(name);
  printer.Line("COLUMN FAMILIES DESCRIPTION");
  for (const FamilySchema& family : schema.families) printer.Line(DescribeFamily(family));
  printer.RowCount(schema.families.size());
  return absl::OkStatus();
}

// All tables; or those that a regular expression of the form "text" or "text.*" fits.
absl::Status List(Session& session, Parameters& parameters) {
  std::string pattern = ".*";
  if (!parameters.empty()) {
    WINNOW_ASSIGN_OR_RETURN(pattern, parameters.TakeText("the pattern"));
  }
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  absl::string_view beginning = pattern;
  const bool is_prefix = absl::ConsumeSuffix(&beginning, ".*");
  if (beginning.find_first_of("*+?[](){}|^$\\") != absl::string_view::npos) {
    return absl::InvalidArgumentError("list takes a table's name, or its beginning and .*");
  }
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  std::vector<std::string> names;
  for (std::string& name : tables->ListTables()) {
    const bool fits = is_prefix ? absl::StartsWith(name, beginning) : name == beginning;
    if (fits) names.push_back(std::move(name));
  }
  Printer& printer = session.printer();
  printer.Object({{"tables", names}});
  printer.Line("TABLE");
  for (const std::string& name : names) printer.Line(name);
  printer.RowCount(names.size());
  return absl::OkStatus();
}

absl::Status Exists(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  const absl::Status found = tables->FindTable(name).status();
  if (!found.ok() && !absl::IsNotFound(found)) return found;
  session.printer().Answer(
      absl::StrCat("Table ", name, found.ok() ? " does exist" : " does not exist"),
      {{"exists", found.ok()}});
  return absl::OkStatus();
}

template <absl::Status (TableDatabase::*kCall)(std::string_view)>
absl::Status ByName(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(session.FindTable(name).status());
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  WINNOW_RETURN_IF_ERROR((tables->*kCall)(name));
  session.printer().Done();
  return absl::OkStatus();
}

absl::Status Truncate(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(session.FindTable(name).status());
  session.printer().Line(absl::StrCat("Truncating '", name, "' table (it may take a while):"));
  WINNOW_ASSIGN_OR_RETURN(TableDatabase* const tables, session.Tables());
  WINNOW_RETURN_IF_ERROR(tables->TruncateTable(name));
  session.printer().Done();
  return absl::OkStatus();
}

// Tables cannot be disabled here; scripts for HBase do so before they alter or drop one.
template <bool kDisables>
absl::Status SwitchTable(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(session.FindTable(name).status());
  if (kDisables) session.Notify("tables are always enabled here; alter and drop need no disable");
  session.printer().Done();
  return absl::OkStatus();
}

template <bool kAsksEnabled>
absl::Status IsSwitched(Session& session, Parameters& parameters) {
  WINNOW_ASSIGN_OR_RETURN(const std::string name, parameters.TakeText(kTableName));
  WINNOW_RETURN_IF_ERROR(parameters.Finish());
  WINNOW_RETURN_IF_ERROR(session.FindTable(name).status());
  session.printer().Answer(kAsksEnabled ? "true" : "false",
                           {{kAsksEnabled ? "enabled" : "disabled", kAsksEnabled}});
  return absl::OkStatus();
}

constexpr ShellCommand kSchemaCommands[] = {
    {"create", "ddl", "makes a table of one column family or several",
     "create 't', 'f1', 'f2'\n"
     "create 't', {NAME => 'f', VERSIONS => 3, TTL => 86400, BLOOMFILTER => 'ROWCOL'}\n"
     "create 't', {NAME => 'f', BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH',\n"
     "             CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '10'}}\n"
     "create 't', {NAME => 'f', BLOOMFILTER => ['ROWCOL', 'prefix:8']}   # one filter for all\n"
     "create 't', {NAME => 'f', FILTER => 'ribbon:1%'}      # the filters' kind and size\n"
     "create 't', {NAME => 'f', SIGNATURE => 'city,born'}   # rows are found by their values\n"
     "create 't', {NAME => 'f', GARBAGE_RULE => 'maxversions=9 or maxage=7d'}",
     Create},
    {"alter", "ddl", "changes families, adds them, or removes them with all they hold",
     "alter 't', NAME => 'f', VERSIONS => 5\n"
     "alter 't', 'f3', {NAME => 'f2', MIN_VERSIONS => 1, TTL => 60}\n"
     "alter 't', 'delete' => 'f'\n"
     "alter 't', NAME => 'f', METHOD => 'delete'",
     Alter},
    {"describe", "ddl", "shows the families of a table, as create takes them", "describe 't'",
     DescribeCommand},
    {"desc", "ddl", "the same as describe", "desc 't'", DescribeCommand},
    {"list", "ddl", "lists the tables", "list\nlist 'abc.*'", List},
    {"exists", "ddl", "says whether there is a table", "exists 't'", Exists},
    {"drop", "ddl", "removes a table with all it holds", "drop 't'",
     ByName<&TableDatabase::DropTable>},
    {"truncate", "dml", "removes all rows of a table", "truncate 't'", Truncate},
    {"disable", "ddl", "does nothing: tables are always enabled", "disable 't'", SwitchTable<true>},
    {"enable", "ddl", "does nothing: tables are always enabled", "enable 't'", SwitchTable<false>},
    {"is_enabled", "ddl", "true for every table", "is_enabled 't'", IsSwitched<true>},
    {"is_disabled", "ddl", "false for every table", "is_disabled 't'", IsSwitched<false>},
    {"flush", "tools", "writes a table's memory to files", "flush 't'",
     ByName<&TableDatabase::Flush>},
    {"major_compact", "tools", "removes what no reader can see, and compacts", "major_compact 't'",
     ByName<&TableDatabase::MajorCompact>},
};

}  // namespace

std::span<const ShellCommand> SchemaCommands() { return kSchemaCommands; }

}  // namespace winnow::shell
