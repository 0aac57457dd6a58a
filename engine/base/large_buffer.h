// Buffers that serve again and again, and now and then a value of many megabytes.
#ifndef WINNOW_ENGINE_BASE_LARGE_BUFFER_H_
#define WINNOW_ENGINE_BASE_LARGE_BUFFER_H_

#include <cstddef>
#include <string>

namespace winnow {

// What usual entries, records and blocks stay below.
inline constexpr size_t kLargeBufferBytes = size_t{1} << 20;

// To be called when what is in the buffer has served. A large one is freed, and must not wait for
// its owner's end with memory that the next step needs; others keep theirs for their next use.
inline void FreeIfLarge(std::string* buffer) {
  if (buffer->capacity() > kLargeBufferBytes) [[unlikely]]
    std::string().swap(*buffer);
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_LARGE_BUFFER_H_
