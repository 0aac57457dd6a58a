// Numbers of things, as people read them.
#ifndef WINNOW_ENGINE_BASE_COUNTED_H_
#define WINNOW_ENGINE_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow {

// "1 file", "2 files"; `noun` must be one whose plural has an s and nothing else.
inline std::string Counted(uint64_t count, std::string_view noun) {
  return absl::StrCat(count, " ", ToAbsl(noun), count == 1 ? "" : "s");
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_COUNTED_H_
