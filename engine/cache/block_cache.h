// The block cache as the engine uses it.
//
// Lookups take no lock: each shard is a fixed open-addressing table whose slots carry their state,
// use marks and reference count in one atomic word (the arrangement of RocksDB's HyperClockCache).
// Eviction follows S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP
// 2023), with a CLOCK sweep over the slots in place of its two queues: new blocks are on probation
// in a tenth of the shard, a second use promotes them, and fingerprints of blocks that lately left
// probation let them return promoted. One pass over a large file therefore passes through the
// probation tenth only.
#ifndef WINNOW_ENGINE_CACHE_BLOCK_CACHE_H_
#define WINNOW_ENGINE_CACHE_BLOCK_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/cache/block_arena.h"
#include "engine/cache/cached_block.h"
#include "winnow/cache.h"

namespace winnow {

// Names a block, uniquely for the life of the process: table identities come from NewTableId and
// are never reused.
struct BlockKey {
  uint64_t table_id = 0;
  uint64_t offset = 0;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

// A number that no other table of this process has or had. Never 0.
uint64_t NewTableId();

// Thread-safe. References must be released before the cache is destroyed.
class ShardedBlockCache final {
 public:
  enum class Priority : uint8_t {
    kProbation,  // may leave soon unless it is used again
    kProtected,  // starts as if it had been used before: index partitions, compaction output
  };

  ShardedBlockCache(size_t capacity_bytes, int shard_bits);
  ~ShardedBlockCache();
  ShardedBlockCache(const ShardedBlockCache&) = delete;
  ShardedBlockCache& operator=(const ShardedBlockCache&) = delete;

  // The block, or an empty handle. No lock, no allocation; marks the block as used.
  BlockRef Lookup(const BlockKey& key);

  // For callers that have just missed with Lookup: the block, from `load`. Of the threads that miss
  // the same block at the same time one calls its `load` and the others wait for its result; an
  // error reaches all of them, is not cached, and the next caller loads again. A loaded block is
  // inserted; if it cannot be (capacity 0, all pinned) the handles own it alone. `counters` may be
  // null.
  absl::StatusOr<BlockRef> Load(const BlockKey& key,
                                absl::FunctionRef<absl::StatusOr<BlockRef>()> load,
                                Priority priority, ReadCounters* counters);

  // Gives a freshly made block to the cache and returns a handle to it, or to the block that
  // another thread inserted first. Works like Load where it cannot be inserted.
  BlockRef Insert(const BlockKey& key, BlockRef block, Priority priority);

  // Forgets a block that nobody uses; one in use is left to age out. For files being deleted.
  void Erase(const BlockKey& key);

  // Where blocks that will be inserted are best allocated; null for small caches, whose memory
  // should not grow by whole huge pages.
  BlockArena* arena() { return arena_.get(); }

  size_t capacity_bytes() const { return capacity_bytes_; }
  size_t usage_bytes() const;
  // Walks the whole table: for statistics, not for hot paths.
  size_t pinned_bytes() const;

 private:
  class Shard;

  Shard& ShardOf(uint64_t hash) const;

  const size_t capacity_bytes_;
  const int shard_bits_;
  std::unique_ptr<BlockArena> arena_;  // before the shards, which give their blocks back to it
  std::vector<std::unique_ptr<Shard>> shards_;
};

// What users hold, made and opened up.
class BlockCacheAccess {
 public:
  static std::shared_ptr<BlockCache> Make(size_t capacity_bytes, int shard_bits);
  // Never null; lives as long as `cache`.
  static ShardedBlockCache* Sharded(const BlockCache& cache) { return cache.sharded_.get(); }
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_CACHE_BLOCK_CACHE_H_
