#include "bench/filter/result_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/report/svg_chart.h"
#include "tools/report/text_table.h"

namespace winnow::bench {

double ResultRow::SpaceOverBound() const { return fpr > 0 ? bits_per_key / -std::log2(fpr) : 0; }

std::string ToTable(const std::vector<ResultRow>& rows) {
  using Align = report::TextTable::Align;
  report::TextTable table;
  for (const char* title : {"filter", "in"}) table.AddColumn(title, Align::kLeft);
  for (const char* title : {"build ns/key", "absent ns", "half ns", "present ns", "batch: absent",
                            "batch: half", "batch: present", "bits/key", "FPR", "over bound"}) {
    table.AddColumn(title, Align::kRight);
  }
  const auto time = [](double nanoseconds) { return absl::StrFormat("%.1f", nanoseconds); };
  for (const ResultRow& row : rows) {
    table.AddRow({row.filter, row.place, time(row.build), time(row.absent), time(row.half),
                  time(row.present), time(row.batch_absent), time(row.batch_half),
                  time(row.batch_present), absl::StrFormat("%.2f", row.bits_per_key),
                  absl::StrFormat("%.4f%%", row.fpr * 100),
                  absl::StrFormat("x%.3f", row.SpaceOverBound())});
  }
  return table.ToString();
}

std::string ToJson(const std::vector<ResultRow>& rows) {
  nlohmann::json results = nlohmann::json::array();
  for (const ResultRow& row : rows) {
    results.push_back({{"filter", row.filter},
                       {"place", row.place},
                       {"bits_per_key", row.bits_per_key},
                       {"fpr", row.fpr},
                       {"space_over_bound", row.SpaceOverBound()},
                       {"build_ns_per_key", row.build},
                       {"absent_ns", row.absent},
                       {"half_present_ns", row.half},
                       {"present_ns", row.present},
                       {"batch_absent_ns", row.batch_absent},
                       {"batch_half_present_ns", row.batch_half},
                       {"batch_present_ns", row.batch_present}});
  }
  return nlohmann::json{{"tool", "bench_filter"}, {"results", results}}.dump(2) + "\n";
}

std::string ToSvg(const std::vector<ResultRow>& rows, const std::string& place) {
  constexpr double kPercent = 100;
  std::vector<report::Point> points;
  double lowest = 1;
  double highest = 0;
  for (const ResultRow& row : rows) {
    if (row.place != place || row.fpr <= 0) continue;
    lowest = std::min(lowest, row.fpr);
    highest = std::max(highest, row.fpr);
    points.push_back({absl::StrFormat("%s, %.1f ns", row.filter, row.absent), row.bits_per_key,
                      row.fpr * kPercent, 2.5 * std::sqrt(row.absent),
                      row.filter.rfind("rocksdb", 0) == 0 ? "#c0392b" : "#2471a3"});
  }
  std::vector<report::Line> bound;
  if (!points.empty()) {
    bound.push_back({"the bound", -std::log2(highest), highest * kPercent, -std::log2(lowest),
                     lowest * kPercent});
  }
  return report::SvgFile(report::ScatterPlot(
      absl::StrCat("Filters in ", place,
                   ": space, false-positive rate and time (area of a dot: ns for an absent key)"),
      "bits per key", "false-positive rate, percent", points, bound));
}

}  // namespace winnow::bench
