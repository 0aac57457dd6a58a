#include "filter/redis/key_slot.h"

#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

// Redis Cluster's rule: the first '{' and the first '}' behind it. "{}" and an open brace count for
// nothing.
std::string_view HashTag(std::string_view key) {
  const size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

// Bit by bit, without a table: it is done once a call, beside a round trip.
uint16_t SlotOf(std::string_view key) {
  uint32_t crc = 0;
  for (const char byte : HashTag(key)) {
    crc ^= static_cast<uint32_t>(static_cast<uint8_t>(byte)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
  }
  return static_cast<uint16_t>((crc & 0xffff) % kNumSlots);
}

std::string KeyBeside(std::string_view name, std::string_view suffix) {
  const std::string whole(name);
  const std::string end(suffix);
  if (name.find('{') != std::string_view::npos) return absl::StrCat(whole, ":", end);
  return absl::StrCat("{", whole, "}:", end);
}

}  // namespace winnow::filter::redis
