#include "engine/statistics/statistics_report.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/statistics/text_table.h"

namespace winnow {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Joins JSON rows to an array.
std::string JsonArray(const std::vector<std::string>& rows) {
  std::string out = "[";
  for (size_t i = 0; i < rows.size(); i++) absl::StrAppend(&out, i == 0 ? "" : ",", rows[i]);
  return out + "]";
}

// The row that sums filter rows up; its promise is the mean weighted by look-ups that could fail.
// A filter can be wrong only about what is not there. Weighted so, the promise is what the measured
// rate of the same row would be if every filter kept its own, whatever the mix of levels.
FilterStatistics TotalOf(const std::vector<FilterStatistics>& rows) {
  FilterStatistics total;
  total.column_family = "all";
  double weighted = 0;
  uint64_t misses = 0;
  for (const FilterStatistics& row : rows) {
    total.eligible += row.eligible;
    total.checked += row.checked;
    total.rejected += row.rejected;
    total.true_positive += row.true_positive;
    total.false_positive += row.false_positive;
    const uint64_t row_misses = row.rejected + row.false_positive;
    // Of a row without misses the promise may be unknown, and says nothing.
    if (row_misses != 0) weighted += row.promised_fpr * static_cast<double>(row_misses);
    misses += row_misses;
  }
  total.promised_fpr = misses == 0 ? kUnknown : weighted / static_cast<double>(misses);
  return total;
}

}  // namespace

// A true positive could not have been rejected and is no part of it: with many of them the rate
// would look better than the filters are.
double FilterStatistics::MeasuredFpr() const {
  const uint64_t misses = rejected + false_positive;
  return misses == 0 ? kUnknown : static_cast<double>(false_positive) / static_cast<double>(misses);
}

double Ratio(uint64_t numerator, uint64_t denominator) {
  return denominator == 0 ? kUnknown
                          : static_cast<double>(numerator) / static_cast<double>(denominator);
}

// Of what the store itself wrote: manifests and filter files, which are small beside tables, are
// not in it.
double CountedStatistics::WriteAmplification() const {
  return Ratio(Get(Ticker::kLogBytesWritten) + Get(Ticker::kFlushBytesWritten) +
                   Get(Ticker::kCompactionBytesWritten),
               Get(Ticker::kUserBytesWritten));
}

// Blocks that iterators read are counted and their seeks are not: with many scans the figure is
// large.
double CountedStatistics::ReadAmplification() const {
  return Ratio(Get(Ticker::kDataBlocksRead), Get(Ticker::kGets) + Get(Ticker::kMultiGetKeys));
}

std::string UtcText(uint64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                          absl::FromUnixSeconds(static_cast<int64_t>(unix_seconds)),
                          absl::UTCTimeZone());
}

std::string CountersTable(const CountedStatistics& since_opening,
                          const LifetimeStatistics& in_all) {
  // All counters, also those at 0, in the order of their declaration: two outputs can be compared
  // line by line.
  TextTable counts({"counter", "since opening", "in all"}, 1);
  for (size_t i = 0; i < in_all.tickers.size(); i++) {
    counts.AddRow({std::string(TickerName(static_cast<Ticker>(i))),
                   FormatCount(since_opening.tickers[i]), FormatCount(in_all.tickers[i])});
  }
  TextTable ratios({"amplification", "since opening", "in all", "meaning"}, 1);
  // "-" for what nothing has been divided by yet.
  ratios.AddRow({"write", FormatRatio(since_opening.WriteAmplification()),
                 FormatRatio(in_all.WriteAmplification()),
                 "bytes written to logs and SSTables per byte from users"});
  ratios.AddRow({"read", FormatRatio(since_opening.ReadAmplification()),
                 FormatRatio(in_all.ReadAmplification()), "data blocks read per look-up"});
  std::string text = absl::StrCat(counts.ToString(), "\n", ratios.ToString());
  // 0: no opening for writing has kept anything.
  if (in_all.openings > 0) {
    absl::StrAppend(&text, "\nin all: ", FormatCount(in_all.openings),
                    in_all.openings == 1 ? " opening" : " openings", " since ",
                    UtcText(in_all.since_unix_seconds), "\n");
  }
  return text;
}

std::string StatsTable(const Statistics& statistics) {
  TextTable latencies({"latency (us)", "samples", "mean", "p50", "p99", "p99.9", "max"}, 1);
  for (size_t i = 0; i < statistics.histograms.size(); i++) {
    const HistogramSummary& h = statistics.histograms[i];
    const auto micros = [](double value) { return FixedPoint(value, 2); };
    latencies.AddRow({std::string(LatencyHistogramName(static_cast<LatencyHistogram>(i))),
                      FormatCount(h.samples), micros(h.mean_micros), micros(h.p50_micros),
                      micros(h.p99_micros), micros(h.p999_micros), micros(h.max_micros)});
  }
  // Apart from the other two, which are of counts: this one is of the tree as it is.
  TextTable space({"amplification", "now", "meaning"}, 1);
  space.AddRow({"space", FormatRatio(statistics.space_amplification),
                "bytes of all SSTables per byte of the largest level"});
  return absl::StrCat(CountersTable(statistics, statistics.in_all), "\n", latencies.ToString(),
                      "\n", space.ToString());
}

namespace {

// Without the brackets. The keys are an interface, as are the names below: dashboards read them.
// NaN, which JSON has not, becomes null.
std::string CountersMembers(const CountedStatistics& counted) {
  std::string tickers;
  for (size_t i = 0; i < counted.tickers.size(); i++) {
    absl::StrAppend(&tickers, i == 0 ? "" : ",", JsonString(TickerName(static_cast<Ticker>(i))),
                    ":", counted.tickers[i]);
  }
  return absl::StrCat("\"tickers\":{", tickers,
                      "},\"write_amplification\":", JsonNumber(counted.WriteAmplification()),
                      ",\"read_amplification\":", JsonNumber(counted.ReadAmplification()));
}

std::string LifetimeJson(const LifetimeStatistics& in_all) {
  return absl::StrCat("{\"openings\":", in_all.openings,
                      ",\"since_unix_seconds\":", in_all.since_unix_seconds, ",",
                      CountersMembers(in_all), "}");
}

std::string FilterTable(const std::vector<FilterStatistics>& rows) {
  TextTable table({"family", "call", "level", "kind", "part", "eligible", "checked", "rejected",
                   "true positive", "false positive", "measured FPR", "promised FPR"},
                  5);
  const auto add = [&](const FilterStatistics& row, bool is_total) {
    table.AddRow({absl::Utf8SafeCEscape(row.column_family),
                  is_total ? "" : std::string(FilterCallName(row.call)),
                  is_total ? "" : absl::StrCat(row.level), row.kind, row.part,
                  FormatCount(row.eligible), FormatCount(row.checked), FormatCount(row.rejected),
                  FormatCount(row.true_positive), FormatCount(row.false_positive),
                  FormatPercent(row.MeasuredFpr()), FormatPercent(row.promised_fpr)});
  };
  for (const FilterStatistics& row : rows) add(row, false);
  // The sum of one row would repeat it; without any it says that nothing was counted.
  if (rows.size() != 1) add(TotalOf(rows), true);
  return table.ToString();
}

// Without a total, which a reader of rows would count twice.
std::string FilterRowsJson(const std::vector<FilterStatistics>& filters) {
  std::vector<std::string> rows;
  for (const FilterStatistics& row : filters) {
    rows.push_back(absl::StrCat("{\"family\":", JsonString(row.column_family),
                                ",\"call\":", JsonString(FilterCallName(row.call)),
                                ",\"level\":", row.level, ",\"kind\":", JsonString(row.kind),
                                ",\"part\":", JsonString(row.part), ",\"eligible\":", row.eligible,
                                ",\"checked\":", row.checked, ",\"rejected\":", row.rejected,
                                ",\"true_positive\":", row.true_positive,
                                ",\"false_positive\":", row.false_positive,
                                ",\"measured_fpr\":", JsonNumber(row.MeasuredFpr()),
                                ",\"promised_fpr\":", JsonNumber(row.promised_fpr), "}"));
  }
  return JsonArray(rows);
}

}  // namespace

std::string StatsJson(const Statistics& statistics) {
  std::string histograms;
  for (size_t i = 0; i < statistics.histograms.size(); i++) {
    const HistogramSummary& h = statistics.histograms[i];
    absl::StrAppend(
        &histograms, i == 0 ? "" : ",",
        JsonString(LatencyHistogramName(static_cast<LatencyHistogram>(i))),
        ":{\"samples\":", h.samples, ",\"mean_us\":", JsonNumber(h.mean_micros),
        ",\"p50_us\":", JsonNumber(h.p50_micros), ",\"p99_us\":", JsonNumber(h.p99_micros),
        ",\"p999_us\":", JsonNumber(h.p999_micros), ",\"max_us\":", JsonNumber(h.max_micros), "}");
  }
  return absl::StrCat("{", CountersMembers(statistics), ",\"latencies\":{", histograms,
                      "},\"space_amplification\":", JsonNumber(statistics.space_amplification),
                      ",\"in_all\":", LifetimeJson(statistics.in_all), "}");
}

std::string FilterStatsTable(const CountedStatistics& since_opening,
                             const LifetimeStatistics& in_all) {
  return absl::StrCat("Filters, since opening\n\n", FilterTable(since_opening.filters),
                      "\nFilters, in all\n\n", FilterTable(in_all.filters));
}

std::string FilterStatsJson(const CountedStatistics& since_opening,
                            const LifetimeStatistics& in_all) {
  return absl::StrCat("{\"since_opening\":", FilterRowsJson(since_opening.filters),
                      ",\"in_all\":", FilterRowsJson(in_all.filters), "}");
}

std::string SavedStatisticsJson(const SavedStatistics& saved) {
  return absl::StrCat(
      "{\"opened_unix_seconds\":", saved.opened_unix_seconds,
      ",\"saved_unix_seconds\":", saved.saved_unix_seconds,
      ",\"is_closed\":", saved.is_closed ? "true" : "false", ",\"since_opening\":{",
      CountersMembers(saved.since_opening), "},\"in_all\":", LifetimeJson(saved.in_all),
      ",\"filters\":", FilterStatsJson(saved.since_opening, saved.in_all),
      // JSON already, as it was saved; not a string of it.
      ",\"filter_budget\":", saved.filter_budget_json.empty() ? "null" : saved.filter_budget_json,
      "}");
}

// Levels without files have no rows (LevelStatistics), so that the tables are as deep as the trees.
std::string LevelsTable(const Statistics& statistics) {
  TextTable table({"family", "level", "files", "size", "entries", "deletions", "range deletions",
                   "filters", "range filters", "indexes", "filter bits/key"},
                  1);
  for (const LevelStatistics& row : statistics.levels) {
    table.AddRow({absl::Utf8SafeCEscape(row.column_family), absl::StrCat(row.level),
                  FormatCount(row.num_files), FormatBytes(row.file_bytes),
                  FormatCount(row.num_entries), FormatCount(row.num_deletions),
                  FormatCount(row.num_range_deletions), FormatBytes(row.filter_bytes),
                  FormatBytes(row.range_filter_bytes), FormatBytes(row.index_bytes),
                  FormatRatio(row.filter_bits_per_key)});
  }
  return table.ToString();
}

std::string LevelsJson(const Statistics& statistics) {
  std::vector<std::string> rows;
  for (const LevelStatistics& row : statistics.levels) {
    rows.push_back(absl::StrCat(
        "{\"family\":", JsonString(row.column_family), ",\"level\":", row.level,
        ",\"files\":", row.num_files, ",\"bytes\":", row.file_bytes,
        ",\"entries\":", row.num_entries, ",\"deletions\":", row.num_deletions,
        ",\"range_deletions\":", row.num_range_deletions, ",\"filter_bytes\":", row.filter_bytes,
        ",\"range_filter_bytes\":", row.range_filter_bytes, ",\"index_bytes\":", row.index_bytes,
        ",\"filter_bits_per_key\":", JsonNumber(row.filter_bits_per_key), "}"));
  }
  return JsonArray(rows);
}

// Without a default, here and below, so that compilers name a value that was forgotten.
namespace {

struct NamedTicker {
  Ticker ticker;
  std::string_view name;
};
// Names are an interface and a format at once: dashboards read them, and the file STATISTICS keeps
// counters under them. A counter whose name changes begins at 0 again.
constexpr NamedTicker kTickerNames[] = {
    {Ticker::kGets, "gets"},
    {Ticker::kGetsFound, "gets.found"},
    {Ticker::kMultiGetKeys, "multiget.keys"},
    {Ticker::kMultiGetKeysFound, "multiget.keys.found"},
    {Ticker::kSeeks, "seeks"},
    {Ticker::kIteratorSteps, "iterator.steps"},
    {Ticker::kIteratorEntriesSkipped, "iterator.entries.skipped"},
    {Ticker::kWrites, "writes"},
    {Ticker::kKeysWritten, "keys.written"},
    {Ticker::kRangeDeletions, "range.deletions"},
    {Ticker::kUserBytesWritten, "user.bytes.written"},
    {Ticker::kLogBytesWritten, "log.bytes.written"},
    {Ticker::kLogSyncs, "log.syncs"},
    {Ticker::kMemtableHits, "memtable.hits"},
    {Ticker::kMergedReads, "merged.reads"},
    {Ticker::kMergeOperandsRead, "merge.operands.read"},
    {Ticker::kTransactionCommits, "transactions.committed"},
    {Ticker::kTransactionConflicts, "transactions.conflicts"},
    {Ticker::kTransactionLockWaits, "transactions.lock.waits"},
    {Ticker::kTransactionLockTimeouts, "transactions.lock.timeouts"},
    {Ticker::kTransactionDeadlocks, "transactions.deadlocks"},
    {Ticker::kFlushes, "flushes"},
    {Ticker::kFlushBytesWritten, "flush.bytes.written"},
    {Ticker::kCompactions, "compactions"},
    {Ticker::kCompactionBytesRead, "compaction.bytes.read"},
    {Ticker::kCompactionBytesWritten, "compaction.bytes.written"},
    {Ticker::kExpiredEntriesDropped, "expired.entries.dropped"},
    {Ticker::kExpiredFilesDropped, "expired.files.dropped"},
    {Ticker::kRangeDeletedEntriesDropped, "range.deleted.entries.dropped"},
    {Ticker::kRangeDeletedFilesDropped, "range.deleted.files.dropped"},
    {Ticker::kEntriesFilteredOut, "compaction_filter.removed"},
    {Ticker::kEntriesChangedByFilter, "compaction_filter.changed"},
    {Ticker::kBackgroundWaitMicros, "background.wait.micros"},
    {Ticker::kRefilters, "refilters"},
    {Ticker::kFilesRefiltered, "files.refiltered"},
    {Ticker::kFilesRefilteredByPlanner, "files.refiltered.by.planner"},
    {Ticker::kRefilterBytesRead, "refilter.bytes.read"},
    {Ticker::kRefilterBytesWritten, "refilter.bytes.written"},
    {Ticker::kIngestions, "ingestions"},
    {Ticker::kFilesIngested, "files.ingested"},
    {Ticker::kBytesIngested, "bytes.ingested"},
    {Ticker::kWriteStallMicros, "write.stall.micros"},
    {Ticker::kWriteStalls, "write.stalls"},
    {Ticker::kDataBlocksRead, "data.blocks.read"},
    {Ticker::kBlocksReadTogether, "data.blocks.read.together"},
    {Ticker::kIndexBlocksRead, "index.blocks.read"},
    {Ticker::kFilterBlocksRead, "filter.blocks.read"},
    {Ticker::kSignatureBlocksRead, "signature.blocks.read"},
    {Ticker::kBytesRead, "bytes.read"},
    {Ticker::kBlockCacheHits, "block.cache.hits"},
    {Ticker::kBlockCacheMisses, "block.cache.misses"},
    {Ticker::kBlockLoadWaits, "block.load.waits"},
    {Ticker::kRowCacheHits, "row_cache.hits"},
    {Ticker::kRowCacheAbsentHits, "row_cache.hits.absent"},
    {Ticker::kRowCacheMisses, "row_cache.misses"},
    {Ticker::kRowCacheForgotten, "row_cache.forgotten"},
    {Ticker::kFilesPassedByTime, "files.passed.by.time"},
    {Ticker::kSignatureScans, "signature.scans"},
    {Ticker::kSignatureRowsAsked, "signature.rows.asked"},
    {Ticker::kSignatureCandidates, "signature.candidates"},
    {Ticker::kSignatureRowsFound, "signature.rows.found"},
    {Ticker::kFalsePositiveCacheHits, "false_positive_cache.hits"},
    {Ticker::kFilterUnitsLoaded, "filter.units.loaded"},
    {Ticker::kFilterUnitsDropped, "filter.units.dropped"},
    {Ticker::kSignaturesRefused, "signatures.refused"},
    {Ticker::kFiltersDamaged, "filters.damaged"},
    {Ticker::kBackgroundRetries, "background.retries"},
    {Ticker::kFilesQuarantined, "files.quarantined"},
    {Ticker::kMergeFailures, "merge.failures"},
    {Ticker::kFiltersFellBack, "filters.fell.back"},
};
// As many as there are, though one might still stand here twice.
static_assert(std::size(kTickerNames) == static_cast<size_t>(Ticker::kCount));

}  // namespace

std::string_view TickerName(Ticker ticker) {
  for (const NamedTicker& named : kTickerNames) {
    if (named.ticker == ticker) return named.name;
  }
  return "unknown";
}

// As with the tickers, names may be added but not changed.
std::string_view LatencyHistogramName(LatencyHistogram histogram) {
  switch (histogram) {
    case LatencyHistogram::kGet:
      return "get";
    case LatencyHistogram::kMultiGet:
      return "multiget";
    case LatencyHistogram::kWrite:
      return "write";
    case LatencyHistogram::kSeek:
      return "seek";
    case LatencyHistogram::kFlush:
      return "flush";
    case LatencyHistogram::kCompaction:
      return "compaction";
    case LatencyHistogram::kCount:
      break;
  }
  return "unknown";
}

std::string_view FilterCallName(FilterCall call) {
  switch (call) {
    case FilterCall::kGet:
      return "get";
    case FilterCall::kMultiGet:
      return "multiget";
    case FilterCall::kSeek:
      return "seek";
    case FilterCall::kCount:
      break;
  }
  return "unknown";
}

}  // namespace winnow
