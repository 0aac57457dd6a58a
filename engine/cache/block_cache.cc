#include "engine/cache/block_cache.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/cache/block_cache_hash.h"
#include "engine/cache/block_cache_shard.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

constexpr int kMaxShardBits = 10;
// Below it a huge page for each size of block would be too large a share of the cache.
constexpr size_t kMinArenaCapacityBytes = size_t{64} << 20;

// Lookups take no lock, so shards are for the sweep's hand and the loader's mutex alone. Small
// shards would let one large block push out many others, hence the least size.
int ChooseShardBits(size_t capacity_bytes) {
  constexpr size_t kMinShardBytes = size_t{32} << 20;
  int bits = 0;
  while (bits < 6 && (capacity_bytes >> (bits + 1)) >= kMinShardBytes) bits++;
  return bits;
}

// SIZE_MAX where that cannot be told.
size_t MemoryOfMachine() {
  static const size_t bytes = [] {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page_bytes = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) return SIZE_MAX;
    return static_cast<size_t>(pages) * static_cast<size_t>(page_bytes);
  }();
  return bytes;
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

void BlockCache::SetCapacity(size_t capacity_bytes) { sharded_->SetCapacity(capacity_bytes); }

size_t BlockCache::capacity_bytes() const { return sharded_->capacity_bytes(); }

size_t BlockCache::usage_bytes() const { return sharded_->usage_bytes(); }

size_t BlockCache::pinned_bytes() const { return sharded_->pinned_bytes(); }

// A capacity of 0 makes one shard without slots: every lookup misses, every insertion hands the
// block back, and one loader at a time still serves all who wait for the same block.
ShardedBlockCache::ShardedBlockCache(size_t capacity_bytes, int shard_bits)
    : capacity_bytes_(capacity_bytes),
      shard_bits_(shard_bits < 0 ? ChooseShardBits(capacity_bytes)
                                 : std::min(shard_bits, kMaxShardBits)),
      shards_(size_t{1} << shard_bits_) {
  if (capacity_bytes >= kMinArenaCapacityBytes)
    arena_ = std::make_unique<BlockArena>(capacity_bytes);
  MutexLock lock(&mutex_);
  replaced_.resize(shards_.size());
  for (std::atomic<Shard*>& shard : shards_) {
    owned_.push_back(std::make_unique<Shard>(MostForSlotsOfShard(capacity_bytes)));
    // Nobody else has the cache yet.
    shard.store(owned_.back().get(), std::memory_order_relaxed);
  }
  ShareCapacity();
}

ShardedBlockCache::~ShardedBlockCache() = default;

// The low bits of the hash; HomeOf takes the high ones, so that the choice of a slot is independent
// of that of the shard. Acquire: pairs with the release by which a new shard takes its place.
ShardedBlockCache::Shard& ShardedBlockCache::ShardOf(uint64_t hash) const {
  return *shards_[hash & ((uint64_t{1} << shard_bits_) - 1)].load(std::memory_order_acquire);
}

// What of the capacity slots are made for, since no more blocks than that can be in memory. Without
// this bound a capacity far beyond it would spread its slots so thinly that each block would bring
// in a page of the table, which may be a huge one, for itself.
size_t ShardedBlockCache::MostForSlotsOfShard(size_t capacity_bytes) const {
  return std::min(capacity_bytes, MemoryOfMachine()) >> shard_bits_;
}

void ShardedBlockCache::SetCapacity(size_t capacity_bytes) {
  MutexLock lock(&mutex_);
  capacity_bytes_.store(capacity_bytes, std::memory_order_relaxed);
  const size_t most = MostForSlotsOfShard(capacity_bytes);
  for (size_t i = 0; i < shards_.size(); i++) ReplaceUnlessFit(i, most);
  ShareCapacity();
}

// The other shard serves before the old one's blocks have moved to it: a block that is asked for
// meanwhile may be read once more. The old one, which keeps no further block from then on, stays
// for as long as the cache: a thread that came to it before has no lock, and may be about to take
// back a reference in a slot whose page must not turn to zeros before.
//
// It serves again where it fits: a thread that is still on its way to it then does what all do. So
// of a place's shards each has at least half as many slots again as the next smaller one, and all
// together have at most three times those of the largest, however often the capacity changes.
void ShardedBlockCache::ReplaceUnlessFit(size_t index, size_t capacity_bytes) {
  if (owned_[index]->Fits(capacity_bytes)) return;
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<std::unique_ptr<Shard>>& replaced = replaced_[index];
    auto other = std::find_if(replaced.begin(), replaced.end(),
                              [&](const auto& shard) { return shard->Fits(capacity_bytes); });
    if (other == replaced.end()) {
      auto made = std::make_unique<Shard>(capacity_bytes);
      if (!made->has_slots()) return;
      other = replaced.insert(other, std::move(made));
    }
    Shard& old = *owned_[index];
    old.SetCapacity(capacity_bytes);  // evicts by use what the other one has no room for
    (*other)->SetCapacity(capacity_bytes);
    shards_[index].store(other->get(), std::memory_order_release);
    old.MoveTo(**other);
    std::swap(owned_[index], *other);
  });
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
  MutexLock lock(&mutex_);
  charged_bytes_ += bytes;
  ShareCapacity();
}

bool ShardedBlockCache::TryAddCharge(size_t bytes) {
  MutexLock lock(&mutex_);
  const size_t most = MostForTables(capacity_bytes());
  // No sum wraps around, whatever is asked for.
  if (bytes > most || charged_bytes_ > most - bytes) return false;
  charged_bytes_ += bytes;
  ShareCapacity();
  return true;
}

bool ShardedBlockCache::IsOvercharged() const {
  MutexLock lock(&mutex_);
  return charged_bytes_ > capacity_bytes() - LeastForBlocks(capacity_bytes());
}

void ShardedBlockCache::SubtractCharge(size_t bytes) {
  MutexLock lock(&mutex_);
  charged_bytes_ -= bytes;
  ShareCapacity();
}

// Blocks are evicted here, under the mutex, which no look-up and no insertion takes.
void ShardedBlockCache::ShareCapacity() {
  const size_t capacity = capacity_bytes();
  const size_t left = capacity - std::min(capacity, charged_bytes_);
  const size_t for_blocks = std::max(left, LeastForBlocks(capacity));
  for (const auto& shard : owned_) shard->SetCapacity(for_blocks >> shard_bits_);
  // What these still have was held, or on its way, when they were replaced.
  for (const auto& replaced : replaced_) {
    for (const auto& shard : replaced) shard->SetCapacity(0);
  }
}

// Slabs of the arena are of one size of block each, and seldom all of them are full.
size_t ShardedBlockCache::blocks_memory_bytes() const {
  return std::max(usage_bytes(), arena_ == nullptr ? 0 : arena_->mapped_bytes());
}

// Shards are read one after the other, while insertions go on: an estimate for statistics.
template <typename Figure>
size_t ShardedBlockCache::SumOverShards(Figure figure) const {
  MutexLock lock(&mutex_);
  size_t total = 0;
  for (const auto& shard : owned_) total += figure(*shard);
  for (const auto& replaced : replaced_) {
    for (const auto& shard : replaced) total += figure(*shard);
  }
  return total;
}

size_t ShardedBlockCache::slots_bytes() const {
  return SumOverShards([](const Shard& shard) { return shard.slots_bytes(); });
}

void ShardedBlockCache::Erase(const BlockKey& key) {
  const uint64_t hash = HashBlockKey(key);
  ShardOf(hash).Erase(key, hash);
}

size_t ShardedBlockCache::usage_bytes() const {
  return SumOverShards([](const Shard& shard) { return shard.usage_bytes(); });
}

size_t ShardedBlockCache::pinned_bytes() const {
  return SumOverShards([](Shard& shard) { return shard.pinned_bytes(); });
}

}  // namespace winnow
