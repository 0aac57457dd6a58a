#include "engine/table/table_state.h"

namespace winnow {

absl::Status CheckRow(std::string_view row) {
  if (!row.empty() && row.size() <= kMaxRowBytes) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("row of ", row.size(), " bytes; a row has 1 to ", kMaxRowBytes));
}

absl::Status CheckQualifier(std::string_view qualifier) {
  if (qualifier.size() <= kMaxQualifierBytes) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("qualifier of ", qualifier.size(),
                                                 " bytes is over the limit of ", kMaxQualifierBytes,
                                                 " bytes"));
}

absl::Status CheckCellBytes(std::string_view value) {
  if (value.size() <= kMaxCellBytes) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "cell of ", value.size(), " bytes is over the limit of ", kMaxCellBytes, " bytes"));
}

absl::Status CheckTimestamp(uint64_t timestamp) {
  if (timestamp <= kMaxTimestamp) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("timestamp ", timestamp, " is over the limit of ", kMaxTimestamp));
}

}  // namespace winnow
