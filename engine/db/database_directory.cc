// Looking at a directory without the lock of its database.
//
// Whoever looks so may see any state between two steps of a process that writes, creates or
// destroys there. So what is seen is looked at again: under the lock by DatabaseOpener, and by
// ReadBesideWriter where no lock is taken.
#include "engine/db/database_directory.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "engine/base/status.h"
#include "engine/file_system/directory_for_file.h"
#include "engine/file_system/durable_files.h"
#include "engine/log/log_reader.h"
#include "engine/version/file_names.h"
#include "engine/version/foreign_database.h"
#include "engine/write/log_set.h"

namespace winnow {

namespace {

// A busy writer replaces files again and again, but not as often as that in a row.
constexpr int kReadTries = 50;

// Names of all files, and sizes of those that grow: what changes if somebody writes.
std::vector<std::pair<std::string, uint64_t>> ShapeOf(FileSystem& file_system,
                                                      const std::string& path) {
  std::vector<std::pair<std::string, uint64_t>> shape;
  const auto names = file_system.List(path);
  if (!names.ok()) return shape;
  for (const std::string& name : *names) {
    const bool grows = !name.ends_with(".sst");
    shape.emplace_back(name,
                       grows ? file_system.FileSize(absl::StrCat(path, "/", name)).value_or(0) : 0);
  }
  std::sort(shape.begin(), shape.end());
  return shape;
}

// True if something was written to this log, or that cannot be excluded.
// The log's start record alone is what a crash leaves while a database is being created.
absl::StatusOr<bool> LogHoldsWrites(FileSystem& file_system, const std::string& path,
                                    uint64_t number) {
  WINNOW_ASSIGN_OR_RETURN(
      const auto reader, LogReader::Open(file_system, path, number, LogRecoveryMode::kPointInTime));
  for (;;) {
    std::string_view payload;
    WINNOW_ASSIGN_OR_RETURN(const bool more, reader->Read(&payload));
    if (!more) return reader->end().kind == LogEnd::Kind::kDamaged;
    if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kLogStart)) return true;
  }
}

}  // namespace

// CURRENT is what makes a directory a database: it is written last when one is created, and removed
// first when one is destroyed.
absl::Status CheckIsDatabase(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (exists) {
    WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(path));
    if (!is_directory) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is a file, not a directory"));
    }
    // LevelDB and RocksDB have a CURRENT too.
    WINNOW_RETURN_IF_ERROR(RefuseForeignDatabase(file_system, path));
    WINNOW_ASSIGN_OR_RETURN(const bool has_current, file_system.Exists(CurrentFileName(path)));
    if (has_current) return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(path, " holds no Winnow database"));
}

// By its text alone: where a symbolic link in it leads may change, as it may for every call.
absl::StatusOr<std::string> LastingPath(const Options& options, const std::string& path) {
  if (options.file_system != nullptr) return path;
  // Of which the system would see the part before it, and make a directory there.
  if (path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("a path with a zero byte: ", absl::CHexEscape(path)));
  }
  if (path.starts_with('/')) return path;
  std::error_code error;
  const std::filesystem::path working_directory = std::filesystem::current_path(error);
  if (!error) return (working_directory / path).string();
  return absl::UnavailableError(absl::StrCat(path, ": working directory: ", error.message()));
}

absl::Status CheckNewFile(FileSystem& file_system, const std::string& path) {
  // Create would cut what is there.
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (exists) return absl::AlreadyExistsError(absl::StrCat(path, " exists"));
  return CheckIsNoFileOfDatabase(file_system, path);
}

absl::Status CheckIsNoFileOfDatabase(FileSystem& file_system, const std::string& path) {
  // An opening removes files of its database's names that no manifest knows.
  FileType type;
  uint64_t number;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (!ParseFileName(name, &type, &number)) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool is_in_database,
                          file_system.Exists(CurrentFileName(ParentDirectory(path))));
  if (!is_in_database) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is a name of the files of the database in this directory, which would remove it"));
}

// A table is proof enough; a log must be looked into. Tables are reported first, as the surer sign.
absl::Status CheckNothingWouldBeBuried(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (!exists) return absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> names = file_system.List(path);
  // Who destroys a database meanwhile leaves nothing to be buried.
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  std::string log_with_writes;
  for (const std::string& name : *names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number)) continue;
    if (IsDirectoryForFile(file_system, absl::StrCat(path, "/", name))) continue;
    if (type == FileType::kSstable) {
      return CorruptionError(
          CurrentFileName(path),
          absl::StrCat("is missing, but there are SSTables (", name, " among them)"));
    }
    if (type != FileType::kLog) continue;
    const absl::StatusOr<bool> has_writes =
        LogHoldsWrites(file_system, absl::StrCat(path, "/", name), number);
    // It has gone since the listing: whoever removed it knew that it was not needed.
    if (absl::IsNotFound(has_writes.status())) continue;
    if (!has_writes.ok()) return has_writes.status();
    if (*has_writes) log_with_writes = name;
  }
  if (!log_with_writes.empty()) {
    return CorruptionError(CurrentFileName(path),
                           absl::StrCat("is missing, but ", log_with_writes, " holds writes"));
  }
  return absl::OkStatus();
}

// Damage stays, and so does what is not there. What a writer has replaced meanwhile is found by the
// next try.
absl::Status ReadBesideWriter(FileSystem& file_system, const std::string& path,
                              absl::FunctionRef<absl::Status()> read) {
  // The shape is taken before and after: an error while nothing has changed is no writer's doing,
  // and final.
  for (int tries = kReadTries;; tries--) {
    const auto shape = ShapeOf(file_system, path);
    const absl::Status status = read();
    if (status.ok() || tries <= 1 || !(absl::IsDataLoss(status) || absl::IsNotFound(status)) ||
        ShapeOf(file_system, path) == shape) {
      return status;
    }
  }
}

}  // namespace winnow
