#include "engine/transaction/tracked_keys.h"

#include "absl/strings/escaping.h"
#include "engine/base/status.h"

namespace winnow {

std::string DescribeKey(std::string_view family_name, std::string_view key) {
  constexpr size_t kMostBytes = 64;
  return absl::StrCat("key \"", absl::CHexEscape(ToAbsl(key.substr(0, kMostBytes))),
                      key.size() > kMostBytes ? "\"..." : "\"", " of column family \"",
                      absl::Utf8SafeCEscape(ToAbsl(family_name)), "\"");
}

}  // namespace winnow
