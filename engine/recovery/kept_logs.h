// Logs that one column family has kept alive, and what they hold of the others.
#ifndef WINNOW_ENGINE_RECOVERY_KEPT_LOGS_H_
#define WINNOW_ENGINE_RECOVERY_KEPT_LOGS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "winnow/file_system.h"

namespace winnow {

// Entries that a family's SSTables have, and logs hold as well, are rescued from there when a table
// is lost. To replay them is right where the logs hold the newest version of every key that they
// name, since what is replayed lies above all tables and hides them: so the logs that count are a
// suffix of all that was written, without a hole, and with every sequence number. A number that is
// missing in them was given to what was ingested or written without log, which may be the newer.
// An operand that some table has merged already would count twice.
class KeptLogs {
 public:
  // `logs`: those of the database that are there; `recorded_sequence`: the last that its manifest
  // knows. Neither is looked at before the first question.
  KeptLogs(FileSystem* file_system, std::string directory, const std::set<uint64_t>& logs,
           uint64_t database, SequenceNumber recorded_sequence)
      : file_system_(*file_system),
        directory_(std::move(directory)),
        logs_(logs),
        database_(database),
        recorded_sequence_(recorded_sequence) {}

  struct OfFamily {
    uint64_t first_log = 0;              // where to begin to replay; 0: nothing can be
    uint64_t entries = 0;                // from there to the first log that is replayed anyway
    std::vector<uint64_t> not_replayed;  // logs with entries of the family, or that cannot be read
  };
  // Of a family that needs the logs from `log_number` on; those before `oldest_log` are not
  // replayed. Errors: those that say nothing of the files.
  absl::StatusOr<OfFamily> Find(uint32_t family_id, uint64_t log_number, uint64_t oldest_log);

  // Do the logs from `first_log` on hold every write from `smallest` to `largest`?
  absl::StatusOr<bool> Hold(uint64_t first_log, SequenceNumber smallest, SequenceNumber largest);

 private:
  struct Entries {
    uint64_t count = 0;
    bool has_operands = false;
  };
  struct Log {
    bool is_sound = false;
    uint64_t records = 0;
    uint64_t previous_log = 0;
    uint64_t previous_records = 0;
    SequenceNumber first_sequence = 0;  // 0: it holds no batch
    SequenceNumber last_sequence = 0;
    std::map<uint32_t, Entries> families;
  };

  absl::Status ReadAll();
  absl::StatusOr<Log> Read(uint64_t number) const;
  static bool AddBatches(std::string_view payload, Log* log);
  // The first log of the longest suffix of all writes; UINT64_MAX: there is none.
  uint64_t FirstOfSuffix() const;

  FileSystem& file_system_;
  const std::string directory_;
  const std::set<uint64_t>& logs_;
  const uint64_t database_;
  const SequenceNumber recorded_sequence_;
  bool has_read_ = false;
  std::map<uint64_t, Log> read_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_KEPT_LOGS_H_
