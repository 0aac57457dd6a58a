#include "engine/base/coding.h"

namespace winnow {

const char* DecodeVarint64Slow(const char* data, const char* limit, uint64_t* value) {
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

const char* DecodeVarint32Slow(const char* data, const char* limit, uint32_t* value) {
  uint64_t wide;
  const char* end = DecodeVarint64Slow(data, limit, &wide);
  if (end == nullptr || wide > UINT32_MAX) return nullptr;
  *value = static_cast<uint32_t>(wide);
  return end;
}

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

bool GetVarint32(std::string_view* input, uint32_t* value) {
  const char* end = DecodeVarint32(input->data(), input->data() + input->size(), value);
  if (end == nullptr) return false;
  input->remove_prefix(static_cast<size_t>(end - input->data()));
  return true;
}

bool GetVarint64(std::string_view* input, uint64_t* value) {
  const char* end = DecodeVarint64(input->data(), input->data() + input->size(), value);
  if (end == nullptr) return false;
  input->remove_prefix(static_cast<size_t>(end - input->data()));
  return true;
}

bool GetLengthPrefixed(std::string_view* input, std::string_view* value) {
  std::string_view rest = *input;
  uint64_t length;
  if (!GetVarint64(&rest, &length) || length > rest.size()) return false;
  *value = rest.substr(0, length);
  rest.remove_prefix(length);
  *input = rest;
  return true;
}

}  // namespace winnow
