// Tables of statistics: what was not measured does not make the rest unknown.
#include "engine/statistics/statistics_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace winnow::statistics_report {
namespace {

FilterStatistics Row(int level, double promised, uint64_t rejected, uint64_t false_positive) {
  FilterStatistics row;
  row.column_family = "default";
  row.level = level;
  row.kind = "ribbon";
  row.rejected = rejected;
  row.false_positive = false_positive;
  row.checked = rejected + false_positive;
  row.eligible = row.checked;
  row.promised_fpr = promised;
  return row;
}

TEST(StatisticsReport, ARowWithoutMissesLeavesThePromiseOfAllKnown) {
  CountedStatistics counted;
  counted.filters = {Row(1, 0.01, 90, 10), Row(2, 0.03, 270, 30),
                     Row(3, std::numeric_limits<double>::quiet_NaN(), 0, 0)};
  counted.filters.back().true_positive = 5;
  const std::string table = FilterStatsTable(counted, LifetimeStatistics());
  const size_t all = table.find("\nall");
  ASSERT_NE(all, std::string::npos) << table;
  const std::string total = table.substr(all + 1, table.find('\n', all + 1) - all - 1);
  // (100 * 1 % + 300 * 3 %) / 400
  EXPECT_THAT(total, testing::HasSubstr("2.5")) << table;
}

}  // namespace
}  // namespace winnow::statistics_report
