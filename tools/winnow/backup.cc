// winnow checkpoint, backup, restore: copies of a database.
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/progress.h"
#include "winnow/backup.h"

namespace winnow::cli {
namespace {

std::string TimeText(int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  char text[32];
  std::tm parts = {};
  gmtime_r(&time, &parts);
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

Json ToJson(const BackupInfo& backup) {
  if (!backup.status.ok()) {
    return Json{{"id", backup.id}, {"error", std::string(backup.status.message())}};
  }
  return Json{{"id", backup.id},
              {"created_seconds", backup.created_seconds},
              {"files", backup.num_files},
              {"bytes", backup.bytes}};
}

absl::StatusOr<ExitCode> RunCheckpoint(const Arguments& arguments, Output& output) {
  const std::string& directory = arguments.positionals().front();
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  WINNOW_RETURN_IF_ERROR(opened.db->Checkpoint(directory));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return PrintAnswer(arguments, Json{{"directory", directory}},
                     absl::StrCat("checkpoint in ", directory), output);
}

absl::StatusOr<ExitCode> PrintBackups(const std::string& directory, bool json, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const auto backups, ListBackups(Options(), directory));
  bool any_is_damaged = false;
  for (const BackupInfo& backup : backups) {
    any_is_damaged |= !backup.status.ok();
    if (json) {
      output.Write(ToLine(ToJson(backup)));
    } else if (!backup.status.ok()) {
      output.Line(absl::StrCat(backup.id, "\t", Printable(ToStd(backup.status.message()))));
    } else {
      output.Line(absl::StrCat(backup.id, "\t", TimeText(backup.created_seconds), " UTC\t",
                               report::HumanCount(backup.num_files, "file", "files"), "\t",
                               report::HumanBytes(static_cast<double>(backup.bytes))));
    }
  }
  return any_is_damaged ? ExitCode::kNo : ExitCode::kOk;
}

absl::StatusOr<ExitCode> VerifyBackups(const std::string& directory, bool json, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const auto backups, ListBackups(Options(), directory));
  if (backups.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no backup in ", directory));
  }
  std::vector<VerifyProblem> problems;
  for (const BackupInfo& backup : backups) {
    if (!backup.status.ok()) {
      problems.push_back({directory, std::nullopt, backup.status});
      continue;
    }
    WINNOW_ASSIGN_OR_RETURN(const auto found, VerifyBackup(Options(), directory, backup.id));
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (json) {
    output.Write(ToLine(Json{{"sound", problems.empty()},
                             {"backups", backups.size()},
                             {"problems", Messages(problems)}}));
  } else {
    for (const std::string& message : Messages(problems)) output.Line(Printable(message));
    output.Line(
        problems.empty()
            ? absl::StrCat("sound: ", report::HumanCount(backups.size(), "backup", "backups"))
            : report::HumanCount(problems.size(), "problem", "problems") + " found");
  }
  return problems.empty() ? ExitCode::kOk : ExitCode::kNo;
}

absl::StatusOr<ExitCode> RunBackup(const Arguments& arguments, Output& output) {
  const std::string& directory = arguments.positionals().front();
  if (arguments.Has("list") && arguments.Has("verify")) {
    return absl::InvalidArgumentError("give --list or --verify, not both");
  }
  if (arguments.Has("list")) return PrintBackups(directory, arguments.Has("json"), output);
  if (arguments.Has("verify")) return VerifyBackups(directory, arguments.Has("json"), output);
  const Progress clock(0);
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  WINNOW_ASSIGN_OR_RETURN(const BackupInfo backup, opened.db->BackupTo(directory));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  Json json = ToJson(backup);
  json["new_bytes"] = backup.new_bytes;
  return PrintAnswer(
      arguments, json,
      absl::StrCat("backup ", backup.id, ": ",
                   report::HumanCount(backup.num_files, "file", "files"), ", ",
                   report::HumanBytes(static_cast<double>(backup.bytes)), ", of which ",
                   report::HumanBytes(static_cast<double>(backup.new_bytes)), " were copied; ",
                   report::HumanSeconds(clock.seconds())),
      output);
}

absl::StatusOr<ExitCode> RunRestore(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  uint64_t id = 0;
  if (const std::optional<std::string> text = arguments.Text("id"); text.has_value()) {
    if (!absl::SimpleAtoi(*text, &id) || id == 0) {
      return absl::InvalidArgumentError(absl::StrCat("--id wants a number above 0, not ", *text));
    }
  }
  WINNOW_RETURN_IF_ERROR(RestoreBackup(Options(), arguments.positionals().front(), id, path));
  return PrintAnswer(arguments, Json{{"directory", path}}, absl::StrCat("restored to ", path),
                     output);
}

}  // namespace

Command CheckpointCommand() {
  return {
      .name = "checkpoint",
      .positionals = {"DIR", 1, 1},
      .database = DatabaseUse::kWrite,
      .summary = "make DIR a second database with the same contents",
      .details = R"(
Tables are shared by hard links where DIR is on the same file system, so that this costs
next to nothing. DIR must be missing or empty.)",
      .json = R"({"directory":TEXT})",
      .examples = "  winnow checkpoint /tmp/fruit-before-the-change --db=/tmp/fruit",
      .run = RunCheckpoint,
  };
}

Command BackupCommand() {
  return {
      .name = "backup",
      .positionals = {"DIR", 1, 1},
      .database = DatabaseUse::kWrite,
      .summary = "add a backup to DIR, or look at the backups there",
      .details = R"(
Copies what the newest backup in DIR lacks; what it has is read, and shared by hard links if
it is as it was copied. Each backup has a number, and checksums of all its files. Exit code 1:
--list or --verify found damage.)",
      .json = R"(
{"id":N,"created_seconds":N,"files":N,"bytes":N,"new_bytes":N}; --list: one line per backup,
without new_bytes, or {"id":N,"error":TEXT}; --verify:
{"sound":B,"backups":N,"problems":[TEXT,...]})",
      .examples = R"(
  winnow backup /mnt/backups --db=/tmp/fruit
  winnow backup /mnt/backups --list
  winnow backup /mnt/backups --verify)",
      .flags = {{"list", "", "print number, time, files and size of each backup in DIR"},
                {"verify", "", "read every byte of all backups in DIR"}},
      .run = RunBackup,
  };
}

Command RestoreCommand() {
  return {
      .name = "restore",
      .positionals = {"DIR", 1, 1},
      .database = DatabaseUse::kFiles,
      .summary = "make --db from a backup in DIR",
      .details = R"(
Checks every byte while copying. --db must be missing or empty; of a damaged backup nothing
is left there, and the damaged file is named.)",
      .json = R"({"directory":TEXT})",
      .examples = R"(
  winnow restore /mnt/backups --db=/tmp/fruit
  winnow restore /mnt/backups --id=3 --db=/tmp/fruit-as-it-was)",
      .flags = {{"id", "N", "the backup's number (default: the newest)"}},
      .run = RunRestore,
  };
}

}  // namespace winnow::cli
