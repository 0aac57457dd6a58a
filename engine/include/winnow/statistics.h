// What a database has done since it was opened. Counting costs a few instructions, without locked
// operations or shared cache lines, and is always on.
#ifndef WINNOW_STATISTICS_H_
#define WINNOW_STATISTICS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

enum class Ticker : uint32_t {
  kGets,
  kGetsFound,
  kMultiGetKeys,
  kMultiGetKeysFound,
  kSeeks,
  kIteratorSteps,
  kWrites,  // calls of Put, Delete and Write
  kKeysWritten,
  kUserBytesWritten,  // keys and values as given
  kLogBytesWritten,
  kLogSyncs,
  kMemtableHits,  // look-ups answered by a memtable
  kFlushes,
  kFlushBytesWritten,
  kCompactions,
  kCompactionBytesRead,
  kCompactionBytesWritten,
  kWriteStallMicros,  // time that writers waited or were delayed
  kWriteStalls,
  kDataBlocksRead,  // data blocks loaded from files by reads (not by compactions)
  kIndexBlocksRead,
  kBytesRead,
  kBlockCacheHits,
  kBlockCacheMisses,
  kBlockLoadWaits,          // misses that waited for another thread to load the block
  kFalsePositiveCacheHits,  // repeated false positives answered from memory
  kFiltersDamaged,          // filter blocks that could not be used when a file was opened
  kBackgroundRetries,       // flushes and compactions that failed and were tried again
  kFilesQuarantined,        // SSTables that compactions found damaged and leave alone
  kFiltersFellBack,         // filters built as another kind than asked, or not at all
  kCount,
};
std::string_view TickerName(Ticker ticker);

enum class LatencyHistogram : uint32_t {
  kGet,
  kMultiGet,
  kWrite,
  kSeek,
  kFlush,
  kCompaction,
  kCount
};
std::string_view LatencyHistogramName(LatencyHistogram histogram);

// Calls are timed by sampling (one in 64 on the paths that take less than a microsecond), so counts
// here are of samples.
struct HistogramSummary {
  uint64_t samples = 0;
  double mean_micros = 0;
  double p50_micros = 0;
  double p99_micros = 0;
  double p999_micros = 0;
  double max_micros = 0;
};

// The kind of call that asked a filter.
enum class FilterCall : uint32_t { kGet, kMultiGet, kSeek, kCount };
std::string_view FilterCallName(FilterCall call);

// One row for each column family, level, filter kind and kind of call that has been counted.
struct FilterStatistics {
  std::string column_family;
  int level = 0;
  std::string kind;
  FilterCall call = FilterCall::kGet;

  uint64_t eligible = 0;        // look-ups of a file that a filter could have answered
  uint64_t checked = 0;         // of those, how often a usable filter was asked
  uint64_t rejected = 0;        // it said "not here": no index, no block, no disk
  uint64_t true_positive = 0;   // it said "maybe" and the file held the filter key
  uint64_t false_positive = 0;  // it said "maybe" and the file did not

  // False positives among checked look-ups of what was not there; NaN where there were none.
  double MeasuredFpr() const;
  // What the formula of the filters on this level promises, weighted by entries; of those that it
  // had last where compactions have emptied it.
  double promised_fpr = 0;
};

// The tree's shape; one row for each column family and level that has files.
struct LevelStatistics {
  std::string column_family;
  int level = 0;
  uint64_t num_files = 0;
  uint64_t file_bytes = 0;
  uint64_t num_entries = 0;
  uint64_t filter_bytes = 0;
  uint64_t index_bytes = 0;
  double filter_bits_per_key = 0;
};

struct Statistics {
  std::array<uint64_t, static_cast<size_t>(Ticker::kCount)> tickers{};
  std::array<HistogramSummary, static_cast<size_t>(LatencyHistogram::kCount)> histograms{};
  std::vector<FilterStatistics> filters;
  std::vector<LevelStatistics> levels;

  // Bytes written to logs and SSTables for each byte that users wrote (NaN before the first).
  double write_amplification = 0;
  // Bytes of all files for each byte of live SSTable data after a whole compaction, estimated from
  // entries that are shadowed: total bytes / bytes of the largest level.
  double space_amplification = 0;
  // Data blocks read for each Get.
  double read_amplification = 0;

  uint64_t Get(Ticker ticker) const { return tickers[static_cast<size_t>(ticker)]; }
};

}  // namespace winnow

#endif  // WINNOW_STATISTICS_H_
