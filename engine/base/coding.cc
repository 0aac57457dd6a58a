#include "engine/base/coding.h"

#include <bit>
#include <cstddef>

namespace winnow {

// Little-endian groups of seven bits, the highest bit of a byte says that another follows. At most
// ten bytes, the last of which has one bit of the value left: anything more is an overflow, which
// is refused rather than truncated. Longer encodings of small numbers (80 00) are accepted, as
// LevelDB does: what they are part of has a checksum.
// Up to eight bytes without a loop: which byte is the last is seen in the high bits of all of them,
// and groups of seven bits are put together by pairs.
const char* DecodeVarint64Slow(const char* data, const char* limit, uint64_t* value) {
  if (limit - data >= static_cast<std::ptrdiff_t>(sizeof(uint64_t))) [[likely]] {
    uint64_t word = DecodeFixed64(data);
    const uint64_t ends = ~word & 0x8080808080808080;
    if (ends != 0) [[likely]] {
      word &= ends ^ (ends - 1);  // up to the last bit of the last byte
      word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
      word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
      *value = (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4;
      return data + std::countr_zero(ends) / 8 + 1;
    }
  }
  uint64_t result = 0;
  for (unsigned shift = 0; shift <= 63 && data < limit; shift += 7) {
    const uint64_t byte = static_cast<uint8_t>(*data++);
    if (shift == 63 && byte > 1) return nullptr;
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return data;
    }
  }
  return nullptr;
}

// Through the wider decoder, so that an out-of-range number is told from a short one.
const char* DecodeVarint32Slow(const char* data, const char* limit, uint32_t* value) {
  uint64_t wide;
  const char* end = DecodeVarint64Slow(data, limit, &wide);
  if (end == nullptr || wide > UINT32_MAX) return nullptr;
  *value = static_cast<uint32_t>(wide);
  return end;
}

// The Get functions move `*input` past the value only if there is one: on false it is as it was.
bool GetFixed32(std::string_view* input, uint32_t* value) {
  if (input->size() < sizeof(*value)) return false;
  *value = DecodeFixed32(input->data());
  input->remove_prefix(sizeof(*value));
  return true;
}

bool GetFixed64(std::string_view* input, uint64_t* value) {
  if (input->size() < sizeof(*value)) return false;
  *value = DecodeFixed64(input->data());
  input->remove_prefix(sizeof(*value));
  return true;
}

}  // namespace winnow
