#include "engine/filter_memory/filter_budget_report.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/statistics/text_table.h"

namespace winnow {

std::string FilterBudgetTable(const FilterBudgetReport& report) {
  TextTable table({"family", "kind", "level", "files", "in memory", "in files alone",
                   "FPR of all units", "expected now", "measured FPR"},
                  2);
  for (const FilterBudgetRow& row : report.rows) {
    table.AddRow({absl::Utf8SafeCEscape(row.column_family), row.kind, absl::StrCat(row.level),
                  FormatCount(row.num_files), FormatBytes(row.resident_bytes),
                  FormatBytes(row.dropped_bytes), FormatPercent(row.all_units_fpr),
                  FormatPercent(row.expected_fpr), FormatPercent(row.measured_fpr)});
  }
  std::string text = absl::StrCat(
      "Filter memory: ", FormatBytes(report.resident_bytes),
      report.budget_bytes == 0 ? ", without a budget"
                               : absl::StrCat(" of ", FormatBytes(report.budget_bytes)),
      ", at most ", FormatBytes(report.peak_bytes), " so far\n\n", table.ToString());
  // NaN is unequal to itself: no look-up of an absent key has been counted.
  if (report.measured_fpr == report.measured_fpr) {
    absl::StrAppend(&text, "\nof the last minutes: ", FormatPercent(report.measured_fpr),
                    " measured, ", FormatPercent(report.low_fpr), " to ",
                    FormatPercent(report.high_fpr), " expected\n");
  }
  if (!report.last_decision.empty()) {
    absl::StrAppend(&text, "last decision: ", report.last_decision, "\n");
  }
  if (!report.last_refilter.empty()) {
    absl::StrAppend(&text, "last refiltering: ", report.last_refilter, "\n");
  }
  return text;
}

std::string FilterBudgetJson(const FilterBudgetReport& report) {
  std::string rows;
  for (const FilterBudgetRow& row : report.rows) {
    absl::StrAppend(&rows, rows.empty() ? "" : ",", "{\"family\":", JsonString(row.column_family),
                    ",\"level\":", row.level, ",\"kind\":", JsonString(row.kind),
                    ",\"files\":", row.num_files, ",\"resident_bytes\":", row.resident_bytes,
                    ",\"dropped_bytes\":", row.dropped_bytes,
                    ",\"all_units_fpr\":", JsonNumber(row.all_units_fpr),
                    ",\"expected_fpr\":", JsonNumber(row.expected_fpr),
                    ",\"measured_fpr\":", JsonNumber(row.measured_fpr), "}");
  }
  // The names are an interface: dashboards read them, and the file STATISTICS keeps the whole text
  // (engine/statistics/FORMAT.md).
  return absl::StrCat(
      "{\"budget_bytes\":", report.budget_bytes, ",\"resident_bytes\":", report.resident_bytes,
      ",\"peak_bytes\":", report.peak_bytes, ",\"dropped_bytes\":", report.dropped_bytes,
      ",\"expected_fpr\":", JsonNumber(report.expected_fpr),
      ",\"low_fpr\":", JsonNumber(report.low_fpr), ",\"high_fpr\":", JsonNumber(report.high_fpr),
      ",\"measured_fpr\":", JsonNumber(report.measured_fpr),
      ",\"last_decision\":", JsonString(report.last_decision),
      ",\"last_refilter\":", JsonString(report.last_refilter), ",\"levels\":[", rows, "]}");
}

}  // namespace winnow
