#include "tools/winnow_bench/report_html.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/report/html_page.h"
#include "tools/report/report_file.h"
#include "tools/report/svg_chart.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/process.h"
#include "tools/winnow_bench/summary.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {
namespace {

std::string Number(const std::optional<double>& value, const char* unit = "") {
  return value.has_value() ? absl::StrFormat("%.4g%s", *value, unit) : "";
}

std::optional<double> Percent(const std::optional<double>& share) {
  if (!share.has_value()) return std::nullopt;
  return *share * 100;
}

std::optional<double> BlocksPerThousand(const BenchmarkResult& result) {
  if (!result.counters.data_blocks_read.has_value() || result.ops == 0) return std::nullopt;
  return 1000.0 * static_cast<double>(*result.counters.data_blocks_read) /
         static_cast<double>(result.ops);
}

std::string TableRow(const Summary& summary) {
  const auto [low, high] = summary.Range(&BenchmarkResult::micros_per_op);
  const FilterShape& shape = summary.rounds.back()->shape;
  const bool reads = summary.rounds.back()->found.has_value();
  const std::vector<std::string> cells = {
      summary.benchmark,
      summary.engine,
      summary.rounds.back()->filter,
      Number(summary.Median(&BenchmarkResult::micros_per_op)),
      absl::StrFormat("%.4g&ndash;%.4g", low, high),
      absl::StrFormat("%.0f", summary.Median(&BenchmarkResult::ops_per_sec)),
      summary.rounds.back()->durability.value_or(""),
      shape.filter_bytes ? absl::StrCat(*shape.filter_bytes) : "",
      Number(shape.bits_per_key),
      Number(Percent(summary.MedianOf([](const BenchmarkResult& r) { return r.MeasuredFpr(); })),
             " %"),
      reads ? Number(summary.MedianOf(BlocksPerThousand)) : "",
  };
  std::string row = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    // The range has an entity of its own.
    absl::StrAppend(&row, "<td>", i == 4 ? cells[i] : report::EscapeMarkup(cells[i]), "</td>");
  }
  return row + "</tr>\n";
}

std::string Table(const std::vector<Summary>& summaries) {
  std::string html =
      "<table><tr><th>benchmark</th><th>engine</th><th>filter</th><th>micros/op</th>"
      "<th>lowest&ndash;highest</th><th>ops/sec</th><th>writes are</th><th>filter "
      "bytes</th><th>bits/key</th>"
      "<th>measured FPR</th><th>data blocks read per 1,000</th></tr>\n";
  for (const Summary& summary : summaries) absl::StrAppend(&html, TableRow(summary));
  return html + "</table>\n";
}

// One chart for each benchmark, of the time of an operation.
std::string TimeCharts(const std::vector<Summary>& summaries) {
  std::string html;
  for (size_t begin = 0; begin < summaries.size();) {
    std::vector<report::Bar> bars;
    size_t end = begin;
    for (; end < summaries.size() && summaries[end].benchmark == summaries[begin].benchmark;
         ++end) {
      const Summary& summary = summaries[end];
      const auto [low, high] = summary.Range(&BenchmarkResult::micros_per_op);
      bars.push_back({summary.engine, summary.Median(&BenchmarkResult::micros_per_op), low, high});
    }
    absl::StrAppend(&html, report::BarChart(summaries[begin].benchmark +
                                                ": microseconds an operation, less is better",
                                            bars));
    begin = end;
  }
  return html;
}

// Bits against the measured rate, and needless reads, of the look-ups of absent keys.
std::string FilterCharts(const std::vector<Summary>& summaries) {
  std::vector<report::Point> points;
  std::vector<report::Bar> reads;
  for (const Summary& summary : summaries) {
    if (summary.benchmark != "readmissing") continue;
    const auto fpr = summary.MedianOf([](const BenchmarkResult& r) { return r.MeasuredFpr(); });
    const auto bits = summary.rounds.back()->shape.bits_per_key;
    if (fpr && bits) points.push_back({summary.engine, *bits, *fpr * 100});
    if (const auto blocks = summary.MedianOf(BlocksPerThousand)) {
      reads.push_back({summary.engine, *blocks, *blocks, *blocks});
    }
  }
  std::string html;
  if (!points.empty()) {
    absl::StrAppend(&html, report::ScatterPlot("Filter memory and what it buys", "bits per key",
                                               "measured false-positive rate, percent", points));
  }
  if (!reads.empty()) {
    absl::StrAppend(
        &html,
        report::BarChart("Needless data blocks read for 1,000 look-ups of absent keys", reads));
  }
  return html;
}

}  // namespace

std::string HtmlReport(std::span<const SavedRun> runs) {
  const Machine machine = DescribeMachine();
  std::string html = absl::StrCat(
      "<p>",
      report::EscapeMarkup(absl::StrCat(machine.cpu, ", ", machine.num_cpus, " processors, ",
                                        machine.distribution, ", ", machine.compiler)),
      ". Medians; lines over bars show the lowest and highest round.</p>\n");
  for (std::string_view engine : CompiledEngines()) {
    absl::StrAppend(&html, "<p>", report::EscapeMarkup(EngineTitle(engine)), "</p>\n");
  }
  for (const SavedRun& run : runs) {
    const std::vector<Summary> summaries = Summarize(run.results);
    absl::StrAppend(&html, "<h2>", report::EscapeMarkup(run.title), "</h2>\n", Table(summaries),
                    FilterCharts(summaries), TimeCharts(summaries));
  }
  return report::HtmlPage("winnow_bench", html);
}

absl::Status WriteHtmlReport(const std::string& path, std::span<const SavedRun> runs) {
  if (path.empty()) return absl::OkStatus();
  return report::WriteReportFile(path, HtmlReport(runs));
}

}  // namespace winnow::bench
