// Amounts on the command line: counts, rates, sizes.
#ifndef WINNOW_TOOLS_WINNOW_AMOUNTS_H_
#define WINNOW_TOOLS_WINNOW_AMOUNTS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/flags/arguments.h"

namespace winnow::cli {

// The value of a flag as a number of things, if it was given: 1000000, 1e9, 2.5e6, from 1 to 1e15.
// InvalidArgument names the flag.
absl::StatusOr<std::optional<uint64_t>> CountOf(const Arguments& arguments, std::string_view flag);

// As a false-positive rate: 0.01 or 1%; from 0.000001 to 0.5.
absl::StatusOr<std::optional<double>> RateOf(const Arguments& arguments, std::string_view flag);

// As a number of bytes: 4096, 512KiB, 64M, 1.5GiB (powers of 1024), from 1 to 1e15.
absl::StatusOr<std::optional<uint64_t>> BytesOf(const Arguments& arguments, std::string_view flag);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_AMOUNTS_H_
