// Winnow: an embedded, ordered key-value store whose SSTables carry membership filters.
//
//   auto opened = winnow::DB::Open(winnow::Options(), "/tmp/example");
//   if (!opened.ok()) return Report(opened.status());
//   std::unique_ptr<winnow::DB> db = *std::move(opened);
//   absl::Status written = db->Put(winnow::WriteOptions(), "key", "value");
//   std::string value;
//   absl::Status read = db->Get(winnow::ReadOptions(), "key", &value);   // NotFound if absent
//   absl::Status closed = db->Close();
//
// All functions of DB are thread-safe. Keys and values are arbitrary bytes; the empty key is a key.
// Errors, besides those that each function names:
//   InvalidArgument     a key, value or batch over the limit (winnow/options.h), or bad options
//   FailedPrecondition  the database is closed, read-only, or stopped by an earlier error
//   DataLoss            bytes on disk are damaged: the message names file, offset and reason
//   Aborted             open read-only: a table that was closed (Options::max_open_files) has been
//                       removed by the process that writes; open again
//   Unavailable         the file system failed; ResourceExhausted: disk full, no descriptors,
//                       no memory
// An open database belongs to the process that opened it. In a child made by fork(2) every call is
// refused with FailedPrecondition (or gives nothing), and iterators, pinned values and the DB may
// only be destroyed, which leaves the files as they are and keeps the DB's copied memory.
// No function throws for want of memory, but for those that return containers without a status
// (ColumnFamilies, GetStatistics, PropertyNames).
#ifndef WINNOW_DB_H_
#define WINNOW_DB_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/backup.h"
#include "winnow/explain.h"
#include "winnow/filter_plan.h"
#include "winnow/ingest.h"
#include "winnow/iterator.h"
#include "winnow/merge_operator.h"
#include "winnow/options.h"
#include "winnow/pinned_value.h"
#include "winnow/refilter.h"
#include "winnow/statistics.h"
#include "winnow/trace.h"
#include "winnow/transaction.h"
#include "winnow/verify.h"
#include "winnow/write_batch.h"

namespace winnow {

// A column family of an open database: a key space with its own memtables, SSTables, filter and
// compression, sharing the write-ahead log. Owned by the DB and valid until it is closed; after a
// drop, calls with it fail with FailedPrecondition.
class ColumnFamily {
 public:
  virtual std::string_view name() const = 0;
  virtual uint32_t id() const = 0;

 protected:
  friend class WriteBatch;
  virtual ~ColumnFamily() = default;

  // Tells the families of one open database from those of every other, also of the same one opened
  // before. 0: of none.
  uint64_t database_number_ = 0;
};

// A frozen view, made by DB::GetSnapshot and released with DB::ReleaseSnapshot, which
// SnapshotGuard (below) does by itself.
class Snapshot {
 public:
  // The sequence number of the last write that the snapshot includes.
  virtual uint64_t sequence() const = 0;

 protected:
  virtual ~Snapshot() = default;
};

// One change for DB::SetOptions: a name of OptionNames (winnow/options.h), and its text.
struct OptionSetting {
  std::string_view name;
  std::string_view text;
};

// The keys from `begin` on that are smaller than `end`.
struct KeyRange {
  std::string_view begin;
  std::string_view end;
};

// Each call that takes a column family has an overload without it, for the family "default"; all of
// these stand together at the end.
class DB {
 public:
  // Opens or creates the database in directory `path` and recovers what the write-ahead log holds.
  // A relative path counts from the working directory of the moment, which may change afterwards.
  // NotFound: missing and create_if_missing is false. AlreadyExists: error_if_exists.
  // FailedPrecondition: another process (named by its id) or this one has it open, another
  // comparator, a newer format version, or a database of LevelDB or RocksDB, which every call here
  // leaves as it is. InvalidArgument: options, or the path is a file.
  static absl::StatusOr<std::unique_ptr<DB>> Open(const Options& options, const std::string& path);

  // Names of the column families of a closed or open database, "default" first.
  static absl::StatusOr<std::vector<std::string>> ListColumnFamilies(const Options& options,
                                                                     const std::string& path);

  // Removes the database and nothing else: files that are not Winnow's stay, and then the
  // directory, unless `path` is a link to it: then both stay. A missing database is no error.
  // FailedPrecondition while it is open, and for a database of another engine.
  static absl::Status Destroy(const Options& options, const std::string& path);

  // What has been counted there, without opening the database: the process that has it open saves
  // its statistics every minute, and when it closes. NotFound: none are there; DataLoss: the file
  // is damaged, and will be replaced; other errors: it cannot be read now. Of the options only the
  // file system counts.
  static absl::StatusOr<SavedStatistics> ReadStatistics(const Options& options,
                                                        const std::string& path);

  // Makes `*options` those with which the database in `path` was last open, changes by SetOption
  // included, of all its column families by name:
  //
  //   winnow::Options options;
  //   absl::Status loaded = winnow::DB::LoadOptions(path, &options);
  //   if (loaded.ok()) opened = winnow::DB::Open(options, path);
  //
  // What text cannot say stays as it is in `*options`: file system, clock, listeners, block cache,
  // and of each family comparator, merge operator, filter policy and compaction filter, where those
  // that are recorded are not built in; and so do the settings of a single opening
  // (create_if_missing, error_if_exists, read_only, recovery_mode). The database may be open in
  // this or another process. NotFound: there is none. After an error nothing has changed.
  static absl::Status LoadOptions(const std::string& path, Options* options);

  virtual ~DB() = default;  // closes, and discards errors: see Close

  // Stops background work, syncs and ends the log, releases the lock. Returns the first error that
  // was not reported before. Iterators and pinned values must be gone. A second call returns OK,
  // and not before the database is closed: one that comes meanwhile waits for the first.
  // FailedPrecondition, and nothing happens: called by a listener, or by another callback of the
  // database.
  virtual absl::Status Close() = 0;

  // --- Writing ---
  virtual absl::Status Put(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                           std::string_view value) = 0;
  virtual absl::Status Delete(const WriteOptions& options, ColumnFamily* family,
                              std::string_view key) = 0;
  // Adds an operand for the family's merge operator (winnow/merge_operator.h), which makes the
  // key's value of it when it is read. Reads no value, and writes the operand alone.
  // FailedPrecondition: the family has no operator; InvalidArgument: it refuses the operand.
  virtual absl::Status Merge(const WriteOptions& options, ColumnFamily* family,
                             std::string_view key, std::string_view operand) = 0;
  // Deletes all keys from `begin` to before `end`, in the order of the family's comparator, by one
  // record, however many there are: reading, iterating and compacting pass over them. Equal ends
  // delete nothing. InvalidArgument: `end` comes before `begin`.
  virtual absl::Status DeleteRange(const WriteOptions& options, ColumnFamily* family,
                                   std::string_view begin, std::string_view end) = 0;
  // Applies the whole batch or nothing. After an I/O error the outcome is unknown until the
  // database has been reopened; it is then either whole or absent.
  virtual absl::Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;

  // --- Transactions (winnow/transaction.h) ---
  // Several reads and writes that take effect together, or not at all if others have written what
  // they rest on. InvalidArgument: options out of range. ResourceExhausted: no memory.
  virtual absl::StatusOr<std::unique_ptr<Transaction>> BeginTransaction(
      const TransactionOptions& options) = 0;
  absl::StatusOr<std::unique_ptr<Transaction>> BeginTransaction() {
    return BeginTransaction(TransactionOptions());
  }

  // --- Reading ---
  // NotFound if the key is absent; `*value` is then unchanged. FailedPrecondition: the key has
  // operands that its merge operator makes no value of.
  virtual absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                           std::string* value) = 0;
  // The same without copying from the block cache.
  virtual absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                           PinnedValue* value) = 0;
  // One status and value for each key, as Get would give; all as of one moment. The spans have
  // equal sizes. Filters are probed in batches.
  virtual void MultiGet(const ReadOptions& options, ColumnFamily* family,
                        std::span<const std::string_view> keys, std::span<PinnedValue> values,
                        std::span<absl::Status> statuses) = 0;
  // Queries memtables and filters only; no I/O. Never false for a key that is there; true for an
  // absent key at the filters' false-positive rate, and for deleted keys, unless a range deletion
  // is what hides them.
  virtual bool MayExist(const ReadOptions& options, ColumnFamily* family, std::string_view key) = 0;
  // Exact; the value is not copied.
  virtual absl::StatusOr<bool> Exists(const ReadOptions& options, ColumnFamily* family,
                                      std::string_view key) = 0;
  // Never null; an error shows in its status().
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options,
                                                ColumnFamily* family) = 0;

  // The present moment, for reads until it is released. What it can see stays on disk until then.
  // Null only if there is no memory for it: a read that is given null is one of its own moment.
  virtual const Snapshot* GetSnapshot() = 0;
  // Each snapshot once, before the database is destroyed. Null does nothing.
  virtual void ReleaseSnapshot(const Snapshot* snapshot) = 0;

  // --- Column families ---
  virtual ColumnFamily* DefaultColumnFamily() = 0;
  // AlreadyExists; InvalidArgument for an empty name or one of over 255 bytes; ResourceExhausted
  // above kMaxColumnFamilies.
  virtual absl::StatusOr<ColumnFamily*> CreateColumnFamily(const ColumnFamilyOptions& options,
                                                           std::string_view name) = 0;
  // NotFound if there is none of that name.
  virtual absl::StatusOr<ColumnFamily*> FindColumnFamily(std::string_view name) = 0;
  // Its data is unreachable at once, a compaction of it is cancelled, and its memory goes; its
  // files are removed once no reader needs them. The handle stays valid until the database is
  // destroyed, and every call with it is refused. InvalidArgument for "default" and for a family of
  // another database. ResourceExhausted: the disk is full, and the family is as it was, or refuses
  // calls until this one is made again; the error of CreateColumnFamily and SetFilter then is of
  // that call alone.
  virtual absl::Status DropColumnFamily(ColumnFamily* family) = 0;
  virtual std::vector<ColumnFamily*> ColumnFamilies() = 0;

  // --- Options ---
  // Changes options while the database is open, all of the settings or none: those that
  // DescribeOptions says change so. They are checked as Open does, together with all others as they
  // are. Of options of the database itself `family` plays no part, and may be null.
  //
  // What begins after the return goes by them: writes, flushes, compactions, memtables (an active
  // one has the filter that it was made with), stalls. What is running ends as it began. Files keep
  // what they were written with. A time to live holds at once for every read; iterators go by it
  // once they are refreshed.
  //
  // Durable when the call returns. The next Open takes its options from the program again, but for
  // `filter`, `filter_key` and `ttl_seconds` where it leaves them open; LoadOptions gives what was
  // set here, and `winnow options DIR` shows it.
  //
  // InvalidArgument names the option: an unknown name, with the nearest right one; a text or a
  // number that it does not take, with what it does take; one that does not fit the others; one
  // that cannot change. ResourceExhausted: the disk is full, or there is no thread to be had.
  // After an error nothing has changed. Writes and reads do not wait for it, and it does not wait
  // for them: a write that is stalled goes on if it need not be any more.
  virtual absl::Status SetOptions(ColumnFamily* family,
                                  std::span<const OptionSetting> settings) = 0;
  // One of them: db->SetOption(family, "write_buffer_bytes", "16M").
  absl::Status SetOption(ColumnFamily* family, std::string_view name, std::string_view text) {
    const OptionSetting setting{name, text};
    return SetOptions(family, {&setting, 1});
  }
  // The text of an option as it is now; any of OptionNames. InvalidArgument: there is none of this
  // name. Of options of the database itself `family` plays no part, and may be null.
  virtual absl::StatusOr<std::string> GetOption(ColumnFamily* family, std::string_view name) = 0;
  // The options `filter` and `filter_key` together: sets filter spec and filter key for SSTables
  // written from now on; existing files keep theirs and are still queried correctly. Recorded.
  // Empty text leaves that part unchanged.
  virtual absl::Status SetFilter(ColumnFamily* family, std::string_view filter,
                                 std::string_view filter_key) = 0;

  // --- Maintenance ---
  // Writes all memtables of the family to SSTables and waits.
  virtual absl::Status Flush(ColumnFamily* family) = 0;
  // Flushes, then compacts every file that overlaps [begin, end] down to the last level that holds
  // data, rewriting each; unset ends mean the first and last key. Waits. Meanwhile writes go on,
  // and automatic compactions of the family keep its level 0 small.
  virtual absl::Status CompactRange(ColumnFamily* family, std::optional<std::string_view> begin,
                                    std::optional<std::string_view> end) = 0;
  // Gives every SSTable of the family a filter of its present settings, or of those in the options,
  // which are set first, without a compaction: the tables stay as they are, and each new filter
  // lies in a file of its own beside its table. Tables that keep the hashes of their keys are not
  // read but for those (ColumnFamilyOptions::key_hashes_ratio), unless the filter key changes; of
  // others all data is read once. Waits; a call for a family waits for the one before.
  //
  // Reads, writes, flushes and compactions go on meanwhile. Readers go over to the new filter of a
  // file at once, and no key is missed in between. What it reads and writes is paced as what
  // compactions write is (Options::background_bytes_per_second). A file that a compaction replaces
  // before its turn is passed over: what compactions write has the filter of the settings. So are
  // files that have it already: after an error, a close or a crash a second call goes on where the
  // first one ended.
  //
  // Under Options::filter_memory_budget the settings name a kind, and each new filter has the units
  // that the budget has for its table's level at present; a filter of that kind that has units is
  // current, whatever their bits. Units of filter files are in memory or not like any others, and
  // while a table changes over, those of both its filters count.
  //
  // Range filters ("+range:BITS") are part of the tables and stay as they are: flushes and
  // compactions alone build them. So does what is set of them, unless the options name it:
  // "ribbon" of a family with "bloom+range:12" sets "ribbon+range:12", and "ribbon+range:0" sets
  // "ribbon", for tables to come.
  //
  // InvalidArgument: as SetFilter, or the options ask for a range filter that not all tables have,
  // or for a budget that is too small; nothing has changed, and nothing is set. FailedPrecondition:
  // the family has a filter policy, or on_progress of such a call calls. DataLoss, or the error of
  // opening it: a table is damaged and keeps the filter that it has; all others have the new one.
  // Cancelled: on_progress said so, or the family was dropped. ResourceExhausted: the disk is full,
  // and the rest keeps its filters.
  virtual absl::StatusOr<RefilterInfo> Refilter(ColumnFamily* family,
                                                const RefilterOptions& options) = 0;
  // Waits until no flush or compaction is running or due.
  virtual absl::Status WaitForBackgroundWork() = 0;

  // --- Bulk loading (winnow/ingest.h) ---
  // Brings in tables that SstWriter wrote, all of them or none: after an error or a power failure
  // too, and for readers, who see nothing of them before all is durable.
  //
  // All entries get one sequence number, newer than every write and every snapshot before; writes
  // that were made before, and not synced, become durable with them. Each file goes to the deepest
  // level where neither it nor any level above has keys of its range, to level 0 if the first has
  // some; memtables with keys of its range are flushed first, and writes wait for that and for the
  // manifest. A file's filter is asked as it was built, whatever the family's settings and seed.
  //
  // With `behind` the entries are the oldest, for every snapshot too, and go to the last level.
  //
  // InvalidArgument: a file that SstWriter did not write, without entries, files of one family
  // whose ranges overlap, a move out of the directory of a database. FailedPrecondition: another
  // comparator, a newer format; `behind` in a family without allow_ingest_behind, or where the last
  // level has keys of a file's range. DataLoss: a damaged or unsorted file. NotFound. After every
  // error but those of the manifest, which end all writing, the files are where they were and the
  // database is as it was.
  virtual absl::StatusOr<IngestInfo> Ingest(const std::vector<IngestFile>& files,
                                            const IngestOptions& options) = 0;
  // A writer of a table as this family would write it at its last level: with its comparator, its
  // present filter and the database's hash seed, which saves look-ups one hash a file. `path` is
  // anywhere in the database's file system, under another name than a database's own files in its
  // directory have (InvalidArgument). In a family with a time to live its values have write
  // times. It may outlive the database, but not the file system and the clock.
  virtual absl::StatusOr<std::unique_ptr<SstWriter>> NewSstWriter(ColumnFamily* family,
                                                                  const std::string& path) = 0;

  // --- Copies ---
  // Makes `directory`, which must be missing or empty, a database that holds what this one holds
  // now, while writes go on. Tables are shared by hard links where the file system has them. After
  // an error or a power failure there is no database in `directory`, or a whole one.
  // AlreadyExists: something is there.
  virtual absl::Status Checkpoint(const std::string& directory) = 0;
  // Adds a backup to `backup_directory` (winnow/backup.h), copying what the last backup there
  // lacks, while writes go on. Each table that is copied is read as Verify does: DataLoss names a
  // damaged one, and there is no backup then. What the last backup has is read there, and copied
  // anew if it is damaged. FailedPrecondition: another backup is being made there. InvalidArgument:
  // a database is there.
  virtual absl::StatusOr<BackupInfo> BackupTo(const std::string& backup_directory) = 0;

  // --- Looking inside ---
  // NotFound for an unknown property. "winnow.stats", "winnow.filter-stats", "winnow.levels",
  // "winnow.sstables", "winnow.memory-usage" (of the whole database, each part and the sum): tables
  // for people; the same names with "-json" for machines.
  // Numbers: "winnow.num-files-at-level<N>", "winnow.estimate-num-keys",
  // "winnow.approximate-memory-usage", "winnow.filter-memory", "winnow.index-memory",
  // "winnow.memtable-memory", "winnow.block-cache-usage", "winnow.last-sequence",
  // "winnow.num-open-files" (SSTables of the database whose file is open).
  // Text: "winnow.background-error" (empty if none), "winnow.recovery" (what opening found in the
  // logs: replayed, cut off, missing), "winnow.filter", "winnow.filter-key",
  // "winnow.merge-operator" (empty: the family has none), "winnow.filter-budget" (a table, and
  // with "-json": what filters take of Options::filter_memory_budget, promise and keep),
  // "winnow.sstables-by-level" (the form of LevelDB's "leveldb.sstables").
  virtual absl::StatusOr<std::string> GetProperty(ColumnFamily* family, std::string_view name) = 0;
  static std::vector<std::string_view> PropertyNames();
  // For each range, roughly how many bytes of SSTables its keys take on disk, as compressed. What
  // is still in memtables is not counted. Reads index blocks only.
  virtual absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(
      ColumnFamily* family, std::span<const KeyRange> ranges) = 0;
  virtual Statistics GetStatistics() = 0;
  // What Options::filter_memory_budget would bring if it were `budget_bytes` (more than 0), by
  // level and column family, and half and double of it; nothing changes. From the trees as they are
  // and the look-ups that were measured. InvalidArgument: too few bytes for the smallest filter of
  // each table; the message names the smallest budget that works.
  virtual absl::StatusOr<FilterPlans> PlanFilters(uint64_t budget_bytes) = 0;
  // How a Get of `key` proceeds: each memtable and candidate file, what its filter answers, what
  // its block holds. Counted in no statistics.
  virtual absl::StatusOr<KeyExplanation> Explain(ColumnFamily* family, std::string_view key) = 0;
  // Records calls in a new file, `path`, until EndTrace or Close: Get, Exists and MultiGet by key,
  // seeks of iterators made from now on, and updates that were written. Recording costs each call a
  // lock that all share, and never fails one: what does not fit, or cannot be written, is left out
  // and counted; so are range deletions, which have no key. AlreadyExists: there is such a file.
  // FailedPrecondition: a trace is being recorded. InvalidArgument: options out of range, or a name
  // of a database's own files in its directory. Or an error of the file system.
  virtual absl::Status StartTrace(const TraceOptions& options, const std::string& path) = 0;
  // Ends the recording and syncs the file. FailedPrecondition: none was begun. The first error that
  // writing met otherwise.
  virtual absl::StatusOr<TraceInfo> EndTrace() = 0;
  // The same for an iterator over [lower, upper) that seeks to `lower`: what each range filter
  // answers, and whether there are entries. InvalidArgument: `upper` is not above `lower`.
  virtual absl::StatusOr<RangeExplanation> ExplainRange(ColumnFamily* family,
                                                        std::string_view lower,
                                                        std::string_view upper) = 0;
  // Reads every block of every live SSTable and checks checksums, key order, filters against keys
  // and counts; and once more, of SSTables that overlap others, that what lies above is newer than
  // what lies below it. Names what openings have set aside (*.log.damaged, *.log.unread, *.orphan)
  // and, of a database that is open read-only, what could not be replayed. One entry for each
  // problem found; empty means sound. An error means that nothing could be checked.
  virtual absl::StatusOr<std::vector<VerifyProblem>> Verify() = 0;

  // --- The same calls for the default column family ---
  // Each does what the call of its name does with DefaultColumnFamily().
  absl::Status Put(const WriteOptions& options, std::string_view key, std::string_view value) {
    return Put(options, DefaultColumnFamily(), key, value);
  }
  absl::Status Delete(const WriteOptions& options, std::string_view key) {
    return Delete(options, DefaultColumnFamily(), key);
  }
  absl::Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) {
    return Merge(options, DefaultColumnFamily(), key, operand);
  }
  absl::Status DeleteRange(const WriteOptions& options, std::string_view begin,
                           std::string_view end) {
    return DeleteRange(options, DefaultColumnFamily(), begin, end);
  }
  absl::Status Get(const ReadOptions& options, std::string_view key, std::string* value) {
    return Get(options, DefaultColumnFamily(), key, value);
  }
  absl::Status Get(const ReadOptions& options, std::string_view key, PinnedValue* value) {
    return Get(options, DefaultColumnFamily(), key, value);
  }
  void MultiGet(const ReadOptions& options, std::span<const std::string_view> keys,
                std::span<PinnedValue> values, std::span<absl::Status> statuses) {
    MultiGet(options, DefaultColumnFamily(), keys, values, statuses);
  }
  bool MayExist(const ReadOptions& options, std::string_view key) {
    return MayExist(options, DefaultColumnFamily(), key);
  }
  absl::StatusOr<bool> Exists(const ReadOptions& options, std::string_view key) {
    return Exists(options, DefaultColumnFamily(), key);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) {
    return NewIterator(options, DefaultColumnFamily());
  }
  absl::Status SetOption(std::string_view name, std::string_view text) {
    return SetOption(DefaultColumnFamily(), name, text);
  }
  absl::StatusOr<std::string> GetOption(std::string_view name) {
    return GetOption(DefaultColumnFamily(), name);
  }
  absl::Status SetFilter(std::string_view filter, std::string_view filter_key) {
    return SetFilter(DefaultColumnFamily(), filter, filter_key);
  }
  absl::Status Flush() { return Flush(DefaultColumnFamily()); }
  absl::Status CompactRange(std::optional<std::string_view> begin,
                            std::optional<std::string_view> end) {
    return CompactRange(DefaultColumnFamily(), begin, end);
  }
  absl::StatusOr<RefilterInfo> Refilter(const RefilterOptions& options) {
    return Refilter(DefaultColumnFamily(), options);
  }
  absl::StatusOr<std::string> GetProperty(std::string_view name) {
    return GetProperty(DefaultColumnFamily(), name);
  }
  absl::StatusOr<std::vector<uint64_t>> GetApproximateSizes(std::span<const KeyRange> ranges) {
    return GetApproximateSizes(DefaultColumnFamily(), ranges);
  }
  absl::StatusOr<KeyExplanation> Explain(std::string_view key) {
    return Explain(DefaultColumnFamily(), key);
  }
  absl::StatusOr<RangeExplanation> ExplainRange(std::string_view lower, std::string_view upper) {
    return ExplainRange(DefaultColumnFamily(), lower, upper);
  }
};

// Takes a snapshot and releases it when it goes out of scope.
//
//   const winnow::SnapshotGuard snapshot(*db);
//   winnow::ReadOptions read;
//   read.snapshot = snapshot.get();
//
// Move-only; a guard that was moved from holds nothing. Used by one thread at a time; destroyed
// after the iterators and reads that use the snapshot, before the database is.
class [[nodiscard]] SnapshotGuard {
 public:
  // Of the present moment. `db` must outlive the guard.
  explicit SnapshotGuard(DB& db) : db_(&db), snapshot_(db.GetSnapshot()) {}
  ~SnapshotGuard() { Release(); }
  SnapshotGuard(SnapshotGuard&& other) noexcept
      : db_(other.db_), snapshot_(std::exchange(other.snapshot_, nullptr)) {}
  SnapshotGuard& operator=(SnapshotGuard&& other) noexcept {
    if (this == &other) return *this;
    Release();
    db_ = other.db_;
    snapshot_ = std::exchange(other.snapshot_, nullptr);
    return *this;
  }
  SnapshotGuard(const SnapshotGuard&) = delete;
  SnapshotGuard& operator=(const SnapshotGuard&) = delete;

  // For ReadOptions::snapshot, until the guard is destroyed; null once it was moved from or
  // released.
  const Snapshot* get() const { return snapshot_; }

  // Before the guard's end. A second call does nothing.
  void Release() {
    if (snapshot_ != nullptr) db_->ReleaseSnapshot(std::exchange(snapshot_, nullptr));
  }

 private:
  DB* db_;
  const Snapshot* snapshot_;
};

}  // namespace winnow

#endif  // WINNOW_DB_H_
