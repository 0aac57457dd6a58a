// What keys and values may be, on which the formats rely, and the errors that say so. Internal.
#ifndef WINNOW_ENGINE_BASE_ENTRY_LIMITS_H_
#define WINNOW_ENGINE_BASE_ENTRY_LIMITS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/options.h"

namespace winnow {

// InvalidArgument: larger than kMaxKeyBytes.
absl::Status KeyTooLarge(size_t bytes);
// InvalidArgument: larger than kMaxValueBytes.
absl::Status ValueTooLarge(size_t bytes);
// The one or the other where it is so.
inline absl::Status CheckEntryBytes(size_t key_bytes, size_t value_bytes) {
  if (key_bytes > kMaxKeyBytes) return KeyTooLarge(key_bytes);
  if (value_bytes > kMaxValueBytes) return ValueTooLarge(value_bytes);
  return absl::OkStatus();
}
// InvalidArgument: `key` does not come behind `last_key`.
absl::Status KeysNotAscending(std::string_view key, std::string_view last_key);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_ENTRY_LIMITS_H_
