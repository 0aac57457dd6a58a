// The block cache as the engine uses it.
//
// Lookups take no lock: each shard is a fixed open-addressing table whose slots carry their state,
// use marks and reference count in one atomic word (the arrangement of RocksDB's HyperClockCache).
// Eviction follows S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP
// 2023), with a CLOCK sweep over the slots in place of its two queues: new blocks are on probation
// in a tenth of the shard, a second use promotes them, and fingerprints of blocks that lately left
// probation let them return promoted. One pass over a large file therefore passes through the
// probation tenth only. Once hardly a block is used on probation, blocks are refused at the door
// (Admits): random reads over far more than fits neither sweep the cache nor pay for it.
#ifndef WINNOW_ENGINE_CACHE_BLOCK_CACHE_H_
#define WINNOW_ENGINE_CACHE_BLOCK_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/cache/block_arena.h"
#include "engine/cache/cached_block.h"
#include "filter/base/mutex.h"
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

  // Beside readers. Blocks that do not fit any more are evicted at once, as far as nobody holds
  // them; where the table of slots becomes too small, or more than four times too large, blocks
  // move to another one. Without memory for that the old one goes on: then there is room for as
  // many blocks as it has slots. Pages of either that ever had a block's slot stay in memory until
  // the cache is destroyed: lookups leave no trace by which to tell that none is in them. That is
  // bounded by 36 bytes for 2 KiB of the largest capacity so far, or of the machine's memory if
  // that is less; with the tables that were replaced on the way there, by three times as much.
  void SetCapacity(size_t capacity_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  ShardedBlockCache(const ShardedBlockCache&) = delete;
  ShardedBlockCache& operator=(const ShardedBlockCache&) = delete;

  // The block, or an empty handle. No lock, no allocation; marks the block as used.
  BlockRef Lookup(const BlockKey& key);

  // Prefetches what Lookup reads first.
  void Prefetch(const BlockKey& key) const;

  // For callers that have just missed with Lookup: is the block worth its place? If not, they read
  // it for themselves and leave the cache as it is. Yes while there is room, and for blocks that
  // were missed before of late.
  bool Admits(const BlockKey& key);

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

  // Memory besides blocks that counts against the capacity (see CacheCharge). Blocks are evicted at
  // once, as far as nobody holds them.
  void AddCharge(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void SubtractCharge(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the charge, for memory that could do without, unless more than MostForTables would then be
  // charged.
  bool TryAddCharge(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The rest stays for blocks, among them what was refused room of its own.
  static size_t MostForTables(size_t capacity_bytes) { return capacity_bytes / 4 * 3; }
  // More is charged than blocks can make room for.
  bool IsOvercharged() const ABSL_LOCKS_EXCLUDED(mutex_);
  // A block larger than this would put out too many others each time that it is loaded.
  size_t MostForOneFilter() const { return capacity_bytes() / 16; }
  // What is left to blocks however much is charged.
  static size_t LeastForBlocks(size_t capacity_bytes) { return capacity_bytes / 8; }
  // Of the tables of slots: address space. A page is in memory once a block has had a slot there.
  size_t slots_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of blocks, and what is allocated for more of them.
  size_t blocks_memory_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

  size_t capacity_bytes() const { return capacity_bytes_.load(std::memory_order_relaxed); }
  size_t usage_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Walks the whole table: for statistics, not for hot paths.
  size_t pinned_bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Shard;

  Shard& ShardOf(uint64_t hash) const;
  // Leaves to blocks what is not charged.
  void ShareCapacity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Figure>
  size_t SumOverShards(Figure figure) const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t MostForSlotsOfShard(size_t capacity_bytes) const;
  // Another shard in the place of one whose slots do not fit the capacity.
  void ReplaceUnlessFit(size_t index, size_t capacity_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<size_t> capacity_bytes_;
  const int shard_bits_;
  std::unique_ptr<BlockArena> arena_;  // before the shards, which give their blocks back to it
  std::vector<std::atomic<Shard*>> shards_;
  mutable Mutex mutex_;
  size_t charged_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Shard>> owned_ ABSL_GUARDED_BY(mutex_);  // those of shards_
  // Of each place, those that others replaced: readers may hold blocks of them, or be on their way
  // there. They may come back.
  std::vector<std::vector<std::unique_ptr<Shard>>> replaced_ ABSL_GUARDED_BY(mutex_);
};

// Memory that counts against the capacity of a cache for as long as this lives; the cache must
// outlive it. An empty one counts nothing.
class CacheCharge {
 public:
  CacheCharge() = default;
  CacheCharge(ShardedBlockCache* cache, size_t bytes) : cache_(cache), bytes_(bytes) {
    cache_->AddCharge(bytes_);
  }
  // Empty if there is no room for as much.
  static CacheCharge Try(ShardedBlockCache* cache, size_t bytes) {
    CacheCharge charge;
    if (!cache->TryAddCharge(bytes)) return charge;
    charge.cache_ = cache;
    charge.bytes_ = bytes;
    return charge;
  }
  CacheCharge(CacheCharge&& other) noexcept
      : cache_(std::exchange(other.cache_, nullptr)), bytes_(other.bytes_) {}
  CacheCharge& operator=(CacheCharge&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~CacheCharge() {
    if (cache_ != nullptr) cache_->SubtractCharge(bytes_);
  }

  explicit operator bool() const { return cache_ != nullptr; }

 private:
  ShardedBlockCache* cache_ = nullptr;
  size_t bytes_ = 0;
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
