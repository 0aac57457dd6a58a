// Every setting of a database, of its column families, and of single reads and writes.
//
// Each field says its unit, default, range and effect. All are checked once, at open; the error
// names the field, its value and the range. Every field also has a text form (SetOption), the same
// on the command line and in other languages.
#ifndef WINNOW_OPTIONS_H_
#define WINNOW_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/cache.h"
#include "winnow/compaction_style.h"
#include "winnow/comparator.h"
#include "winnow/compression.h"

namespace winnow {

class Clock;
class CompactionFilter;
class EventListener;
class FileSystem;
class FilterPolicy;
class MergeOperator;
class Snapshot;

// Limits that no option changes.
inline constexpr size_t kMaxKeyBytes = size_t{1} << 20;          // 1 MiB
inline constexpr size_t kMaxValueBytes = size_t{1} << 30;        // 1 GiB
inline constexpr size_t kMaxBatchBytes = (size_t{1} << 31) - 1;  // of one WriteBatch
inline constexpr size_t kMaxColumnFamilies = 10'000;             // of a database at one time
// Level 0 and 15 sorted runs; compaction styles make use of some or all
// (winnow/compaction_style.h).
inline constexpr int kNumLevels = 16;
inline constexpr uint64_t kMaxTtlSeconds = 3'153'600'000;  // 100 years of 365 days

// Settings of one column family. All but the comparator may be changed when the database is opened
// again, most of them while it is open (DB::SetOption; DescribeOptions says which); existing
// SSTables keep what they were written with until they are compacted.
struct ColumnFamilyOptions {
  // The order of keys. Its name is recorded; opening with another one is refused. Must outlive the
  // database. Default: bytewise.
  const Comparator* comparator = BytewiseComparator();

  // The membership filter of each SSTable: "kind[:amount]", the amount as bits per key ("10") or as
  // a wanted false-positive rate ("1%"); "none" for no filter. Kinds: blocked_bloom, bloom, cuckoo
  // (or "cuckoo:1%:semi_sorted"), binary_fuse, ribbon, and auto, which chooses by level and keys.
  // "+range:BITS" at the end adds a range filter of 3 to 34 bits a key, which iterators with bounds
  // ask before they read a file; only under the bytewise comparator (winnow/filter/range_filter.h).
  // Empty: what the column family was last opened with, "blocked_bloom:10" for a new one.
  // Changeable on a live database with DB::SetFilter.
  std::string filter;

  // The part of a key that is hashed into the filter: "whole", "prefix:N" (the first N bytes),
  // "delimiter:C" or "delimiter:C:K" (up to and including the K-th byte C), "component:K" (up to
  // and including the end of the K-th component of a composite key; winnow/filter/filter_key.h says
  // how those are written), "component:1:prefix:N" or "component:1:delimiter:C" (not beyond the
  // first component). With any but the first, iterators that are bounded inside one prefix skip
  // files, and look-ups of absent keys whose prefix is there read a block. With several parts, at
  // most four, as "whole+prefix:8", look-ups ask for the first and iterators for the longest that
  // all of their range shares; each distinct part of a key takes the filter's bits per key.
  // Anything but "whole" needs the bytewise comparator. Empty: as recorded, "whole" for a new
  // column family. Changeable with DB::SetFilter.
  std::string filter_key;

  // A filter of the user's own (winnow/filter_policy.h) for SSTables written from now on, instead
  // of what `filter` and `filter_key` say; it is given whole keys and may go with any comparator.
  // Also used for existing SSTables that carry its name. Must outlive the database. Null
  // (default): none.
  const FilterPolicy* filter_policy = nullptr;

  // What DB::Merge means (winnow/merge_operator.h): one of the user's own, or a built-in one, as
  // text "uint64_add", "int64_add", "max", "min", "append:TEXT". Recorded with the column family,
  // which keeps it: another one is refused. Null (default), as text "none": the recorded one if it
  // is built-in; without one, merges are refused. A database that needs one of the user's own can
  // be opened without it read-only, and then reads of keys that have operands fail.
  std::shared_ptr<const MergeOperator> merge_operator;

  // Time to live: how many seconds after it was written a value exists. Unset (default): as
  // recorded, 0 for a new column family. 0: data does not expire. Range 0 - kMaxTtlSeconds. The
  // field of Options itself is that of "default" alone: families that Options::column_families does
  // not name keep theirs.
  //
  // From the moment at which its time is up a value is absent for every reader, those with a
  // snapshot included: a snapshot fixes what was written, the clock (Options::clock) says what of
  // it has expired. An iterator asks the clock at each seek, and shows until the next one what had
  // not expired then. An expired value never lets an older version of its key show.
  //
  // Compactions drop what has expired. They begin by themselves, even where nobody writes: a file
  // all of whose values have expired goes without being read, as soon as nothing older lies below
  // it that has not; one whose values were written over more than a quarter of the time to live is
  // rewritten when half of that span has expired. So an expired value takes space for as long as a
  // quarter of the time to live or half of the span, whichever is longer, or until its file is
  // compacted for another reason.
  //
  // A value has its write time, eight bytes, if the family had a time to live when it was written:
  // by Put or Write, when the call began; by SstWriter, when it was added to the file. What was
  // written while there was none never expires. The time to live may be changed with each opening,
  // and while the database is open, and holds for values that are there already: a shorter one
  // makes more of them expire; with a longer one, or 0, those show again that had expired and were
  // not dropped yet. Exports have no write times: what is imported counts as written then.
  // Checkpoints, backups and repairs keep them.
  //
  // InvalidArgument: the column family has a merge operator, or had one.
  std::optional<uint64_t> ttl_seconds;

  // Asked by compactions what to keep (winnow/compaction_filter.h). Must outlive the database. Null
  // (default): none.
  const CompactionFilter* compaction_filter = nullptr;

  // Compression of SSTable blocks. Default: lz4. A block that it makes less than an eighth smaller
  // is stored as it is; where sixteen in a row were so, one in sixteen is tried from then on, until
  // one becomes smaller.
  Compression compression = Compression::kLz4;
  // Compression for level 0, 1, ...; the last entry serves all deeper levels. Empty (default): the
  // field above serves every level. At most kNumLevels entries.
  std::vector<Compression> compression_per_level;
  // zstd's level, 1-22. Default 3; without effect on other kinds.
  int zstd_level = 3;

  // Bytes of keys and values collected in memory before they are flushed to an SSTable.
  // Default 64 MiB, range 64 KiB - 16 GiB. Larger: fewer compactions, longer recovery.
  size_t write_buffer_bytes = size_t{64} << 20;
  // Memtables held at most, the active one included, before writes wait for a flush. Default 3,
  // range 2 - 64. Memory for writes of one family is at most this times write_buffer_bytes; for
  // those of all see Options::db_write_buffer_bytes.
  int max_write_buffers = 3;
  // Bytes of the memtable's own filter, as a share of write_buffer_bytes. It knows whole keys, but
  // where filter_key begins with components, and the parts of keys that filter_key names. Default
  // 0.02, range 0 (none) - 0.25.
  double memtable_filter_ratio = 0.02;

  // The largest share of an SSTable's data, as it is stored, that the hashes of its filter keys may
  // take in blocks of their own: eight bytes for each part of each key. From them DB::Refilter
  // makes a filter of any kind without reading the data. A table where they would take more has
  // none, nor has one without a filter or with one of a filter_policy. Default 0.02, which is
  // values of some 400 bytes after compression; range 0 (never) - 1 (always). Changes hold for
  // tables that are written from then on.
  double key_hashes_ratio = 0.02;

  // Uncompressed bytes of a data block. Default 4 KiB, range 256 B - 16 MiB. Larger: smaller index,
  // better compression, more bytes read for one key.
  size_t block_bytes = 4096;
  // Keys between two restart points of a block. Default 16, range 1 - 1024.
  int block_restart_interval = 16;

  // When sorted runs are merged: "leveled", "lazy_leveled", "tiered" or "fifo:BYTES". Default
  // leveled. It may change at any time (winnow/compaction_style.h).
  CompactionStyle compaction;
  // Size at which a compaction starts its next SSTable, or before it, from three tenths of it on,
  // where an SSTable of the next level ends. Default 64 MiB, range 64 KiB - 64 GiB.
  size_t target_file_bytes = size_t{64} << 20;
  // Level-0 files that start a compaction. Default 4, range 1 - 256.
  int level0_compaction_trigger = 4;
  // Level-0 files at which writes are delayed and at which they wait. Defaults 20 and 36; trigger
  // <= slowdown <= stop.
  int level0_slowdown_trigger = 20;
  int level0_stop_trigger = 36;
  // What the first level below level 0 that is in use may hold, at least. Default 256 MiB, range
  // 64 KiB - 16 TiB.
  uint64_t level_base_bytes = uint64_t{256} << 20;
  // Each further level's target is this many times larger. Default 10, range 2 - 100.
  double level_size_multiplier = 10;
  // True: files are compacted only by CompactRange, and refiltered only by Refilter. Default false.
  bool disable_auto_compactions = false;
  // True: IngestOptions::behind is allowed. The last level is for what is ingested so; compactions
  // do not write to it, and keep deletions although nothing older is left for them to hide.
  // Deletions that were compacted while this was false hide nothing of what is ingested behind
  // them. Default false.
  bool allow_ingest_behind = false;
};

// What to do with damage in the middle of a write-ahead log. A torn last record is always normal,
// unless the database was closed.
enum class RecoveryMode {
  kStrict,  // refuse to open
  // Refuse if the database was closed, since no crash explains it then. Otherwise, as a power
  // failure may leave such holes among writes that were not synced, replay up to there, report what
  // follows, and keep a copy of it, which `winnow replay` writes again. Default.
  kPointInTime,
  kSalvage,  // skip damaged records, report each; no substitute for repair.h
};

// Settings of a database; the column family fields are those of "default", and of every family that
// `column_families` does not name.
struct Options : ColumnFamilyOptions {
  // Sizes every buffer and cache from two numbers: memory the database may use (at least 16 MiB)
  // and threads of the machine it may keep busy (at least 1).
  //
  // Within the memory are, and "winnow.memory-usage" tells of each: the memtables of all column
  // families (five sixteenths: db_write_buffer_bytes); the filters of open tables
  // (filter_memory_budget, a quarter of the rest: `filter` then names a kind and no amount); and,
  // in the capacity of the block cache, cached blocks with the indexes of open tables, for which
  // blocks give way (charge_filters_to_cache). Indexes of more tables than there is room for are
  // read through the cache, which costs time and not memory: the property says of how many. What
  // else is known of a table, 1 to 2 KiB, stays in memory, and counts: so that there are not too
  // many tables where many column families share little memory, writes then wait for compactions of
  // level 0.
  //
  // Besides, for which 16 MiB and a tenth of the memory are usual: what compactions read ahead (a
  // 32nd: compaction_readahead_bytes) and jobs build of filter and index for the table that they
  // write; what a family is known by, some 10 KiB; counters of each thread; the pages of the newest
  // log, 4 MiB at most, which the system can write back; what the allocator keeps of what was
  // freed, for which five sixteenths of the memory, up to 8 MiB, are left out of the cache. Not
  // bounded: one large value, which takes three times its size while it is written, and again while
  // it is flushed or compacted; memtables that iterators hold after their flush; blocks that pinned
  // values and iterators hold; opening read-only, which keeps in memory all that the logs hold.
  static Options ForMemory(size_t memory_bytes, int threads);

  // Create the database if it is missing, with missing parents of its directory. Default true.
  bool create_if_missing = true;
  // Refuse to open a database that exists. Default false.
  bool error_if_exists = false;
  // Open for reading only: writes fail, nothing on disk is changed, no lock is taken, and the
  // write-ahead log is replayed into memory only. Default false.
  bool read_only = false;

  // Settings of column families by name, for those that differ from the fields above. Families
  // that exist but are not named here open with the inherited fields and their recorded filter.
  // A family with a custom comparator must be named. "default" may not be.
  std::map<std::string, ColumnFamilyOptions> column_families;

  // Where files live. Must outlive the database. Null (default): the operating system's.
  FileSystem* file_system = nullptr;

  // The time by which data expires (winnow/clock.h). Must outlive the database. Null (default): the
  // operating system's.
  const Clock* clock = nullptr;

  // Blocks kept in memory. Null (default): a cache of block_cache_bytes of its own.
  std::shared_ptr<BlockCache> block_cache;
  // Default 32 MiB; ignored where block_cache is set, and then no change of a live database
  // (BlockCache::SetCapacity is). 0: nothing is cached. Smaller while the database is open: blocks
  // are evicted at once; filters and indexes that charge_filters_to_cache counts stay until their
  // tables are compacted or opened again. What finds the blocks takes up to 1.8 % of the largest
  // capacity so far, or of the machine's memory if that is less, and three times as much after it
  // was raised in many steps: as blocks come, and until the cache is destroyed.
  size_t block_cache_bytes = size_t{32} << 20;

  // Bytes for whole answers of Get, Exists and MultiGet that tables gave: values, and that a key is
  // not there, so that asking again reads nothing and asks no filter. Writes, ingestions and range
  // deletions are seen at once. Merge operands are not kept, nor values of more than a hundredth of
  // the bytes; look-ups with a snapshot use what is kept and add nothing. Each answer takes some
  // 150 bytes besides key and value. Default 0: nothing is kept. Range 0 and 64 KiB - 16 TiB.
  // Smaller while the database is open: answers that do not fit are dropped at once.
  size_t row_cache_bytes = 0;
  // How long answers are kept at most, each a tenth more or less. Default 0: without a limit. Range
  // 0 - 1 billion. Less while the database is open: all that are kept are dropped.
  int row_cache_ttl_seconds = 0;

  // True: the memory of open tables, their filters and indexes included, is taken from the capacity
  // of the block cache, so that cached blocks give way to filters, down to an eighth of it. Once
  // three quarters are taken, filters and indexes of further tables do not stay in memory: they are
  // blocks of the cache, loaded when a look-up needs them, and a filter of more than a sixteenth of
  // the capacity is not used at all. "winnow.memory-usage" tells of how many tables this is so, the
  // ticker kFilterBlocksRead what is loaded. Besides, each table takes 1 to 2 KiB. Where that
  // leaves blocks less than their eighth, and compactions of level 0, over all column families,
  // would save a sixteenth of the capacity or more, writes wait for those; if they fail, writes are
  // refused with their error. Tables of each database that shares the cache, and asks for it,
  // count. Without effect where the cache has no capacity. Default false: filters and indexes stay
  // in memory, however many they are, and nothing but the triggers of each family's level 0 holds
  // writes back.
  bool charge_filters_to_cache = false;

  // Bytes that the filters of all SSTables, of all column families, may take in memory. Within it
  // the database decides by itself, from the shape of its trees and from where keys are looked up
  // that are not there: how many bits a new filter gets on its level, and which parts of existing
  // ones are in memory. Filters are written as units of which each refutes keys by itself; of files
  // that are seldom asked fewer are kept, of all at least one. What is in memory exceeds the budget
  // by no more than one such unit. Filters are then no part of the block cache, whatever
  // charge_filters_to_cache says. DB::PlanFilters shows beforehand what a budget brings, and
  // "winnow.filter-budget" what it does. `filter` then names a kind and no amount: both given are
  // refused, while a recorded amount gives way. InvalidArgument: one unit of each file does not fit
  // into a budget that was not in force before; the error has the smallest that works. (A database
  // that grows beyond its budget goes on, with filters for as many files as there is room for: new
  // ones have a bit a key at least, or the fewest that their kind can have.)
  // Units that come into memory while the database is open are read in slices of 50 milliseconds,
  // between which all other work has its turn.
  // Filters that were written without a budget are one unit each: DB::Refilter, as compactions do,
  // gives them several. In column families without disable_auto_compactions the database does so by
  // itself, to one SSTable at a time and when it has nothing else to do, where another filter would
  // save the look-ups of the last minutes more than twice the blocks that are read and written for
  // it: one that is too small or too large by a quarter, of another kind than `filter`, or missing;
  // or too small by a twentieth, where a thirty-second of the budget lies idle.
  // In the same families, where they are leveled, files are compacted before their level is due
  // once look-ups are reckoned to have read as many bytes of them in vain as that reads and writes.
  // Range filters ("+range:BITS") are no part of the budget: they have the bits
  // that are asked for, and are charged to the cache where charge_filters_to_cache says so.
  // Default 0: as `filter` says, all of it in memory.
  // Range 1 KiB - 16 TiB.
  uint64_t filter_memory_budget = 0;

  // Leaves the filters of a column family's last level, nine tenths of them in a leveled tree, out
  // of memory while they save little: while 95 % of the look-ups that come to that level find their
  // key there, by what the last minutes have shown. Where that is less than 90 % they come back by
  // themselves, with one read each. In files they always are. The next opening begins with what was
  // decided last, as far as it was saved (DB::ReadStatistics). Beside filter_memory_budget the rest
  // of the filters have the room. "winnow.filter-budget" tells what is left out and why. Until they
  // are back MayExist says "may" more often. As under a budget, filters are no part of the block
  // cache then. A look-up pays some nanoseconds a table for filters that come and go. Default
  // false.
  bool optimize_filters_for_hits = false;

  // Bytes that the memtables of all column families may take together, their filters and what is
  // allocated ahead included. At half of it the largest are flushed; writes wait for flushes when
  // all of it is taken. What iterators hold counts, but is not waited for; one group of writes
  // comes on top. Default 0: no bound but each family's. Range 1 MiB - 16 TiB.
  size_t db_write_buffer_bytes = 0;

  // Bytes that one compaction reads ahead, of all its input files together; each has 16 KiB at
  // least and 1 MiB at most. Default 16 MiB, range 64 KiB - 1 GiB.
  size_t compaction_readahead_bytes = size_t{16} << 20;

  // Threads for flushes and compactions together. Default 2, range 1 - 64. If there are two or
  // more, one is always free for flushes, and flushes leave one to compactions. A compaction out of
  // level 0 divides its keys among all that are idle.
  int background_threads = 2;

  // Bytes that flushes and compactions together write in a second, so that readers and others have
  // the rest of the disk. Flushes come first, and while readers read from files compactions have
  // half of it. It is a wish, not a wall: the nearer writes are to being delayed, and the larger
  // levels are for their targets, the more is written (at half of that twice as much), and in the
  // end, or once writes wait for it, without a limit. Closing does not wait for it. Default 0: no
  // limit. Range 64 KiB - 1 TiB.
  uint64_t background_bytes_per_second = 0;

  // SSTables whose file is open at one time. The others' are opened when they are read, and those
  // read longest ago closed; filters, indexes and cached blocks stay where they are, so that only
  // reads from the disk notice. Never more than half of the files that the process may open
  // (RLIMIT_NOFILE) when the database is opened, or with read_only seven eighths, which is what 0,
  // the default, stands for. Range 0 and 16 - 10 million. Where the process has no descriptor left
  // for a log or a new table, others give up theirs. With read_only beside a process that writes,
  // tables that it removes stay readable only while they are open: the default keeps reading one
  // state as long as there are descriptors for all tables, and a read that needs one that was
  // closed and removed is Aborted.
  int max_open_files = 0;

  // Map SSTables into memory and read uncompressed data blocks where they lie, in the system's page
  // cache, instead of reading and copying them: where the data is larger than the block cache and
  // fits in memory, look-ups take a third to a half of the time. A block's checksum is verified
  // when it is first read after the table was opened; what is wrong is DataLoss as ever. Compressed
  // blocks are decompressed from the mapping into the block cache; blocks read in place count
  // neither as its hits nor as its misses. Default false, for what an error then costs: where the
  // disk fails, or somebody cuts a table while it is open, the system ends the process (SIGBUS)
  // instead of failing the read, and bytes that somebody changes after their check are read
  // unchecked. Compactions and Verify read as without it, and so are tables that were ingested,
  // until they are compacted. Of address space the tables' bytes are taken; the property
  // memory-usage shows them beside its sum. Up to 16,384 tables of a process are mapped (Linux
  // grants it 65,530 mappings, vm.max_map_count); others, and those of file systems that map
  // nothing, are read as without it.
  bool mmap_reads = false;

  // MultiGet reads the blocks that it does not find in memory side by side, by one call of
  // io_uring(7) (Linux 5.7 or newer), instead of one after the other. Where the kernel or a
  // container forbids that, and with file systems of your own, it reads them by themselves and has
  // the operating system fetch the others meanwhile. Each thread in such a call takes a descriptor,
  // up to 8 and to a thirty-second of max_open_files, which are kept; while such calls last, a
  // fourth of max_open_files more tables may be open. Default true; turn it off where a seccomp
  // filter ends processes that try instead of refusing the call.
  bool io_uring_reads = true;

  // What to do with a damaged write-ahead log. Default point_in_time.
  RecoveryMode recovery_mode = RecoveryMode::kPointInTime;

  // Bytes of the write-ahead logs that active memtables need, after which the column families that
  // hold the oldest log back are flushed. What is being flushed comes on top. Default 1 GiB, range
  // 1 MiB - 1 TiB.
  uint64_t max_log_bytes = uint64_t{1} << 30;

  // Notified of flushes, compactions, stalls, errors, files and damage (winnow/event_listener.h).
  // Default: none. None may be null.
  std::vector<std::shared_ptr<EventListener>> listeners;

  // The same events, as lines for people, go to the file LOG in the database's directory, which is
  // renamed to LOG.old when the database is opened and whenever it has this many bytes. It is never
  // synced, not written by read_only, and no failure with it makes anything else fail.
  // Unset (default): 1 MiB on the operating system's file system, 0 on others. Range 0 (no LOG) and
  // 4 KiB - 1 GiB. Changed while the database is open, LOG begins, ends or goes on: with the line
  // that says so as its first or last.
  std::optional<size_t> info_log_bytes;
  // Files kept: LOG, LOG.old, LOG.old.2, ... Default 4, range 1 - 1000. Fewer than before: the
  // oldest are removed when the database is opened, or at once while it is open.
  int info_log_files = 4;

  // Verify the checksum of every block that compactions read. Default true.
  bool verify_compaction_checksums = true;
};

// The number of distinct option fields above, and their names, as SetOption takes them.
std::vector<std::string_view> OptionNames();

// When an option may change.
enum class OptionChange {
  kWhileOpen,  // at any time, with DB::SetOption
  kAtOpening,  // with each opening
  kNever,      // it belongs to the data, from when it was first given
};
struct OptionDescription {
  std::string_view name;
  bool is_of_family = false;  // false: it is of the database as a whole
  OptionChange change = OptionChange::kAtOpening;
};
// Of all options, in the order of OptionNames.
std::vector<OptionDescription> DescribeOptions();

// Sets one field from text: SetOption(&options, "filter", "cuckoo:1%"). Sizes take suffixes K, M,
// G, T (powers of 1024), booleans true/false/1/0; compression_per_level, ttl_seconds and
// info_log_bytes may be "unset". InvalidArgument: unknown name (the nearest one is
// suggested), text that does not parse, or a value outside the range; nothing is changed then. How
// fields fit each other and the comparator is checked at open.
absl::Status SetOption(Options* options, std::string_view name, std::string_view value);

// The text form of one field, which SetOption takes: "64M" for write_buffer_bytes. A merge operator
// of the user's own has its name, which SetOption does not know. InvalidArgument: unknown name.
absl::StatusOr<std::string> OptionText(const Options& options, std::string_view name);

// Checks every field and combination; DB::Open calls it. InvalidArgument names the field.
absl::Status ValidateOptions(const Options& options);

struct ReadOptions {
  // Read as of this snapshot, which must not have been released. Null: newest. InvalidArgument: it
  // belongs to another database.
  const Snapshot* snapshot = nullptr;
  // Keep blocks that this read loads in the block cache. Default true; large scans set false.
  bool fill_cache = true;
  // Verify the checksum of each block loaded. Default true.
  bool verify_checksums = true;
  // Iterators: keys outside [lower_bound, upper_bound) do not exist. The bytes are copied.
  std::optional<std::string> lower_bound;
  std::optional<std::string> upper_bound;
};

struct WriteOptions {
  // Return only when the write survives a power failure. Default false: it survives the process
  // being killed, and a power failure may lose a suffix of unsynced writes, never a hole.
  bool sync = false;
  // Do not write the log: the write is lost unless its memtable is flushed first. Default false.
  bool disable_wal = false;
};

}  // namespace winnow

#endif  // WINNOW_OPTIONS_H_
