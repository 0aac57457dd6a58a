// winnow verify: is every byte of a database sound?
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/recovery/set_aside.h"
#include "engine/version/current_file.h"
#include "engine/version/version_edit.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/store_files.h"
#include "winnow/file_system.h"

namespace winnow::cli {
namespace {

// Damage, as opposed to files that could not be read or that a newer version wrote.
bool IsDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsInvalidArgument(status);
}

class Verifier {
 public:
  explicit Verifier(std::string directory) : directory_(std::move(directory)) {}

  // An error means that the check could not be finished; what was found until then is kept.
  absl::Status Run(const Arguments& arguments) {
    // What is wrong with the command line is no damage to the database.
    WINNOW_ASSIGN_OR_RETURN(const Options options, DatabaseOptions(arguments, Access::kRead));
    WINNOW_RETURN_IF_ERROR(ValidateOptions(options));
    WINNOW_RETURN_IF_ERROR(CheckCurrent());
    WINNOW_RETURN_IF_ERROR(CheckLogs(FileType::kManifest));
    WINNOW_RETURN_IF_ERROR(CheckLogs(FileType::kLog));
    const size_t num_log_problems = problems_.size();
    absl::StatusOr<OpenedDatabase> opened = OpenDatabase(arguments, Access::kRead);
    if (!opened.ok()) {
      // CURRENT is written last when a database is created, and nothing is written before: whoever
      // was to do it has not got that far, or was killed.
      if (!has_current_ && absl::IsNotFound(opened.status()) && problems_.empty()) {
        return opened.status();
      }
      if (!has_current_) {
        const std::string path = CurrentFileName(directory_);
        problems_.insert(problems_.begin(), {path, std::nullopt, CorruptionError(path, "missing")});
      }
      const bool has_no_family = absl::IsNotFound(opened.status()) && arguments.Has("family");
      if (has_no_family || !IsDamage(opened.status())) return opened.status();
      problems_.push_back({directory_, std::nullopt,
                           WithContext(opened.status(), "the database cannot be opened")});
      WINNOW_RETURN_IF_ERROR(CheckTables());
      WINNOW_ASSIGN_OR_RETURN(const std::vector<VerifyProblem> set_aside,
                              FindFilesSetAside(*PosixFileSystem(), directory_));
      problems_.insert(problems_.end(), set_aside.begin(), set_aside.end());
      return absl::OkStatus();
    }
    WINNOW_ASSIGN_OR_RETURN(const std::vector<VerifyProblem> found, opened->db->Verify());
    for (const VerifyProblem& problem : found) {
      // What the opening says of logs as a whole has been said of each of them.
      if (problem.path != directory_ || num_log_problems == 0) problems_.push_back(problem);
    }
    for (const LevelStatistics& level : opened->db->GetStatistics().levels) {
      num_tables_ += level.num_files;
      num_entries_ += level.num_entries;
    }
    return absl::OkStatus();
  }

  const std::vector<VerifyProblem>& problems() const { return problems_; }
  uint64_t num_tables() const { return num_tables_; }
  uint64_t num_entries() const { return num_entries_; }
  uint64_t num_logged_updates() const { return num_logged_updates_; }

 private:
  // CURRENT must name a manifest that exists. Whether it must exist, the opening tells.
  absl::Status CheckCurrent() {
    FileSystem& file_system = *PosixFileSystem();
    const std::string path = CurrentFileName(directory_);
    // Again while somebody replaces it: the manifest that it named before is removed then.
    for (uint64_t before = 0;;) {
      const absl::StatusOr<uint64_t> number = ReadCurrentFile(file_system, directory_);
      if (absl::IsNotFound(number.status())) {
        has_current_ = false;
        return absl::OkStatus();
      }
      if (!number.ok()) return NoteDamage(path, number.status());
      const std::string manifest = ManifestFileName(directory_, *number);
      WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(manifest));
      if (exists) return absl::OkStatus();
      if (*number == before) {
        return NoteDamage(
            path, CorruptionError(path, absl::StrCat("names ", manifest, ", which is missing")));
      }
      before = *number;
    }
  }

  // Keeps damage as a problem; returns any other error.
  absl::Status NoteDamage(const std::string& path, const absl::Status& status) {
    if (status.ok() || !IsDamage(status)) return status;
    problems_.push_back({path, std::nullopt, status});
    return absl::OkStatus();
  }

  absl::Status CheckLogs(FileType type) {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListFiles(directory_, type));
    for (const std::string& path : paths) {
      const absl::Status status = CheckLog(path, type);
      // Gone since: nothing needed it any more, or opening the database will miss it.
      if (!absl::IsNotFound(status)) WINNOW_RETURN_IF_ERROR(NoteDamage(path, status));
    }
    return absl::OkStatus();
  }

  // Under the number in its name: a log of another number is no part of the database.
  absl::Status CheckLog(const std::string& path, FileType type) {
    WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<LogReader> log,
                            LogReader::Open(*PosixFileSystem(), path, *NumberInName(path),
                                            LogRecoveryMode::kPointInTime));
    const auto check = [&](std::string_view payload, uint64_t) -> absl::StatusOr<bool> {
      WINNOW_RETURN_IF_ERROR(type == FileType::kLog ? CheckLogRecord(payload)
                                                    : VersionEdit::Decode(payload).status());
      return true;
    };
    WINNOW_RETURN_IF_ERROR(ForEachRecord(*log, path, check));
    if (log->end().kind != LogEnd::Kind::kDamaged) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(path, ": ", DescribeLogEnd(log->end())));
  }

  absl::Status CheckLogRecord(std::string_view payload) {
    LogStart start;
    if (LogStart::Decode(payload, &start)) return absl::OkStatus();
    if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) {
      return absl::DataLossError("record is neither a batch nor the start of a log");
    }
    BatchReader batch(payload.substr(1));
    BatchUpdate update;
    bool more = true;
    while (more) WINNOW_RETURN_IF_ERROR(batch.Next(&update, &more));
    num_logged_updates_ += batch.num_updates();
    return absl::OkStatus();
  }

  // Each SSTable in the directory for itself, where no manifest says which ones count.
  absl::Status CheckTables() {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                            ListFiles(directory_, FileType::kSstable));
    for (const std::string& path : paths) {
      const absl::StatusOr<std::unique_ptr<SstableReader>> table = OpenSstable(path);
      if (!table.ok()) {
        problems_.push_back({path, std::nullopt, table.status()});
        continue;
      }
      num_tables_++;
      num_entries_ += (*table)->figures().num_entries;
      for (const SstableProblem& problem : (*table)->Verify()) {
        problems_.push_back({path, problem.offset, problem.ToStatus(path)});
      }
    }
    return absl::OkStatus();
  }

  const std::string directory_;
  std::vector<VerifyProblem> problems_;
  bool has_current_ = true;
  uint64_t num_tables_ = 0;
  uint64_t num_entries_ = 0;
  uint64_t num_logged_updates_ = 0;
};

void PrintFindings(const Verifier& verifier, bool json, bool finished, Output& output) {
  const bool is_sound = verifier.problems().empty();
  if (json) {
    output.Write(ToLine(Json{{"sound", is_sound && finished},
                             {"finished", finished},
                             {"sstables", verifier.num_tables()},
                             {"entries", verifier.num_entries()},
                             {"logged_updates", verifier.num_logged_updates()},
                             {"problems", Messages(verifier.problems())}}));
    return;
  }
  for (const std::string& message : Messages(verifier.problems())) output.Line(message);
  if (is_sound && finished) {
    const std::string in_log =
        verifier.num_logged_updates() == 0
            ? ""
            : absl::StrCat(" and ",
                           report::HumanCount(verifier.num_logged_updates(), "update", "updates"),
                           " in the log");
    output.Line(absl::StrCat(
        "sound: ", report::HumanCount(verifier.num_entries(), "entry", "entries"), " in ",
        report::HumanCount(verifier.num_tables(), "SSTable", "SSTables"), in_log));
  } else if (!is_sound) {
    output.Line(report::HumanCount(verifier.problems().size(), "problem", "problems") + " found");
  }
}

absl::StatusOr<ExitCode> RunVerify(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string path, ExistingDatabasePath(arguments));
  Verifier verifier(path);
  const absl::Status status = verifier.Run(arguments);
  PrintFindings(verifier, arguments.Has("json"), status.ok(), output);
  if (!status.ok()) return status;
  return verifier.problems().empty() ? ExitCode::kOk : ExitCode::kNo;
}

}  // namespace

Command VerifyCommand() {
  return {
      .name = "verify",
      .summary = "read every byte and name each damaged file, with offset and reason",
      .details = R"(
Checks manifest, write-ahead logs, and of every SSTable all checksums, the order of keys,
each key against each unit of its filters, in memory or not, and the counts; and that versions
of a key in higher levels, and in newer SSTables of level 0, are newer. If the database cannot
be opened, every SSTable in the directory is checked for itself. A torn last record of a log is
normal after a crash.
Names what an earlier opening set aside (*.log.damaged, *.log.unread, *.orphan), and the
command for it. May run while another process writes.
Exit code 0: sound; 1: damage; 3: the check could not be finished.)",
      .json =
          R"({"sound":true,"finished":true,"sstables":N,"entries":N,"logged_updates":N,"problems":[TEXT,...]})",
      .examples = "  winnow verify --db=/tmp/fruit",
      .run = RunVerify,
  };
}

}  // namespace winnow::cli
