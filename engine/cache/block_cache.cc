#include "engine/cache/block_cache.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/cache/block_cache_hash.h"
#include "engine/cache/block_cache_shard.h"

namespace winnow {

namespace {

constexpr int kMaxShardBits = 10;
constexpr size_t kMinArenaCapacityBytes = size_t{64} << 20;

// Lookups take no lock, so shards are for the sweep's hand and the loader's mutex alone. Small
// shards would let one large block push out many others, hence the least size.
int ChooseShardBits(size_t capacity_bytes) {
  constexpr size_t kMinShardBytes = size_t{32} << 20;
  int bits = 0;
  while (bits < 6 && (capacity_bytes >> (bits + 1)) >= kMinShardBytes) bits++;
  return bits;
}

}  // namespace

// Relaxed: the value is all that matters, it publishes nothing.
uint64_t NewTableId() {
  static std::atomic<uint64_t> last_id{0};
  return last_id.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<BlockCache> NewBlockCache(size_t capacity_bytes, int shard_bits) {
  return BlockCacheAccess::Make(capacity_bytes, shard_bits);
}

std::shared_ptr<BlockCache> BlockCacheAccess::Make(size_t capacity_bytes, int shard_bits) {
  return std::shared_ptr<BlockCache>(
      new BlockCache(std::make_unique<ShardedBlockCache>(capacity_bytes, shard_bits)));
}

BlockCache::BlockCache(std::unique_ptr<ShardedBlockCache> sharded) : sharded_(std::move(sharded)) {}

BlockCache::~BlockCache() = default;

size_t BlockCache::capacity_bytes() const { return sharded_->capacity_bytes(); }

size_t BlockCache::usage_bytes() const { return sharded_->usage_bytes(); }

size_t BlockCache::pinned_bytes() const { return sharded_->pinned_bytes(); }

// A capacity of 0 makes one shard without slots: every lookup misses, every insertion hands the
// block back, and one loader at a time still serves all who wait for the same block.
ShardedBlockCache::ShardedBlockCache(size_t capacity_bytes, int shard_bits)
    : capacity_bytes_(capacity_bytes),
      shard_bits_(shard_bits < 0 ? ChooseShardBits(capacity_bytes)
                                 : std::min(shard_bits, kMaxShardBits)) {
  if (capacity_bytes >= kMinArenaCapacityBytes)
    arena_ = std::make_unique<BlockArena>(capacity_bytes);
  const size_t num_shards = size_t{1} << shard_bits_;
  shards_.reserve(num_shards);
  for (size_t i = 0; i < num_shards; i++) {
    shards_.push_back(std::make_unique<Shard>(capacity_bytes >> shard_bits_));
  }
}

ShardedBlockCache::~ShardedBlockCache() = default;

// The low bits of the hash; HomeOf takes the high ones, so that the choice of a slot is independent
// of that of the shard.
ShardedBlockCache::Shard& ShardedBlockCache::ShardOf(uint64_t hash) const {
  return *shards_[hash & ((uint64_t{1} << shard_bits_) - 1)];
}

BlockRef ShardedBlockCache::Lookup(const BlockKey& key) {
  const uint64_t hash = HashBlockKey(key);
  return ShardOf(hash).Lookup(key, hash);
}

void ShardedBlockCache::Prefetch(const BlockKey& key) const {
  const uint64_t hash = HashBlockKey(key);
  ShardOf(hash).Prefetch(hash);
}

bool ShardedBlockCache::Admits(const BlockKey& key) {
  const uint64_t hash = HashBlockKey(key);
  return ShardOf(hash).Admits(hash);
}

absl::StatusOr<BlockRef> ShardedBlockCache::Load(const BlockKey& key,
                                                 absl::FunctionRef<absl::StatusOr<BlockRef>()> load,
                                                 Priority priority, ReadCounters* counters) {
  const uint64_t hash = HashBlockKey(key);
  return ShardOf(hash).Load(key, hash, load, priority, counters);
}

BlockRef ShardedBlockCache::Insert(const BlockKey& key, BlockRef block, Priority priority) {
  const uint64_t hash = HashBlockKey(key);
  return ShardOf(hash).Insert(key, hash, std::move(block), priority);
}

void ShardedBlockCache::AddCharge(size_t bytes) {
  MutexLock lock(&charge_mutex_);
  charged_bytes_ += bytes;
  ShareCapacity();
}

bool ShardedBlockCache::TryAddCharge(size_t bytes) {
  MutexLock lock(&charge_mutex_);
  const size_t most = MostForTables(capacity_bytes_);
  if (bytes > most || charged_bytes_ > most - bytes) return false;
  charged_bytes_ += bytes;
  ShareCapacity();
  return true;
}

bool ShardedBlockCache::IsOvercharged() const {
  MutexLock lock(&charge_mutex_);
  return charged_bytes_ > capacity_bytes_ - LeastForBlocks(capacity_bytes_);
}

void ShardedBlockCache::SubtractCharge(size_t bytes) {
  MutexLock lock(&charge_mutex_);
  charged_bytes_ -= bytes;
  ShareCapacity();
}

void ShardedBlockCache::ShareCapacity() {
  const size_t left = capacity_bytes_ - std::min(capacity_bytes_, charged_bytes_);
  const size_t for_blocks = std::max(left, LeastForBlocks(capacity_bytes_));
  for (const auto& shard : shards_) shard->SetCapacity(for_blocks >> shard_bits_);
}

// Slabs of the arena are of one size of block each, and seldom all of them are full.
size_t ShardedBlockCache::blocks_memory_bytes() const {
  return std::max(usage_bytes(), arena_ == nullptr ? 0 : arena_->mapped_bytes());
}

size_t ShardedBlockCache::slots_bytes() const {
  size_t total = 0;
  for (const auto& shard : shards_) total += shard->slots_bytes();
  return total;
}

void ShardedBlockCache::Erase(const BlockKey& key) {
  const uint64_t hash = HashBlockKey(key);
  ShardOf(hash).Erase(key, hash);
}

// Shards are read one after the other, while insertions go on: an estimate for statistics.
size_t ShardedBlockCache::usage_bytes() const {
  size_t total = 0;
  for (const auto& shard : shards_) total += shard->usage_bytes();
  return total;
}

size_t ShardedBlockCache::pinned_bytes() const {
  size_t total = 0;
  for (const auto& shard : shards_) total += shard->pinned_bytes();
  return total;
}

}  // namespace winnow
