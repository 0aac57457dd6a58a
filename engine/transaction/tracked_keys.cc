#include "engine/transaction/tracked_keys.h"

#include "absl/strings/escaping.h"
#include "engine/base/shown_key.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

std::string Quoted(std::string_view key) { return absl::StrCat("\"", ShownKey(key), "\""); }

std::string OfFamily(std::string_view name) {
  return absl::StrCat(" of column family \"", absl::Utf8SafeCEscape(ToAbsl(name)), "\"");
}

}  // namespace

std::string DescribeKey(std::string_view family_name, std::string_view key) {
  return absl::StrCat("key ", Quoted(key), OfFamily(family_name));
}

std::string DescribeRange(std::string_view family_name, std::string_view begin,
                          std::string_view end) {
  return absl::StrCat("the range from ", Quoted(begin), " to before ", Quoted(end),
                      OfFamily(family_name));
}

}  // namespace winnow
