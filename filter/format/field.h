// Fields of the headers that this library writes: little-endian numbers at fixed offsets. Internal.

#ifndef WINNOW_FILTER_FORMAT_FIELD_H_
#define WINNOW_FILTER_FORMAT_FIELD_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace winnow::filter::internal {

static_assert(std::endian::native == std::endian::little,
              "fields and payloads are little-endian and read in place");

// `bytes` has the field at `offset`; it need not be aligned.
template <typename T>
T LoadField(std::string_view bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

template <typename T>
void StoreField(T value, uint64_t offset, std::string* bytes) {
  std::memcpy(bytes->data() + offset, &value, sizeof(value));
}

inline bool AreZeros(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_FORMAT_FIELD_H_
