// One shard of the block cache: the table of slots and its eviction.
//
// Invariants:
// 1. A slot's key and block change only between "claimed" (kOccupied set by this thread) and
//    "published" (kVisible set), or after the evictor cleared kVisible while no reference existed.
// 2. A reference counts only if kVisible was set in the very word that the increment returned;
//    whoever finds it unset takes the increment back and touches nothing else of the slot.
// 3. A slot's displacement count is the number of entries (published or about to be) that probed
//    past it, so that a lookup may stop at a slot where it is zero.
#ifndef WINNOW_ENGINE_CACHE_BLOCK_CACHE_SHARD_H_
#define WINNOW_ENGINE_CACHE_BLOCK_CACHE_SHARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/cache/block_cache.h"
#include "engine/cache/cached_block.h"
#include "filter/base/mutex.h"
#include "winnow/filter/resident_memory.h"

namespace winnow {

class alignas(64) ShardedBlockCache::Shard {
 public:
  explicit Shard(size_t capacity_bytes);
  ~Shard();

  // `hash` is HashBlockKey(key) in each of these.
  BlockRef Lookup(const BlockKey& key, uint64_t hash);
  // For writing: a lookup takes a reference.
  void Prefetch(uint64_t hash) const {
    if (num_slots_ != 0) __builtin_prefetch(&slots_[HomeOf(hash)], /*rw=*/1);
  }
  bool Admits(uint64_t hash);
  BlockRef Insert(const BlockKey& key, uint64_t hash, BlockRef block, Priority priority);
  absl::StatusOr<BlockRef> Load(const BlockKey& key, uint64_t hash,
                                absl::FunctionRef<absl::StatusOr<BlockRef>()> load,
                                Priority priority, ReadCounters* counters);
  void Erase(const BlockKey& key, uint64_t hash);

  // What does not fit any more is evicted, unless it is held.
  void SetCapacity(size_t capacity_bytes);
  // The table has slots for blocks of 4 KiB up to half as much again as it was made for, and its
  // slots do not spread the blocks over far more pages than they need.
  bool Fits(size_t capacity_bytes) const;
  bool has_slots() const { return num_slots_ != 0; }
  // Keeps no block from now on. Those that nobody holds go to `other`, which serves already.
  void MoveTo(Shard& other);
  size_t slots_bytes() const { return slot_memory_.size() + ghost_memory_.size(); }

  size_t usage_bytes() const { return usage_bytes_.load(std::memory_order_relaxed); }
  size_t pinned_bytes();

 private:
  // 32 bytes, so that two share a cache line and a probe seldom needs a second one.
  struct Slot {
    std::atomic<uint64_t> word;
    std::atomic<uint64_t> table_id;
    std::atomic<uint64_t> offset;
    std::atomic<CachedBlock*> block;
  };

  // A load, shared by the loader and those who wait for it; under way for as long as loads_ has it.
  // The loader writes the result before it takes the entry out, nobody writes it afterwards.
  struct PendingLoad {
    absl::Status status;
    BlockRef block;
  };

  struct KeyHash {
    size_t operator()(const BlockKey& key) const;
  };

  static size_t SlotsFor(size_t capacity_bytes);
  Slot& SlotAt(size_t index) const { return slots_[index]; }
  size_t HomeOf(uint64_t hash) const;
  size_t Following(size_t index) const { return index + 1 == num_slots_ ? 0 : index + 1; }

  // Slots that lie together, 64 KiB of them. What walks over the table leaves out those in which no
  // block has ever been: it would bring in their pages, which some systems do for reading as well.
  static constexpr size_t kSlotsPerRegion = 2048;
  bool WasUsed(size_t index) const {
    return used_regions_[index / kSlotsPerRegion].load(std::memory_order_relaxed);
  }
  // Before a block in this slot can be seen.
  void NoteUsed(size_t index) {
    if (!WasUsed(index)) {
      used_regions_[index / kSlotsPerRegion].store(true, std::memory_order_relaxed);
    }
  }

  // The slot's block if it is visible and has this key.
  BlockRef AcquireIfMatches(Slot& slot, const BlockKey& key);
  bool MakeRoom(size_t bytes);
  bool HasRoom() const;
  // A block has left probation: was it used there?
  void NoteProbation(bool was_used);
  // Evicts at least `wanted` bytes if so many can be had; returns what it has.
  size_t Evict(size_t wanted);
  // Frees the slot's block if `word` is still its state; returns the bytes freed, 0 if it lost.
  size_t EvictSlot(size_t index, uint64_t word, bool remember);
  // Takes the slot's block and key out of the table; null if it lost.
  CachedBlock* TakeSlot(size_t index, uint64_t word, BlockKey* key);
  // One slot under the sweeping hand: decays, promotes or evicts. Counts a block that nobody holds.
  size_t SweepSlot(size_t index, bool any_class, size_t* num_unused);
  void RemoveDisplacements(size_t home, size_t end);
  std::atomic<uint32_t>& GhostOf(uint64_t hash) const;

  static constexpr uint32_t kMaxProbationWorth = 256;

  std::atomic<size_t> capacity_bytes_;
  size_t num_slots_ = 0;
  size_t num_ghosts_ = 0;
  filter::ResidentMemory slot_memory_;
  filter::ResidentMemory ghost_memory_;
  Slot* slots_ = nullptr;
  std::unique_ptr<std::atomic<bool>[]> used_regions_;
  std::atomic<uint32_t>* ghosts_ = nullptr;  // fingerprints of blocks that left probation unused

  // Written by insertions and evictions only.
  alignas(64) std::atomic<size_t> usage_bytes_{0};
  std::atomic<size_t> probation_bytes_{0};
  std::atomic<size_t> num_occupied_{0};
  std::atomic<size_t> hand_{0};
  std::atomic<uint32_t> probation_worth_{kMaxProbationWorth};  // see Admits

  Mutex loads_mutex_;
  CondVar load_done_;  // signalled when any load of the shard has ended
  std::unordered_map<BlockKey, std::shared_ptr<PendingLoad>, KeyHash> loads_
      ABSL_GUARDED_BY(loads_mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_CACHE_BLOCK_CACHE_SHARD_H_
