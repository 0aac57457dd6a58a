#include "engine/base/write_time.h"

#include <algorithm>
#include <limits>

#include "absl/time/time.h"

namespace winnow {

std::string TimeText(uint64_t micros) {
  // A time out of range, from a wrong clock or a damaged value, is shown as the last that can be.
  const auto most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  const absl::Time time = absl::FromUnixMicros(static_cast<int64_t>(std::min(micros, most)));
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

absl::Status ResolveWriteTime(const ExpiryMoment& moment, EntryType* type,
                              std::string_view* value) {
  if (!HasWriteTime(*value)) {
    return absl::DataLossError("a value with a write time ends before the time");
  }
  const bool expired = moment.HasExpired(WriteTime(*value));
  // A deletion and not nothing: it must hide the older versions that the value hid.
  *type = expired ? EntryType::kDelete : EntryType::kPut;
  *value = expired ? std::string_view() : WithoutWriteTime(*value);
  return absl::OkStatus();
}

}  // namespace winnow
