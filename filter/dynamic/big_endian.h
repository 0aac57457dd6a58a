// Big-endian numbers, as Java's DataOutput writes them.

#ifndef WINNOW_FILTER_DYNAMIC_BIG_ENDIAN_H_
#define WINNOW_FILTER_DYNAMIC_BIG_ENDIAN_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow::filter::internal {

template <typename Unsigned>
void AppendBigEndian(Unsigned value, std::string* bytes) {
  for (size_t i = sizeof(value); i > 0; --i) {
    bytes->push_back(static_cast<char>(value >> (8 * (i - 1)) & 0xff));
  }
}

// `bytes` has them at `offset`.
template <typename Unsigned>
Unsigned LoadBigEndian(std::string_view bytes, uint64_t offset) {
  Unsigned value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) {
    value = static_cast<Unsigned>(value << 8 | static_cast<uint8_t>(bytes[offset + i]));
  }
  return value;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_DYNAMIC_BIG_ENDIAN_H_
