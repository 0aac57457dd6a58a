#include "engine/base/entry_limits.h"

#include "absl/strings/str_cat.h"
#include "engine/base/shown_key.h"
#include "engine/base/status.h"

namespace winnow {

absl::Status KeyTooLarge(size_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("key of ", bytes, " bytes is over the limit of ", kMaxKeyBytes, " bytes"));
}

absl::Status ValueTooLarge(size_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("value of ", bytes, " bytes is over the limit of ", kMaxValueBytes, " bytes"));
}

absl::Status KeysNotAscending(std::string_view key, std::string_view last_key) {
  return absl::InvalidArgumentError(absl::StrCat("keys must come in ascending order, each once: '",
                                                 ShownKey(key), "' after '", ShownKey(last_key),
                                                 "'"));
}

}  // namespace winnow
