// A name or a value that is wrong, in the message that refuses it. Internal.

#ifndef WINNOW_FILTER_BASE_SHOWN_TEXT_H_
#define WINNOW_FILTER_BASE_SHOWN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace winnow {

// No more than its beginning: it may be of any length, and messages go to logs and to people.
inline std::string ShownText(std::string_view text) {
  constexpr size_t kMostBytes = 64;
  std::string shown(text.substr(0, kMostBytes));
  if (text.size() > kMostBytes) shown += "...";
  return shown;
}

}  // namespace winnow

#endif  // WINNOW_FILTER_BASE_SHOWN_TEXT_H_
