// winnow destroy: removes a database.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/bulk_cells.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/import_marker.h"
#include "tools/winnow/sorted_tables.h"

namespace winnow::cli {
namespace {

// Asks on the terminal; anything but "yes" or "y" is a no.
bool UserAgrees(const std::string& path) {
  std::fprintf(stderr, "Remove the database %s with all its data? [y/N] ", Printable(path).c_str());
  char answer[16] = {};
  if (std::fgets(answer, sizeof(answer), stdin) == nullptr) return false;
  const std::string_view text(answer);
  return text == "y\n" || text == "yes\n" || text == "Y\n" || text == "YES\n";
}

// What commands that did not come to their end have left beside the database's files, and then the
// directory if nothing else is in it.
void RemoveWhatCommandsLeft(const std::string& path) {
  FileSystem& file_system = *FileSystemAsTyped();
  RemoveBulkDirectory(path);
  file_system.Remove(absl::StrCat(path, "/", kImportMarkerName)).IgnoreError();
  RemoveLoadDirectory(path);
  file_system.RemoveDirectory(path).IgnoreError();
}

absl::StatusOr<ExitCode> RunDestroy(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string path, ExistingDatabasePath(arguments));
  if (!arguments.Has("yes")) {
    if (isatty(STDIN_FILENO) != 1) {
      return absl::InvalidArgumentError("not on a terminal, so --yes must confirm it");
    }
    if (!UserAgrees(path)) {
      Complain("destroy", "nothing was removed");
      return ExitCode::kNo;
    }
  }
  WINNOW_RETURN_IF_ERROR(DB::Destroy(Options(), path));
  RemoveWhatCommandsLeft(path);
  return PrintDone(arguments, output);
}

}  // namespace

Command DestroyCommand() {
  return {
      .name = "destroy",
      .database = DatabaseUse::kFiles,
      .summary = "remove a database; asks before it does",
      .details = R"(
Removes the database's own files, and then the directory if nothing else is in it; where --db is
a link to the directory, both stay. Asks on a terminal; elsewhere --yes is needed. Refused while
another process has the database open. Exit code 1 if the answer is no.)",
      .json = R"({"ok":true})",
      .examples = "  winnow destroy --db=/tmp/fruit --yes",
      .flags = {{"yes", "", "do not ask"}},
      .run = RunDestroy,
  };
}

}  // namespace winnow::cli
