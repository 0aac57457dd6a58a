// The flushes, compactions and refilterings of one database: which is due, running it, and what
// changes with it.
#ifndef WINNOW_ENGINE_DB_DATABASE_JOBS_H_
#define WINNOW_ENGINE_DB_DATABASE_JOBS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/background/background_scheduler.h"
#include "engine/base/database_mutex.h"
#include "engine/column_family/column_family_set.h"
#include "engine/column_family/snapshot_list.h"
#include "engine/compaction/compaction_job.h"
#include "engine/compaction/flush_job.h"
#include "engine/compaction/kept_for_snapshots.h"
#include "engine/events/event_queue.h"
#include "engine/file_system/file_in_place.h"
#include "engine/filter_memory/filter_budget.h"
#include "engine/statistics/recorder.h"
#include "engine/version/version_set.h"
#include "engine/write/log_set.h"
#include "engine/write/write_leader.h"
#include "winnow/refilter.h"

namespace winnow {

// What the jobs work on; all of it outlives them.
struct DatabaseJobParts {
  const LiveOptions* options = nullptr;
  DatabaseMutex* mutex = nullptr;
  VersionSet* versions = nullptr;
  LogSet* logs = nullptr;
  FileInPlace* lock_file = nullptr;  // the scheduler's, which looks at it from one thread at a time
  ColumnFamilySet* families = nullptr;
  SnapshotList* snapshots = nullptr;
  WriteLeader* leader = nullptr;
  BackgroundScheduler* scheduler = nullptr;
  EventQueue* events = nullptr;
  BackgroundRateLimiter* rate_limiter = nullptr;
  Recorder* recorder = nullptr;
  RowCache* row_cache = nullptr;          // may be null
  std::function<void()> save_statistics;  // if it is time
  std::function<void()> keep_filters;     // within their budget; for a moment, see KeepFiltersSoon
  FilterBudget* filter_budget = nullptr;
  // For the filters that a job is about to write; with the mutex held.
  std::function<void()> plan_new_filters;
};

// Invariants:
//  1. One flush of a family at a time, of all its immutable memtables, so that level 0 is in the
//     order of the writes.
//  2. Where there are two threads, one is left to flushes, as writes wait for those first, and one
//     by flushes to compactions.
//  3. An SSTable is synced, and so is its directory, before the manifest names it; a log is removed
//     only after the manifest needs it no more.
class DatabaseJobs final : public BackgroundJobs {
 public:
  explicit DatabaseJobs(const DatabaseJobParts& parts);

  bool RunMostUrgent() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Frees replaced views, with the memtables and files that only they held.
  void ReleaseReplaced() override ABSL_LOCKS_EXCLUDED(database_mutex);
  // Those of these families alone.
  void ReleaseReplacedOf(std::span<ColumnFamilyState* const> families)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // Looks at the lock file and the newest log; saves statistics.
  absl::Status DoUpkeep() override ABSL_LOCKS_EXCLUDED(database_mutex);

  // Compacts all of a range on the calling thread, once what runs on the family has ended. Level 0
  // is kept small meanwhile, so that writes go on.
  absl::Status CompactRange(ColumnFamilyState* family, std::optional<std::string_view> begin,
                            std::optional<std::string_view> end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // A snapshot has been released: true if compactions have waited for that.
  bool HaveWaitedForRelease() const {
    const SequenceNumber due_from = kept_due_from_.load(std::memory_order_relaxed);
    return due_from != kMaxSequenceNumber && due_from <= parts_.snapshots->Oldest();
  }

  // Gives each table of the family a filter of its present settings, on the calling thread and
  // beside all other work; one call for a family at a time. `*info` is set after an error too.
  // With `planned_bits` filters in units are of those, whatever the family's are.
  absl::Status Refilter(ColumnFamilyState* family, const RefilterOptions& options,
                        const std::optional<BitsByLevel>& planned_bits, RefilterInfo* info)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // One table, when there is nothing else to do; in place of what was proposed before and has not
  // begun. `ended` is what planned_refilters_ended() was before it was chosen: nothing is done if
  // one has ended meanwhile, since the choice may not know what came of that.
  void ProposeRefilter(PlannedRefilter refilter, uint64_t ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  uint64_t planned_refilters_ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return planned_refilters_ended_;
  }

  // `keep_filters` has given way before all was loaded: a thread goes on with it when others have
  // had their turn.
  void KeepFiltersSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    filters_are_unfinished_ = true;
    parts_.scheduler->SignalWork();
  }

  // True while a flush or compaction runs, on whatever thread.
  bool IsRunning() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return flushes_running_ > 0 || compactions_running_ > 0;
  }
  // What the rate limiter goes by.
  BackgroundLoad LookAtLoad() ABSL_LOCKS_EXCLUDED(database_mutex);
  // True while a flush or compaction runs or is due.
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

 private:
  // --- database_jobs.cc ---
  SstableOutputOptions OutputOptions(const ColumnFamilyState& family, SstableBuilderOptions builder,
                                     BackgroundRateLimiter::Priority priority) const;
  bool KeepFiltersIfUnfinished() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  ColumnFamilyState* FamilyToFlush() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void Flush(ColumnFamilyState* family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status WriteFlush(const ColumnFamilyState& family,
                          const std::vector<std::shared_ptr<Memtable>>& memtables,
                          SstableBuilderOptions builder, FlushJobOptions job,
                          SstableOutputResult* result);
  // The rows that the memtables write, before readers can do without the memtables.
  void ForgetRows(ColumnFamilyState* family,
                  const std::vector<std::shared_ptr<Memtable>>& memtables);
  // The oldest log that holds entries which are in memory alone once the family's first immutable
  // memtables have been flushed; Memtable::kNoLog: none does.
  uint64_t OldestLogWithout(const ColumnFamilyState& flushed, size_t num_memtables) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status InstallFlush(ColumnFamilyState* family, size_t num_memtables,
                            const SstableOutputResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- database_jobs_load.cc ---
  static double DebtOf(const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- database_jobs_compaction.cc ---
  bool RunCompactionIfDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool PickAndCompact() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::unique_ptr<Compaction> PickCompaction(ColumnFamilyState** family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  static std::unique_ptr<Compaction> PickIn(ColumnFamilyState* family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // No compaction of the family that is picked by itself may begin now, except within level 0.
  static bool IsLeftAlone(const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Whole files that range deletions cover.
  std::unique_ptr<Compaction> PickCovered(ColumnFamilyState* family) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::unique_ptr<Compaction> PickCoveredInAny(ColumnFamilyState** family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // What has expired, where the family has a time to live: whole files, which cost nothing to drop,
  // or one that has to be rewritten.
  std::unique_ptr<Compaction> PickExpired(ColumnFamilyState* family, bool rewrite) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::unique_ptr<Compaction> PickExpiredInAny(bool rewrite, ColumnFamilyState** family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // What the deepest level still holds for snapshots that have been released since.
  KeptForSnapshots PickKept(const ColumnFamilyState& family) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::unique_ptr<Compaction> PickKeptInAny(ColumnFamilyState** family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Of one that was made for these: what they still hold cannot be left out.
  static void MarkWhatStays(const ColumnFamilyState& family, const Compaction& compaction,
                            const CompactionJobResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool CompactionIsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // While it runs its files are nobody else's, and what waits for the family's compactions waits.
  void MarkRunning(ColumnFamilyState* family, const Compaction& compaction, bool runs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void CountRunning(ColumnFamilyState* family, int more)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status Compact(ColumnFamilyState* family, const Compaction& compaction, int max_threads)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Of one that has dropped its inputs.
  static void CountDropped(const Compaction& compaction, ThreadCounters* counters);
  // By the options as they were when it began.
  // Of the family, whose compaction or flush has just been picked.
  CollectionMoment MomentOf(const ColumnFamilyState& family, SequenceNumber first_unflushed) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status WriteCompaction(const ColumnFamilyState& family, const ColumnFamilyOptions& options,
                               const Compaction& compaction, SstableBuilderOptions builder,
                               const CollectionMoment& moment, int max_threads,
                               CompactionJobResult* result, SnapshotPause* pause);
  absl::Status InstallCompaction(ColumnFamilyState* family, VersionEdit edit,
                                 const CompactionJobResult& result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Damaged files are read as far as they can be, and never compacted away.
  void QuarantineInputs(ColumnFamilyState* family, const Compaction& compaction,
                        const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- database_jobs_refilter.cc ---
  struct RefilterJob;
  bool HasPresentSettings(const RefilterJob& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void TakePresentSettings(RefilterJob* job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void WaitForFlushOfBefore(const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // It is not tried again by this job.
  void NoteDamaged(RefilterJob* job, const SstableFile& file, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  static bool HasWantedFilter(const RefilterJob& job, const SstableFile& file, int level);
  std::shared_ptr<SstableFile> NextToRefilter(RefilterJob* job, int* level, bool* waits) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::StatusOr<FilterFileMetadata> MakeFilter(RefilterJob* job, const SstableFile& file,
                                                int level, uint64_t number)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status InstallFilter(RefilterJob* job, const std::shared_ptr<SstableFile>& file,
                             const FilterFileMetadata& filter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status RefilterFile(RefilterJob* job, const std::shared_ptr<SstableFile>& file, int level)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status RefilterAll(RefilterJob* job, const RefilterOptions& options, SteadyTime begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status RefilterInTurn(ColumnFamilyState* family, const RefilterOptions& options,
                              const std::optional<BitsByLevel>& planned_bits, RefilterInfo* info)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // One table of the family, beside calls of Refilter. Cancelled: `must_give_way`, which is asked
  // without the mutex, has said so.
  absl::Status RefilterOne(ColumnFamilyState* family, const std::shared_ptr<SstableFile>& file,
                           int level, const BitsByLevel& planned_bits,
                           std::function<bool()> must_give_way, RefilterInfo* info)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- database_jobs_planned_refilter.cc ---
  bool RunPlannedRefilterIfIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Null: the table has gone, or is not to be touched.
  std::shared_ptr<SstableFile> FindPlanned(const PlannedRefilter& planned,
                                           ColumnFamilyState** family) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool MustGiveWay(const ColumnFamilyState& family) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void RunPlannedRefilter(ColumnFamilyState* family, std::shared_ptr<SstableFile> file,
                          const PlannedRefilter& planned)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  const DatabaseJobParts parts_;
  int flushes_running_ ABSL_GUARDED_BY(database_mutex) = 0;
  // A flush has filled level 0 of some family since flushes last had to leave a thread to
  // compactions and none could be had: to look for one is to look at every family.
  bool level0_is_due_ ABSL_GUARDED_BY(database_mutex) = false;
  uint64_t blocks_read_at_last_look_ ABSL_GUARDED_BY(database_mutex) = 0;
  int compactions_running_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The least KeptForSnapshots::due_from of all families when they were last looked at.
  std::atomic<SequenceNumber> kept_due_from_{kMaxSequenceNumber};
  // That the scheduler's compactions may use, of background_threads.
  int automatic_compaction_threads_ ABSL_GUARDED_BY(database_mutex) = 0;
  std::optional<PlannedRefilter> planned_refilter_ ABSL_GUARDED_BY(database_mutex);
  bool planned_refilter_runs_ ABSL_GUARDED_BY(database_mutex) = false;
  uint64_t planned_refilters_ended_ ABSL_GUARDED_BY(database_mutex) = 0;
  bool filters_are_unfinished_ ABSL_GUARDED_BY(database_mutex) = false;
  bool filters_had_their_turn_ ABSL_GUARDED_BY(database_mutex) = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DATABASE_JOBS_H_
