// A key in a message. Internal.

#ifndef WINNOW_ENGINE_BASE_SHOWN_KEY_H_
#define WINNOW_ENGINE_BASE_SHOWN_KEY_H_

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// Escaped, and no more than its beginning: a key may have a mebibyte, and messages go to logs and
// to people.
inline std::string ShownKey(std::string_view key) {
  constexpr size_t kMostBytes = 100;
  return absl::StrCat(absl::CHexEscape(ToAbsl(key.substr(0, kMostBytes))),
                      key.size() > kMostBytes ? "..." : "");
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_SHOWN_KEY_H_
