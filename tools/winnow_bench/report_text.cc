#include "tools/winnow_bench/report_text.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/report/amount_text.h"
#include "tools/report/text_table.h"
#include "tools/winnow_bench/flags.h"
#include "tools/winnow_bench/key_space.h"
#include "tools/winnow_bench/round.h"
#include "tools/winnow_bench/summary.h"

namespace winnow::bench {
namespace {

std::string WithSeparators(double number) {
  return report::HumanCount(static_cast<uint64_t>(std::llround(number)));
}

std::string CountCell(const Summary& summary,
                      std::optional<double> (*value)(const BenchmarkResult&)) {
  const std::optional<double> median = summary.MedianOf(value);
  return median.has_value() ? WithSeparators(*median) : "";
}

std::optional<double> AsDouble(const std::optional<uint64_t>& count) {
  if (!count.has_value()) return std::nullopt;
  return static_cast<double>(*count);
}

// The filter's counts say something only where it was asked.
std::optional<double> IfAsked(const BenchmarkResult& result, const std::optional<uint64_t>& count) {
  return result.counters.filter_checked.value_or(0) == 0 ? std::nullopt : AsDouble(count);
}

std::string PercentCell(const std::optional<double>& fraction) {
  return fraction.has_value() ? absl::StrFormat("%.3f%%", *fraction * 100) : "";
}

std::string MicrosCell(const std::optional<double>& micros) {
  return micros.has_value() ? absl::StrFormat("%.2f", *micros) : "";
}

std::string MebibytesCell(const Summary& summary,
                          std::optional<double> (*bytes)(const BenchmarkResult&)) {
  return absl::StrFormat("%.0f", summary.MedianOf(bytes).value_or(0) / kMebibyte);
}

std::string FoundCell(const Summary& summary) {
  const std::optional<double> found =
      summary.MedianOf([](const BenchmarkResult& r) { return AsDouble(r.found); });
  return found.has_value() ? WithSeparators(*found) : "";
}

// An engine whose title carries a remark (compiled with assertions, without filters) is marked, and
// the remark stands below the table.
bool HasRemark(std::string_view engine) {
  return EngineTitle(engine).find('(') != std::string::npos;
}

std::string Remarks(const std::vector<Summary>& summaries) {
  std::set<std::string> titles;
  for (const Summary& summary : summaries) {
    if (HasRemark(summary.engine)) titles.insert(EngineTitle(summary.engine));
  }
  std::string text;
  for (const std::string& title : titles) absl::StrAppend(&text, "* ", title, "\n");
  return text;
}

std::vector<std::string> SummaryRow(const Summary& summary, const std::string& ratio) {
  const auto [lowest, highest] = summary.Range(&BenchmarkResult::micros_per_op);
  const BenchmarkResult& last = *summary.rounds.back();
  const bool reads = last.found.has_value();
  const Workload* workload = FindWorkload(summary.benchmark);
  const bool reads_only = workload != nullptr && workload->kind == WorkloadKind::kRead;
  return {
      summary.benchmark,
      summary.engine + (HasRemark(summary.engine) ? "*" : ""),
      last.filter,
      absl::StrFormat("%.3f", summary.Median(&BenchmarkResult::micros_per_op)),
      summary.rounds.size() > 1 ? absl::StrFormat("%.3f-%.3f", lowest, highest) : "",
      WithSeparators(summary.Median(&BenchmarkResult::ops_per_sec)),
      ratio,
      MicrosCell(summary.MedianOf([](const BenchmarkResult& r) { return r.p50_micros; })),
      MicrosCell(summary.MedianOf([](const BenchmarkResult& r) { return r.p99_micros; })),
      MicrosCell(summary.MedianOf([](const BenchmarkResult& r) { return r.p999_micros; })),
      FoundCell(summary),
      last.durability.value_or(""),
      CountCell(summary,
                [](const BenchmarkResult& r) { return IfAsked(r, r.counters.filter_checked); }),
      CountCell(summary,
                [](const BenchmarkResult& r) { return IfAsked(r, r.counters.filter_rejected); }),
      CountCell(
          summary,
          [](const BenchmarkResult& r) { return IfAsked(r, r.counters.filter_false_positive); }),
      PercentCell(summary.MedianOf([](const BenchmarkResult& r) { return r.MeasuredFpr(); })),
      PercentCell(last.MeasuredFpr().has_value() ? last.shape.promised_fpr : std::nullopt),
      reads ? CountCell(
                  summary,
                  [](const BenchmarkResult& r) { return AsDouble(r.counters.data_blocks_read); })
            : "",
      reads_only ? "" : MicrosCell(summary.MedianOf([](const BenchmarkResult& r) {
        return r.write_amplification;
      })),
      MebibytesCell(summary, [](const BenchmarkResult& r) { return AsDouble(r.space_bytes); }),
      MebibytesCell(summary, [](const BenchmarkResult& r) { return AsDouble(r.peak_rss_bytes); }),
  };
}

void AddSummaryColumns(const std::string& first_engine, report::TextTable* table) {
  using Align = report::TextTable::Align;
  for (const char* title : {"benchmark", "engine", "filter"}) table->AddColumn(title, Align::kLeft);
  for (const std::string& title :
       {std::string("micros/op"), std::string("lowest-highest"), std::string("ops/sec"),
        first_engine + " is", std::string("p50 us"), std::string("p99 us"), std::string("p99.9 us"),
        std::string("found"), std::string("writes are"), std::string("filter asked"),
        std::string("said no"), std::string("false yes"), std::string("FPR"),
        std::string("promised"), std::string("blocks read"), std::string("write amp"),
        std::string("disk MiB"), std::string("RSS MiB")}) {
    table->AddColumn(title, Align::kRight);
  }
}

std::string CompressionLabel(std::string name) {
  if (name == "none") return "NoCompression";
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

}  // namespace

void PrintHeader(const BenchConfig& config) {
  const double compressed_value = static_cast<double>(config.value_size) * config.compression_ratio;
  const double entries = static_cast<double>(config.num);
  const double key_bytes = KeySpace(config).MeanKeyBytes();
  if (config.key_shape == BenchConfig().key_shape) {
    std::printf("Keys:       %" PRId64 " bytes each\n", config.key_size);
  } else {
    std::printf("Keys:       %.0f bytes each on average (%s)\n", key_bytes,
                config.key_shape.c_str());
  }
  std::printf("Values:     %" PRId64 " bytes each (%.0f bytes after compression)\n",
              config.value_size, compressed_value);
  std::printf("Entries:    %" PRId64 "\n", config.num);
  std::printf("Prefix:    %" PRId64 " bytes\n", config.prefix_size);
  std::printf("Keys per prefix:    %" PRId64 "\n",
              config.prefix_size > 0 ? config.keys_per_prefix : 0);
  std::printf("RawSize:    %.1f MB (estimated)\n",
              (key_bytes + static_cast<double>(config.value_size)) * entries / kMebibyte);
  std::printf("FileSize:   %.1f MB (estimated)\n",
              (key_bytes + compressed_value) * entries / kMebibyte);
  std::printf("Compression: %s\n", CompressionLabel(config.compression_type).c_str());
  std::printf("Block cache: %.1f MB; write buffer: %.1f MB; background threads: %" PRId64 "\n",
              static_cast<double>(config.cache_size) / kMebibyte,
              static_cast<double>(config.write_buffer_size) / kMebibyte,
              config.max_background_jobs);
  std::printf("------------------------------------------------\n");
}

void PrintSection(const BenchConfig& config, std::string_view engine, int round) {
  std::printf("Engine: %s\n", EngineTitle(engine).c_str());
  std::printf("Filter: %s; filter key: %s\n", FilterFor(config, engine).c_str(),
              config.filter_key.c_str());
  std::printf("Writes: %s\n", Durability(engine, SessionSettingsOf(config, false)).c_str());
  std::printf("DB path: [%s]\n", EngineDirectory(config, engine).c_str());
  if (config.rounds > 1) std::printf("Round:  %d of %" PRId64 "\n", round, config.rounds);
}

void PrintMeasurement(const Workload& workload, const Measurement& measurement) {
  std::string extra;
  if (measurement.bytes > 0 && measurement.elapsed_seconds > 0) {
    extra = absl::StrFormat("%6.1f MB/s", static_cast<double>(measurement.bytes) / kMebibyte /
                                              measurement.elapsed_seconds);
  }
  if (workload.counts_found) {
    absl::StrAppendFormat(&extra, "%s(%d of %d found)", extra.empty() ? "" : " ", measurement.found,
                          measurement.lookups);
  }
  std::printf("%-12s : %11.3f micros/op %ld ops/sec %.3f seconds %" PRIu64 " operations;%s%s\n",
              std::string(workload.name).c_str(), measurement.MicrosPerOp(),
              static_cast<long>(measurement.OpsPerSecond()), measurement.elapsed_seconds,
              measurement.ops, extra.empty() ? "" : " ", extra.c_str());
  if (measurement.latency != nullptr) {
    const char* operation = workload.kind == WorkloadKind::kRead ? "read" : "op";
    if (workload.kind == WorkloadKind::kFill || workload.kind == WorkloadKind::kWrite) {
      operation = "write";
    }
    std::printf("Microseconds per %s:\n%s\n", operation, measurement.latency->ToString().c_str());
  }
  std::fflush(stdout);
}

std::string SummaryTable(const BenchConfig& config, std::span<const BenchmarkResult> results) {
  const std::vector<Summary> summaries = Summarize(results);
  if (summaries.empty()) return "";
  const std::vector<Ratio> ratios = Ratios(summaries);
  report::TextTable table;
  AddSummaryColumns(summaries[0].engine, &table);
  for (const Summary& summary : summaries) {
    std::string cell;
    for (const Ratio& ratio : ratios) {
      if (ratio.benchmark != summary.benchmark || ratio.against != summary.engine) continue;
      cell = ratio.ratio >= 1 ? absl::StrFormat("%.2fx faster", ratio.ratio)
                              : absl::StrFormat("%.2fx slower", 1 / ratio.ratio);
    }
    table.AddRow(SummaryRow(summary, cell));
  }
  int rounds = 1;  // that were run; fewer than asked after an error
  for (const BenchmarkResult& result : results) rounds = std::max(rounds, result.round);
  std::string text =
      absl::StrFormat("Medians of %d round%s, %d thread%s\n\n", rounds, rounds == 1 ? "" : "s",
                      config.threads, config.threads == 1 ? "" : "s");
  text += table.ToString() + Remarks(summaries);
  return text + "\n";
}

}  // namespace winnow::bench
