// Blocks that are not in the cache: of the threads that miss one at the same time, one reads it.
#include <utility>

#include "engine/base/user_exception.h"
#include "engine/cache/block_cache_hash.h"
#include "engine/cache/block_cache_shard.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

size_t ShardedBlockCache::Shard::KeyHash::operator()(const BlockKey& key) const {
  return HashBlockKey(key);
}

// One loader for each missing block. Protocol, all under loads_mutex_ but for the load itself:
//
// 1. The first thread that finds no entry for the key in loads_ makes one and becomes the loader.
// 2. The others find the entry, keep it alive by a shared_ptr, and wait until loads_ no longer has
//    it. (Another load of the same key may have an entry by then: hence the comparison.)
// 3. The loader reads the file without any lock, inserts the block, and only then takes the entry
//    out of loads_. So at every moment a thread that missed finds the block in the cache or the
//    entry in loads_, and never loads it a second time.
// 4. pending->block holds a reference for as long as anybody still looks at the entry; each waiter
//    takes its own from it. That is what makes the block safe even if it was evicted, or never
//    inserted.
//
// loads_mutex_ is a leaf: `load` runs without it, and Lookup, which runs under it, takes no lock.
absl::StatusOr<BlockRef> ShardedBlockCache::Shard::Load(
    const BlockKey& key, uint64_t hash, absl::FunctionRef<absl::StatusOr<BlockRef>()> load,
    Priority priority, ReadCounters* counters) {
  std::shared_ptr<PendingLoad> pending;
  {
    MutexLock lock(&loads_mutex_);
    if (const auto found = loads_.find(key); found != loads_.end()) {
      pending = found->second;
      if (counters != nullptr) counters->block_load_waits.Increment();
      for (;;) {
        const auto current = loads_.find(key);
        if (current == loads_.end() || current->second != pending) break;
        load_done_.Wait(&loads_mutex_);
      }
      if (!pending->status.ok()) return pending->status;
      return pending->block.Share();
    }
    // The load that this thread missed may have ended between its lookup and the lock.
    if (BlockRef block = Lookup(key, hash)) return block;
    pending = std::make_shared<PendingLoad>();  // before the entry: it may fail for want of memory
    loads_.emplace(key, pending);
  }

  // The result is written by the loader alone, and read by waiters once they have seen, under the
  // mutex, that the entry is gone; that orders the two.
  // Memory that runs out here, or what the user's file system throws, is an error of this load, as
  // it is of its waiters: they may not wait for a loader that has gone.
  pending->status = CatchOutOfMemory([&] {
    return CatchUserException([&] {
      absl::StatusOr<BlockRef> loaded = load();
      if (loaded.ok()) pending->block = Insert(key, hash, *std::move(loaded), priority);
      return loaded.status();
    });
  });
  MutexLock lock(&loads_mutex_);
  loads_.erase(key);
  load_done_.SignalAll();
  if (!pending->status.ok()) return pending->status;
  return pending->block.Share();
}

}  // namespace winnow
