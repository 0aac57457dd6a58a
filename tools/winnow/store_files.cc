#include "tools/winnow/store_files.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/database_mutex.h"
#include "engine/base/status.h"
#include "engine/file_system/directory_for_file.h"
#include "engine/recovery/set_aside.h"
#include "engine/sstable/filter_file.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/version_set.h"
#include "tools/winnow/database.h"
#include "winnow/file_system.h"

namespace winnow::cli {
namespace {

std::string_view PluralOf(FileType type) {
  switch (type) {
    case FileType::kSstable:
      return "SSTables";
    case FileType::kLog:
      return "write-ahead logs";
    case FileType::kManifest:
      return "manifests";
    default:
      return "files";
  }
}

// "clean_close", "unclosed", "torn_tail", "damaged".
std::string_view LogEndName(LogEnd::Kind kind) {
  switch (kind) {
    case LogEnd::Kind::kCleanClose:
      return "clean_close";
    case LogEnd::Kind::kUnclosed:
      return "unclosed";
    case LogEnd::Kind::kTornTail:
      return "torn_tail";
    case LogEnd::Kind::kDamaged:
      break;
  }
  return "damaged";
}

// The last line of a dump: how the log ends, or for machines its kind and offset.
void PrintLogEnd(const LogEnd& end, bool json, Output& output) {
  if (json) {
    output.Write(ToLine(Json{{"end", LogEndName(end.kind)}, {"offset", end.offset}}));
  } else {
    output.Line(absl::StrCat("end: ", DescribeLogEnd(end)));
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& directory, FileType type) {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names, PosixFileSystem()->List(directory));
  std::vector<std::pair<uint64_t, std::string>> numbered;
  for (const std::string& name : names) {
    FileType file_type = FileType::kLock;
    uint64_t number = 0;
    if (!ParseFileName(name, &file_type, &number) || file_type != type) continue;
    std::string path = absl::StrCat(directory, "/", name);
    if (IsDirectoryForFile(*PosixFileSystem(), path)) continue;
    numbered.emplace_back(number, std::move(path));
  }
  std::sort(numbered.begin(), numbered.end());
  std::vector<std::string> paths;
  for (auto& [number, path] : numbered) paths.push_back(std::move(path));
  return paths;
}

absl::StatusOr<std::vector<std::string>> FilesToShow(const Arguments& arguments, FileType type) {
  if (!arguments.positionals().empty()) {
    if (arguments.Has("db")) {
      return absl::InvalidArgumentError("name files, or --db, not both");
    }
    return arguments.positionals();
  }
  if (!arguments.Has("db")) {
    return absl::InvalidArgumentError("name files, or --db=DIR for all in a database");
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string directory, ExistingDatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(std::vector<std::string> paths, ListFiles(directory, type));
  if (paths.empty()) {
    return absl::NotFoundError(absl::StrCat(
        directory, " holds no ", ToAbsl(PluralOf(type)),
        type == FileType::kSstable ? ": all its data is still in the write-ahead log" : ""));
  }
  return paths;
}

absl::StatusOr<std::unique_ptr<SstableReader>> OpenSstable(const std::string& path,
                                                           const std::string& filter_file,
                                                           FilterLedger* ledger) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file,
                          PosixFileSystem()->OpenRandomAccess(path));
  std::unique_ptr<FilterFile> filter;
  if (!filter_file.empty()) {
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> opened,
                            PosixFileSystem()->OpenRandomAccess(filter_file));
    WINNOW_ASSIGN_OR_RETURN(filter, FilterFile::Open(std::move(opened), filter_file, 0, 0));
  }
  SstableReaderOptions options;
  options.filter_ledger = ledger;
  options.filters_can_leave = ledger != nullptr;
  return SstableReader::Open(options, std::move(file), path, std::move(filter));
}

bool IsNamedByManifest(const std::string& directory, const std::string& path) {
  const absl::StatusOr<uint64_t> number = ReadCurrentFile(*PosixFileSystem(), directory);
  if (!number.ok()) return true;
  DatabaseMutex mutex;
  VersionSet versions({PosixFileSystem(), directory, nullptr}, &mutex);
  DatabaseLock lock(&mutex);
  const auto readable = versions.ReadState(ManifestFileName(directory, *number), *number);
  if (!readable.ok()) return true;
  for (const FamilyEdit& family : readable->state.families) {
    for (const FamilyEdit::AddedFile& table : family.added) {
      if (SstableFileName(directory, table.file.number) == path) return true;
    }
  }
  return false;
}

std::optional<uint64_t> NumberInName(const std::string& path) {
  std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1 is 0
  for (const std::string_view suffix : {kDamagedLogSuffix, kUnreadLogSuffix, kOrphanSuffix}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  FileType type = FileType::kLock;
  uint64_t number = 0;
  const bool is_log = ParseFileName(name, &type, &number) &&
                      (type == FileType::kLog || type == FileType::kManifest);
  return is_log ? std::optional(number) : std::nullopt;
}

absl::StatusOr<uint64_t> LogNumber(const std::string& path) {
  const absl::StatusOr<LogIdentity> identity = ReadLogIdentity(*PosixFileSystem(), path);
  if (identity.ok()) return identity->number;
  const std::optional<uint64_t> in_name = NumberInName(path);
  if (!absl::IsDataLoss(identity.status()) || !in_name.has_value()) return identity.status();
  return *in_name;
}

absl::StatusOr<std::unique_ptr<LogReader>> OpenLog(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const uint64_t number, LogNumber(path));
  return LogReader::Open(*PosixFileSystem(), path, number, LogRecoveryMode::kPointInTime);
}

std::string DescribeLogEnd(const LogEnd& end) {
  switch (end.kind) {
    case LogEnd::Kind::kCleanClose:
      return "closed cleanly";
    case LogEnd::Kind::kUnclosed:
      return "not closed: open now, or its process was killed";
    case LogEnd::Kind::kTornTail:
      return absl::StrCat("torn last record at offset ", end.offset, ": ", end.reason);
    case LogEnd::Kind::kDamaged:
      break;
  }
  return absl::StrCat("damaged at offset ", end.offset, ": ", end.reason, "; ", end.bytes_dropped,
                      " bytes from there on are not read",
                      end.valid_records_follow ? ", intact records among them" : "");
}

absl::Status ForEachRecord(
    LogReader& log, const std::string& path,
    const std::function<absl::StatusOr<bool>(std::string_view, uint64_t)>& visit) {
  std::string_view payload;
  uint64_t offset = 0;
  for (;;) {
    WINNOW_ASSIGN_OR_RETURN(const bool has_record, log.Read(&payload, &offset));
    if (!has_record) return absl::OkStatus();
    const absl::StatusOr<bool> more = visit(payload, offset);
    if (!more.ok()) return WithContext(more.status(), absl::StrCat(path, ": at offset ", offset));
    if (!*more) return absl::OkStatus();
  }
}

namespace {

// ", database ID" as the header says it; nothing if that is damaged.
std::string DatabaseOf(const std::string& path) {
  const absl::StatusOr<LogIdentity> identity = ReadLogIdentity(*PosixFileSystem(), path);
  if (!identity.ok()) return "";
  return absl::StrCat(", database ", absl::Hex(identity->database, absl::kZeroPad16));
}

struct OpenedLog {
  std::string path;
  std::unique_ptr<LogReader> reader;
};

// All of them, and only then are they read: what is open stays readable. Those that are gone before
// they are opened are looked for again, since there are others instead.
absl::StatusOr<std::vector<OpenedLog>> OpenLogsToShow(const Arguments& arguments, FileType type) {
  for (int tries = 20;; tries--) {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesToShow(arguments, type));
    std::vector<OpenedLog> logs;
    bool one_is_gone = false;
    for (const std::string& path : paths) {
      absl::StatusOr<std::unique_ptr<LogReader>> log = OpenLog(path);
      if (log.ok()) {
        logs.push_back({path, *std::move(log)});
        continue;
      }
      one_is_gone = absl::IsNotFound(log.status()) && arguments.positionals().empty();
      if (!one_is_gone || tries <= 1) return log.status();
    }
    if (!one_is_gone) return logs;
  }
}

}  // namespace

absl::Status PrintLogs(const Arguments& arguments, FileType type, Output& output,
                       const std::function<absl::Status(std::string_view, uint64_t)>& print) {
  const bool json = arguments.Has("json");
  WINNOW_ASSIGN_OR_RETURN(const std::vector<OpenedLog> logs, OpenLogsToShow(arguments, type));
  for (const auto& [path, log] : logs) {
    if (!json) output.Line(absl::StrCat(path, ": ", log->file_size(), " bytes", DatabaseOf(path)));
    const auto print_record = [&](std::string_view payload,
                                  uint64_t offset) -> absl::StatusOr<bool> {
      WINNOW_RETURN_IF_ERROR(print(payload, offset));
      return output.ok();
    };
    WINNOW_RETURN_IF_ERROR(ForEachRecord(*log, path, print_record));
    if (output.ok()) PrintLogEnd(log->end(), json, output);
  }
  return absl::OkStatus();
}

std::string_view EntryTypeName(EntryType type) {
  switch (type) {
    case EntryType::kPut:
    case EntryType::kPutWithTime:
      return "put";
    case EntryType::kDelete:
      return "delete";
    case EntryType::kMerge:
      return "merge";
    case EntryType::kRangeDelete:
      return "delete_range";
    default:
      return "unknown";
  }
}

}  // namespace winnow::cli
