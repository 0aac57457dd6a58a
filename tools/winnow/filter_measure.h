// What a kind of filter costs on this machine: built and asked, and timed.
#ifndef WINNOW_TOOLS_WINNOW_FILTER_MEASURE_H_
#define WINNOW_TOOLS_WINNOW_FILTER_MEASURE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/winnow/text_encoding.h"

namespace winnow::cli {

// Figures of one filter. Times are in nanoseconds, without the hashing of the key.
struct FilterMeasurement {
  std::string spec;
  std::string kind;  // that was built: what `auto` chose, or was fallen back to
  uint64_t num_keys = 0;
  uint64_t num_bytes = 0;
  double bits_per_key = 0;
  int probes = 0;            // Bloom kinds
  int fingerprint_bits = 0;  // kinds that keep fingerprints
  double expected_fpr = 0;
  double measured_fpr = 0;  // of the absent keys that were timed
  double build_ns_per_key = 0;
  double absent_query_ns = 0;
  double present_query_ns = 0;
  double batch_query_ns = 0;  // absent keys, 64 at once
};

// Builds a filter block of `num_keys` random keys and asks it about `num_queries` present and as
// many absent ones, one thread, the best of three runs. `spec` is a filter spec: InvalidArgument if
// it is not. Memory: 16 bytes a key and a query, and the filter.
absl::StatusOr<FilterMeasurement> MeasureFilter(const std::string& spec, uint64_t num_keys,
                                                uint64_t num_queries);

// All figures, under their names above.
Json AsJson(const FilterMeasurement& measurement);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_FILTER_MEASURE_H_
