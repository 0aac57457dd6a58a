// Statistics as tables for people and as JSON for machines.
#ifndef WINNOW_ENGINE_STATISTICS_STATISTICS_REPORT_H_
#define WINNOW_ENGINE_STATISTICS_STATISTICS_REPORT_H_

#include <string>
#include <string_view>

#include "winnow/statistics.h"

namespace winnow {

// FilterStatistics::kind of range filters.
inline constexpr std::string_view kRangeFilterKind = "range";

// NaN where nothing was counted: nothing measured is not the same as a rate of zero.
double Ratio(uint64_t numerator, uint64_t denominator);

// "2026-11-23 17:05:00 UTC".
std::string UtcText(uint64_t unix_seconds);

// Counters and amplification, since the opening and in all; `StatsTable` has latencies besides.
std::string CountersTable(const CountedStatistics& since_opening, const LifetimeStatistics& in_all);
std::string StatsTable(const Statistics& statistics);
std::string StatsJson(const Statistics& statistics);
// A table since the opening, and one in all.
std::string FilterStatsTable(const CountedStatistics& since_opening,
                             const LifetimeStatistics& in_all);
// {"since_opening":[...],"in_all":[...]}
std::string FilterStatsJson(const CountedStatistics& since_opening,
                            const LifetimeStatistics& in_all);
// {"opened_unix_seconds":...,"saved_unix_seconds":...,"is_closed":...,"since_opening":{"tickers":...},
//  "in_all":{"openings":...,"since_unix_seconds":...,"tickers":...},
//  "filters":{"since_opening":[...],"in_all":[...]}}
std::string SavedStatisticsJson(const SavedStatistics& saved);
std::string LevelsTable(const Statistics& statistics);
std::string LevelsJson(const Statistics& statistics);

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_STATISTICS_REPORT_H_
