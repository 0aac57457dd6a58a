#include "tools/winnow_bench/result.h"

#include <string>

#include "nlohmann/json.hpp"

namespace winnow::bench {
namespace {

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

// Copies a field of `json` where it is present and no null.
template <typename T>
void Read(const nlohmann::json& json, const char* name, T* value) {
  const auto field = json.find(name);
  if (field != json.end() && !field->is_null()) field->get_to(*value);
}

template <typename T>
void Read(const nlohmann::json& json, const char* name, std::optional<T>* value) {
  const auto field = json.find(name);
  if (field != json.end() && !field->is_null()) *value = field->get<T>();
}

}  // namespace

std::optional<double> BenchmarkResult::MeasuredFpr() const {
  if (!counters.filter_rejected.has_value() || !counters.filter_false_positive.has_value()) {
    return std::nullopt;
  }
  const uint64_t absent = *counters.filter_rejected + *counters.filter_false_positive;
  if (absent == 0) return std::nullopt;
  return static_cast<double>(*counters.filter_false_positive) / static_cast<double>(absent);
}

nlohmann::json ToJson(const BenchmarkResult& result) {
  const nlohmann::json filter = {
      {"spec", result.filter},
      {"checked", OrNull(result.counters.filter_checked)},
      {"rejected", OrNull(result.counters.filter_rejected)},
      {"true_positive", OrNull(result.counters.filter_true_positive)},
      {"false_positive", OrNull(result.counters.filter_false_positive)},
      {"fpr", OrNull(result.MeasuredFpr())},
      {"promised_fpr", OrNull(result.shape.promised_fpr)},
      {"bytes", OrNull(result.shape.filter_bytes)},
      {"bits_per_key", OrNull(result.shape.bits_per_key)},
  };
  return {
      {"engine", result.engine},
      {"filter", filter},
      {"benchmark", result.benchmark},
      {"round", result.round},
      {"threads", result.threads},
      {"ops", result.ops},
      {"ops_per_sec", result.ops_per_sec},
      {"micros_per_op", result.micros_per_op},
      {"p50_us", OrNull(result.p50_micros)},
      {"p99_us", OrNull(result.p99_micros)},
      {"p999_us", OrNull(result.p999_micros)},
      {"max_us", OrNull(result.max_micros)},
      {"open_us", OrNull(result.open_micros)},
      {"bytes_read", result.bytes_read},
      {"bytes_written", result.bytes_written},
      {"read_ops", result.read_calls},
      {"data_blocks_read", OrNull(result.counters.data_blocks_read)},
      {"found", OrNull(result.found)},
      {"durability", OrNull(result.durability)},
      {"write_amplification", OrNull(result.write_amplification)},
      {"space_bytes", result.space_bytes},
      {"peak_rss_bytes", result.peak_rss_bytes},
  };
}

BenchmarkResult ResultFromJson(const nlohmann::json& json) {
  BenchmarkResult result;
  Read(json, "engine", &result.engine);
  Read(json, "benchmark", &result.benchmark);
  Read(json, "round", &result.round);
  Read(json, "threads", &result.threads);
  Read(json, "ops", &result.ops);
  Read(json, "ops_per_sec", &result.ops_per_sec);
  Read(json, "micros_per_op", &result.micros_per_op);
  Read(json, "p50_us", &result.p50_micros);
  Read(json, "p99_us", &result.p99_micros);
  Read(json, "p999_us", &result.p999_micros);
  Read(json, "max_us", &result.max_micros);
  Read(json, "open_us", &result.open_micros);
  Read(json, "bytes_read", &result.bytes_read);
  Read(json, "bytes_written", &result.bytes_written);
  Read(json, "read_ops", &result.read_calls);
  Read(json, "data_blocks_read", &result.counters.data_blocks_read);
  Read(json, "found", &result.found);
  Read(json, "durability", &result.durability);
  Read(json, "write_amplification", &result.write_amplification);
  Read(json, "space_bytes", &result.space_bytes);
  Read(json, "peak_rss_bytes", &result.peak_rss_bytes);
  const auto filter = json.find("filter");
  if (filter == json.end()) return result;
  Read(*filter, "spec", &result.filter);
  Read(*filter, "checked", &result.counters.filter_checked);
  Read(*filter, "rejected", &result.counters.filter_rejected);
  Read(*filter, "true_positive", &result.counters.filter_true_positive);
  Read(*filter, "false_positive", &result.counters.filter_false_positive);
  Read(*filter, "promised_fpr", &result.shape.promised_fpr);
  Read(*filter, "bytes", &result.shape.filter_bytes);
  Read(*filter, "bits_per_key", &result.shape.bits_per_key);
  return result;
}

}  // namespace winnow::bench
