// Little-endian integers and varints, as every on-disk format of the store uses them.
#ifndef WINNOW_ENGINE_BASE_CODING_H_
#define WINNOW_ENGINE_BASE_CODING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace winnow {

static_assert(std::endian::native == std::endian::little,
              "fixed-width fields are stored little-endian; add byte swaps for other machines");

inline constexpr size_t kMaxVarint32Bytes = 5;
inline constexpr size_t kMaxVarint64Bytes = 10;

inline uint16_t DecodeFixed16(const char* data) {
  uint16_t value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

inline uint32_t DecodeFixed32(const char* data) {
  uint32_t value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

inline uint64_t DecodeFixed64(const char* data) {
  uint64_t value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

inline void EncodeFixed32(char* out, uint32_t value) { std::memcpy(out, &value, sizeof(value)); }
inline void EncodeFixed64(char* out, uint64_t value) { std::memcpy(out, &value, sizeof(value)); }

inline void PutFixed32(std::string* out, uint32_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}
inline void PutFixed64(std::string* out, uint64_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Writes a varint at `out`, which has room for kMaxVarint64Bytes; returns the end.
inline char* EncodeVarint64(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
inline char* EncodeVarint32(char* out, uint32_t value) { return EncodeVarint64(out, value); }

inline void PutVarint64(std::string* out, uint64_t value) {
  char buffer[kMaxVarint64Bytes];
  out->append(buffer, static_cast<size_t>(EncodeVarint64(buffer, value) - buffer));
}
inline void PutVarint32(std::string* out, uint32_t value) { PutVarint64(out, value); }
inline void PutLengthPrefixed(std::string* out, std::string_view value) {
  PutVarint64(out, value.size());
  out->append(value);
}

// Decoders return the first byte after the value, or null if the bytes before `limit` do not hold
// a whole, in-range value.
const char* DecodeVarint64Slow(const char* data, const char* limit, uint64_t* value);
const char* DecodeVarint32Slow(const char* data, const char* limit, uint32_t* value);

inline const char* DecodeVarint64(const char* data, const char* limit, uint64_t* value) {
  if (data < limit && static_cast<uint8_t>(*data) < 0x80) {
    *value = static_cast<uint8_t>(*data);
    return data + 1;
  }
  return DecodeVarint64Slow(data, limit, value);
}
inline const char* DecodeVarint32(const char* data, const char* limit, uint32_t* value) {
  if (data < limit && static_cast<uint8_t>(*data) < 0x80) {
    *value = static_cast<uint8_t>(*data);
    return data + 1;
  }
  return DecodeVarint32Slow(data, limit, value);
}

// Getters consume from the front of `*input`; false leaves it untouched and means malformed input.
[[nodiscard]] bool GetFixed32(std::string_view* input, uint32_t* value);
[[nodiscard]] bool GetFixed64(std::string_view* input, uint64_t* value);
// Without a call, and by way of registers: a string_view that is stored by halves and loaded as a
// whole waits until the halves have left the processor's store buffer.
[[nodiscard]] inline bool GetVarint64(std::string_view* input, uint64_t* value) {
  const char* const limit = input->data() + input->size();
  const char* const end = DecodeVarint64(input->data(), limit, value);
  if (end == nullptr) return false;
  *input = {end, static_cast<size_t>(limit - end)};
  return true;
}
[[nodiscard]] inline bool GetVarint32(std::string_view* input, uint32_t* value) {
  const char* const limit = input->data() + input->size();
  const char* const end = DecodeVarint32(input->data(), limit, value);
  if (end == nullptr) return false;
  *input = {end, static_cast<size_t>(limit - end)};
  return true;
}
// The length is compared with what is there before anything is done with it: no bound on it is
// needed.
[[nodiscard]] inline bool GetLengthPrefixed(std::string_view* input, std::string_view* value) {
  const char* const limit = input->data() + input->size();
  uint64_t length;
  const char* const start = DecodeVarint64(input->data(), limit, &length);
  if (start == nullptr || length > static_cast<size_t>(limit - start)) return false;
  *value = {start, static_cast<size_t>(length)};
  *input = {start + length, static_cast<size_t>(limit - start) - static_cast<size_t>(length)};
  return true;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_CODING_H_
