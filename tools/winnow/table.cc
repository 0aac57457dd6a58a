// winnow table: tables of rows and columns, by HBase's verbs.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "tools/flags/nearest_name.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/bloom_filter_text.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/table_cells.h"
#include "tools/winnow/table_explain.h"
#include "tools/winnow/table_json.h"
#include "tools/winnow/table_transfer.h"
#include "winnow/table.h"

namespace winnow::cli {
namespace {

using Words = std::vector<std::string>;

// Those whose values are lists.
constexpr std::string_view kBloomFilter = "BLOOMFILTER";
constexpr std::string_view kSignature = "SIGNATURE";

absl::StatusOr<uint64_t> NumberOf(const std::string& name, const std::string& text) {
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(name, " takes a whole number, not '", text, "'"));
}

absl::Status SetAttribute(const std::string& name, const std::string& value, FamilySchema* family) {
  if (name == kBloomFilter) {
    family->bloom_filter = BloomFilterOf(BloomFilterItems(value));
    return absl::OkStatus();
  }
  std::string* const text = name == "FILTER"         ? &family->filter
                            : name == "GARBAGE_RULE" ? &family->garbage_rule
                            : name == kSignature     ? &family->signature
                                                     : nullptr;
  if (text != nullptr) {
    *text = value;
    return absl::OkStatus();
  }
  if (name != "VERSIONS" && name != "TTL" && name != "MIN_VERSIONS") {
    return absl::InvalidArgumentError(
        absl::StrCat("a family has no attribute '", name,
                     "', but VERSIONS, TTL (seconds), MIN_VERSIONS, GARBAGE_RULE, BLOOMFILTER, "
                     "FILTER and SIGNATURE"));
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

void TakeDefaultRules(FamilySchema* family) {
  const FamilySchema defaults;
  family->max_versions = defaults.max_versions;
  family->ttl_seconds = defaults.ttl_seconds;
  family->min_versions = defaults.min_versions;
}

// "NAME" or "NAME,ATTRIBUTE=VALUE,...". What is not said is as in `before`, but for the rules that
// another kind of rule takes the place of. Behind SIGNATURE=COLUMN and BLOOMFILTER=PART others
// follow likewise, up to what has a '='.
absl::StatusOr<FamilySchema> ParseFamily(const std::string& word, const TableSchema& before) {
  const std::vector<std::string> parts = absl::StrSplit(word, ',');
  FamilySchema family{.name = parts[0]};
  for (const FamilySchema& old : before.families) {
    if (old.name == family.name) family = old;
  }
  const auto names = [&parts](std::string_view attribute) {
    return std::any_of(parts.begin() + 1, parts.end(), [&](const std::string& part) {
      const std::string name = absl::StrCat(ToAbsl(attribute), "=");
      return absl::StartsWith(part, name) && part != name;  // without a value nothing changes
    });
  };
  if (names("VERSIONS") || names("TTL") || names("MIN_VERSIONS")) family.garbage_rule.clear();
  if (names("GARBAGE_RULE")) TakeDefaultRules(&family);
  for (size_t i = 1; i < parts.size(); i++) {
    std::pair<std::string, std::string> pair = absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    const bool is_list = pair.first == kSignature || pair.first == kBloomFilter;
    for (; is_list && i + 1 < parts.size() && !absl::StrContains(parts[i + 1], '='); i++) {
      absl::StrAppend(&pair.second, ",", parts[i + 1]);
    }
    WINNOW_RETURN_IF_ERROR(SetAttribute(pair.first, pair.second, &family));
  }
  return family;
}

absl::StatusOr<ExitCode> CreateTable(const TableCall& call) {
  TableSchema schema{.name = call.words[1]};
  for (size_t i = 2; i < call.words.size(); i++) {
    WINNOW_ASSIGN_OR_RETURN(FamilySchema family, ParseFamily(call.words[i], {}));
    schema.families.push_back(std::move(family));
  }
  if (auto created = call.tables.CreateTable(schema); !created.ok()) return created.status();
  return PrintDone(call.arguments, call.output);
}

absl::StatusOr<ExitCode> AlterTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(TableSchema schema, call.tables.DescribeTable(call.words[1]));
  std::vector<FamilySchema>& families = schema.families;
  const auto find = [&families](const std::string& name) {
    return std::find_if(families.begin(), families.end(),
                        [&name](const FamilySchema& family) { return family.name == name; });
  };
  for (const std::string& name : call.arguments.All("remove")) {
    const auto found = find(name);
    if (found == families.end()) {
      return absl::NotFoundError(absl::StrCat("--remove=", name, ": no such family"));
    }
    families.erase(found);
  }
  for (size_t i = 2; i < call.words.size(); i++) {
    WINNOW_ASSIGN_OR_RETURN(FamilySchema family, ParseFamily(call.words[i], schema));
    const auto found = find(family.name);
    if (found == families.end()) {
      families.push_back(std::move(family));
    } else {
      *found = std::move(family);
    }
  }
  WINNOW_RETURN_IF_ERROR(call.tables.AlterTable(schema));
  return PrintDone(call.arguments, call.output);
}

absl::StatusOr<ExitCode> DescribeTable(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, call.tables.DescribeTable(call.words[1]));
  std::vector<std::string> lines;
  for (const FamilySchema& family : schema.families) {
    const std::string rules =
        family.garbage_rule.empty()
            ? absl::StrCat(",VERSIONS=", family.max_versions, ",TTL=", family.ttl_seconds,
                           ",MIN_VERSIONS=", family.min_versions)
            : absl::StrCat(",GARBAGE_RULE=", family.garbage_rule);
    lines.push_back(absl::StrCat(family.name, rules, ",BLOOMFILTER=", family.bloom_filter,
                                 ",FILTER=", family.filter,
                                 family.signature.empty() ? "" : ",SIGNATURE=", family.signature));
  }
  return PrintAnswer(call.arguments, SchemaJson(schema), absl::StrJoin(lines, "\n"), call.output);
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

absl::StatusOr<ExitCode> TableExists(const TableCall& call) {
  const absl::Status found = call.tables.FindTable(call.words[1]).status();
  if (!found.ok() && !absl::IsNotFound(found)) return found;
  PrintAnswer(call.arguments, Json{{"exists", found.ok()}}, found.ok() ? "yes" : "no", call.output);
  return found.ok() ? ExitCode::kOk : ExitCode::kNo;
}

template <absl::Status (TableDatabase::*kCall)(std::string_view)>
absl::StatusOr<ExitCode> ByName(const TableCall& call) {
  WINNOW_RETURN_IF_ERROR((call.tables.*kCall)(call.words[1]));
  return PrintDone(call.arguments, call.output);
}

// Of all verbs.
constexpr FlagSpec kFlags[] = {
    {"timestamp", "MS", "milliseconds since 1970 (default: now)"},
    {"ttl", "MS", "put: how long the cell exists (default: as the family says)"},
    {"remove", "FAMILY", "alter: remove the family with all it holds; repeatable",
     /*repeatable=*/true},
    {"versions", "N", "versions of a column to print (default: 1)"},
    {"where", "FILTER", "only what this filter shows"},
    {"raw", "", "everything that is stored, markers of deletes included"},
    {"from", "ROW", "begin at this row"},
    {"to", "ROW", "end before this row"},
    {"prefix", "BYTES", "only rows with this prefix"},
    {"reverse", "", "from the last row to the first; --from is the greatest"},
    {"limit", "N", "stop after N rows"},
    {"columns", "NAMES", "import, export: what the fields of a line are"},
    {"separator", "BYTE", "import, export: between fields (default: a tab)"},
    {"escaped", "", "import, export: fields have escapes"},
    {"skip-empty-columns", "", "import: an empty field is no cell"},
    {"fail-on-bad-line", "", "import: end at the first bad line"},
    {"log-bad-lines", "", "import: print each bad line's place and reason"},
    {"bulk", "", "import: write sorted files and ingest them, past the log"},
    {"dry-run", "", "import: read and count, write nothing"},
};

struct Action {
  std::string_view name;
  size_t min_words;  // behind the name
  size_t max_words;
  absl::StatusOr<ExitCode> (*run)(const TableCall& call);
  std::string_view flags = "";  // of kFlags, with blanks between
};

constexpr std::string_view kReadFlags = "versions where raw";
constexpr std::string_view kScanFlags = "versions where raw from to prefix reverse limit";

constexpr Action kActions[] = {
    {"create", 2, kAnyNumber, CreateTable},
    {"alter", 1, kAnyNumber, AlterTable, "remove"},
    {"describe", 1, 1, DescribeTable},
    {"list", 0, 0, ListTables},
    {"exists", 1, 1, TableExists},
    {"drop", 1, 1, ByName<&TableDatabase::DropTable>},
    {"truncate", 1, 1, ByName<&TableDatabase::TruncateTable>},
    {"flush", 1, 1, ByName<&TableDatabase::Flush>},
    {"major_compact", 1, 1, ByName<&TableDatabase::MajorCompact>},
    {"put", 4, 4, PutCell, "timestamp ttl"},
    {"get", 2, kAnyNumber, GetCells, kReadFlags},
    {"scan", 1, kAnyNumber, ScanCells, kScanFlags},
    {"count", 1, kAnyNumber, CountRows, kScanFlags},
    {"delete", 3, 3, DeleteCell, "timestamp"},
    {"deleteall", 2, 3, DeleteAll, "timestamp"},
    {"incr", 3, 4, IncrementCell},
    {"append", 4, 4, AppendToCell},
    {"get_counter", 3, 3, ReadCounter},
    {"explain", 3, 3, ExplainCell},
    {"import", 1, kAnyNumber, ImportTable,
     "timestamp columns separator escaped skip-empty-columns fail-on-bad-line log-bad-lines bulk "
     "dry-run"},
    {"export", 1, 1, ExportTable, "columns separator escaped from to prefix reverse limit"},
};

absl::StatusOr<const Action*> FindAction(const Words& words) {
  for (const Action& action : kActions) {
    if (action.name != words[0]) continue;
    const size_t count = words.size() - 1;
    if (count >= action.min_words && count <= action.max_words) return &action;
    return absl::InvalidArgumentError(
        absl::StrCat(words[0], " takes other words: `winnow table --help` shows which"));
  }
  std::vector<std::string_view> names;
  for (const Action& action : kActions) names.push_back(action.name);
  return absl::InvalidArgumentError(absl::StrCat("unknown verb '", words[0], "'",
                                                 DidYouMean(words[0], names),
                                                 "; `winnow table --help` lists them"));
}

// What a verb does not take must not be passed over: `drop --dry-run` would drop.
absl::Status CheckFlags(const Action& action, const Arguments& arguments) {
  const std::vector<std::string> taken = absl::StrSplit(ToAbsl(action.flags), ' ');
  for (const FlagSpec& flag : kFlags) {
    const bool is_taken = std::find(taken.begin(), taken.end(), flag.name) != taken.end();
    if (is_taken || !arguments.Has(flag.name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(action.name), " takes no --", ToAbsl(flag.name)));
  }
  // Flags of all commands that print or take bytes.
  const bool has_lines = action.run == ImportTable || action.run == ExportTable;
  if (has_lines && arguments.Has("hex")) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(action.name), " takes no --hex: --escaped is for any bytes"));
  }
  if (action.run == ExportTable && arguments.Has("json")) {
    return absl::InvalidArgumentError(
        "export takes no --json: `winnow table scan --json` prints a line for each cell");
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunTable(const Arguments& arguments, Output& output) {
  const Words& words = arguments.positionals();
  WINNOW_ASSIGN_OR_RETURN(const Action* const action, FindAction(words));
  WINNOW_RETURN_IF_ERROR(CheckFlags(*action, arguments));
  const bool creates = action->run == CreateTable;
  WINNOW_ASSIGN_OR_RETURN(const std::string path,
                          creates ? DatabasePath(arguments) : ExistingDatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(
      const Options options,
      OptionsOfAllFamilies(arguments, creates ? Access::kWriteOrCreate : Access::kWriteExisting));
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
  create TABLE FAMILY[,ATTRIBUTE=VALUE...]...
  alter TABLE FAMILY[,ATTRIBUTE=VALUE...]...    changes or adds families; --remove=FAMILY
  list | exists TABLE | describe TABLE | drop TABLE | truncate TABLE
  flush TABLE | major_compact TABLE
  put TABLE ROW COLUMN VALUE                    --timestamp=MS, --ttl=MS
  get TABLE ROW [COLUMN or FAMILY]...           --versions=N, --where=FILTER, --raw
  scan TABLE [COLUMN or FAMILY]...              and --from, --to, --prefix, --reverse, --limit
  count TABLE                                   rows; likewise
  delete TABLE ROW COLUMN                       one version: --timestamp=MS, else the newest
  deleteall TABLE ROW [COLUMN or FAMILY]        all versions up to --timestamp=MS, else up to now
  incr TABLE ROW COLUMN [N] | get_counter TABLE ROW COLUMN | append TABLE ROW COLUMN VALUE
  explain TABLE ROW COLUMN                      what is stored of a column, and what hides it
  import TABLE [FILE]... | export TABLE         lines of text, by HBase's ImportTsv
Attributes: VERSIONS, TTL (seconds), MIN_VERSIONS, or instead of these GARBAGE_RULE (as
maxversions=9 or maxage=7d); BLOOMFILTER (ROW, ROWCOL, NONE, ROWPREFIX_FIXED_LENGTH:N, or a
list of these and of --filter-key's parts, as ROWCOL,prefix:8: look-ups ask for the first);
FILTER (as blocked_bloom:10); SIGNATURE (columns, separated by commas, by whose values --where
finds rows without reading all). --where is HBase's filter text, as ValueFilter(>, 'binary:M');
--raw shows markers of deletes, too, and what they hide. Cells are printed one a line,
ROW<TAB>COLUMN<TAB>TIMESTAMP<TAB>VALUE, with --raw and a <TAB> behind it the type of a marker or
the time to live of a cell that has its own. Every verb opens the database for writing. Exit code
1 if get, get_counter, exists or explain finds nothing.

import reads fields, with a separator of one byte, as --columns names them: HBASE_ROW_KEY, and
perhaps HBASE_TS_KEY and HBASE_CELL_TTL (milliseconds in decimal), the others FAMILY:QUALIFIER.
Lines without a timestamp have that of --timestamp, or of the beginning. Bad lines are skipped
and counted: no separator, too many fields, no row, no number. As in ImportTsv there are no
escapes and an empty field is an empty value; --escaped reads \t \n \\ \xNN, and \N as no
cell. export inverts it: all versions, a line for each timestamp of a row; without timestamps
the newest. A cell that is not there is an empty field, which --skip-empty-columns reads. What
cannot be written so ends the export: --escaped can write it. Without --columns each line is one
cell, HBASE_ROW_KEY,HBASE_TS_KEY,WINNOW_COLUMN,WINNOW_VALUE, escaped: any table can be carried
over so; where single cells have times to live of their own, with HBASE_CELL_TTL named, too.)",
      .json = R"(
cells: one line each: {"row":K,"family":NAME,"qualifier":K,"timestamp":MS,"value":V}, with "ttl_ms"
if they have one of their own; markers have "type" in the place of the value;
describe: {"table":NAME,"families":[{"name","versions","ttl_seconds","min_versions",
"garbage_rule","bloom_filter","filter","signature"},...]}; list: {"tables":[NAME,...]}; exists: {"exists":B};
count: {"rows":N}; incr, append, get_counter: {"value":N or TEXT}; explain: {"stored":[...],
"visible":N}; import: {"lines":N,"cells":N,"bad_lines":N,"seconds":S,"cells_per_second":R};
others: {"ok":true})",
      .examples = R"(
  winnow table create users info,VERSIONS=3 log,TTL=86400,BLOOMFILTER=ROWCOL --db=/tmp/people
  winnow table put users ann info:city Ulm --db=/tmp/people
  winnow table get users ann --db=/tmp/people
  winnow table import users people.tsv --columns=HBASE_ROW_KEY,info:city --db=/tmp/people
  winnow table export users --db=/tmp/people | winnow table import copy --db=/tmp/copies)",
      .flags = {std::begin(kFlags), std::end(kFlags)},
      .run = RunTable,
  };
}

}  // namespace winnow::cli
