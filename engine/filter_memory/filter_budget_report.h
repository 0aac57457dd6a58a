// What filters take of their budget, promise and keep, as a table for people and as JSON.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_FILTER_BUDGET_REPORT_H_
#define WINNOW_ENGINE_FILTER_MEMORY_FILTER_BUDGET_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace winnow {

// NaN where nothing is known.
struct FilterBudgetRow {
  std::string column_family;
  int level = 0;
  std::string kind;
  uint64_t num_files = 0;
  uint64_t resident_bytes = 0;
  uint64_t dropped_bytes = 0;  // of units that are in files alone
  // By the tables' look-ups: if all units were in memory, which promises nothing; and with those
  // that are.
  double all_units_fpr = 0;
  double expected_fpr = 0;
  double measured_fpr = 0;  // of the last minutes, of all kinds on the level
};

struct FilterBudgetReport {
  uint64_t budget_bytes = 0;  // 0: none
  uint64_t resident_bytes = 0;
  uint64_t peak_bytes = 0;  // the most since the database was opened
  uint64_t dropped_bytes = 0;
  // Of the last minutes: what the plan promised, the interval around it, and what was measured.
  double expected_fpr = 0;
  double low_fpr = 0;
  double high_fpr = 0;
  double measured_fpr = 0;
  std::string last_decision;  // a sentence
  std::string last_refilter;  // one on the last table that was refiltered by itself; may be empty
  std::vector<FilterBudgetRow> rows;
  // Families whose last level does without filters. Not in the texts, where `last_decision` has it.
  std::vector<std::string> families_for_hits;
};

std::string FilterBudgetTable(const FilterBudgetReport& report);
std::string FilterBudgetJson(const FilterBudgetReport& report);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_FILTER_BUDGET_REPORT_H_
