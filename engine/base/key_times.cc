#include "engine/base/key_times.h"

#include "absl/strings/str_cat.h"

namespace winnow {

std::string KeyTimes::DebugString() const {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& range) {
    text.append(text.empty() ? "" : " ").append(what).append(range);
  };
  if (end != 0) add("entries=", absl::StrCat(oldest, "..", end - 1));
  if (marker_end != 0) add("markers=..", absl::StrCat(marker_end - 1));
  if (far_marker_end != 0) add("far_markers=..", absl::StrCat(far_marker_end - 1));
  return text.empty() ? "none" : text;
}

}  // namespace winnow
