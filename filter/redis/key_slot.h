// Where Redis Cluster keeps a key, and names for keys that belong together.

#ifndef WINNOW_FILTER_REDIS_KEY_SLOT_H_
#define WINNOW_FILTER_REDIS_KEY_SLOT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow::filter::redis {

inline constexpr uint16_t kNumSlots = 16384;

// CRC-16 (XMODEM) of what stands between the first '{' and the next '}', if anything does, else of
// the whole key, modulo kNumSlots.
uint16_t SlotOf(std::string_view key);

// A key in the slot of `name`, as Redisson names its own: "name:suffix" if the name has a '{', else
// "{name}:suffix".
std::string KeyBeside(std::string_view name, std::string_view suffix);

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_KEY_SLOT_H_
