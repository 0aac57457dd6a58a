// winnow repair: makes a damaged database open again.
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "winnow/repair.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunRepair(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  Options options;
  options.file_system = FileSystemAsTyped();
  DB::LoadOptions(path, &options).IgnoreError();  // as far as they are there
  WINNOW_ASSIGN_OR_RETURN(const RepairReport report, RepairDatabase(options, path));
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"manifest_rebuilt", report.manifest_rebuilt},
                             {"tables_kept", report.tables_kept},
                             {"tables_rewritten", report.tables_rewritten},
                             {"tables_lost", report.tables_lost},
                             {"tables_set_aside", report.tables_set_aside},
                             {"entries_rescued", report.entries_rescued},
                             {"entries_replayed", report.entries_replayed},
                             {"notes", report.notes}}));
    return ExitCode::kOk;
  }
  for (const std::string& note : report.notes) output.Line(note);
  output.Line(absl::StrCat(
      report.notes.empty() ? "nothing to repair: " : "repaired: ",
      report::HumanCount(report.tables_kept, "SSTable", "SSTables"), " kept, ",
      report.tables_rewritten, " rewritten with ",
      report::HumanCount(report.entries_rescued, "entry", "entries"), ", ", report.tables_lost,
      " lost",
      report.entries_replayed == 0
          ? ""
          : absl::StrCat(", ", report::HumanCount(report.entries_replayed, "entry", "entries"),
                         " replayed once more"),
      report.tables_set_aside == 0
          ? ""
          : absl::StrCat(", ", report.tables_set_aside, " sound but unused, now in lost/")));
  return ExitCode::kOk;
}

}  // namespace

Command RepairCommand() {
  return {
      .name = "repair",
      .database = DatabaseUse::kFiles,
      .summary = "make a damaged database open again, with all that can be read",
      .details = R"(
Keeps sound SSTables, writes what damaged ones still hold to new ones, reads what the logs
still hold, and starts a new manifest. SSTables are known by what is in them, not by their
names. Where no manifest can be read, or the newest is older than the SSTables, these decide,
and are merged: that takes as much space again. Nothing is deleted: what is replaced or not
used goes to the directory lost/ inside. Says for each such file what was found. Make a copy
first if you can.)",
      .json =
          R"({"manifest_rebuilt":BOOL,"tables_kept":N,"tables_rewritten":N,"tables_lost":N,"tables_set_aside":N,"entries_rescued":N,"entries_replayed":N,"notes":[TEXT,...]})",
      .examples = "  winnow verify --db=/tmp/fruit || winnow repair --db=/tmp/fruit",
      .run = RunRepair,
  };
}

}  // namespace winnow::cli
