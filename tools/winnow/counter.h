// The number in a cell that is a counter.
#ifndef WINNOW_TOOLS_WINNOW_COUNTER_H_
#define WINNOW_TOOLS_WINNOW_COUNTER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::cli {

// FailedPrecondition: the value has not the 8 bytes of a counter.
absl::StatusOr<int64_t> CounterOf(std::string_view value);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_COUNTER_H_
