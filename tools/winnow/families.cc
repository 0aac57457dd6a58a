// winnow families: lists, creates and drops column families.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "engine/table/reserve_tables.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> ListFamilies(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  Json list = Json::array();
  std::vector<std::string> lines = {
      absl::StrFormat("%6s  %-18s %-14s %s", "id", "filter", "filter key", "name")};
  for (ColumnFamily* family : opened.db->ColumnFamilies()) {
    WINNOW_ASSIGN_OR_RETURN(const std::string filter,
                            opened.db->GetProperty(family, "winnow.filter"));
    WINNOW_ASSIGN_OR_RETURN(const std::string filter_key,
                            opened.db->GetProperty(family, "winnow.filter-key"));
    Json json = {{"id", family->id()}};
    AddBytes(&json, "name", family->name(), /*hex=*/false);
    json["filter"] = filter;
    json["filter_key"] = filter_key;
    list.push_back(std::move(json));
    lines.push_back(absl::StrFormat("%6d  %-18s %-14s %s", family->id(), filter, filter_key,
                                    ToText(family->name(), TextForm::kEscaped)));
  }
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"families", std::move(list)}}));
  } else {
    for (const std::string& line : lines) output.Line(line);
  }
  return ExitCode::kOk;
}

absl::Status CreateFamily(const Arguments& arguments, DB& db, const std::string& name) {
  WINNOW_ASSIGN_OR_RETURN(const Options options,
                          DatabaseOptions(arguments, Access::kWriteOrCreate));
  ColumnFamilyOptions family_options = options;
  family_options.filter = arguments.Text("filter").value_or("");
  family_options.filter_key = arguments.Text("filter-key").value_or("");
  return db.CreateColumnFamily(family_options, name).status();
}

absl::Status DropFamily(DB& db, const std::string& name) {
  absl::StatusOr<ColumnFamily*> family = db.FindColumnFamily(name);
  if (absl::IsNotFound(family.status())) {
    return absl::NotFoundError(absl::StrCat("no column family \"", name, "\""));
  }
  if (!family.ok()) return family.status();
  return db.DropColumnFamily(*family);
}

absl::StatusOr<ExitCode> RunFamilies(const Arguments& arguments, Output& output) {
  if (arguments.Has("family")) {
    return absl::InvalidArgumentError("name the family without a flag: families create NAME");
  }
  const std::vector<std::string>& words = arguments.positionals();
  const std::string action = words.empty() ? "list" : words[0];
  if (action == "list" && words.size() <= 1) return ListFamilies(arguments, output);
  if ((action != "create" && action != "drop") || words.size() != 2) {
    return absl::InvalidArgumentError("write families, families create NAME or families drop NAME");
  }
  const bool create = action == "create";
  // What is set of a family is the new one's.
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(
      const Options options,
      OptionsOfAllFamilies(arguments, create ? Access::kWriteOrCreate : Access::kWriteExisting));
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenDirectory(options, path));
  // A catalog that cannot be read says nothing, and no table can be opened by it.
  const absl::StatusOr<std::vector<std::string>> of_tables = ReserveTables(*db);
  if (create && of_tables.ok() &&
      std::find(of_tables->begin(), of_tables->end(), words[1]) != of_tables->end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the column family '", words[1],
                     "' is one that a table names, and the table makes it: `winnow table alter`"));
  }
  WINNOW_RETURN_IF_ERROR(create ? CreateFamily(arguments, *db, words[1])
                                : DropFamily(*db, words[1]));
  WINNOW_RETURN_IF_ERROR(db->Close());
  return PrintDone(arguments, output);
}

}  // namespace

Command FamiliesCommand() {
  return {
      .name = "families",
      .positionals = {"[list | create NAME | drop NAME]", 0, 2},
      .database = DatabaseUse::kWrite,
      .summary = "list, create or drop column families",
      .details = R"(
A column family is a key space of its own, with its own filter and compression. create
takes --filter and --filter-key for the new family. drop removes the family and its data.
What a table has (TABLE:FAMILY, and winnow.tables) only `winnow table` makes and drops.)",
      .json =
          R"({"families":[{"id":N,"name":NAME,"filter":SPEC,"filter_key":TEXT},...]} or {"ok":true})",
      .examples = R"(
  winnow families --db=/tmp/fruit
  winnow families create users --db=/tmp/fruit --filter=cuckoo:1%
  winnow put --db=/tmp/fruit --family=users ann 1)",
      .run = RunFamilies,
  };
}

}  // namespace winnow::cli
