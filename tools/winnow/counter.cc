#include "tools/winnow/counter.h"

#include "absl/strings/str_cat.h"

namespace winnow::cli {

absl::StatusOr<int64_t> CounterOf(std::string_view value) {
  if (value.size() != sizeof(int64_t)) {
    return absl::FailedPreconditionError(
        absl::StrCat("no counter: the cell has ", value.size(), " bytes, not 8"));
  }
  uint64_t number = 0;
  for (const char byte : value) number = number << 8 | static_cast<uint8_t>(byte);
  return static_cast<int64_t>(number);
}

}  // namespace winnow::cli
