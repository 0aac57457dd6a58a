// MurmurHash64A (Austin Appleby, public domain).

#include <cstring>

#include "winnow/filter/redisbloom_filter.h"

namespace winnow::filter {

uint64_t MurmurHash64A(std::string_view key, uint64_t seed) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  // The length is in the state from the start: the zeros that pad the tail make no two keys alike.
  uint64_t hash = seed ^ (key.size() * kMultiplier);
  for (; key.size() >= 8; key.remove_prefix(8)) {
    uint64_t word;
    std::memcpy(&word, key.data(), 8);  // little-endian machines only, as the whole library
    word *= kMultiplier;
    word = (word ^ word >> 47) * kMultiplier;
    hash = (hash ^ word) * kMultiplier;
  }
  if (!key.empty()) {
    // The original's switch over one to seven bytes comes to their little-endian number.
    uint64_t tail = 0;
    std::memcpy(&tail, key.data(), key.size());
    hash = (hash ^ tail) * kMultiplier;
  }
  hash = (hash ^ hash >> 47) * kMultiplier;
  return hash ^ hash >> 47;
}

}  // namespace winnow::filter
