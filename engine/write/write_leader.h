// Commits groups of writes: into the log, into the memtables, visible.
#ifndef WINNOW_ENGINE_WRITE_WRITE_LEADER_H_
#define WINNOW_ENGINE_WRITE_WRITE_LEADER_H_

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/background/background_scheduler.h"
#include "engine/base/database_mutex.h"
#include "engine/column_family/column_family_set.h"
#include "engine/column_family/live_options.h"
#include "engine/compaction/background_rate_limiter.h"
#include "engine/events/event_queue.h"
#include "engine/statistics/recorder.h"
#include "engine/version/version_set.h"
#include "engine/write/log_set.h"
#include "engine/write/write_queue.h"
#include "engine/write/write_stall_controller.h"

namespace winnow {

// What a leader works on; all of it outlives the leader.
struct WriteLeaderParts {
  const LiveOptions* options = nullptr;
  DatabaseMutex* mutex = nullptr;
  WriteQueue* queue = nullptr;
  LogSet* logs = nullptr;
  VersionSet* versions = nullptr;
  ColumnFamilySet* families = nullptr;
  BackgroundScheduler* scheduler = nullptr;
  EventQueue* events = nullptr;
  Recorder* recorder = nullptr;
  BackgroundRateLimiter* rate_limiter = nullptr;
};

// The state of the head of the write queue: whoever leads the queue holds the capability
// `write_leadership`, and only then may call what requires it. Invariants:
//  1. Sequence numbers are given out in the order of the log, and never twice: not even those of a
//     write whose append failed, for what of it is in the file is unknown.
//  2. A write is visible once its group is in the log (synced, if a member asked for it) and all
//     its entries, and those of all groups before it, are in the memtables. `visible_sequence`
//     grows in whole groups.
//  3. A memtable and the log that it names are switched together, while no group is under way.
class WriteLeader {
 public:
  explicit WriteLeader(const WriteLeaderParts& parts);

  // The first half of a commit: checks, numbers and logs what the group's members have asked for.
  // Members whose batch is refused alone have their own status afterwards; an error returned is
  // that of all others, and ends the commit. OK: leadership is handed on, and InsertAndPublish must
  // follow.
  absl::Status LogGroup(WriteGroup* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // The second half, beside other groups'. Returns when the group, and all before it, are visible.
  absl::Status InsertAndPublish(WriteGroup* group)
      ABSL_LOCKS_EXCLUDED(write_leadership, memtable_insertion, database_mutex);
  // A member's own part of its group. An error: out of memory, and a part may be in the memtables.
  absl::Status InsertBatch(const WriteBatch& batch, SequenceNumber first_sequence)
      ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion);

  // Every entry up to this number is in the memtables. Acquire: what it covers is seen.
  SequenceNumber visible_sequence() const { return parts_.queue->publishing().visible_sequence(); }
  SequenceNumber allocated_sequence() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return allocated_sequence_;
  }
  // A sequence number for entries that come in without the log: the next one, which no write gets
  // any more. ResourceExhausted: there is none. Visible after Publish, before which whoever is to
  // see the entries must be able to find them.
  absl::StatusOr<SequenceNumber> AllocateSequence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  void Publish(SequenceNumber sequence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion) {
    parts_.queue->publishing().StartAt(sequence);
  }
  // While opening: what recovery found is visible.
  void StartAt(SequenceNumber last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);

  // The database closes: every later group is refused, and CheckRunning says so. Whoever was in the
  // queue before has been served; whoever comes later finds the log gone.
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  // FailedPrecondition after Stop. To be asked by whoever leads, before it touches anything: a
  // check made before leadership was had may be out of date.
  absl::Status CheckRunning() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);

  // Something needs the leader's care before the next group: a full memtable, a stall, an error.
  void RequestWork() { leader_work_pending_.store(true, std::memory_order_release); }
  // Requests it if the family is near a limit. To be called whenever its memtables or its level 0
  // have changed.
  void LookForStall(ColumnFamilyState* family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The family's active memtable, of which Memtable::NoteGarbage was told, is to be flushed before
  // it is full: with the next write.
  void WantEarlyFlush(ColumnFamilyState* family) { NoteFullMemtable(family); }
  // The bounds of logs and memtables have changed: the next leader looks at what there is.
  void LimitsChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // From now on no write is delayed, only stopped: the database is about to be closed.
  void EndDelays() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Writes without log since opening, which memtables alone hold.
  bool has_unlogged_writes() const { return has_unlogged_writes_.load(std::memory_order_relaxed); }
  // The database closes: writes without log are refused from now on, but for those of a group that
  // is being committed. True if there have been any: flushing all memtables then makes all of them
  // durable that were not refused.
  bool EndUnloggedWrites();

  // Retires the family's active memtable, for a flush, and begins another log if the present one
  // holds anything.
  absl::Status SwitchMemtable(ColumnFamilyState* family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);

  // Not OK after an append to the log has failed: with that error.
  const absl::Status& log_error() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return log_error_;
  }
  // If an append to the log has failed: begins another log, waits until what the older ones hold is
  // flushed, and lets the manifest forget them. An error: not done yet, the write must be refused;
  // the next call goes on where this one stopped.
  absl::Status ReplaceFailedLog()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);

 private:
  // How far the replacement of a log that could not be appended to has come.
  enum class LogState {
    kHealthy,
    kFailed,     // nothing may be appended to it
    kAbandoned,  // what it holds is durable, and it is closed
    kReplaced,   // there is another log; memtables of the time before wait for their flush
  };

  // --- write_leader.cc ---
  void CheckMembers(WriteGroup* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  absl::Status CheckUpdates(WriteRequest* request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  // An error if there is no such family, or the request may not write to it.
  absl::StatusOr<const ColumnFamilyState*> FamilyFor(uint32_t id, const WriteRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  // Asks the validators of those members that have one.
  absl::Status ValidateMembers(WriteGroup* group) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status AppendToLog(const WriteGroup& group, uint32_t num_updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status SyncLogNames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // Puts the record of the group's batches together, in the log's own buffer.
  absl::Status EncodeForLog(const WriteGroup& group, uint32_t num_updates)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  absl::Status InsertGroup(WriteGroup* group) ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion);
  void AddToMemtables(const WriteBatch& batch, SequenceNumber first_sequence)
      ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion);
  // The error of a write that is in the log and will not be visible: no further one is taken.
  absl::Status InsertionFailed(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(database_mutex);

  // --- write_leader_memtables.cc ---
  // Makes room for a group: stalls, memtable switches, errors.
  absl::Status PrepareForGroup(size_t group_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status StallIfNeeded(size_t group_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  absl::Status WaitWhileStopped(const ColumnFamilyState& family, bool* waited)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  void NoteStall(std::string_view family, std::string_view why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  void SleepWhileSlow(SteadyTime until)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  void NoteFullMemtable(ColumnFamilyState* family) ABSL_LOCKS_EXCLUDED(full_mutex_);
  // Those that are full, those that take too much together, and those that hold back old logs.
  bool MustSwitchMemtables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership)
      ABSL_LOCKS_EXCLUDED(full_mutex_);
  absl::Status SwitchMemtables()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status SwitchForOldLogs()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  bool LogsAreOverLimit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  void LookAtLogsAt(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    look_at_logs_at_.store(bytes, std::memory_order_relaxed);
  }
  // Begins log `number`; a full disk is an error of this write alone.
  absl::Status StartLog(uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);

  // --- write_leader_budget.cc ---
  // True if memtables of all families together have come near their bound.
  bool WriteBuffersNeedCare() const;
  // Waits while they have reached it and flushes make room.
  absl::Status WaitForWriteBuffers(bool* waited)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  // Switches the largest ones if active memtables take too much of it.
  absl::Status SwitchForWriteBuffers()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  const ColumnFamilyState* FamilyThatGivesMemoryBack() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- write_leader_tables.cc ---
  // To be called whenever a family's level 0 has changed.
  void CountLevelZeroTables(ColumnFamilyState* family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // True if open tables take more memory than the block cache has to give, and compactions of level
  // 0 would do away with many.
  bool TablesAreTooMany() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Waits while that is so and compactions make them fewer.
  absl::Status WaitForFewerTables(bool* waited)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  const ColumnFamilyState* FamilyThatGetsFewerTables() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- write_leader_log.cc ---
  absl::Status AbandonFailedLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  absl::Status StartLogAfterFailedOne()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  bool AllIsFlushed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status ReleaseOlderLogs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);

  const WriteLeaderParts parts_;
  std::atomic<bool> leader_work_pending_{false};
  // Each is stored by one side before it looks at the other, all sequentially consistent: a group
  // that is not refused is seen by EndUnloggedWrites.
  std::atomic<bool> has_unlogged_writes_{false};
  std::atomic<bool> unlogged_writes_ended_{false};
  SequenceNumber allocated_sequence_ ABSL_GUARDED_BY(write_leadership) = 0;
  bool stopped_ ABSL_GUARDED_BY(write_leadership) = false;
  LogState log_state_ ABSL_GUARDED_BY(write_leadership) = LogState::kHealthy;
  absl::Status log_error_ ABSL_GUARDED_BY(write_leadership);
  WriteStallController stalls_ ABSL_GUARDED_BY(write_leadership);
  // Once so many bytes have been appended to logs, their sizes are looked at. Written by leaders,
  // and by LimitsChanged.
  std::atomic<uint64_t> look_at_logs_at_{0};
  // Once active memtables have so many bytes, some are switched. Likewise.
  std::atomic<size_t> switch_buffers_above_;
  // Families whose memtables or level 0 make writes wait, or soon will.
  std::set<ColumnFamilyState*> near_limit_ ABSL_GUARDED_BY(database_mutex);
  bool delays_ended_ ABSL_GUARDED_BY(database_mutex) = false;
  // Of all families.
  size_t level0_tables_due_ ABSL_GUARDED_BY(database_mutex) = 0;
  // Families whose active memtable was found full by whoever inserted last.
  Mutex full_mutex_;
  std::vector<ColumnFamilyState*> full_ ABSL_GUARDED_BY(full_mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_WRITE_LEADER_H_
