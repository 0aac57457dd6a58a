// The block cache: recently used SSTable blocks, uncompressed, in memory.
#ifndef WINNOW_CACHE_H_
#define WINNOW_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace winnow {

// Shared by any number of column families and databases; thread-safe. Blocks are charged with their
// size in memory and usage stays within the capacity: blocks in use are never freed, and where they
// fill the cache, readers own the further blocks that they load.
class BlockCache {
 public:
  virtual ~BlockCache() = default;
  virtual size_t capacity_bytes() const = 0;
  virtual size_t usage_bytes() const = 0;
  virtual size_t pinned_bytes() const = 0;
};

// A cache of `capacity_bytes` (0: nothing is kept), divided into 2^`shard_bits` independent parts
// (-1: chosen from the capacity). Scan-resistant: a block read once does not push out blocks that
// were read again.
std::shared_ptr<BlockCache> NewBlockCache(size_t capacity_bytes, int shard_bits = -1);

}  // namespace winnow

#endif  // WINNOW_CACHE_H_
