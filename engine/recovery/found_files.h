// What lies in the directory of a database under repair, taken for what it says of itself.
#ifndef WINNOW_ENGINE_RECOVERY_FOUND_FILES_H_
#define WINNOW_ENGINE_RECOVERY_FOUND_FILES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/database_mutex.h"
#include "engine/log/log_format.h"
#include "engine/sstable/sstable_frame.h"
#include "engine/version/version_edit.h"
#include "winnow/file_system.h"

namespace winnow {

struct FoundManifest {
  std::string name;
  bool is_current = false;  // CURRENT names it
  VersionEdit state;        // as far as it can be read
  absl::Status damage;      // behind that
};

struct FoundSstable {
  std::string name;
  // That of the name; 0 if a table in use cannot have this name.
  uint64_t number = 0;
  bool was_orphaned = false;  // NNNNNN.sst.orphan: an opening in mode salvage did not know it
  SstableFrame frame;
  absl::Status unreadable;  // why `frame` is empty
};

struct FoundLog {
  std::string path;
  bool was_set_aside = false;   // by an earlier opening or repair: it is not replayed
  std::set<uint32_t> families;  // that its batches name
};

class FoundFiles {
 public:
  FoundFiles(FileSystem* file_system, std::string path)
      : file_system_(*file_system), path_(std::move(path)) {}

  // Names alone; NotFound if none is a database's. Then, with nobody else at the files, contents:
  // manifests, in the order of preference of their damage; SSTables, whose identities they name;
  // logs.
  absl::Status List();
  absl::Status ReadManifests(DatabaseMutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status ReadSstables();
  absl::Status ReadLogHeaders();

  // The manifest of this database that knows most of its history; null if none can be read.
  const FoundManifest* BestManifest() const;
  // That which most logs name as their database; 0: none says.
  uint64_t CommonestDatabaseOfLogs() const;
  // Logs that say that they belong to another database count no more.
  void LeaveOutLogsExceptOf(uint64_t database);
  // Logs of smaller numbers have been replayed, whether a manifest says so or not; 0: nobody knows.
  absl::StatusOr<uint64_t> FirstLogOfLastOpening() const;
  // Those of this database, set aside or in lost/ as well; each is read to its end.
  absl::StatusOr<std::vector<FoundLog>> ReadLogs(uint64_t database) const;
  // The hash seed, of those that the tables have, that most entries were hashed with; 0: no table
  // says. All tables of one database have the same.
  uint64_t CommonestSeed() const;

  const std::vector<FoundSstable>& tables() const { return tables_; }
  const std::vector<std::string>& manifest_names() const { return manifest_names_; }
  const std::vector<std::string>& filter_file_names() const { return filter_file_names_; }
  const std::set<uint64_t>& logs() const { return logs_; }
  // The numbers that they have by their content, as LogReplay takes them: files may be misnamed.
  std::set<uint64_t> OwnNumbersOfLogs() const;
  uint64_t next_file_number() const { return next_file_number_; }
  // What is wrong with CURRENT and the manifests.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  absl::Status ReadManifest(DatabaseMutex* mutex, const std::string& name, bool is_current)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  struct LogEnds {
    bool begins_anew = false;  // it follows no other log
    bool has_batches = false;
    bool was_closed = false;
  };
  absl::StatusOr<LogEnds> EndsOf(uint64_t log) const;
  // Of the log that `path` names with this number, or else of the one that it says it is.
  absl::StatusOr<std::set<uint32_t>> FamiliesIn(const std::string& path,
                                                const LogIdentity& identity) const;
  bool IsOfThisDatabase(const VersionEdit& state) const;
  // Those that manifests name, the ones of this number first.
  std::vector<KnownSstable> KnownSstables(uint64_t number) const;
  // What the manifests say of a table that was ingested.
  SequenceNumber GlobalSequenceOf(const FoundSstable& table) const;
  absl::Status ReadFrame(FoundSstable* table) const;

  FileSystem& file_system_;
  const std::string path_;
  std::vector<std::string> manifest_names_;
  std::vector<std::string> filter_file_names_;
  std::vector<FoundManifest> manifests_;
  std::vector<FoundSstable> tables_;
  std::set<uint64_t> logs_;
  std::map<uint64_t, uint64_t> log_databases_;  // of those whose header is sound
  std::map<uint64_t, uint64_t> misnamed_logs_;  // number in the name -> the log's own
  uint64_t next_file_number_ = 1;
  std::vector<std::string> notes_;
};

// Of the SSTables that the state lists, in whatever family.
std::set<uint64_t> ListedIdentities(const VersionEdit& state);

// Errors that say nothing about the file: a comparator that is not in the options, a newer format,
// no memory, no descriptors, no permission. What they would make of a sound file is a loss.
bool MustEndRepair(const absl::Status& status);

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_FOUND_FILES_H_
