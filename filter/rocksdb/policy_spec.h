// The text that names a policy: a filter spec, perhaps followed by the word level_aware, which
// "auto" does not need to be told.

#ifndef WINNOW_FILTER_ROCKSDB_POLICY_SPEC_H_
#define WINNOW_FILTER_ROCKSDB_POLICY_SPEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "winnow/filter/spec.h"

namespace winnow::filter::internal {

// RocksDB's default of max_bytes_for_level_multiplier.
inline constexpr double kDefaultSizeRatio = 10;

struct PolicySpec {
  FilterSpec filter;
  bool level_aware = false;
  double size_ratio = kDefaultSizeRatio;  // of a level to the one above it; for level_aware
};

// Reads "<filter spec>[:level_aware[:<size ratio>]]". InvalidArgument names the part that is wrong.
absl::StatusOr<PolicySpec> ParsePolicySpec(std::string_view text);

// The canonical text; ParsePolicySpec reads it back to an equal spec.
std::string PolicySpecText(const PolicySpec& spec);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_POLICY_SPEC_H_
