// winnow replay: the records of a log that an opening set aside, written again.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/recovery/set_aside.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/store_files.h"
#include "winnow/file_system.h"

namespace winnow::cli {
namespace {

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Where the part of the log begins that was not replayed: behind its first damage for one that was
// replayed up to there; otherwise at its start.
absl::StatusOr<uint64_t> StartOfUnread(const std::string& path) {
  if (!IsLogSetAside(NameIn(path), kDamagedLogSuffix)) return 0;
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<LogReader> log, OpenLog(path));
  const auto pass = [](std::string_view, uint64_t) -> absl::StatusOr<bool> { return true; };
  WINNOW_RETURN_IF_ERROR(ForEachRecord(*log, path, pass));
  return log->end().offset;
}

// Writes the records of one log again, batch by batch.
class Replayer {
 public:
  explicit Replayer(DB& db) : db_(db) {
    for (ColumnFamily* family : db.ColumnFamilies()) families_[family->id()] = family;
  }

  absl::Status Replay(const std::string& path, uint64_t from) {
    WINNOW_ASSIGN_OR_RETURN(const uint64_t number, LogNumber(path));
    WINNOW_ASSIGN_OR_RETURN(
        const std::unique_ptr<LogReader> log,
        LogReader::Open(*PosixFileSystem(), path, number, LogRecoveryMode::kSalvage));
    const auto replay = [&](std::string_view payload, uint64_t offset) -> absl::StatusOr<bool> {
      LogStart start;
      if (offset < from || LogStart::Decode(payload, &start)) return true;
      WINNOW_RETURN_IF_ERROR(WriteBatchOf(payload));
      return true;
    };
    return ForEachRecord(*log, path, replay);
  }

  uint64_t num_written() const { return num_written_; }
  uint64_t num_left_out() const { return num_left_out_; }

 private:
  // Whole or not at all, as it was written; but for families that are gone.
  absl::Status WriteBatchOf(std::string_view payload) {
    if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) {
      return absl::DataLossError("record is neither a batch nor the start of a log");
    }
    BatchReader reader(payload.substr(1));
    BatchUpdate update;
    WriteBatch batch;
    for (bool more = true;;) {
      WINNOW_RETURN_IF_ERROR(reader.Next(&update, &more));
      if (!more) break;
      const auto family = families_.find(update.family_id);
      if (family == families_.end()) {
        num_left_out_++;
      } else if (update.type == EntryType::kPut) {
        batch.Put(family->second, update.key, update.value);
      } else if (update.type == EntryType::kMerge) {
        batch.Merge(family->second, update.key, update.value);
      } else if (update.type == EntryType::kRangeDelete) {
        batch.DeleteRange(family->second, update.key, update.value);
      } else if (update.type == EntryType::kPutWithTime) {
        WriteBatchAccess::PutWithTime(&batch, family->second, update.key, update.value);
      } else {
        batch.Delete(family->second, update.key);
      }
    }
    if (batch.num_updates() == 0) return absl::OkStatus();
    // Also into column families of tables, whose own writes they were.
    WINNOW_RETURN_IF_ERROR(static_cast<DBImpl&>(db_).WriteAsOwner(WriteOptions(), batch));
    num_written_ += batch.num_updates();
    return absl::OkStatus();
  }

  DB& db_;
  std::map<uint32_t, ColumnFamily*> families_;
  uint64_t num_written_ = 0;
  uint64_t num_left_out_ = 0;
};

// A file that was set aside in the database's own directory goes to lost/, so that it is not
// written twice; any other stays where it is. Returns where it is now.
absl::StatusOr<std::string> PutAway(const std::string& path, const std::string& directory) {
  FileSystem& file_system = *PosixFileSystem();
  const std::string name = NameIn(path);
  const bool is_set_aside =
      IsLogSetAside(name, kDamagedLogSuffix) || IsLogSetAside(name, kUnreadLogSuffix);
  const std::string own_path = absl::StrCat(directory, "/", name);
  const auto here = file_system.Identify(own_path);
  const auto file = file_system.Identify(path);
  if (!is_set_aside || !here.ok() || !file.ok() || here->device != file->device ||
      here->number != file->number) {
    return path;
  }
  // Not `path`, which may be a link to it.
  WINNOW_ASSIGN_OR_RETURN(const std::string target, FreePathInLost(file_system, directory, name));
  WINNOW_RETURN_IF_ERROR(file_system.Rename(own_path, target));
  WINNOW_RETURN_IF_ERROR(file_system.SyncDirectory(directory));
  return target;
}

absl::StatusOr<ExitCode> RunReplay(const Arguments& arguments, Output& output) {
  const std::string& path = arguments.positionals()[0];
  WINNOW_ASSIGN_OR_RETURN(const std::string directory, ExistingDatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(const uint64_t from, StartOfUnread(path));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  Replayer replayer(*opened.db);
  absl::Status status = replayer.Replay(path, from);
  status.Update(opened.db->Close());  // which syncs what was written
  if (!status.ok()) return status;
  WINNOW_ASSIGN_OR_RETURN(const std::string kept_as, PutAway(path, directory));
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"updates", replayer.num_written()},
                             {"left_out", replayer.num_left_out()},
                             {"kept_as", kept_as}}));
    return ExitCode::kOk;
  }
  std::string line =
      absl::StrCat(report::HumanCount(replayer.num_written(), "update", "updates"), " written");
  if (replayer.num_left_out() > 0) {
    absl::StrAppend(&line, ", ", replayer.num_left_out(), " of column families that are gone not");
  }
  output.Line(absl::StrCat(line, "; the log is ", kept_as));
  return ExitCode::kOk;
}

}  // namespace

Command ReplayCommand() {
  return {
      .name = "replay",
      .positionals = {"FILE", 1, 1},
      .database = DatabaseUse::kWrite,
      .summary = "write the updates of a log again that an opening set aside",
      .details = R"(
Of FILE.log.damaged what is intact behind the first damage, of FILE.log.unread and other logs
all that is intact. The updates count as written now: they win over what was written to the
same keys since. `winnow wal FILE` shows a log first. A file that was set aside goes to the
directory lost/ inside the database's afterwards.)",
      .json = R"({"updates":N,"left_out":N,"kept_as":PATH})",
      .examples = R"(
  winnow verify --db=/tmp/fruit
  winnow replay /tmp/fruit/000012.log.damaged --db=/tmp/fruit)",
      .run = RunReplay,
  };
}

}  // namespace winnow::cli
