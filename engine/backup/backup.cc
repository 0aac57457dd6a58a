// Backups (winnow/backup.h). FORMAT.md specifies the file BACKUP.
#include "winnow/backup.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "engine/backup/claimed_directory.h"
#include "engine/backup/write_backup.h"
#include "engine/base/checksum.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/file_system/file_system_of.h"
#include "engine/sstable/filter_file.h"
#include "engine/version/file_names.h"
#include "engine/version/foreign_database.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

constexpr char kListName[] = "BACKUP";
constexpr char kLockName[] = "LOCK";
constexpr std::string_view kFirstLine = "winnow backup 1";
// Some millions of files; whatever is larger is no list, and is not read into memory.
constexpr uint64_t kLargestList = uint64_t{256} << 20;

struct BackedUpFile {
  uint64_t bytes = 0;
  uint64_t checksum = 0;
  uint64_t file_id = 0;  // tables and filter files only
};

struct BackupList {
  int64_t created_seconds = 0;
  std::map<std::string, BackedUpFile> files;

  std::string Encode() const {
    std::string text = absl::StrCat(ToAbsl(kFirstLine), "\ncreated ", created_seconds, "\n");
    for (const auto& [name, file] : files) {
      absl::StrAppend(&text, "file ", name, " ", file.bytes, " ", AllHexDigits(file.checksum), " ",
                      AllHexDigits(file.file_id), "\n");
    }
    absl::StrAppend(&text, "end ", AllHexDigits(Checksum(text, 0)), "\n");
    return text;
  }
};

// Six digits at least, so that listings sort; BackupIds asks for as many.
std::string DirectoryOf(const std::string& backups, uint64_t id) {
  return absl::StrCat(backups, "/", SixDigits(id));
}

absl::StatusOr<BackupList> DecodeList(const std::string& path, const std::string& text) {
  // The checksum comes before everything else, whatever the version: only lines that are what was
  // written are worth an opinion. A list that was cut short has no last line and fails here.
  const size_t end = text.rfind("end ");
  if (end == std::string::npos ||
      text.substr(end) !=
          absl::StrCat("end ", AllHexDigits(Checksum(std::string_view(text).substr(0, end), 0)),
                       "\n")) {
    return CorruptionError(path, "its checksum does not match");
  }
  const std::vector<std::string> lines = absl::StrSplit(text.substr(0, end), '\n');
  BackupList list;
  if (lines.size() < 2 || lines[0] != kFirstLine ||
      !absl::SimpleAtoi(absl::StripPrefix(lines[1], "created "), &list.created_seconds)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": not a list of a backup that this version can read"));
  }
  for (size_t i = 2; i < lines.size() && !lines[i].empty(); i++) {
    const std::vector<std::string> words = absl::StrSplit(lines[i], ' ');
    BackedUpFile file;
    FileType type;
    uint64_t number;
    // A name is joined to paths: only those of a database's own files are taken, none with a slash.
    if (words.size() != 5 || words[0] != "file" || !ParseFileName(words[1], &type, &number) ||
        !absl::SimpleAtoi(words[2], &file.bytes) ||
        !absl::SimpleHexAtoi(words[3], &file.checksum) ||
        !absl::SimpleHexAtoi(words[4], &file.file_id)) {
      return CorruptionError(path, absl::StrCat("line ", i + 1, " is malformed"));
    }
    list.files[words[1]] = file;
  }
  return list;
}

// NotFound if the backup was never finished.
absl::StatusOr<BackupList> ReadList(FileSystem& file_system, const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kListName);
  WINNOW_ASSIGN_OR_RETURN(const std::string text, ReadFile(file_system, path, kLargestList));
  return DecodeList(path, text);
}

// Numbers of all directories that are or were to become backups, ascending.
absl::StatusOr<std::vector<uint64_t>> BackupIds(FileSystem& file_system,
                                                const std::string& backups) {
  WINNOW_ASSIGN_OR_RETURN(const auto names, file_system.List(backups));
  std::vector<uint64_t> ids;
  for (const std::string& name : names) {
    uint64_t id;
    // Other names (LOCK, what users put there) are not looked at.
    if (name.size() >= 6 && absl::SimpleAtoi(name, &id) && id > 0) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

BackupInfo InfoOf(uint64_t id, const BackupList& list) {
  BackupInfo info;
  info.id = id;
  info.created_seconds = list.created_seconds;
  info.num_files = list.files.size();
  for (const auto& [name, file] : list.files) info.bytes += file.bytes;
  return info;
}

absl::Status NoBackup(const std::string& backups, uint64_t id) {
  return absl::NotFoundError(id == 0 ? absl::StrCat("there is no backup in ", backups)
                                     : absl::StrCat("there is no backup ", id, " in ", backups));
}

// The list of backup `*id`; of the newest, whose number `*id` becomes, if that is 0.
absl::StatusOr<BackupList> FindBackup(FileSystem& file_system, const std::string& backups,
                                      uint64_t* id) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(backups));
  std::vector<uint64_t> ids;
  if (exists) {
    WINNOW_ASSIGN_OR_RETURN(ids, BackupIds(file_system, backups));
  }
  for (auto candidate = ids.rbegin(); candidate != ids.rend(); ++candidate) {
    if (*id != 0 && *candidate != *id) continue;
    absl::StatusOr<BackupList> list = ReadList(file_system, DirectoryOf(backups, *candidate));
    // A directory without a list is what an interrupted backup leaves. A damaged list is an error
    // and not passed over: an older backup must not be restored in place of the newest unnoticed.
    if (absl::IsNotFound(list.status())) continue;
    *id = *candidate;
    return list;
  }
  return NoBackup(backups, *id);
}

// Whether the file of an earlier backup still is what was copied there: whoever shares it relies on
// that. False where it cannot be read.
absl::StatusOr<bool> IsAsBackedUp(FileSystem& file_system, const std::string& path,
                                  const BackedUpFile& file) {
  const absl::StatusOr<uint64_t> bytes = file_system.FileSize(path);
  if (!bytes.ok() || *bytes != file.bytes) return false;
  const absl::StatusOr<uint64_t> checksum = ChainedChecksum(file_system, path);
  if (absl::IsResourceExhausted(checksum.status())) return checksum.status();
  return checksum.ok() && *checksum == file.checksum;
}

absl::Status CopyBackup(FileSystem& file_system, const std::string& from, const std::string& to,
                        const BackupList& list) {
  // CURRENT gets its name last, once everything is durable: before that there is no database.
  const std::string current = absl::StrCat(to, "/CURRENT");
  const std::string temporary = current + ".tmp";
  for (const auto& [name, file] : list.files) {
    const std::string source = absl::StrCat(from, "/", name);
    const std::string target = name == "CURRENT" ? temporary : absl::StrCat(to, "/", name);
    // The checksum is that of the bytes on their way, so that a backup is read only once.
    WINNOW_ASSIGN_OR_RETURN(const uint64_t checksum, CopyFile(file_system, source, target));
    if (checksum != file.checksum) {
      return CorruptionError(source, "is not what was backed up: its checksum does not match");
    }
  }
  WINNOW_RETURN_IF_ERROR(file_system.SyncDirectory(to));
  WINNOW_RETURN_IF_ERROR(file_system.Rename(temporary, current));
  return file_system.SyncDirectory(to);
}

// Reads the copy of a filter file, likewise.
absl::Status CheckFilterCopy(FileSystem& file_system, const SstableFile& table,
                             const std::string& from, const std::string& copy) {
  WINNOW_ASSIGN_OR_RETURN(auto file, file_system.OpenRandomAccess(copy));
  const FileMetadata& metadata = table.metadata();
  WINNOW_ASSIGN_OR_RETURN(
      const auto filter_file,
      FilterFile::Open(std::move(file), from, metadata.filter_file.file_id, metadata.file_id));
  for (const SstableProblem& problem : filter_file->Verify()) return problem.ToStatus(from);
  return absl::OkStatus();
}

// Reads the copy of a table: what is damaged must not take the place of an older, sound backup.
absl::Status CheckCopy(FileSystem& file_system, const SstableFile& table, const std::string& from,
                       const std::string& copy) {
  // The database itself cannot read it: better no new backup than one that hides this.
  if (table.reader() == nullptr) return table.open_status();
  WINNOW_ASSIGN_OR_RETURN(auto file, file_system.OpenRandomAccess(copy));
  SstableReaderOptions options;
  options.comparator = table.reader()->comparator();
  options.expected_file_id = table.metadata().file_id;
  // Messages name the database's file, where the damage is likely to be: the copy is removed.
  WINNOW_ASSIGN_OR_RETURN(const auto reader, SstableReader::Open(options, std::move(file), from));
  for (const SstableProblem& problem : reader->Verify()) {
    if (problem.is_damage) return problem.ToStatus(from);
    return absl::ResourceExhaustedError(absl::StrCat(copy, ": ", problem.reason));
  }
  return absl::OkStatus();
}

// Writes the list of what was copied to `directory`, which makes a backup of it. `list` has the
// tables.
absl::Status FinishList(FileSystem& file_system, const std::string& directory,
                        const CheckpointContents& contents, BackupList* list) {
  WINNOW_ASSIGN_OR_RETURN(const auto names, file_system.List(directory));
  // What is not a table: the logs, the manifest and CURRENT.
  for (const std::string& name : names) {
    if (list->files.contains(name) || name == kLockName) continue;
    const std::string path = absl::StrCat(directory, "/", name);
    BackedUpFile& file = list->files[name];
    WINNOW_ASSIGN_OR_RETURN(file.bytes, file_system.FileSize(path));
    FileType type;
    uint64_t number;
    if (ParseFileName(name, &type, &number) && type == FileType::kLog) {
      // Of what was read from the database: it need not be read again, and a copy that went wrong
      // does not agree with it.
      file.checksum = contents.log_checksums.at(number);
    } else {
      WINNOW_ASSIGN_OR_RETURN(file.checksum, ChainedChecksum(file_system, path));
    }
  }
  // The commit point: whatever ends the work before this leaves a directory that is no backup.
  return WriteFileAtomically(file_system, absl::StrCat(directory, "/", kListName), list->Encode());
}

absl::StatusOr<std::vector<BackupInfo>> FindBackups(FileSystem& file_system,
                                                    const std::string& backups) {
  WINNOW_ASSIGN_OR_RETURN(const auto ids, BackupIds(file_system, backups));
  std::vector<BackupInfo> found;
  for (const uint64_t id : ids) {
    const absl::StatusOr<BackupList> list = ReadList(file_system, DirectoryOf(backups, id));
    if (absl::IsNotFound(list.status())) continue;  // not finished
    if (absl::IsResourceExhausted(list.status())) return list.status();
    BackupInfo& info = found.emplace_back(list.ok() ? InfoOf(id, *list) : BackupInfo());
    info.id = id;
    info.status = list.status();
  }
  return found;
}

absl::StatusOr<std::vector<VerifyProblem>> CheckBackup(FileSystem& file_system,
                                                       const std::string& backups, uint64_t id) {
  WINNOW_ASSIGN_OR_RETURN(const BackupList list, FindBackup(file_system, backups, &id));
  std::vector<VerifyProblem> problems;
  for (const auto& [name, file] : list.files) {
    const std::string path = absl::StrCat(DirectoryOf(backups, id), "/", name);
    // All files are read even after the first that is wrong: the report says what can be saved. A
    // file that an earlier backup shares is the same file there, and its damage counts for both.
    const absl::StatusOr<uint64_t> checksum = ChainedChecksum(file_system, path);
    if (!checksum.ok()) {
      problems.push_back({path, std::nullopt, MissingIsDamage(checksum.status())});
    } else if (*checksum != file.checksum) {
      problems.push_back(
          {path, std::nullopt,
           CorruptionError(path, "is not what was backed up: its checksum differs")});
    }
  }
  return problems;
}

absl::Status Restore(FileSystem& file_system, const std::string& backups, uint64_t id,
                     const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const BackupList list, FindBackup(file_system, backups, &id));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> claim, ClaimDirectory(file_system, path));
  absl::Status status = CatchOutOfMemory(
      [&] { return CopyBackup(file_system, DirectoryOf(backups, id), path, list); });
  // Nothing of the user's: the directory was missing or empty before.
  if (!status.ok()) RemoveFilesIn(file_system, path);
  ReleaseDirectory(file_system, path, std::move(claim));
  return status;
}

}  // namespace

absl::StatusOr<std::vector<BackupInfo>> ListBackups(const Options& options,
                                                    const std::string& backup_directory) {
  return CatchOutOfMemory([&] { return FindBackups(*FileSystemOf(options), backup_directory); });
}

absl::StatusOr<std::vector<VerifyProblem>> VerifyBackup(const Options& options,
                                                        const std::string& backup_directory,
                                                        uint64_t id) {
  return CatchOutOfMemory(
      [&] { return CheckBackup(*FileSystemOf(options), backup_directory, id); });
}

absl::Status RestoreBackup(const Options& options, const std::string& backup_directory, uint64_t id,
                           const std::string& path) {
  return CatchOutOfMemory(
      [&] { return Restore(*FileSystemOf(options), backup_directory, id, path); });
}

absl::StatusOr<BackupInfo> WriteBackup(FileSystem& file_system, const std::string& backup_directory,
                                       const CopyDatabaseTo& copy_database_to) {
  WINNOW_RETURN_IF_ERROR(RefuseForeignDatabase(file_system, backup_directory));
  WINNOW_RETURN_IF_ERROR(CreateDirectoryDurably(file_system, backup_directory));
  WINNOW_ASSIGN_OR_RETURN(const bool is_database,
                          file_system.Exists(CurrentFileName(backup_directory)));
  if (is_database) {
    return absl::InvalidArgumentError(absl::StrCat(
        backup_directory, " is the directory of a database; backups need one of their own"));
  }
  // One backup at a time, also from several processes.
  WINNOW_ASSIGN_OR_RETURN(const auto lock, file_system.Lock(backup_directory + "/LOCK"));
  WINNOW_ASSIGN_OR_RETURN(const auto ids, BackupIds(file_system, backup_directory));
  // Directories that were never finished count, so that no number is given twice and none of their
  // files get into this one.
  const uint64_t id = ids.empty() ? 1 : ids.back() + 1;
  uint64_t previous_id = 0;
  // Only the newest is compared: it shares its files with those before it anyway.
  absl::StatusOr<BackupList> previous = FindBackup(file_system, backup_directory, &previous_id);
  if (!previous.ok()) previous = BackupList();  // none, or not one to build on

  const std::string directory = DirectoryOf(backup_directory, id);
  BackupList list;
  list.created_seconds = static_cast<int64_t>(std::time(nullptr));
  uint64_t shared_bytes = 0;
  const auto place_sstable = [&](const SstableFile& table, FileType type, const std::string& from,
                                 const std::string& to) -> absl::Status {
    const std::string name = to.substr(directory.size() + 1);
    BackedUpFile& file = list.files[name];
    const FileMetadata& metadata = table.metadata();
    file = type == FileType::kFilterFile
               ? BackedUpFile{metadata.filter_file.file_bytes, 0, metadata.filter_file.file_id}
               : BackedUpFile{metadata.file_bytes, 0, metadata.file_id};
    // The number alone does not make it the same table: a database that was restored from an older
    // backup gives numbers again that a newer backup has. The identity does.
    const auto known = previous->files.find(name);
    const std::string shared = absl::StrCat(DirectoryOf(backup_directory, previous_id), "/", name);
    bool is_shared = known != previous->files.end() && known->second.file_id == file.file_id &&
                     known->second.bytes == file.bytes;
    // A link takes no space and shares the file's fate. What has been damaged since it was copied
    // is copied again, from the database, which is read for that; this one keeps its damage, which
    // VerifyBackup names.
    if (is_shared) {
      WINNOW_ASSIGN_OR_RETURN(is_shared, IsAsBackedUp(file_system, shared, known->second));
    }
    if (is_shared) {
      absl::Status linked = file_system.Link(shared, to);
      file.checksum = known->second.checksum;
      if (linked.ok()) shared_bytes += file.bytes;
      if (!absl::IsUnimplemented(linked)) return linked;
    }
    WINNOW_ASSIGN_OR_RETURN(file.checksum, CopyFile(file_system, from, to));
    return type == FileType::kFilterFile ? CheckFilterCopy(file_system, table, from, to)
                                         : CheckCopy(file_system, table, from, to);
  };
  CheckpointContents contents;
  // On an error WriteCheckpoint has removed the directory. After a crash it stays, without a list,
  // and is never taken for a backup.
  WINNOW_RETURN_IF_ERROR(copy_database_to(directory, place_sstable, &contents));

  const absl::Status listed =
      CatchOutOfMemory([&] { return FinishList(file_system, directory, contents, &list); });
  if (!listed.ok()) {
    RemoveFilesIn(file_system, directory);  // the directory stays: its number is used up
    return listed;
  }
  BackupInfo info = InfoOf(id, list);
  info.new_bytes = info.bytes - shared_bytes;
  return info;
}

}  // namespace winnow
