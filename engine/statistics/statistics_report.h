// Statistics as tables for people and as JSON for machines.
#ifndef WINNOW_ENGINE_STATISTICS_STATISTICS_REPORT_H_
#define WINNOW_ENGINE_STATISTICS_STATISTICS_REPORT_H_

#include <string>

#include "winnow/statistics.h"

namespace winnow {

std::string StatsTable(const Statistics& statistics);
std::string StatsJson(const Statistics& statistics);
std::string FilterStatsTable(const Statistics& statistics);
std::string FilterStatsJson(const Statistics& statistics);
std::string LevelsTable(const Statistics& statistics);
std::string LevelsJson(const Statistics& statistics);

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_STATISTICS_REPORT_H_
