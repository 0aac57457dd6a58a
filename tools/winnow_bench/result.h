// What one benchmark of one engine in one round has measured.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_RESULT_H_
#define WINNOW_TOOLS_WINNOW_BENCH_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "nlohmann/json_fwd.hpp"
#include "tools/winnow_bench/engine.h"

namespace winnow::bench {

// Unset fields were not measured; they are null in JSON.
struct BenchmarkResult {
  std::string engine;
  std::string filter;
  std::string benchmark;
  int round = 1;
  int threads = 1;

  uint64_t ops = 0;
  double ops_per_sec = 0;    // by wall clock
  double micros_per_op = 0;  // the threads' times added, as db_bench does
  std::optional<double> p50_micros;
  std::optional<double> p99_micros;
  std::optional<double> p999_micros;
  std::optional<double> max_micros;
  // Of the first benchmark after the database was opened: how long that took.
  std::optional<double> open_micros;
  std::optional<uint64_t> found;
  std::optional<std::string> durability;  // of what the benchmark wrote, as Durability() names it

  // Of the whole process while the benchmark ran, background work included; bytes read and read
  // calls as the operating system counts them, so without reads of mapped files.
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t read_calls = 0;
  uint64_t peak_rss_bytes = 0;
  // Since the database was opened: bytes written for each byte of keys and values given.
  std::optional<double> write_amplification;
  uint64_t space_bytes = 0;

  EngineCounters counters;  // of this benchmark
  FilterShape shape;        // after it

  // Among the look-ups of what was not there, the share that the filter let through.
  std::optional<double> MeasuredFpr() const;
};

nlohmann::json ToJson(const BenchmarkResult& result);
// The reverse, for what ToJson made; fields that are missing or null stay unset.
BenchmarkResult ResultFromJson(const nlohmann::json& json);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_RESULT_H_
