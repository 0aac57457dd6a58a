#include "tools/winnow/store_files.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/log/log_format.h"
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
    if (ParseFileName(name, &file_type, &number) && file_type == type) {
      numbered.emplace_back(number, absl::StrCat(directory, "/", name));
    }
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

absl::StatusOr<std::unique_ptr<SstableReader>> OpenSstable(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file,
                          PosixFileSystem()->OpenRandomAccess(path));
  return SstableReader::Open(SstableReaderOptions(), std::move(file), path);
}

absl::StatusOr<std::unique_ptr<LogReader>> OpenLog(const std::string& path) {
  FileSystem& file_system = *PosixFileSystem();
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file,
                          file_system.OpenRandomAccess(path));
  std::string header(kLogFileHeaderBytes, '\0');
  WINNOW_ASSIGN_OR_RETURN(const size_t header_bytes, file->Read(0, header.size(), header.data()));
  header.resize(header_bytes);
  absl::StatusOr<uint64_t> log_number = DecodeLogFileHeader(header);
  if (!log_number.ok()) return WithContext(log_number.status(), path);
  return LogReader::Open(file_system, path, *log_number, LogRecoveryMode::kPointInTime);
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

absl::Status PrintLogs(const Arguments& arguments, FileType type, Output& output,
                       const std::function<absl::Status(std::string_view, uint64_t)>& print) {
  const bool json = arguments.Has("json");
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesToShow(arguments, type));
  for (const std::string& path : paths) {
    WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<LogReader> log, OpenLog(path));
    if (!json) output.Line(absl::StrCat(path, ": ", log->file_size(), " bytes"));
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
      return "put";
    case EntryType::kDelete:
      return "delete";
    default:
      return "unknown";
  }
}

}  // namespace winnow::cli
