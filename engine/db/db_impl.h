// The open database: owns its parts, and turns the calls of its users into work for them.
//
// Who does what: writes go through WriteQueue and WriteLeader; flushes and compactions are
// DatabaseJobs, run by the threads of BackgroundScheduler; DatabaseOpener brings all of it to life.
//
// Lock order (each may be taken while those before it are held):
//   1. `write_leadership`: leading the write queue
//   2. `memtable_insertion`: inserting, or alone: nobody inserts
//   3. `filter_round_`: one thread at a time plans filters and loads them
//   4. `database_mutex`
//   5. SnapshotList, LogSet, ViewHolder, FalsePositiveCache, Recorder, StatisticsSaver, EventQueue:
//   leaves, never held across calls
// No I/O happens under the mutex once the database is open: VersionSet::LogAndApply gives it back.
#ifndef WINNOW_ENGINE_DB_DB_IMPL_H_
#define WINNOW_ENGINE_DB_DB_IMPL_H_

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "engine/background/background_scheduler.h"
#include "engine/backup/checkpoint.h"
#include "engine/base/database_mutex.h"
#include "engine/base/owning_process.h"
#include "engine/column_family/column_family_set.h"
#include "engine/column_family/live_options.h"
#include "engine/column_family/snapshot_list.h"
#include "engine/db/database_jobs.h"
#include "engine/db/db_iterator.h"
#include "engine/db/signature_search.h"
#include "engine/events/event_queue.h"
#include "engine/events/observed_file_system.h"
#include "engine/file_system/read_ring.h"
#include "engine/filter_memory/filter_budget.h"
#include "engine/sstable/yielding_file_system.h"
#include "engine/statistics/memory_report.h"
#include "engine/statistics/recorder.h"
#include "engine/statistics/saved_statistics.h"
#include "engine/trace/trace_recorder.h"
#include "engine/transaction/database_transactions.h"
#include "engine/version/false_positive_cache.h"
#include "engine/version/first_in_range.h"
#include "engine/version/prefix_questions.h"
#include "engine/version/version_set.h"
#include "engine/write/log_set.h"
#include "engine/write/write_leader.h"
#include "engine/write/write_queue.h"
#include "winnow/db.h"

namespace winnow {

class DBImpl final : public DB, private IteratorOwner {
 public:
  DBImpl(const Options& options, std::string path);
  ~DBImpl() override;

  // Instead of the destructor, which is run in the process that opened the database. In a child of
  // it the threads to wait for do not exist, and what the members would flush, cut or remove
  // belongs to the parent: there they are left as they are, but for the descriptor of the lock.
  static void operator delete(DBImpl* db, std::destroying_delete_t);
  // For an object whose construction failed.
  static void operator delete(void* memory) { ::operator delete(memory); }

  // Brings a new object to life (open.cc); called once, before anything else.
  absl::Status OpenDatabase(MissingFilterFile missing_filter_file);

  absl::Status Close() override ABSL_LOCKS_EXCLUDED(closing_);

  // write_path.cc
  absl::Status Put(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                   std::string_view value) override;
  absl::Status Delete(const WriteOptions& options, ColumnFamily* family,
                      std::string_view key) override;
  absl::Status Merge(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                     std::string_view operand) override;
  absl::Status DeleteRange(const WriteOptions& options, ColumnFamily* family,
                           std::string_view begin, std::string_view end) override;
  absl::Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return WriteIfValid(options, batch, nullptr);
  }
  absl::StatusOr<std::unique_ptr<Transaction>> BeginTransaction(
      const TransactionOptions& options) override {
    return NewTransaction(transactions_, options);
  }

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
  absl::StatusOr<RangeExplanation> ExplainRange(ColumnFamily* family, std::string_view lower,
                                                std::string_view upper) override;

  // --- For rooms to the right ---
  // The family is of one of them from now on: InvalidArgument refuses writes, ingestions, a drop,
  // and other filters, merge operators or times to live, unless they come by these calls.
  void ReserveForOwner(ColumnFamily* family, const OwnedEntries& entries) {
    Own(family)->ReserveForOwner(entries);
    if (entries.lifetimes != nullptr) families_.NoteKeyLifetimes();
  }
  // FailedPrecondition: the database is closed, or this is a child made by fork(2).
  absl::Status CheckUsable() const { return IsUsable() ? absl::OkStatus() : Unusable(); }
  // The newest that readers see.
  SequenceNumber visible_sequence() const { return write_queue_.publishing().visible_sequence(); }
  // Of which fields new SSTables of a reserved family have signatures, and what they are now.
  void SetSignedFields(ColumnFamily* family, SignedFields fields) {
    Own(family)->SetSignedFields(std::move(fields));
  }
  SignedFields signed_fields(ColumnFamily* family) const { return Own(family)->signed_fields(); }
  absl::Status WriteAsOwner(const WriteOptions& options, const WriteBatch& batch) {
    return WriteIfValid(options, batch, nullptr, /*is_of_owner=*/true);
  }
  absl::StatusOr<IngestInfo> IngestAsOwner(const std::vector<IngestFile>& files,
                                           const IngestOptions& options);
  absl::Status SetOptionsAsOwner(ColumnFamily* family, std::span<const OptionSetting> settings) {
    return SetOptionsBy(family, settings, /*is_owner=*/true);
  }
  absl::Status DropAsOwner(ColumnFamily* family) { return Drop(family, /*is_owner=*/true); }
  // Whether keys that begin with each of these prefixes may be there, by memtables and filters
  // alone: yes where no filter is in memory that knows such prefixes. Deleted keys count. All are
  // asked about in one view, which is taken after the snapshot of `options`. `call`: what it is a
  // part of, which looks up those that may be there; what is ruled out counts as rejected by the
  // filters there. Unset: nothing is counted.
  absl::Status AskForPrefixes(const ReadOptions& options, ColumnFamily* family,
                              std::optional<FilterCall> call, std::span<PrefixAsked> prefixes);
  // Whether filters of new SSTables know more of keys that begin with `prefix` than what begins
  // with its first `num_bytes` bytes.
  bool FiltersKnowBehind(ColumnFamily* family, std::string_view prefix, size_t num_bytes);
  // False: no file has a far marker (engine/base/key_times.h), and memtables have nothing.
  bool MayHaveFarMarkers(ColumnFamily* family);

  // The first entries whose keys begin with the prefixes of `firsts`, by the filter key that all
  // keys with such a prefix have, and without the cost of an iterator: into these, and an answer
  // for each. kUnknown: an iterator has to be asked, since the entry is none that is simply a
  // value, or might be hidden. All are as of one moment, if none of the answers is kUnknown. Where
  // the keys have far markers (engine/base/key_times.h) these begin with markers->prefix, which is
  // not empty then: they are looked for in the same view once there is something to hide.
  enum class FirstAnswer : uint8_t { kAbsent, kFound, kUnknown };
  absl::Status FindFirsts(const ReadOptions& options, ColumnFamily* family,
                          std::span<FirstInRange> firsts, std::span<FirstAnswer> answers,
                          FirstInRange* markers);
  // As NewIterator; files whose times exclude what is wanted are left out.
  std::unique_ptr<Iterator> NewIteratorWithin(const ReadOptions& options, ColumnFamily* family,
                                              const std::optional<KeyTimeBounds>& times);
  // signature_search.cc
  // Of the question all but the parser, which is the family's. Null: no SSTable has signatures, and
  // reading everything is cheaper. A snapshot of whoever reads what is found is taken before.
  absl::StatusOr<std::unique_ptr<SignatureSearch>> SearchSignatures(const ReadOptions& options,
                                                                    ColumnFamily* family,
                                                                    GroupQuestion question);
  void CountSignatureRows(uint64_t candidates, uint64_t found) {
    recorder_.Local().Add(Ticker::kSignatureCandidates, candidates);
    recorder_.Local().Add(Ticker::kSignatureRowsFound, found);
  }

  // column_families.cc
  ColumnFamily* DefaultColumnFamily() override { return default_family_; }
  absl::StatusOr<ColumnFamily*> CreateColumnFamily(const ColumnFamilyOptions& options,
                                                   std::string_view name) override;
  absl::StatusOr<ColumnFamily*> FindColumnFamily(std::string_view name) override;
  absl::Status DropColumnFamily(ColumnFamily* family) override {
    return Drop(family, /*is_owner=*/false);
  }
  std::vector<ColumnFamily*> ColumnFamilies() override;

  // set_options.cc
  absl::Status SetOptions(ColumnFamily* family, std::span<const OptionSetting> settings) override {
    return SetOptionsBy(family, settings, /*is_owner=*/false);
  }
  absl::StatusOr<std::string> GetOption(ColumnFamily* family, std::string_view name) override;
  absl::Status SetFilter(ColumnFamily* family, std::string_view filter,
                         std::string_view filter_key) override;

  // flush_and_compact.cc
  absl::Status Flush(ColumnFamily* family) override;
  absl::Status CompactRange(ColumnFamily* family, std::optional<std::string_view> begin,
                            std::optional<std::string_view> end) override;
  absl::Status WaitForBackgroundWork() override;

  // refilter.cc
  absl::StatusOr<RefilterInfo> Refilter(ColumnFamily* family,
                                        const RefilterOptions& options) override;
  absl::Status CheckRefilterBudget(const ColumnFamilyState& family, const RefilterOptions& options);
  // Of new filters of the family under another budget than the present one; 0: nothing.
  absl::StatusOr<std::optional<BitsByLevel>> PlannedBits(const ColumnFamilyState& family,
                                                         uint64_t budget_bytes);

  // ingest.cc
  absl::StatusOr<IngestInfo> Ingest(const std::vector<IngestFile>& files,
                                    const IngestOptions& options) override;
  absl::StatusOr<std::unique_ptr<SstWriter>> NewSstWriter(ColumnFamily* family,
                                                          const std::string& path) override;

  // db_checkpoint.cc
  absl::Status Checkpoint(const std::string& directory) override;
  absl::StatusOr<BackupInfo> BackupTo(const std::string& backup_directory) override;

  // properties.cc
  absl::StatusOr<std::string> GetProperty(ColumnFamily* family, std::string_view name) override;
  absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(
      ColumnFamily* family, std::span<const KeyRange> ranges) override;
  Statistics GetStatistics() override;
  absl::StatusOr<FilterPlans> PlanFilters(uint64_t budget_bytes) override;
  absl::StatusOr<std::vector<VerifyProblem>> Verify() override;

  // tracing.cc
  absl::Status StartTrace(const TraceOptions& options, const std::string& path) override;
  absl::StatusOr<TraceInfo> EndTrace() override;

 private:
  // --- open.cc ---
  WriteLeaderParts LeaderParts();
  DatabaseJobParts JobParts();
  absl::Status OpenFiles(MissingFilterFile missing_filter_file);
  // Begins the LOG, and reports what was found while opening.
  absl::Status StartEvents();
  absl::Status CloseAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(closing_)
      ABSL_LOCKS_EXCLUDED(write_leadership, database_mutex);
  absl::Status CloseFiles() ABSL_LOCKS_EXCLUDED(write_leadership, database_mutex);

  // False once the database is closed, and in a child made by fork(2).
  bool IsUsable() const { return !closed_.load(std::memory_order_relaxed) && process_.IsThisOne(); }
  absl::Status Unusable() const;  // the error of calls when it is not
  // FailedPrecondition in a callback of a flush or a compaction of the database, which the call
  // would wait for.
  absl::Status CheckMayWaitForJobs() const;

  // --- write_path.cc ---
  TransactionParts PartsForTransactions();
  // `validator` may be null: then nothing is asked.
  absl::Status WriteIfValid(const WriteOptions& options, const WriteBatch& batch,
                            CommitValidator* validator, bool is_of_owner = false);
  absl::Status CheckWritable() const;
  absl::Status CheckWrite(const WriteOptions& options, const WriteBatch& batch) const;
  absl::Status WriteWithTimes(const WriteOptions& options, const WriteBatch& batch,
                              CommitValidator* validator, bool is_of_owner);
  // Through the write queue, as it is.
  absl::Status Enqueue(const WriteOptions& options, const WriteBatch& batch,
                       CommitValidator* validator, bool is_of_owner);

  // --- read_path.cc ---
  struct Found;
  template <bool kThroughRowCache>
  absl::Status Find(const ReadOptions& options, ColumnFamilyState* family, const ReadView& view,
                    const RowValidity::Moment& moment, std::string_view key,
                    ThreadCounters& counters, Found* found);
  // Version::Get, where the row cache is on; `moment` is from before the view.
  absl::Status GetThroughRowCache(const ReadOptions& options, ColumnFamilyState* family,
                                  const ReadView& view, const RowValidity::Moment& moment,
                                  const LookupKey& lookup, ThreadCounters& counters,
                                  PointResult* result);
  // Version::MultiGet, likewise.
  void MultiGetThroughRowCache(const ReadOptions& options, ColumnFamilyState* family,
                               const ReadView& view, const RowValidity::Moment& moment,
                               std::span<BatchLookup> batch, const LookupContext& context,
                               ThreadCounters& counters);
  void MultiGetAll(const ReadOptions& options, ColumnFamily* family,
                   std::span<const std::string_view> keys, std::span<PinnedValue> values,
                   std::span<absl::Status> statuses);
  template <typename Take, typename TakeMerged>
  absl::Status GetWith(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                       Take take, TakeMerged take_merged);
  template <bool kThroughRowCache, typename Take, typename TakeMerged>
  absl::Status GetBy(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                     Take& take, TakeMerged& take_merged);
  // The value of a key of which Find has met an operand.
  absl::Status FinishMerge(const ReadOptions& options, const ColumnFamilyState& family,
                           const ReadView& view, std::string_view key, std::string_view call,
                           ThreadCounters& counters, const Found& found, std::string* value);
  SequenceNumber SequenceFor(const ReadOptions& options) const;
  LookupContext MakeContext(const ReadOptions& options, uint32_t family_id, FilterCall call,
                            ThreadCounters& counters);
  absl::Status CheckRead(const ReadOptions& options, const ColumnFamily* family,
                         std::string_view key) const;
  absl::Status CheckRead(const ColumnFamily* family, std::string_view key) const;
  // True: CheckRead would find nothing wrong, which for most reads it takes no call to know.
  bool IsSurelyReadable(const ReadOptions& options, const ColumnFamily* family,
                        std::string_view key) const {
    return IsUsable() && key.size() <= kMaxKeyBytes && options.snapshot == nullptr &&
           (family == default_family_ || IsOwnLiveFamily(family));
  }
  bool IsOwnLiveFamily(const ColumnFamily* family) const {
    const auto* const state = static_cast<const ColumnFamilyState*>(family);
    return state != nullptr && state->database_number() == families_.database_number() &&
           !state->is_dropped();
  }
  absl::Status CheckSnapshot(const ReadOptions& options) const;

  // --- iterators.cc ---
  std::unique_ptr<Iterator> MakeIterator(const ReadOptions& options, ColumnFamily* family,
                                         const std::optional<KeyTimeBounds>& times);
  // Of a family that has been checked.
  DbIteratorInput MakeInput(const ReadOptions& options, ColumnFamily* family,
                            const std::optional<KeyTimeBounds>& times, ReadCounters* reads);
  absl::Status RenewInput(const DbIteratorOptions& options, DbIteratorInput* input) override;
  void NoteGarbage(ColumnFamily* family, const ReadView& view, std::string_view user_key,
                   uint64_t num_entries) override;

  // --- prefix_reads.cc ---
  // `*are_searched` is false where there are too many files.
  absl::Status SearchFirsts(const ReadView& view, const FirstQuestion& question,
                            const LookupContext& context, std::span<FirstInRange> firsts,
                            bool* are_searched);
  // FindFirsts, of which some are found.
  absl::Status AnswerFound(const ReadView& view, SequenceNumber snapshot, KeyTimeParser parse_time,
                           const LookupContext& context, std::span<FirstInRange> firsts,
                           std::span<FirstAnswer> answers, FirstInRange* markers);

  // --- set_options.cc; `family` may be null where only options of the database are concerned ---
  struct OptionsChange;
  // As they are now, with the fields of this family.
  Options OptionsNow(const ColumnFamilyState& family) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status SetOptionsBy(ColumnFamily* family, std::span<const OptionSetting> settings,
                            bool is_owner);
  absl::Status ChangeOptions(ColumnFamilyState* family, std::span<const OptionSetting> settings,
                             bool is_owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status PlanOptions(ColumnFamilyState* family, std::span<const OptionSetting> settings,
                           OptionsChange* change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status PrepareOptions(const ColumnFamilyState& family, const Options& now,
                              OptionsChange* change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status PlanFilterBudget(const ColumnFamilyState& family, const Options& now,
                                OptionsChange* change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void ApplyFilterBudget(uint64_t budget_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void ApplyOptions(ColumnFamilyState* family, OptionsChange change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Those whose change closes files or frees much memory, which is not done under the mutex. By one
  // thread at a time.
  void ApplyCacheOptions() ABSL_LOCKS_EXCLUDED(database_mutex);

  // --- flush_and_compact.cc ---
  absl::Status FlushMemtables(ColumnFamilyState* family) ABSL_LOCKS_EXCLUDED(database_mutex);
  // Until the immutable memtables that the family has are flushed, which must be wanted.
  absl::Status AwaitFlush(ColumnFamilyState* family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status AwaitBackgroundWork() ABSL_LOCKS_EXCLUDED(database_mutex);

  // --- ingest.cc ---
  struct IngestJob;
  absl::StatusOr<IngestInfo> IngestInto(const std::vector<IngestFile>& files,
                                        const IngestOptions& options, bool is_of_owner);
  absl::Status OpenIngested(const std::vector<IngestFile>& files, const IngestOptions& options,
                            IngestJob* job);
  absl::Status PlaceIngested(const IngestOptions& options, IngestJob* job);
  absl::Status CommitIngest(const IngestOptions& options, IngestJob* job)
      ABSL_LOCKS_EXCLUDED(write_leadership, database_mutex);
  absl::Status FlushForIngest(IngestJob* job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  absl::Status SyncLogsForIngest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  absl::Status ChooseLevels(const IngestOptions& options, IngestJob* job, VersionEdit* edit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, database_mutex);
  absl::Status InstallIngested(VersionEdit edit, IngestJob* job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  void RemovePlaced(const IngestJob& job);
  void ReportIngest(const IngestJob& job, const absl::Status& status, SteadyTime begin);

  // --- db_checkpoint.cc ---
  // On OK the removal of logs is paused, and the copy counted.
  absl::Status Capture(CheckpointContents* contents) ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status CopyTo(const std::string& directory, const PlaceSstable& place_sstable,
                      CheckpointContents* contents) ABSL_LOCKS_EXCLUDED(database_mutex);

  // --- tracing.cc; while a trace is recorded ---
  void TraceKey(TraceCall call, ColumnFamily* family, std::string_view key);
  void TraceBatch(const WriteBatch& batch);
  std::unique_ptr<Iterator> Traced(std::unique_ptr<Iterator> iterator, ColumnFamily* family);

  // --- verify.cc ---
  void VerifyTables(std::vector<VerifyProblem>* problems) ABSL_LOCKS_EXCLUDED(database_mutex);

  // --- column_families.cc, properties.cc ---
  ColumnFamilyState* Own(ColumnFamily* family) const {
    return static_cast<ColumnFamilyState*>(family);
  }
  absl::Status CheckFamily(const ColumnFamily* family) const;
  absl::Status Drop(ColumnFamily* family, bool is_owner);
  // Not OK if the set of families, or the manifest, may not be changed now; heals a log that
  // failed.
  absl::Status PrepareForChange()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership, memtable_insertion, database_mutex);
  // Returns the error of an edit that `what` describes; one that will not pass is fatal.
  absl::Status ChangeFailed(const absl::Status& status, std::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  struct FamilyNow {
    std::string name;
    std::shared_ptr<const Version> version;
    ExpectedFprHistory expected_fpr;
  };
  std::map<uint32_t, FamilyNow> FamiliesNow() ABSL_LOCKS_EXCLUDED(database_mutex);
  // Without the levels.
  Statistics CountedSinceOpening(const std::map<uint32_t, FamilyNow>& families);
  // By one thread at a time.
  void SaveStatistics(bool is_closed) ABSL_LOCKS_EXCLUDED(database_mutex);
  std::string NumberProperty(ColumnFamilyState* family, std::string_view name, bool* known);
  MemoryUsage GetMemoryUsage();

  // --- filter_memory.cc ---
  std::vector<FamilyTree> TreesNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::vector<FamilyTree> Trees() ABSL_LOCKS_EXCLUDED(database_mutex);
  // What TreesNow leaves out: whose tables the planner may have refiltered.
  void MarkRefilterable(std::vector<FamilyTree>* trees) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void GivePlannedBits(const std::vector<FamilyTree>& trees, const std::vector<BitsByLevel>& bits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // For tables that are about to be written: by the trees' shape alone, where they have grown or
  // shrunk much since KeepFilters planned.
  void PlanNewFilters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  enum class FilterLoading : uint8_t {
    kInSlices,      // gives way to other work; the background threads go on with it
    kInBackground,  // that is such a thread, which gives way to callers as well
    kAtOnce,
  };
  // Plans which filters are in memory, and makes it so.
  void KeepFilters(FilterLoading loading) ABSL_LOCKS_EXCLUDED(filter_round_, database_mutex);
  struct FilterRound {
    std::vector<FamilyTree> trees;
    double seconds = 0;  // since the last one
    bool is_first = false;
    uint64_t refilters_ended = 0;  // DatabaseJobs::planned_refilters_ended
  };
  // Nothing: there is none to do.
  std::optional<FilterRound> BeginFilterRound() ABSL_EXCLUSIVE_LOCKS_REQUIRED(filter_round_)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // What look-ups met so far.
  LookupOutcomes CountedOutcomes();
  void ReportFilterChanges(const FilterBudget::Changes& changes);
  // InvalidArgument if one unit of each file does not fit.
  absl::Status CheckFilterBudget(uint64_t budget_bytes) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // By what the last opening has counted.
  void ExpectLookups();
  FilterBudgetReport ReportFilterBudget() ABSL_LOCKS_EXCLUDED(database_mutex);

  const Options options_;  // as given; of what changes, database_options_ and families know more
  const std::string path_;
  EventQueue events_;
  ObservedFileSystem observed_file_system_;
  OpenFileCache open_files_;
  YieldingFileSystem yielding_file_system_;  // in front of the observed one
  FileSystem* const file_system_;            // the yielding one
  const std::shared_ptr<BlockCache> cache_;
  std::unique_ptr<FileLock> lock_;
  FileInPlace lock_file_;
  Recorder recorder_;
  StatisticsSaver statistics_saver_;
  TraceRecorder trace_;
  const std::shared_ptr<FilterLedger> filter_ledger_;  // with the tables, which may live longer
  FilterBudget filter_budget_;
  // From the moment at which a round of the budget takes its counts to its end: of two rounds at
  // once one might add look-ups, and the other decay them by the time in which they came.
  Mutex filter_round_;
  // Of the database's calls, which would seldom get it between two slices of a background thread.
  std::atomic<int> waiting_for_filter_round_{0};
  // When they were last, or the database was opened.
  SteadyTime filters_kept_ ABSL_GUARDED_BY(filter_round_) = SteadyNow();
  // False: look-ups have been counted that no round of the budget has seen.
  bool filters_are_watched_ ABSL_GUARDED_BY(filter_round_) = true;
  bool filters_are_kept_ ABSL_GUARDED_BY(database_mutex) = false;
  // That new filters' bits are planned for; less than 0: they are to be planned.
  double planned_keys_ ABSL_GUARDED_BY(database_mutex) = -1;
  FalsePositiveCache false_positive_cache_;
  ReadRings read_rings_;
  RowCache row_cache_;
  SnapshotList snapshots_;
  // Held by the call that closes, to its end: others wait for that.
  Mutex closing_;
  std::atomic<bool> closed_{false};
  const OwningProcess process_;
  // Written while opening, immutable then.
  std::vector<std::string> recovery_notes_;
  std::vector<std::string> recovery_losses_;  // those of them that tell of damage

  DatabaseMutex mutex_;
  VersionSet versions_;
  LogSet logs_;
  ColumnFamilySet families_;
  ColumnFamilyState* default_family_ = nullptr;  // immutable once open
  // Checkpoints, backups, ingestions, changes of options.
  int copies_running_ ABSL_GUARDED_BY(database_mutex) = 0;
  // Those of the database itself, as they are now.
  Options database_options_ ABSL_GUARDED_BY(database_mutex);
  LiveOptions live_options_;
  bool options_are_changing_ ABSL_GUARDED_BY(database_mutex) = false;
  WriteQueue write_queue_;
  BackgroundScheduler scheduler_;
  BackgroundRateLimiter rate_limiter_;
  WriteLeader leader_;
  DatabaseJobs jobs_;
  const std::shared_ptr<DatabaseTransactions> transactions_;
};

// Acquire, inside: entries up to this number are seen in the memtables of any view taken before.
inline SequenceNumber DBImpl::SequenceFor(const ReadOptions& options) const {
  return options.snapshot != nullptr
             ? static_cast<const SnapshotImpl*>(options.snapshot)->sequence()
             : write_queue_.publishing().visible_sequence();
}

// The counters are the calling thread's own; a context must not move to another thread, nor outlive
// the guard of the view that it is for.
inline LookupContext DBImpl::MakeContext(const ReadOptions& options, uint32_t family_id,
                                         FilterCall call, ThreadCounters& counters) {
  LookupContext context;
  context.read_options.verify_checksums = options.verify_checksums;
  context.read_options.fill_cache = options.fill_cache;
  context.read_options.counters = &counters.reads();
  context.filter_counters = &counters.Filters(family_id, call);
  context.false_positive_cache = &false_positive_cache_;
  context.false_positive_cache_hits = &counters.ticker(Ticker::kFalsePositiveCacheHits);
  context.files_passed_by_time = &counters.ticker(Ticker::kFilesPassedByTime);
  return context;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DB_IMPL_H_
