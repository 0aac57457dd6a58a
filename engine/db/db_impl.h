// The open database: ties memtables, logs, versions and background work together.
//
// Lock order (each may be taken while those before it are held):
//   1. leadership of the write queue (not a lock, but exclusive in the same way)
//   2. DBImpl::mutex_
//   3. SnapshotList, LogSet, ViewHolder, FalsePositiveCache, Recorder, EventQueue: leaves, never
//   held across calls
// No I/O happens under mutex_: VersionSet::LogAndApply gives it back.
#ifndef WINNOW_ENGINE_DB_DB_IMPL_H_
#define WINNOW_ENGINE_DB_DB_IMPL_H_

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/backup/checkpoint.h"
#include "engine/base/mutex.h"
#include "engine/column_family/column_family_state.h"
#include "engine/column_family/snapshot_list.h"
#include "engine/compaction/compaction_job.h"
#include "engine/events/event_queue.h"
#include "engine/events/observed_file_system.h"
#include "engine/statistics/recorder.h"
#include "engine/version/false_positive_cache.h"
#include "engine/version/version_set.h"
#include "engine/write/log_set.h"
#include "engine/write/write_queue.h"
#include "winnow/db.h"

namespace winnow {

class DBImpl final : public DB {
 public:
  DBImpl(const Options& options, std::string path);
  ~DBImpl() override;

  // Brings a new object to life (open.cc); called once, before anything else.
  absl::Status OpenDatabase();

  absl::Status Close() override;

  // write_path.cc
  absl::Status Put(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                   std::string_view value) override;
  absl::Status Delete(const WriteOptions& options, ColumnFamily* family,
                      std::string_view key) override;
  absl::Status Write(const WriteOptions& options, const WriteBatch& batch) override;

  // read_path.cc
  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   std::string* value) override;
  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   PinnedValue* value) override;
  void MultiGet(const ReadOptions& options, ColumnFamily* family,
                std::span<const std::string_view> keys, std::span<PinnedValue> values,
                std::span<absl::Status> statuses) override;
  bool MayExist(const ReadOptions& options, ColumnFamily* family, std::string_view key) override;
  absl::StatusOr<bool> Exists(const ReadOptions& options, ColumnFamily* family,
                              std::string_view key) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, ColumnFamily* family) override;
  const Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const Snapshot* snapshot) override;
  absl::StatusOr<KeyExplanation> Explain(ColumnFamily* family, std::string_view key) override;

  // column_families.cc
  ColumnFamily* DefaultColumnFamily() override { return default_family_; }
  absl::StatusOr<ColumnFamily*> CreateColumnFamily(const ColumnFamilyOptions& options,
                                                   std::string_view name) override;
  absl::StatusOr<ColumnFamily*> FindColumnFamily(std::string_view name) override;
  absl::Status DropColumnFamily(ColumnFamily* family) override;
  std::vector<ColumnFamily*> ColumnFamilies() override;
  absl::Status SetFilter(ColumnFamily* family, std::string_view filter,
                         std::string_view filter_key) override;

  // background.cc
  absl::Status Flush(ColumnFamily* family) override;
  absl::Status CompactRange(ColumnFamily* family, std::optional<std::string_view> begin,
                            std::optional<std::string_view> end) override;
  absl::Status WaitForBackgroundWork() override;

  // checkpoint.cc, backup.cc
  absl::Status Checkpoint(const std::string& directory) override;
  absl::StatusOr<BackupInfo> BackupTo(const std::string& backup_directory) override;

  // properties.cc
  absl::StatusOr<std::string> GetProperty(ColumnFamily* family, std::string_view name) override;
  absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(
      ColumnFamily* family, std::span<const KeyRange> ranges) override;
  Statistics GetStatistics() override;
  absl::StatusOr<std::vector<VerifyProblem>> Verify() override;

 private:
  // --- open.cc ---
  absl::Status OpenFiles();
  absl::Status CreateOrRecover();
  absl::Status RecoverLogs() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status StartWriting(uint64_t num_replayed_tables);
  absl::Status AddFamily(const FamilyRecord& record, const ColumnFamilyOptions& options);
  const ColumnFamilyOptions& OptionsForFamily(std::string_view name) const;
  void RemoveOrphans();
  // Begins the LOG, and tells what was found while opening.
  void StartEvents();

  // --- write_path.cc ---
  absl::Status CheckBatch(const WriteBatch& batch);
  absl::Status CommitGroup(WriteGroup* group);
  // Makes log_payload_ the record of the group's batches.
  absl::Status EncodeForLog(const WriteGroup& group, uint32_t num_updates);
  // An error: out of memory, and a part may be in the memtables.
  absl::Status InsertGroup(WriteGroup* group);
  absl::Status InsertBatch(const WriteBatch& batch, SequenceNumber first_sequence);
  void AddToMemtables(const WriteBatch& batch, SequenceNumber first_sequence);
  // Leader: makes room for a group: stalls, memtable switches, errors.
  absl::Status PrepareForGroup(size_t group_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Leader, after an append to the log has failed: starts another, flushes what the older ones
  // hold, and lets the manifest forget them. An error: not done yet, the write must be refused.
  absl::Status ReplaceFailedLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartLogAfterFailedOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReleaseOlderLogs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SwitchFullMemtables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SwitchMemtable(ColumnFamilyState* family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StallIfNeeded(size_t group_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells where a stall begins and ends; null: the present write is not stalled.
  void NoteStall(const ColumnFamilyState* cause, std::string_view why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ColumnFamilyState* FamilyForWrite(uint32_t id);

  // --- read_path.cc ---
  struct Found;
  absl::Status Find(const ReadOptions& options, ColumnFamilyState* family, const ReadView& view,
                    std::string_view key, ThreadCounters& counters, Found* found);
  template <typename Take>
  absl::Status GetWith(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                       Take take);
  SequenceNumber SequenceFor(const ReadOptions& options) const;
  LookupContext MakeContext(const ReadOptions& options, uint32_t family_id, FilterCall call,
                            ThreadCounters& counters);
  absl::Status CheckRead(const ColumnFamily* family, std::string_view key) const;

  // --- background.cc ---
  void StartBackgroundThreads();
  void StopBackgroundThreads() ABSL_LOCKS_EXCLUDED(mutex_);
  void BackgroundThread() ABSL_LOCKS_EXCLUDED(mutex_);
  bool RunOneJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ColumnFamilyState* FamilyToFlush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunFlush(ColumnFamilyState* family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteFlushOutput(ColumnFamilyState* family,
                                const std::vector<std::shared_ptr<Memtable>>& memtables,
                                SstableBuilderOptions builder, SstableOutputResult* result);
  absl::Status InstallFlush(ColumnFamilyState* family, size_t num_memtables,
                            const SstableOutputResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<Compaction> PickCompaction(ColumnFamilyState** family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RunPickedCompaction(ColumnFamilyState* family, const Compaction& compaction,
                                   int max_threads) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ExecuteCompaction(const Compaction& compaction, SstableBuilderOptions builder,
                                 uint64_t target_file_bytes, int max_threads,
                                 CompactionJobResult* result);
  SstableOutputOptions OutputOptions(SstableBuilderOptions builder);
  absl::Status FlushMemtables(ColumnFamilyState* family) ABSL_LOCKS_EXCLUDED(mutex_);
  // The events at both ends of a flush or a compaction; for its begin `result` is null.
  struct JobResult {
    absl::Status status;
    uint64_t num_files = 0;
    uint64_t bytes_read = 0;
    uint64_t bytes_written = 0;
    uint64_t num_filters_fell_back = 0;
    std::chrono::steady_clock::time_point begin;
  };
  void NotifyFlush(const ColumnFamilyState& family, size_t num_memtables, const JobResult* result);
  void NotifyCompaction(const ColumnFamilyState& family, const Compaction& compaction,
                        const JobResult* result);
  void NotifyJob(Event event, const ColumnFamilyState& family, const JobResult* result);
  bool CompactionIsDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Frees replaced views, with the memtables and files that only they held.
  void ReclaimViews() ABSL_LOCKS_EXCLUDED(mutex_);
  void UpdateStallState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- background_errors.cc ---
  // For errors that only reopening cures: no more writes, no more background work.
  void SetBackgroundError(const absl::Status& status, std::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A flush or compaction failed without harm: tried again after a while, if the error may pass.
  void NoteBackgroundFailure(const absl::Status& status, std::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyError(const absl::Status& status, std::string_view what, bool will_retry);
  void NoteBackgroundSuccess() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsWaitingToRetry() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Damaged files are read as far as they can be, and never compacted away.
  void QuarantineInputs(const Compaction& compaction, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Not OK if background work that failed will not soon make room for more writes.
  absl::Status StallError() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- backup.cc, checkpoint.cc ---
  absl::StatusOr<BackupInfo> WriteBackup(const std::string& backup_directory)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // On OK the removal of logs is paused.
  absl::Status Capture(CheckpointContents* contents) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CopyTo(const std::string& directory, const PlaceSstable& place_sstable,
                      CheckpointContents* contents) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- column_families.cc, properties.cc ---
  ColumnFamilyState* Own(ColumnFamily* family) const {
    return static_cast<ColumnFamilyState*>(family);
  }
  absl::Status CheckFamily(const ColumnFamily* family) const;
  std::string NumberProperty(ColumnFamilyState* family, std::string_view name, bool* known);

  const Options options_;
  const std::string path_;
  EventQueue events_;
  ObservedFileSystem observed_file_system_;
  FileSystem* const file_system_;  // the observed one
  const std::shared_ptr<BlockCache> cache_;
  std::unique_ptr<FileLock> lock_;
  Recorder recorder_;
  FalsePositiveCache false_positive_cache_;
  SnapshotList snapshots_;

  Mutex mutex_;
  CondVar work_available_;  // background threads wait here
  CondVar work_done_;       // flushes, compactions and stalled writers wait here
  VersionSet versions_;     // guarded by mutex_
  LogSet logs_;
  std::map<uint32_t, std::unique_ptr<ColumnFamilyState>> families_;  // changed with mutex_ held and
                                                                     // writes excluded
  ColumnFamilyState* default_family_ = nullptr;
  absl::Status background_error_ ABSL_GUARDED_BY(mutex_);
  // Background work that failed for a reason that may pass, and when it is tried again.
  struct BackgroundRetry {
    absl::Status error;  // OK: there is none
    int failures_in_a_row = 0;
    std::chrono::steady_clock::time_point next_try;
  };
  BackgroundRetry retry_ ABSL_GUARDED_BY(mutex_);
  uint64_t background_failures_ ABSL_GUARDED_BY(mutex_) = 0;  // ever; who waits watches it
  absl::Status quarantine_ ABSL_GUARDED_BY(mutex_);           // the first damage compactions met
  std::vector<std::thread> threads_;
  int flushes_running_ ABSL_GUARDED_BY(mutex_) = 0;
  int compactions_running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> closed_{false};
  std::vector<std::string> recovery_notes_;  // written while opening, immutable then

  // The write path. The leader's fields need no lock.
  WriteQueue write_queue_;
  // Something needs the leader's care before the next group: a full memtable, a stall, an error.
  std::atomic<bool> leader_work_pending_{false};
  // Writes without log since opening: Close flushes them.
  std::atomic<bool> has_unlogged_writes_{false};
  SequenceNumber allocated_sequence_ = 0;            // the leader's
  std::atomic<SequenceNumber> visible_sequence_{0};  // all up to here are inserted
  std::string log_payload_;                          // the leader's, reused
  absl::Status log_error_;      // the leader's: the log must be replaced before the next write
  bool log_abandoned_ = false;  // the leader's: a third of that is done: nothing depends on it
  bool log_replaced_ = false;   // the leader's: two thirds: there is another
  double delayed_seconds_ = 0;  // the leader's: delay not yet slept
  // The leader's: the stall that listeners were told of and that has not ended.
  std::string stalled_family_;  // empty: none
  std::chrono::steady_clock::time_point stalled_since_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DB_IMPL_H_
