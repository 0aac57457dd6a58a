#include "bench/filter/result_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace winnow::bench {

double ResultRow::SpaceOverBound() const { return fpr > 0 ? bits_per_key / -std::log2(fpr) : 0; }

void PrintTable(const std::vector<ResultRow>& rows) {
  size_t longest_name = 0;
  for (const ResultRow& row : rows) longest_name = std::max(longest_name, row.filter.size());
  const int width = static_cast<int>(longest_name);
  absl::PrintF("%-*s %-7s %8s | %7s %7s %7s | %7s %7s %7s | %6s %9s %6s\n", width, "", "", "build",
               "absent", "half", "present", "absent", "half", "present", "bits", "FPR", "over");
  absl::PrintF("%-*s %-7s %8s | %23s | %23s | %6s %9s %6s\n", width, "filter", "in", "ns/key",
               "single, ns/key", "batches of 32, ns/key", "/key", "", "bound");
  for (const ResultRow& row : rows) {
    absl::PrintF("%-*s %-7s %8.1f | %7.1f %7.1f %7.1f | %7.1f %7.1f %7.1f | %6.2f %8.4f%% x%5.3f\n",
                 width, row.filter, row.place, row.build, row.absent, row.half, row.present,
                 row.batch_absent, row.batch_half, row.batch_present, row.bits_per_key,
                 row.fpr * 100, row.SpaceOverBound());
  }
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
  constexpr double kWidth = 900;
  constexpr double kHeight = 600;
  constexpr double kMargin = 70;
  double max_bits = 1;
  double max_log = 1;  // of 1 / rate, to base 2
  for (const ResultRow& row : rows) {
    max_bits = std::max(max_bits, row.bits_per_key * 1.15);
    if (row.fpr > 0) max_log = std::max(max_log, -std::log2(row.fpr) * 1.1);
  }
  const auto x_of = [&](double bits) { return kMargin + bits / max_bits * (kWidth - 2 * kMargin); };
  const auto y_of = [&](double log) { return kMargin + log / max_log * (kHeight - 2 * kMargin); };
  std::string svg = absl::StrFormat(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%g' height='%g' font-family='sans-serif' "
      "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n"
      "<text x='%g' y='25' font-size='15'>Filters in %s: space, false-positive rate and time "
      "(area of a dot: ns for an absent key)</text>\n"
      "<line x1='%g' y1='%g' x2='%g' y2='%g' stroke='gray' stroke-dasharray='4'/>\n",
      kWidth, kHeight, kMargin, place, x_of(0), y_of(0), x_of(std::min(max_bits, max_log)),
      y_of(std::min(max_bits, max_log)));
  absl::StrAppendFormat(&svg, "<text x='%g' y='%g' fill='gray'>the bound</text>\n", x_of(1),
                        y_of(2));
  for (double bits = 0; bits < max_bits; bits += 2) {
    absl::StrAppendFormat(&svg, "<text x='%g' y='%g'>%g</text>\n", x_of(bits), kMargin - 12, bits);
  }
  absl::StrAppendFormat(&svg, "<text x='%g' y='%g'>bits per key</text>\n", kWidth - 2 * kMargin,
                        kMargin - 28);
  for (double rate = 0.1; - std::log2(rate) < max_log; rate /= 10) {
    absl::StrAppendFormat(&svg, "<text x='5' y='%g'>%g %%</text>\n", y_of(-std::log2(rate)),
                          rate * 100);
  }
  for (const ResultRow& row : rows) {
    if (row.place != place || row.fpr <= 0) continue;
    const double x = x_of(row.bits_per_key);
    const double y = y_of(-std::log2(row.fpr));
    const char* color = row.filter.rfind("rocksdb", 0) == 0 ? "#c0392b" : "#2471a3";
    absl::StrAppendFormat(&svg,
                          "<circle cx='%g' cy='%g' r='%g' fill='%s' fill-opacity='0.5'/>\n"
                          "<text x='%g' y='%g'>%s, %.1f ns</text>\n",
                          x, y, 2.5 * std::sqrt(row.absent), color, x + 14, y + 4, row.filter,
                          row.absent);
  }
  return svg + "</svg>\n";
}

}  // namespace winnow::bench
