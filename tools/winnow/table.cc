// winnow table: tables of rows and columns, by HBase's verbs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/table_cells.h"
#include "winnow/table.h"

namespace winnow::cli {
namespace {

using Words = std::vector<std::string>;

absl::StatusOr<uint64_t> NumberOf(const std::string& name, const std::string& text) {
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(name, " takes a whole number, not '", text, "'"));
}

absl::Status SetAttribute(const std::string& name, const std::string& value, FamilySchema* family) {
  if (name == "BLOOMFILTER") {
    family->bloom_filter = value;
    return absl::OkStatus();
  }
  if (name == "FILTER") {
    family->filter = value;
    return absl::OkStatus();
  }
  if (name != "VERSIONS" && name != "TTL" && name != "MIN_VERSIONS") {
    return absl::InvalidArgumentError(
        absl::StrCat("a family has no attribute '", name,
                     "', but VERSIONS, TTL (seconds), MIN_VERSIONS, BLOOMFILTER and FILTER"));
  }
  WINNOW_ASSIGN_OR_RETURN(const uint64_t number, NumberOf(name, value));
  if (name == "TTL") {
    family->ttl_seconds = number;
    return absl::OkStatus();
  }
  const auto count = static_cast<uint32_t>(std::min<uint64_t>(number, UINT32_MAX));
  (name == "VERSIONS" ? family->max_versions : family->min_versions) = count;
  return absl::OkStatus();
}

// "NAME" or "NAME,ATTRIBUTE=VALUE,...". What is not said is as in `before`.
absl::StatusOr<FamilySchema> ParseFamily(const std::string& word, const TableSchema& before) {
  const std::vector<std::string> parts = absl::StrSplit(word, ',');
  FamilySchema family{.name = parts[0]};
  for (const FamilySchema& old : before.families) {
    if (old.name == family.name) family = old;
  }
  for (size_t i = 1; i < parts.size(); i++) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    WINNOW_RETURN_IF_ERROR(SetAttribute(pair.first, pair.second, &family));
  }
  return family;
}

absl::StatusOr<TableSchema> ParseSchema(const Words& words, const TableSchema& before) {
  TableSchema schema{.name = words[1]};
  for (size_t i = 2; i < words.size(); i++) {
    WINNOW_ASSIGN_OR_RETURN(FamilySchema family, ParseFamily(words[i], before));
    schema.families.push_back(std::move(family));
  }
  return schema;
}

absl::StatusOr<ExitCode> CreateTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, ParseSchema(call.words, {}));
  if (auto created = call.tables.CreateTable(schema); !created.ok()) return created.status();
  return PrintDone(call.arguments, call.output);
}

absl::StatusOr<ExitCode> AlterTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const TableSchema before, call.tables.DescribeTable(call.words[1]));
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, ParseSchema(call.words, before));
  WINNOW_RETURN_IF_ERROR(call.tables.AlterTable(schema));
  return PrintDone(call.arguments, call.output);
}

absl::StatusOr<ExitCode> DescribeTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, call.tables.DescribeTable(call.words[1]));
  Json families = Json::array();
  std::vector<std::string> lines;
  for (const FamilySchema& family : schema.families) {
    families.push_back({{"name", family.name},
                        {"versions", family.max_versions},
                        {"ttl_seconds", family.ttl_seconds},
                        {"min_versions", family.min_versions},
                        {"bloom_filter", family.bloom_filter},
                        {"filter", family.filter}});
    lines.push_back(absl::StrCat(family.name, ",VERSIONS=", family.max_versions,
                                 ",TTL=", family.ttl_seconds, ",MIN_VERSIONS=", family.min_versions,
                                 ",BLOOMFILTER=", family.bloom_filter, ",FILTER=", family.filter));
  }
  return PrintAnswer(call.arguments, Json{{"table", schema.name}, {"families", families}},
                     absl::StrJoin(lines, "\n"), call.output);
}

absl::StatusOr<ExitCode> ListTables(const TableCall& call) {
  const std::vector<std::string> names = call.tables.ListTables();
  if (call.arguments.Has("json")) {
    call.output.Write(ToLine(Json{{"tables", names}}));
  } else {
    for (const std::string& name : names) call.output.Line(name);
  }
  return ExitCode::kOk;
}

template <absl::Status (TableDatabase::*kCall)(std::string_view)>
absl::StatusOr<ExitCode> ByName(const TableCall& call) {
  WINNOW_RETURN_IF_ERROR((call.tables.*kCall)(call.words[1]));
  return PrintDone(call.arguments, call.output);
}

struct Action {
  std::string_view name;
  size_t min_words;  // behind the name
  size_t max_words;
  absl::StatusOr<ExitCode> (*run)(const TableCall& call);
};

constexpr Action kActions[] = {
    {"create", 2, kAnyNumber, CreateTable},
    {"alter", 2, kAnyNumber, AlterTable},
    {"describe", 1, 1, DescribeTable},
    {"list", 0, 0, ListTables},
    {"drop", 1, 1, ByName<&TableDatabase::DropTable>},
    {"truncate", 1, 1, ByName<&TableDatabase::TruncateTable>},
    {"flush", 1, 1, ByName<&TableDatabase::Flush>},
    {"major_compact", 1, 1, ByName<&TableDatabase::MajorCompact>},
    {"put", 4, 4, PutCell},
    {"get", 2, kAnyNumber, GetCells},
    {"scan", 1, kAnyNumber, ScanCells},
    {"count", 1, 1, CountRows},
    {"delete", 3, 3, DeleteCell},
    {"deleteall", 2, 3, DeleteAll},
    {"incr", 3, 4, IncrementCell},
    {"append", 4, 4, AppendToCell},
};

absl::StatusOr<const Action*> FindAction(const Words& words) {
  for (const Action& action : kActions) {
    if (action.name != words[0]) continue;
    const size_t count = words.size() - 1;
    if (count >= action.min_words && count <= action.max_words) return &action;
    return absl::InvalidArgumentError(
        absl::StrCat(words[0], " takes other words: `winnow table --help` shows which"));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown verb '", words[0], "'"));
}

absl::StatusOr<ExitCode> RunTable(const Arguments& arguments, Output& output) {
  const Words& words = arguments.positionals();
  WINNOW_ASSIGN_OR_RETURN(const Action* const action, FindAction(words));
  const bool creates = action->run == CreateTable;
  WINNOW_ASSIGN_OR_RETURN(const std::string path,
                          creates ? DatabasePath(arguments) : ExistingDatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(
      const Options options,
      DatabaseOptions(arguments, creates ? Access::kWriteOrCreate : Access::kWriteExisting));
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<TableDatabase> tables,
                          TableDatabase::Open(options, path));
  WINNOW_ASSIGN_OR_RETURN(const ExitCode code, action->run({*tables, words, arguments, output}));
  WINNOW_RETURN_IF_ERROR(tables->Close());
  return code;
}

}  // namespace

Command TableCommand() {
  return {
      .name = "table",
      .positionals = {"VERB [WORDS]", 1, kAnyNumber},
      .database = DatabaseUse::kFiles,
      .summary = "tables of rows, columns and versions, as in HBase",
      .details = R"(
Verbs, in HBase's words; a COLUMN is FAMILY:QUALIFIER, and where it says so FAMILY alone:
  create TABLE FAMILY[,ATTRIBUTE=VALUE...]...   alter likewise: families not named go
  list | describe TABLE | drop TABLE | truncate TABLE | flush TABLE | major_compact TABLE
  put TABLE ROW COLUMN VALUE                    --timestamp=MS, --ttl=MS
  get TABLE ROW [COLUMN or FAMILY]...           --versions=N
  scan TABLE [COLUMN or FAMILY]...              and --from, --to, --prefix, --reverse, --limit
  count TABLE                                   rows
  delete TABLE ROW COLUMN                       one version: --timestamp=MS, else the newest
  deleteall TABLE ROW [COLUMN or FAMILY]        all versions up to --timestamp=MS, else up to now
  incr TABLE ROW COLUMN [N] | append TABLE ROW COLUMN VALUE
Attributes: VERSIONS, TTL (seconds), MIN_VERSIONS, BLOOMFILTER (ROW, ROWCOL, NONE,
ROWPREFIX_FIXED_LENGTH:N) and FILTER (as blocked_bloom:10). Cells are printed one a line,
ROW<TAB>COLUMN<TAB>TIMESTAMP<TAB>VALUE. Every verb opens the database for writing. Exit code
1 if get finds nothing.)",
      .json = R"(
cells: one line each: {"row":K,"family":NAME,"qualifier":K,"timestamp":MS,"value":V};
describe: {"table":NAME,"families":[{"name","versions","ttl_seconds","min_versions",
"bloom_filter","filter"},...]}; list: {"tables":[NAME,...]}; count: {"rows":N};
incr, append: {"value":N or TEXT}; others: {"ok":true})",
      .examples = R"(
  winnow table create users info,VERSIONS=3 log,TTL=86400,BLOOMFILTER=ROWCOL --db=/tmp/people
  winnow table put users ann info:city Ulm --db=/tmp/people
  winnow table get users ann --db=/tmp/people)",
      .flags = {{"timestamp", "MS", "milliseconds since 1970 (default: now)"},
                {"ttl", "MS", "put: how long the cell exists (default: as the family says)"},
                {"versions", "N", "versions of a column to print (default: 1)"},
                {"from", "ROW", "begin at this row"},
                {"to", "ROW", "end before this row"},
                {"prefix", "BYTES", "only rows with this prefix"},
                {"reverse", "", "from the last row to the first; --from is the greatest"},
                {"limit", "N", "stop after N rows"}},
      .run = RunTable,
  };
}

}  // namespace winnow::cli
