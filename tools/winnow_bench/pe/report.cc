#include "tools/winnow_bench/pe/report.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/report/amount_text.h"
#include "tools/report/report_file.h"
#include "tools/report/text_table.h"

namespace winnow::bench::pe {
namespace {

constexpr double kPeMebibyte = 1048576.0;

struct NamedPercentile {
  std::string_view name;
  double fraction;
};
constexpr NamedPercentile kPercentiles[] = {
    {"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};

double MicrosPerOperation(const PeResult& result) {
  if (result.operations == 0) return 0;
  return result.client_seconds * 1e6 / static_cast<double>(result.operations);
}

double PerSecond(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

std::string CountText(const std::optional<uint64_t>& count) {
  return count ? report::HumanCount(*count) : "";
}

std::vector<std::string> CellsOf(const PeOptions& options, const PeResult& result) {
  std::vector<std::string> cells = {result.engine,
                                    options.cycles > 1 ? absl::StrCat(result.cycle) : "",
                                    report::HumanCount(result.operations),
                                    absl::StrFormat("%.2f", result.seconds),
                                    report::HumanCount(static_cast<uint64_t>(PerSecond(
                                        static_cast<double>(result.operations), result.seconds))),
                                    absl::StrFormat("%.2f", MicrosPerOperation(result))};
  for (const NamedPercentile& percentile : kPercentiles) {
    cells.push_back(
        result.latency == nullptr
            ? ""
            : absl::StrFormat("%.1f", result.latency->PercentileMicros(percentile.fraction)));
  }
  cells.push_back(report::HumanCount(result.read.rows));
  cells.push_back(report::HumanCount(result.read.cells));
  cells.push_back(absl::StrFormat(
      "%.1f", PerSecond(static_cast<double>(result.read.bytes) / kPeMebibyte, result.seconds)));
  cells.push_back(CountText(result.counters.filter_checked));
  cells.push_back(CountText(result.counters.filter_rejected));
  cells.push_back(CountText(result.counters.filter_false_positive));
  cells.push_back(CountText(result.counters.data_blocks_read));
  return cells;
}

nlohmann::ordered_json ToPeJson(const PeResult& result) {
  nlohmann::ordered_json json = {{"engine", result.engine},
                                 {"command", result.command},
                                 {"clients", result.clients},
                                 {"cycle", result.cycle},
                                 {"operations", result.operations},
                                 {"seconds", result.seconds},
                                 {"micros_per_operation", MicrosPerOperation(result)},
                                 {"rows_read", result.read.rows},
                                 {"cells_read", result.read.cells},
                                 {"bytes_read", result.read.bytes}};
  const auto add = [&json](const char* name, const std::optional<uint64_t>& count) {
    if (count) json[name] = *count;
  };
  add("filter_checked", result.counters.filter_checked);
  add("filter_rejected", result.counters.filter_rejected);
  add("filter_false_positive", result.counters.filter_false_positive);
  add("data_blocks_read", result.counters.data_blocks_read);
  if (result.latency == nullptr) return json;
  for (const NamedPercentile& percentile : kPercentiles) {
    json["latency_micros"][std::string(percentile.name)] =
        result.latency->PercentileMicros(percentile.fraction);
  }
  json["latency_micros"]["max"] = result.latency->MaxMicros();
  return json;
}

}  // namespace

std::string PeTable(const PeOptions& options, std::span<const PeResult> results) {
  if (results.empty()) return "";
  using Align = report::TextTable::Align;
  report::TextTable table;
  table.AddColumn("engine", Align::kLeft);
  for (const char* title :
       {"cycle", "operations", "seconds", "ops/s", "us/op", "p50", "p95", "p99", "p99.9",
        "rows read", "cells", "MiB/s", "filters asked", "said no", "wrongly yes", "blocks read"}) {
    table.AddColumn(title, Align::kRight);
  }
  for (const PeResult& result : results) table.AddRow(CellsOf(options, result));
  std::string title =
      absl::StrCat(options.command, ", ", report::HumanCount(options.clients, "client", "clients"),
                   ", ", report::HumanCount(options.total_rows(), "row", "rows"), " of ",
                   options.families, " x ", options.columns, " columns, values of ",
                   options.value_bytes, " bytes, BLOOMFILTER ", options.bloom_filter);
  if (options.absent != Absent::kNothing) {
    absl::StrAppend(&title, ", absent ", options.absent == Absent::kRow ? "rows" : "columns");
  }
  return absl::StrCat(title, "\n", table.ToString());
}

absl::Status WritePeJson(const PeOptions& options, std::span<const PeResult> results) {
  if (options.json.empty()) return absl::OkStatus();
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PeResult& result : results) all.push_back(ToPeJson(result));
  const nlohmann::ordered_json json = {
      {"tool", "winnow_bench pe"},          {"rows", options.total_rows()},
      {"families", options.families},       {"columns", options.columns},
      {"value_bytes", options.value_bytes}, {"bloom_filter", options.bloom_filter},
      {"filter", options.filter},           {"results", all}};
  return report::WriteReportFile(
      options.json,
      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace winnow::bench::pe
