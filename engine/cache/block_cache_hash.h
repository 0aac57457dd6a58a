// The hash that places a block in the cache.
#ifndef WINNOW_ENGINE_CACHE_BLOCK_CACHE_HASH_H_
#define WINNOW_ENGINE_CACHE_BLOCK_CACHE_HASH_H_

#include <cstdint>

#include "engine/cache/block_cache.h"

namespace winnow {

// Two rounds of multiply and fold (the "wyhash" mixing step): offsets are multiples of little
// entropy, and high bits choose the slot, low bits the shard.
inline uint64_t HashBlockKey(const BlockKey& key) {
  const auto fold = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  return fold(key.offset ^ 0x9e3779b97f4a7c15ULL,
              fold(key.table_id ^ 0xa0761d6478bd642fULL, 0xe7037ed1a0b428dbULL));
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_CACHE_BLOCK_CACHE_HASH_H_
