#include "tools/winnow/database.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "engine/db/merge_operator_stand_ins.h"
#include "engine/db/recorded_options.h"
#include "engine/file_system/forwarding_file_system.h"
#include "engine/table/reserve_tables.h"
#include "engine/version/file_names.h"
#include "engine/version/foreign_database.h"
#include "tools/winnow/output.h"
#include "winnow/file_system.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/spec.h"

namespace winnow::cli {
namespace {

// The same error as InvalidArgument "--FLAG: ...", whatever its code was.
absl::Status FlagError(std::string_view flag, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("--", ToAbsl(flag), ": ", status.message()));
}

absl::Status NoDatabase(const std::string& path) {
  return absl::NotFoundError(absl::StrCat("there is no database in ", path));
}

absl::Status NoFamily(const std::string& name, const std::string& path) {
  return absl::NotFoundError(absl::StrCat(
      "no column family \"", name, "\"; `winnow families --db=", path, "` lists those that exist"));
}

bool IsSet(const Arguments& arguments, std::string_view option) {
  const std::string prefix = absl::StrCat(ToAbsl(option), "=");
  const std::vector<std::string> assignments = arguments.All("set");
  return std::any_of(assignments.begin(), assignments.end(),
                     [&](const std::string& text) { return text.rfind(prefix, 0) == 0; });
}

// Options that follow from the command itself: one that asks for the contrary is refused, since it
// could only be ignored.
absl::Status ApplyAccess(const Arguments& arguments, Access access, Options* options) {
  const bool reads = access == Access::kRead;
  if (IsSet(arguments, "read_only") && options->read_only != reads) {
    return absl::InvalidArgumentError(reads ? "--set=read_only=false: this command only reads"
                                            : "--set=read_only=true: this command writes");
  }
  options->read_only = reads;
  if (access == Access::kWriteOrCreate) return absl::OkStatus();
  if (IsSet(arguments, "create_if_missing") && options->create_if_missing) {
    return absl::InvalidArgumentError(
        "--set=create_if_missing=true: this command makes no database");
  }
  options->create_if_missing = false;
  return absl::OkStatus();
}

// Which settings of column families are meant.
enum class Settings {
  kAll,         // for a family to be created
  kOfFamily,    // for that of --family
  kOfDatabase,  // none
};

bool IsOfFamily(std::string_view option) {
  const std::vector<OptionDescription> all = DescribeOptions();
  return std::any_of(all.begin(), all.end(), [&](const OptionDescription& description) {
    return description.name == option && description.is_of_family;
  });
}

// Into the fields of that family and no other, also where the options do not name it yet.
absl::Status SetOptionOfFamily(const std::string& family, std::string_view name,
                               std::string_view value, Options* options) {
  if (family == "default") return SetOption(options, name, value);
  const auto named = options->column_families.find(family);
  Options own;
  if (named != options->column_families.end()) {
    static_cast<ColumnFamilyOptions&>(own) = named->second;
  }
  WINNOW_RETURN_IF_ERROR(SetOption(&own, name, value));
  options->column_families.insert_or_assign(family, own);
  return absl::OkStatus();
}

absl::Status ApplySettings(const Arguments& arguments, Settings which, Options* options) {
  const std::string family = arguments.Text("family").value_or("default");
  for (const std::string& assignment : arguments.All("set")) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set=", assignment, ": write --set=NAME=VALUE"));
    }
    const std::string_view name = std::string_view(assignment).substr(0, equals);
    const std::string_view value = std::string_view(assignment).substr(equals + 1);
    if (which == Settings::kOfDatabase && IsOfFamily(name)) continue;
    const absl::Status set = which == Settings::kOfFamily && IsOfFamily(name)
                                 ? SetOptionOfFamily(family, name, value, options)
                                 : SetOption(options, name, value);
    if (!set.ok()) return FlagError("set", set);
  }
  return absl::OkStatus();
}

// A program's own operators are not here. What needs no merging works without them.
void StandInForMergeOperators(const Arguments& arguments, Options* options) {
  const absl::StatusOr<RecordedOptions> recorded =
      ReadRecordedOptions(*FileSystemAsTyped(), arguments.Text("db").value_or(""));
  if (!recorded.ok()) return;  // the opening says why
  AddMergeOperatorStandIns(MergeOperatorsMissingIn(*options, *recorded), options);
}

// A database that cannot be read has none: whoever opens it then hears why.
Options OptionsLastUsed(const Arguments& arguments, Access access) {
  Options options;
  options.file_system = FileSystemAsTyped();
  if (access == Access::kRead) {  // which need none but for what they tell of, and record none
    Options recorded = options;
    if (DB::LoadOptions(arguments.Text("db").value_or(""), &recorded).ok()) {
      options.filter_memory_budget = recorded.filter_memory_budget;
    }
    return options;
  }
  DB::LoadOptions(arguments.Text("db").value_or(""), &options).IgnoreError();
  StandInForMergeOperators(arguments, &options);
  // Amounts that are recorded, and not given again, give way to a budget.
  if (IsSet(arguments, "filter_memory_budget")) {
    options.filter.clear();
    for (auto& [name, family] : options.column_families) family.filter.clear();
  }
  return options;
}

absl::Status Complete(const Arguments& arguments, Access access, Settings which, Options* options) {
  WINNOW_RETURN_IF_ERROR(ApplySettings(arguments, which, options));
  const std::string family = arguments.Text("family").value_or("default");
  WINNOW_RETURN_IF_ERROR(ApplyAccess(arguments, access, options));
  WINNOW_RETURN_IF_ERROR(CheckFilterFlags(arguments));
  if (family == "default" && which != Settings::kOfDatabase) {
    if (const auto text = arguments.Text("filter")) options->filter = *text;
    if (const auto text = arguments.Text("filter-key")) options->filter_key = *text;
  }
  return absl::OkStatus();
}

// Settings take effect as the database is opened, when it does not know yet that the family of
// --family is a table's.
absl::Status CheckSettingsOfTable(const Arguments& arguments, const std::string& path) {
  const std::string family = arguments.Text("family").value_or("default");
  const bool are_set = IsSet(arguments, "filter") || IsSet(arguments, "filter_key") ||
                       IsSet(arguments, "ttl_seconds") || IsSet(arguments, "merge_operator") ||
                       IsSet(arguments, "compaction");
  if (!are_set || family.find(':') == std::string::npos) return absl::OkStatus();
  Options options;
  options.file_system = FileSystemAsTyped();
  options.read_only = true;
  const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  if (!db.ok()) return absl::OkStatus();  // the command meets it too
  const absl::StatusOr<std::vector<std::string>> of_tables = ReserveTables(**db);
  if (of_tables.ok() &&
      std::find(of_tables->begin(), of_tables->end(), family) != of_tables->end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--set: the column family '", family,
        "' belongs to a table, whose schema says how it is kept: `winnow table alter`"));
  }
  return absl::OkStatus();
}

// Before the database is opened, which takes settings and may make it: a name that is mistyped
// changes nothing. What cannot be read is left to the opening, which says why.
absl::Status CheckFamilyOfFlag(const Arguments& arguments, const std::string& path) {
  const std::string family = arguments.Text("family").value_or("default");
  if (family == "default") return absl::OkStatus();
  Options options;
  options.file_system = FileSystemAsTyped();
  const absl::StatusOr<std::vector<std::string>> families = DB::ListColumnFamilies(options, path);
  const bool is_missing =
      families.ok() ? std::find(families->begin(), families->end(), family) == families->end()
                    : absl::IsNotFound(families.status());
  if (!is_missing) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool exists, HoldsDatabase(path));
  return exists ? NoFamily(family, path) : NoDatabase(path);
}

// The family of --family. If the command writes, it gets the filter asked for; the default family
// had it set at open.
absl::StatusOr<ColumnFamily*> FamilyOfFlag(const Arguments& arguments, Access access, DB& db,
                                           const std::string& path) {
  const std::string name = arguments.Text("family").value_or("default");
  absl::StatusOr<ColumnFamily*> family = FindFamily(db, path, name);
  if (!family.ok() || name == "default" || access == Access::kRead) return family;
  if (arguments.Has("filter") || arguments.Has("filter-key")) {
    WINNOW_RETURN_IF_ERROR(db.SetFilter(*family, arguments.Text("filter").value_or(""),
                                        arguments.Text("filter-key").value_or("")));
  }
  return family;
}

// "none" is what whoever names no operator gives, and so leaves a family what it has.
absl::Status CheckMergeOperatorOfFlag(const Arguments& arguments, DB& db, ColumnFamily* family,
                                      const std::string& path) {
  const std::vector<std::string> assignments = arguments.All("set");
  if (std::find(assignments.begin(), assignments.end(), "merge_operator=none") ==
      assignments.end()) {
    return absl::OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string merge_operator, db.GetOption(family, "merge_operator"));
  if (merge_operator == "none") return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--set=merge_operator=none: column family '", ToAbsl(family->name()), "' of ", path,
      " was written with merge operator '", merge_operator, "', which it keeps"));
}

}  // namespace

absl::Status CheckFilterFlags(const Arguments& arguments) {
  if (const auto text = arguments.Text("filter")) {
    if (const auto spec = filter::ParseFilterSpec(*text); !spec.ok()) {
      return FlagError("filter", spec.status());
    }
  }
  if (const auto text = arguments.Text("filter-key")) {
    if (const auto extractor = filter::FilterKeyExtractor::Parse(*text); !extractor.ok()) {
      return FlagError("filter-key", extractor.status());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ColumnFamily*> FindFamily(DB& db, const std::string& path, const std::string& name) {
  if (name == "default") return db.DefaultColumnFamily();
  absl::StatusOr<ColumnFamily*> family = db.FindColumnFamily(name);
  if (absl::IsNotFound(family.status())) return NoFamily(name, path);
  return family;
}

absl::StatusOr<std::string> DatabasePath(const Arguments& arguments) {
  std::optional<std::string> path = arguments.Text("db");
  if (!path.has_value() || path->empty()) {
    return absl::InvalidArgumentError("name the database directory: --db=DIR");
  }
  return *path;
}

absl::StatusOr<std::string> ExistingDatabasePath(const Arguments& arguments) {
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(const bool exists, HoldsDatabase(path));
  // Also for commands that only look at files: another engine's are not damaged ones of Winnow's.
  WINNOW_RETURN_IF_ERROR(RefuseForeignDatabase(*PosixFileSystem(), path));
  if (!exists) return NoDatabase(path);
  return path;
}

// Not the system's own, where a database makes its path absolute.
FileSystem* FileSystemAsTyped() {
  static auto& file_system = *new ForwardingFileSystem(PosixFileSystem());
  return &file_system;
}

absl::StatusOr<Options> DatabaseOptions(const Arguments& arguments, Access access) {
  Options options;
  options.file_system = FileSystemAsTyped();
  WINNOW_RETURN_IF_ERROR(Complete(arguments, access, Settings::kAll, &options));
  return options;
}

absl::StatusOr<Options> OptionsToOpen(const Arguments& arguments, Access access) {
  Options options = OptionsLastUsed(arguments, access);
  WINNOW_RETURN_IF_ERROR(Complete(arguments, access, Settings::kOfFamily, &options));
  return options;
}

absl::StatusOr<Options> OptionsOfAllFamilies(const Arguments& arguments, Access access) {
  Options options = OptionsLastUsed(arguments, access);
  WINNOW_RETURN_IF_ERROR(Complete(arguments, access, Settings::kOfDatabase, &options));
  return options;
}

absl::StatusOr<std::unique_ptr<DB>> OpenDirectory(const Options& options, const std::string& path) {
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  // Where one would have been made, something else is missing.
  if (!absl::IsNotFound(db.status()) || options.create_if_missing) return db;
  WINNOW_ASSIGN_OR_RETURN(const bool exists, HoldsDatabase(path));
  return exists ? db.status() : NoDatabase(path);
}

absl::StatusOr<OpenedDatabase> OpenDatabase(const Arguments& arguments, Access access) {
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  WINNOW_RETURN_IF_ERROR(CheckFamilyOfFlag(arguments, path));
  if (access != Access::kRead) WINNOW_RETURN_IF_ERROR(CheckSettingsOfTable(arguments, path));
  WINNOW_ASSIGN_OR_RETURN(const Options options, OptionsToOpen(arguments, access));

  OpenedDatabase opened;
  WINNOW_ASSIGN_OR_RETURN(opened.db, OpenDirectory(options, path));
  // Whoever cannot read what tables there are cannot open them either, and may look after the rest.
  if (access != Access::kRead) ReserveTables(*opened.db).status().IgnoreError();
  WINNOW_ASSIGN_OR_RETURN(opened.family, FamilyOfFlag(arguments, access, *opened.db, path));
  WINNOW_RETURN_IF_ERROR(CheckMergeOperatorOfFlag(arguments, *opened.db, opened.family, path));
  // What recovery could not replay must not look like keys that never were.
  const auto notes = opened.db->GetProperty(opened.family, "winnow.recovery");
  for (const absl::string_view note : absl::StrSplit(notes.value_or(""), '\n', absl::SkipEmpty())) {
    std::fprintf(stderr, "winnow: warning: %s\n", Printable(ToStd(note)).c_str());
  }
  return opened;
}

absl::StatusOr<bool> HoldsDatabase(const std::string& path) {
  FileSystem& file_system = *PosixFileSystem();
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (!exists) return false;
  WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(path));
  if (!is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a directory"));
  }
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(path));
  for (const std::string& name : names) {
    FileType type = FileType::kLock;
    uint64_t number = 0;
    if (ParseFileName(name, &type, &number) &&
        (type == FileType::kCurrent || type == FileType::kManifest || type == FileType::kSstable)) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> Messages(const std::vector<VerifyProblem>& problems) {
  std::vector<std::string> messages;
  messages.reserve(problems.size());
  for (const VerifyProblem& problem : problems) messages.emplace_back(problem.status.message());
  return messages;
}

absl::StatusOr<std::string> BytesFromWord(const Arguments& arguments, const std::string& word) {
  const bool hex = arguments.Has("hex");
  const bool escaped = arguments.Has("escaped");
  if (!hex && !escaped) return word;
  if (hex && escaped) return absl::InvalidArgumentError("give --hex or --escaped, not both");
  const std::string_view flag = hex ? "--hex" : "--escaped";
  absl::StatusOr<std::string> bytes = FromText(word, hex ? TextForm::kHex : TextForm::kEscaped);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", word, "\" with ", ToAbsl(flag), ": ", bytes.status().message()));
  }
  return bytes;
}

absl::StatusOr<std::string> BytesOfPositional(const Arguments& arguments, size_t position) {
  return BytesFromWord(arguments, arguments.positionals()[position]);
}

}  // namespace winnow::cli
