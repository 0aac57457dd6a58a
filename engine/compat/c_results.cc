#include "engine/compat/c_results.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "engine/compat/error_text.h"
#include "winnow/c.h"

namespace winnow {

// malloc, because the caller may be written in any language and gives the result back with
// winnow_free. The zero byte behind it makes text of it, and keeps an empty value from being a
// request for no memory, whose result may be null, which means "absent".
char* CopyToC(std::string_view bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) return nullptr;
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

char* OutOfMemoryText() {
  static std::array<char, 24> text = {"IO error: out of memory"};
  return text.data();
}

// LevelDB's contract: success leaves *errptr alone, so that one variable can serve many calls
// before it is looked at; failure gives back what is there, and so it must be null or a text of
// these functions or malloc'ed from the start.
bool ReportToC(const absl::Status& status, char** errptr) {
  if (status.ok()) return true;
  if (errptr == nullptr) return false;
  winnow_free(*errptr);
  *errptr = NullIfOutOfMemory([&] { return CopyToC(LevelDbErrorText(status)); });
  // Null would be success, and a write that failed taken for one that is stored.
  if (*errptr == nullptr) *errptr = OutOfMemoryText();
  return false;
}

}  // namespace winnow

// The library's free for the library's malloc: a caller may be linked with another allocator.
void winnow_free(void* ptr) {
  if (ptr != winnow::OutOfMemoryText()) std::free(ptr);
}
