// How opening a filter block went.

#ifndef WINNOW_FILTER_FILTER_STATE_H_
#define WINNOW_FILTER_FILTER_STATE_H_

#include <cstdint>
#include <string>

namespace winnow::filter {

enum class FilterStateCode : uint8_t {
  kOk = 0,
  kDamaged,         // truncated, checksum wrong, or fields that contradict each other
  kUnknownKind,     // written by a newer version: some unit's kind is not known here
  kUnknownVersion,  // written by a newer version: the block's or some unit's format is not known
};

// `reason` is a sentence for the log, empty for kOk.
struct FilterState {
  FilterStateCode code = FilterStateCode::kOk;
  std::string reason;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_FILTER_STATE_H_
