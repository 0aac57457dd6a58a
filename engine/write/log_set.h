// The write-ahead logs of an open database: the one being written and those before it.
#ifndef WINNOW_ENGINE_WRITE_LOG_SET_H_
#define WINNOW_ENGINE_WRITE_LOG_SET_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/capabilities.h"
#include "engine/file_system/file_in_place.h"
#include "engine/log/log_writer.h"
#include "filter/base/mutex.h"
#include "winnow/file_system.h"

namespace winnow {

// What the payload of a log record is (FORMAT.md, "Log records"); its first byte.
enum class LogPayload : uint8_t {
  kBatches = 1,   // a batch, or several joined into one
  kLogStart = 2,  // first record of a log: what came before it
};

// Written at the start of each log: replay compares it with what it found in the log before, so
// that records that a power failure took from the end of one log, while a later log survived, are
// noticed as a hole.
struct LogStart {
  uint64_t previous_log = 0;      // its number; 0: none
  uint64_t previous_records = 0;  // records of batches in it

  std::string Encode() const;
  static bool Decode(std::string_view payload, LogStart* start);
};

// The newest log belongs to the leader of the write queue; the older ones, which only have to be
// synced and removed, to anybody. Invariant: a log is synced before anything that was appended to a
// later one is, so that what a power failure takes is a suffix of all writes.
class LogSet {
 public:
  LogSet(FileSystem* file_system, std::string directory);

  // Of the database that the logs belong to; before StartNew.
  void set_database_id(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    database_id_ = id;
  }

  // Begins log `number`, whose name is durable after the next SyncNames. Log files that exist from
  // earlier runs are added by AddExisting.
  absl::Status StartNew(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AddExisting(uint64_t number, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // After a failed Append, whose bytes in the file are unknown: syncs what was appended before and
  // gives the newest log up. Nothing may be appended before StartNew.
  absl::Status AbandonCurrent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The next record of the newest log: the caller appends the payload, which begins with its
  // LogPayload byte, to what BeginRecord returns.
  std::string* BeginRecord() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return current_->BeginRecord();
  }
  absl::Status AppendBegunRecord() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  // Makes the logs' names durable, which must be so before a synced write, or a table made of what
  // a log holds, counts on them. ResourceExhausted: nothing has changed, and it may be tried again.
  absl::Status SyncNames() ABSL_LOCKS_EXCLUDED(sync_mutex_);
  // Makes everything appended so far survive a power failure: older logs before the newest, so that
  // no later write can survive an earlier one that is lost.
  absl::Status Sync() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) ABSL_LOCKS_EXCLUDED(mutex_);
  // DataLoss if somebody else has removed, replaced or cut the newest log: what is appended to it
  // from then on is lost with this process.
  absl::Status CheckInPlace() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same as Sync without the newest log.
  absl::Status SyncOlder() ABSL_LOCKS_EXCLUDED(sync_mutex_, mutex_);

  // Closes and removes logs with smaller numbers, which takes long where they are large; nobody who
  // writes waits for it.
  void RemoveBefore(uint64_t number) ABSL_LOCKS_EXCLUDED(removal_mutex_, mutex_);
  // Between the two no log that is needed now is removed: for whoever copies logs.
  void PauseRemoval() ABSL_LOCKS_EXCLUDED(mutex_);
  void ResumeRemoval() ABSL_LOCKS_EXCLUDED(removal_mutex_, mutex_);
  // Number and bytes of all logs, the newest included.
  std::map<uint64_t, uint64_t> Sizes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Syncs and ends all logs with the clean-close marker. False in *all_have_markers: one of those
  // from number `oldest_needed` on has none, after an error or for want of room.
  absl::Status Close(uint64_t oldest_needed, bool* all_have_markers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) ABSL_LOCKS_EXCLUDED(sync_mutex_, mutex_);

  // Acquire: who sees this number sees what was done while a smaller one was the current.
  uint64_t current_number() const { return current_number_.load(std::memory_order_acquire); }
  // Bytes of the logs with this number and larger ones.
  uint64_t BytesFrom(uint64_t number) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes written to logs since opening, those that are gone included.
  uint64_t bytes_appended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return bytes_before_current_ + current_bytes_.load(std::memory_order_relaxed);
  }
  // True if the newest log holds batches.
  bool current_has_records() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return current_records_ > 0;
  }

 private:
  struct Older {
    uint64_t number;
    // Shared with the thread that syncs it, which a removal does not wait for.
    std::shared_ptr<LogWriter> writer;
  };

  absl::StatusOr<std::shared_ptr<LogWriter>> CreateLog(uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);

  void RemoveUnneeded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(removal_mutex_) ABSL_LOCKS_EXCLUDED(mutex_);

  FileSystem* const file_system_;
  const std::string directory_;
  uint64_t database_id_ ABSL_GUARDED_BY(write_leadership) = 0;
  std::shared_ptr<LogWriter> current_ ABSL_GUARDED_BY(write_leadership);
  uint64_t current_records_ ABSL_GUARDED_BY(write_leadership) = 0;
  uint64_t bytes_before_current_ ABSL_GUARDED_BY(write_leadership) = 0;
  // Written by the leader, read by anybody.
  std::atomic<uint64_t> current_number_{0};
  std::atomic<uint64_t> current_bytes_{0};
  std::atomic<bool> older_unsynced_{false};

  // Logs begun since opening, counted by the leader, and how many of their names are durable,
  // counted under `sync_mutex_`.
  std::atomic<uint64_t> names_created_{0};
  std::atomic<uint64_t> names_synced_{0};

  // Held while names and older logs are synced, which may take seconds; nobody who only writes
  // waits for it.
  Mutex sync_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  absl::Status name_error_ ABSL_GUARDED_BY(sync_mutex_);
  // Of the older logs that were synced and closed while there was no room for the marker.
  uint64_t newest_without_marker_ ABSL_GUARDED_BY(sync_mutex_) = 0;
  // Held while files are removed, so that they go in their order, the oldest first.
  Mutex removal_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  mutable Mutex mutex_;
  std::list<Older> older_ ABSL_GUARDED_BY(mutex_);              // not synced yet, ascending
  std::map<uint64_t, uint64_t> files_ ABSL_GUARDED_BY(mutex_);  // number -> bytes, older ones
  FileInPlace current_file_ ABSL_GUARDED_BY(mutex_);            // of the newest log
  int removal_pauses_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t remove_before_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_LOG_SET_H_
