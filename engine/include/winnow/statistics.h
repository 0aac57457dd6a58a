// What a database has done, since it was opened and in all. Counting costs a few instructions,
// without locked operations or shared cache lines, and is always on.
#ifndef WINNOW_STATISTICS_H_
#define WINNOW_STATISTICS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// What is counted, over all column families of a database. None is ever reset: each is kept since
// the database was opened and, with what earlier openings have counted, since it was created. The
// unit stands in brackets. "Reads" are Get, MultiGet, Exists and iterators, never compactions.
enum class Ticker : uint32_t {
  // Calls of users.
  kGets,               // [calls] of Get and Exists, whatever they return
  kGetsFound,          // [calls] of those, for keys that were there
  kMultiGetKeys,       // [keys] given to MultiGet
  kMultiGetKeysFound,  // [keys] of those, that were there
  kSeeks,              // [calls] of an iterator's Seek, SeekForPrev, SeekToFirst and SeekToLast
  kIteratorSteps,      // [calls] of an iterator's Next and Prev; added at its next seek or its end
  kIteratorEntriesSkipped,  // [entries] that iterators passed: deletions, and what they or newer
                            // versions hide; added at the next seek or the end
  kWrites,                  // [calls] of Put, Delete, Merge, DeleteRange and Write that succeeded
  kKeysWritten,             // [updates] in them: keys put, merged or deleted
  kRangeDeletions,          // [updates] of those, that delete a range
  kUserBytesWritten,      // [bytes] of those updates: keys and values, with their lengths and types
  kLogBytesWritten,       // [bytes] of records for the write-ahead log, before their framing
  kLogSyncs,              // [syncs] of the write-ahead log for writes with WriteOptions::sync
  kMemtableHits,          // [calls] of Get and Exists that a memtable answered (value, operand or
                          // deletion)
  kMergedReads,           // [keys] whose value reads made of merge operands
  kMergeOperandsRead,     // [operands] that they made them of
  kTransactionCommits,    // [transactions] committed; each that writes is a write as well
  kTransactionConflicts,  // [calls] of transactions refused since another had written the key
  kTransactionLockWaits,  // [calls] of pessimistic ones that waited for a lock
  kTransactionLockTimeouts,  // [calls] of those that did not get it in time
  kTransactionDeadlocks,     // [calls] refused since all in a circle would have waited for ever

  // Background work.
  kFlushes,                 // [flushes] ended, failed ones included
  kFlushBytesWritten,       // [bytes] of SSTables that flushes wrote
  kCompactions,             // [compactions] ended, failed ones and moves of whole files included
  kCompactionBytesRead,     // [bytes] of blocks that compactions read, as stored
  kCompactionBytesWritten,  // [bytes] of SSTables that compactions wrote
  // Values that compactions dropped, or replaced by deletions, since their time to live was up:
  kExpiredEntriesDropped,  // [entries] all of them
  kExpiredFilesDropped,    // [files] that went whole, without being read
  // What compactions dropped since range deletions hide it from everybody:
  kRangeDeletedEntriesDropped,  // [entries] all of them
  kRangeDeletedFilesDropped,    // [files] that went whole, without being read
  kEntriesFilteredOut,          // [entries] that a compaction filter removed, or that flushes and
                                // compactions of tables took for garbage
  kEntriesChangedByFilter,      // [entries] to which one gave another value
  kBackgroundWaitMicros,        // [microseconds] that flushes and compactions waited, for
                                // Options::background_bytes_per_second
  kRefilters,                   // [calls] of Refilter, failed ones included
  kFilesRefiltered,             // [files] that got another filter, by them or by the planner of
                                // Options::filter_memory_budget
  kFilesRefilteredByPlanner,    // [files] of those, by the planner
  kRefilterBytesRead,           // [bytes] of blocks that were read for it, as stored
  kRefilterBytesWritten,        // [bytes] of filter files that were written
  kIngestions,                  // [calls] of Ingest that succeeded
  kFilesIngested,               // [files] that came in with them
  kBytesIngested,               // [bytes] of those
  kWriteStallMicros,  // [microseconds] that groups of writers waited or were delayed in all
  kWriteStalls,       // [groups] of writers that waited or were delayed

  // What reads cost.
  kDataBlocksRead,      // [blocks] of data that reads loaded from files
  kBlocksReadTogether,  // [blocks] of those, that MultiGet read together with others
                        // (Options::io_uring_reads)
  kIndexBlocksRead,     // [blocks] of indexes, or partitions of them, that reads loaded from files
  kFilterBlocksRead,  // [blocks] of filters that reads loaded from files, for want of room to keep
                      // them in memory (Options::charge_filters_to_cache)
  kSignatureBlocksRead,  // [blocks] of signatures (FamilySchema::signature), or indexes of them,
                         // that reads loaded from files
  kBytesRead,            // [bytes] of all of these, as stored
  kBlockCacheHits,       // [blocks] that reads found in the block cache
  kBlockCacheMisses,     // [blocks] that reads looked for there in vain
  kBlockLoadWaits,       // [blocks] of those, that another thread was loading: waited for, not read
  kRowCacheHits,         // [keys] whose answer was kept (Options::row_cache_bytes)
  kRowCacheAbsentHits,   // [keys] of those, that were not there
  kRowCacheMisses,       // [keys] that tables were asked for though there is such a cache
  kRowCacheForgotten,    // [keys] whose answer flushes forgot, since they were written
  kFilesPassedByTime,    // [files] that reads of tables passed over by the times of their cells
  // Scans for values of columns that have signatures:
  kSignatureScans,       // [scans] of a family
  kSignatureRowsAsked,   // [rows] whose signature they looked at, in each SSTable that has one
  kSignatureCandidates,  // [rows] that signatures, or what has none, did not rule out: read whole
  kSignatureRowsFound,   // [rows] of those, of which something was shown
  kFalsePositiveCacheHits,  // [look-ups] of a file whose filter's false positive was remembered: no
                            // block
                            // was read

  // Of filters, by Options::filter_memory_budget:
  kFilterUnitsLoaded,   // [units] read from files, each by one read, beside those of new files
  kFilterUnitsDropped,  // [units] whose memory was given up for others'

  // What went wrong.
  kSignaturesRefused,  // [reads] of an SSTable's signatures that met damage, and went on by its
                       // rows
  kFiltersDamaged,     // [files] whose filter could not be used when the database was opened
  kBackgroundRetries,  // [failures] of flushes and compactions after which they are tried again
  kFilesQuarantined,   // [files] that compactions found damaged and leave alone
  kMergeFailures,      // [keys] of which a merge operator made no value, in reads, flushes and
                       // compactions
  kFiltersFellBack,  // [files] whose filter was built as another kind than specified, or not at all

  kCount,  // how many there are; counts nothing
};
// "gets.found", ...: the names in the property "winnow.stats" and its JSON form.
std::string_view TickerName(Ticker ticker);

// What is timed, in microseconds. The first four are sampled: of a thread's calls one in 64.
enum class LatencyHistogram : uint32_t {
  kGet,         // Get and Exists
  kMultiGet,    // MultiGet, whole calls
  kWrite,       // Put, Delete and Write, with the time that they wait
  kSeek,        // an iterator's seeks
  kFlush,       // writing the SSTables of a flush
  kCompaction,  // merging the files of a compaction
  kCount        // how many there are
};
std::string_view LatencyHistogramName(LatencyHistogram histogram);

// Percentiles are at most 12 % off.
struct HistogramSummary {
  uint64_t samples = 0;  // how many were timed
  double mean_micros = 0;
  double p50_micros = 0;
  double p99_micros = 0;
  double p999_micros = 0;
  double max_micros = 0;
};

// The kind of call that queried a filter.
enum class FilterCall : uint32_t { kGet, kMultiGet, kSeek, kCount };
std::string_view FilterCallName(FilterCall call);

// One row for each column family, level, filter kind, part of the key and kind of call that has
// been counted.
struct FilterStatistics {
  std::string column_family;
  int level = 0;
  std::string kind;
  // What the filter was asked for (ColumnFamilyOptions::filter_key): "whole", "prefix",
  // "delimiter", "component:1", "component:2", "component:3+"; of range filters empty.
  std::string part;
  FilterCall call = FilterCall::kGet;

  // Look-ups of single files, each counted for each file that it comes to.
  uint64_t eligible = 0;        // that a filter could have answered
  uint64_t checked = 0;         // of those, in which a usable filter was queried
  uint64_t rejected = 0;        // it said "not here": no index, no block, no disk
  uint64_t true_positive = 0;   // it said "maybe" and the file held the filter key
  uint64_t false_positive = 0;  // it said "maybe" and the file did not

  // False positives among checked look-ups of what was not there, 0 to 1; NaN where there were
  // none.
  double MeasuredFpr() const;
  // What the formula of the filters on this level promises, weighted by entries; of those that it
  // had last where compactions have emptied it. Under Options::filter_memory_budget of the parts
  // that are in memory now, and of files that have any there. Of range filters (the kind "range"):
  // the mean of what was promised for the ranges that held nothing, each by its length.
  double promised_fpr = 0;
};

// The tree's shape now; one row for each column family and level that has files.
struct LevelStatistics {
  std::string column_family;
  int level = 0;
  uint64_t num_files = 0;      // SSTables
  uint64_t file_bytes = 0;     // on disk
  uint64_t num_entries = 0;    // versions of keys, deletions included
  uint64_t num_deletions = 0;  // of those
  // Which are no entries. One that several files have a piece of counts in each, and one that later
  // ones overlap with each of its pieces.
  uint64_t num_range_deletions = 0;
  uint64_t filter_bytes = 0;        // of filter blocks
  uint64_t range_filter_bytes = 0;  // of range filter blocks
  uint64_t index_bytes = 0;         // of index blocks
  double filter_bits_per_key = 0;   // for each distinct filter key, of each part, of a file
};

// What was counted in some time.
struct CountedStatistics {
  std::array<uint64_t, static_cast<size_t>(Ticker::kCount)> tickers{};
  std::vector<FilterStatistics> filters;

  uint64_t Get(Ticker ticker) const { return tickers[static_cast<size_t>(ticker)]; }
  // Bytes written to logs and SSTables for each byte that users wrote (NaN before the first).
  double WriteAmplification() const;
  // Data blocks read, those of iterators included, for each key that Get, Exists and MultiGet
  // looked up (NaN before the first).
  double ReadAmplification() const;
};

// Since the database was created, over all the times that it was open for writing. Kept in its file
// STATISTICS, which is renewed without a sync: a crash loses what was counted, and that families
// were dropped, since it was last saved, at most a minute, and a power failure somewhat more. If it
// is missing or damaged, or the database was copied or repaired, counting begins again. Where it
// cannot be read for the moment, it stays, and nothing is saved before it can. What a database
// counts that is open read-only is not kept.
struct LifetimeStatistics : CountedStatistics {
  uint64_t openings = 0;            // for writing, this one included; 0: nothing is kept
  uint64_t since_unix_seconds = 0;  // when the first of them began
};

// By GetStatistics: what was counted since the database was opened, and more.
struct Statistics : CountedStatistics {
  std::array<HistogramSummary, static_cast<size_t>(LatencyHistogram::kCount)> histograms{};
  std::vector<LevelStatistics> levels;
  // Bytes of all files for each byte of live SSTable data after a whole compaction, estimated from
  // entries that are shadowed: total bytes / bytes of the largest level.
  double space_amplification = 0;
  // With what earlier openings have counted; of column families that are still there. One that was
  // dropped and created anew begins anew.
  LifetimeStatistics in_all;
};

// What the process that has a database open, or had it last, has saved: DB::ReadStatistics.
struct SavedStatistics {
  uint64_t saved_unix_seconds = 0;
  uint64_t opened_unix_seconds = 0;
  bool is_closed = false;  // saved as the database was closed; else it is open, or was not closed
  CountedStatistics since_opening;
  LifetimeStatistics in_all;
  // The property "winnow.filter-budget-json" as it was then: what was in memory, and why. May be
  // empty.
  std::string filter_budget_json;
  // Column families whose last level did without its filters then
  // (Options::optimize_filters_for_hits): the next opening begins with that.
  std::vector<std::string> families_for_hits;
};

}  // namespace winnow

#endif  // WINNOW_STATISTICS_H_
