// Opening a database: create or recover it, and replay its logs.
#ifndef WINNOW_ENGINE_DB_DATABASE_OPENER_H_
#define WINNOW_ENGINE_DB_DATABASE_OPENER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/database_mutex.h"
#include "engine/column_family/column_family_set.h"
#include "engine/version/version_set.h"
#include "engine/write/log_set.h"
#include "engine/write/write_leader.h"
#include "engine/write/write_queue.h"
#include "winnow/options.h"

namespace winnow {

// What opening fills; all of it outlives the opener, and nobody else uses it yet.
struct DatabaseOpenerParts {
  const Options* options = nullptr;
  std::string path;
  FileSystem* file_system = nullptr;
  DatabaseMutex* mutex = nullptr;
  WriteQueue* queue = nullptr;
  VersionSet* versions = nullptr;
  LogSet* logs = nullptr;
  ColumnFamilySet* families = nullptr;
  WriteLeader* leader = nullptr;
  // Called once the families are there, and before anything is written; may refuse the opening
  // where its filter_memory_budget is not the recorded one.
  std::function<absl::Status(bool is_new_budget)> plan_filters;
  MissingFilterFile missing_filter_file = MissingFilterFile::kIsDoneWithout;
};

// Used once. Invariant: until the new manifest is durable, the last step but one, another crash
// finds every file that it needs where it was.
class DatabaseOpener {
 public:
  explicit DatabaseOpener(const DatabaseOpenerParts& parts) : parts_(parts) {}

  // Takes the database's lock file (unless it is opened read-only), reads or creates the manifest,
  // replays the logs into SSTables, begins a log and a manifest, and removes what nothing needs any
  // more. On an error the database is as it was, but for what the next opening will remove.
  absl::Status Open() ABSL_LOCKS_EXCLUDED(database_mutex);

  // After Open: the lock on the directory; null if it is open read-only.
  std::unique_ptr<FileLock> TakeLock() { return std::move(lock_); }
  // What was lost or skipped, a sentence each; empty after a clean recovery.
  const std::vector<std::string>& notes() const { return notes_; }
  // Those of them that tell of damage or lost writes.
  const std::vector<std::string>& losses() const { return losses_; }

 private:
  // Whether there is a database already; an error if it may not be opened, or not be created.
  absl::Status LookAtDirectory(bool* exists);
  // Likewise, under the lock, which it takes.
  absl::Status LockDirectory(bool* exists);
  // Before that: creates the directory for a new database.
  absl::Status PrepareDirectory(bool* exists);
  absl::Status ReadOrCreateState(bool exists) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status AddFamilies()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status AddFamily(const FamilyRecord& record, const ColumnFamilyOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  // Puts the operator that merges for the family into its options; notes one to be recorded.
  absl::Status ChooseMergeOperator(const FamilyRecord& record, ColumnFamilyOptions* options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  const ColumnFamilyOptions& OptionsForFamily(std::string_view name) const;
  absl::Status ReplayLogs()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status StartWriting()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  // All tables and manifests that are not in use are renamed, and not removed.
  bool KeepsOrphans() const;
  void RemoveOrphans() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Before the logs that are no longer needed go.
  void KeepLogsOfUnopenedSstables(const std::vector<std::string>& names)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  const DatabaseOpenerParts parts_;
  std::unique_ptr<FileLock> lock_;
  OptionTexts inherited_texts_;  // of families that the options do not name
  std::vector<std::string> notes_;
  std::vector<std::string> losses_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DATABASE_OPENER_H_
