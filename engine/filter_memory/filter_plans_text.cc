// Plans of filter memory as people and machines read them.
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/statistics/text_table.h"
#include "winnow/filter_plan.h"

namespace winnow {

namespace {

std::string SummaryJson(const FilterPlanSummary& summary) {
  std::string rows;
  for (const FilterPlanRow& row : summary.rows) {
    absl::StrAppend(
        &rows, rows.empty() ? "" : ",", "{\"family\":", JsonString(row.column_family),
        ",\"level\":", row.level, ",\"kind\":", JsonString(row.kind), ",\"files\":", row.num_files,
        ",\"keys\":", row.num_keys, ",\"bits_per_key\":", JsonNumber(row.bits_per_key),
        ",\"memory_bytes\":", row.memory_bytes,
        ",\"needless_reads_per_miss\":", JsonNumber(row.needless_reads_per_miss),
        ",\"needless_reads_per_second\":", JsonNumber(row.needless_reads_per_second), "}");
  }
  return absl::StrCat(
      "{\"budget_bytes\":", summary.budget_bytes, ",\"memory_bytes\":", summary.memory_bytes,
      ",\"needless_reads_per_miss\":", JsonNumber(summary.needless_reads_per_miss),
      ",\"needless_reads_per_second\":", JsonNumber(summary.needless_reads_per_second),
      ",\"levels\":[", rows, "]}");
}

}  // namespace

std::string FilterPlans::ToTable() const {
  TextTable levels({"family", "kind", "level", "files", "keys", "bits/key", "memory",
                    "reads/miss now", "reads/miss", "reads/s"},
                   2);
  // `now` has the same rows in the same order: both are of the same tables.
  for (size_t i = 0; i < planned.rows.size(); i++) {
    const FilterPlanRow& row = planned.rows[i];
    levels.AddRow(
        {absl::Utf8SafeCEscape(row.column_family), row.kind, absl::StrCat(row.level),
         FormatCount(row.num_files), FormatCount(row.num_keys), FixedPoint(row.bits_per_key, 1),
         FormatBytes(row.memory_bytes), FixedPoint(now.rows[i].needless_reads_per_miss, 5),
         FixedPoint(row.needless_reads_per_miss, 5), FixedPoint(row.needless_reads_per_second, 1)});
  }
  // Without a budget there are filters all the same: "-" in the first row, and what they take.
  TextTable budgets({"budget", "bytes", "in memory", "reads/miss", "reads/s"}, 1);
  const auto add = [&](const char* name, const FilterPlanSummary& summary) {
    budgets.AddRow({name, summary.budget_bytes == 0 ? "-" : FormatBytes(summary.budget_bytes),
                    FormatBytes(summary.memory_bytes),
                    FixedPoint(summary.needless_reads_per_miss, 5),
                    FixedPoint(summary.needless_reads_per_second, 1)});
  };
  add("now", now);
  add("this one, at once", at_once);
  add("once files are rewritten", planned);
  // Half may be too little for a filter of each file.
  add(at_half.budget_bytes > planned.budget_bytes / 2 ? "the smallest that works" : "half of it",
      at_half);
  add("double", at_double);
  return absl::StrCat(levels.ToString(), "\n", budgets.ToString(), "\n",
                      lookups_per_second == 0
                          ? "No look-ups of absent keys have been measured: all sorted runs count "
                            "as asked alike.\n"
                          : absl::StrCat("Measured: ", FixedPoint(lookups_per_second, 1),
                                         " look-ups of absent keys a second.\n"),
                      last_refilter.empty() ? "" : "Last refiltering: ", last_refilter,
                      last_refilter.empty() ? "" : "\n");
}

std::string FilterPlans::ToJson() const {
  return absl::StrCat("{\"lookups_per_second\":", JsonNumber(lookups_per_second),
                      ",\"now\":", SummaryJson(now), ",\"at_once\":", SummaryJson(at_once),
                      ",\"planned\":", SummaryJson(planned), ",\"at_half\":", SummaryJson(at_half),
                      ",\"at_double\":", SummaryJson(at_double),
                      ",\"last_refilter\":", JsonString(last_refilter), "}");
}

}  // namespace winnow
