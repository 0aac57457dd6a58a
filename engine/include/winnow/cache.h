// The block cache: recently used SSTable blocks, uncompressed, in memory.
//
//   options.block_cache = winnow::NewBlockCache(size_t{1} << 30);   // one for several databases
#ifndef WINNOW_CACHE_H_
#define WINNOW_CACHE_H_

#include <cstddef>
#include <memory>

namespace winnow {

class ShardedBlockCache;

// Shared by any number of column families and databases; thread-safe. Blocks are charged with their
// size in memory and usage stays within the capacity: blocks in use are never freed, and where they
// fill the cache, readers own the further blocks that they load. Databases that are opened with
// charge_filters_to_cache take the memory of their filters and indexes from the capacity. Made by
// NewBlockCache only.
class BlockCache final {
 public:
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Another capacity, beside readers. Smaller: what does not fit any more is evicted at once, but
  // for blocks in use. Larger: what is there stays; the parts remain as many as they were. For what
  // finds the blocks see Options::block_cache_bytes, which DB::SetOption changes for a cache that a
  // database made for itself.
  void SetCapacity(size_t capacity_bytes);

  // As given last.
  size_t capacity_bytes() const;
  // Bytes of the blocks that are in the cache now.
  size_t usage_bytes() const;
  // Bytes of those that iterators, pinned values and reads under way hold. Walks the whole cache:
  // for statistics, not for hot paths.
  size_t pinned_bytes() const;

 private:
  friend class BlockCacheAccess;
  explicit BlockCache(std::unique_ptr<ShardedBlockCache> sharded);

  const std::unique_ptr<ShardedBlockCache> sharded_;
};

// A cache of `capacity_bytes` (0: nothing is kept), divided into 2^`shard_bits` independent parts
// (at most 10; -1: chosen from the capacity). Scan-resistant: a block read once does not push out
// blocks that were read again.
std::shared_ptr<BlockCache> NewBlockCache(size_t capacity_bytes, int shard_bits = -1);

}  // namespace winnow

#endif  // WINNOW_CACHE_H_
