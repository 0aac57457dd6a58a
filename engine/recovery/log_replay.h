// Recovery: brings what the write-ahead logs hold, and no SSTable does, back into memory.
#ifndef WINNOW_ENGINE_RECOVERY_LOG_REPLAY_H_
#define WINNOW_ENGINE_RECOVERY_LOG_REPLAY_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/column_family/column_family_set.h"
#include "engine/log/log_reader.h"
#include "engine/version/version_set.h"
#include "winnow/options.h"

namespace winnow {

// Used once, while a database is being opened and nothing else runs. What is replayed is always a
// prefix of what was written: it ends at the first damage (or is refused, or skips it, by recovery
// mode) and at the first hole between two logs. Damage in a database that was closed is no trace of
// a crash, and refused in all modes but salvage.
class LogReplay {
 public:
  LogReplay(const Options& options, std::string path, FileSystem* file_system, VersionSet* versions,
            ColumnFamilySet* families) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // True: replayed entries are written to level-0 tables and added to the families' versions (not
  // yet to the manifest). False: they stay in the memtables.
  void set_write_tables(bool write_tables) { write_tables_ = write_tables; }

  absl::Status Run()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);

  SequenceNumber last_sequence() const { return last_sequence_; }
  // What was lost or skipped, a sentence each; empty after a clean recovery.
  const std::vector<std::string>& notes() const { return notes_; }
  // Those of the notes that tell of writes which were not replayed, or of damage.
  const std::vector<std::string>& losses() const { return losses_; }
  // Every log file found: number in its name -> bytes.
  const std::map<uint64_t, uint64_t>& logs() const { return logs_; }

 private:
  absl::Status FindLogs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Salvage: a log under another's name is replayed as the one that it is, or not at all.
  absl::Status MatchLogsByContent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Those that salvage can read of a file that is to be this log.
  absl::StatusOr<uint64_t> CountRecords(const std::string& path, uint64_t number) const;
  // The identity that logs must have; 0, which is any, while the database is created: what an
  // earlier try has left holds no writes, and had another identity.
  uint64_t DatabaseOfLogs() const;
  absl::Status CheckRecordedLogsExist() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status CheckNewestLogExists() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Sets *stop where nothing after this log may be replayed.
  absl::Status ReplayLog(uint64_t number, bool* stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status CheckContinues(uint64_t number, std::string_view payload, bool* hole)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status ApplyBatches(uint64_t log_number, std::string_view payload)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status CheckEnd(uint64_t number, const LogReader& reader, bool is_newest, bool* stop);
  absl::Status CheckDamage(uint64_t number, const LogReader& reader, bool* stop);
  // True if the manifest says that this log was closed: what is wrong with it is damage.
  bool WasClosed(uint64_t number) const;
  // Writes memtables that are full, and the largest where all together are too large.
  absl::Status WriteFullMemtables(ColumnFamilyState* last_grown)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status WriteSstable(ColumnFamilyState* family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status WithWayOut(const absl::Status& status) const;
  void AddLoss(std::string note);
  // Keeps a copy, with this suffix, of a log that holds records which were not replayed.
  absl::Status SetAside(uint64_t number, std::string_view suffix);
  // Keeps a copy in lost/ of a log of which nothing is left to replay.
  absl::Status KeepInLost(const std::string& log);

  const Options& options_;
  const std::string path_;
  FileSystem* const file_system_;
  VersionSet* const versions_;
  ColumnFamilySet* const families_;
  bool write_tables_ = true;

  std::map<uint64_t, uint64_t> logs_;
  std::map<uint64_t, std::string> paths_;  // of what is replayed, by the number of its log
  SequenceNumber last_sequence_ = 0;
  // What the manifest recorded: no file that it knew has this number or a later one.
  const uint64_t first_number_after_close_;
  std::vector<std::string> notes_;
  std::vector<std::string> losses_;
  // Of the log replayed last: its number and its records of batches.
  uint64_t previous_log_ = 0;
  uint64_t previous_records_ = 0;
  // Logs of which salvage has left out whole records, and said so.
  std::set<uint64_t> has_unknown_families_;
  std::set<uint64_t> has_foreign_records_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_LOG_REPLAY_H_
