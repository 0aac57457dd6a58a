#include "engine/cache/block_cache_shard.h"

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

#include "engine/cache/block_cache_hash.h"

namespace winnow {

namespace {

// The word of a slot, from the low end: references (32 bits), marks of use since the hand last
// passed (3 bits, set from the lowest), class, state, displacements (16 bits).
//
//   63           48       41 40   36 34 32 31              0
//  +---------------+-----+--+--+--+--+----+-----------------+
//  | displacements | ... |V |O |..|P |use |   references    |
//  +---------------+-----+--+--+--+--+----+-----------------+
//
// Everything that a lookup needs to know and to change is in one word, so that one fetch_add both
// takes the reference and tells whether it counts. References are the lowest field and
// displacements the highest: neither carries into another field as long as their bounds hold
// (kMaxProbes below; a thread holds far fewer than 2^32 handles).
constexpr uint64_t kReference = 1;
constexpr uint64_t kReferenceMask = 0xffffffff;
constexpr int kUseShift = 32;
constexpr uint64_t kUseMask = uint64_t{7} << kUseShift;
constexpr uint64_t kProtected = uint64_t{1} << 36;
constexpr uint64_t kOccupied = uint64_t{1} << 40;
constexpr uint64_t kVisible = uint64_t{1} << 41;
constexpr int kDisplacementShift = 48;
constexpr uint64_t kDisplacement = uint64_t{1} << kDisplacementShift;
constexpr uint64_t kStateMask = kUseMask | kProtected | kOccupied | kVisible;

// An entry lies at most this far behind its home slot, which bounds displacement counts as well:
// they cannot overflow their 16 bits.
constexpr size_t kMaxProbes = 128;
// Half full with blocks of 4 KiB; smaller blocks are limited by kMaxLoad instead of by bytes.
constexpr size_t kBytesPerSlot = 2048;
constexpr size_t kMinSlots = 256;
constexpr size_t MaxOccupied(size_t num_slots) { return num_slots - num_slots / 4; }

// Probation pays while more than one in kUsedOutweighs + 1 of the blocks that leave it were used.
constexpr uint32_t kUsedOutweighs = 7;
// Of the blocks that are not admitted one in so many is all the same, to see whether it pays again.
constexpr uint32_t kAdmittedSample = 16;

uint64_t References(uint64_t word) { return word & kReferenceMask; }
uint64_t Displacements(uint64_t word) { return word >> kDisplacementShift; }

// The use marks with one more set; idempotent under races, saturates at three.
// The mark is a unary number (001, 011, 111): setting a bit again is harmless, so that a reader may
// add its mark with fetch_or and two readers who do so at once count as one.
uint64_t NextUseMark(uint64_t word) {
  return (((word & kUseMask) << 1) | (uint64_t{1} << kUseShift)) & kUseMask;
}

}  // namespace

size_t ShardedBlockCache::Shard::SlotsFor(size_t capacity_bytes) {
  return capacity_bytes == 0 ? 0 : std::max(kMinSlots, capacity_bytes / kBytesPerSlot);
}

// Up to a huge page no table is too large.
bool ShardedBlockCache::Shard::Fits(size_t capacity_bytes) const {
  if (capacity_bytes == 0) return true;
  const size_t wanted = SlotsFor(capacity_bytes);
  const bool is_too_large =
      num_slots_ > filter::ResidentMemory::kHugePageBytes / sizeof(Slot) && num_slots_ / 4 > wanted;
  return wanted <= num_slots_ + num_slots_ / 2 && !is_too_large;
}

// The table never grows: its size follows from the capacity, so that lookups need no lock against a
// resize; a cache that gets a capacity of another order gets other shards. What is given up is
// exactness for blocks far from the assumed size: those much smaller than kBytesPerSlot meet
// MaxOccupied before the capacity.
ShardedBlockCache::Shard::Shard(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {
  if (capacity_bytes == 0) return;
  num_slots_ = SlotsFor(capacity_bytes);
  num_ghosts_ = num_slots_;
  slot_memory_ = filter::ResidentMemory(num_slots_ * sizeof(Slot));
  ghost_memory_ = filter::ResidentMemory(num_ghosts_ * sizeof(std::atomic<uint32_t>));
  used_regions_.reset(new (std::nothrow) std::atomic<bool>[num_slots_ / kSlotsPerRegion + 1]());
  if (slot_memory_.data() == nullptr || ghost_memory_.data() == nullptr ||
      used_regions_ == nullptr) {
    num_slots_ = 0;  // works as a shard of capacity 0
    return;
  }
  // The memory is zeros, and zeros are free slots and no ghosts. To construct them would bring in
  // every page of a table of which few may ever be needed. So these atomics have to consist of
  // their values, of which all bits 0 is 0, and of nothing else, such as a lock.
  static_assert(sizeof(Slot) == 4 * sizeof(uint64_t) && std::is_trivially_destructible_v<Slot> &&
                decltype(Slot::word)::is_always_lock_free &&
                decltype(Slot::block)::is_always_lock_free);
  static_assert(sizeof(*ghosts_) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  slots_ = reinterpret_cast<Slot*>(slot_memory_.data());
  ghosts_ = reinterpret_cast<std::atomic<uint32_t>*>(ghost_memory_.data());
}

// Looks no further than the last block: the rest of the table may never have been touched.
ShardedBlockCache::Shard::~Shard() {
  size_t left = num_occupied_.load(std::memory_order_relaxed);
  for (size_t i = 0; left > 0 && i < num_slots_; i++) {
    if (!WasUsed(i) || (slots_[i].word.load(std::memory_order_acquire) & kVisible) == 0) continue;
    CachedBlock::Free(slots_[i].block.load(std::memory_order_relaxed));
    left--;
  }
}

// Maps the hash to [0, num_slots_) by its high bits (Lemire 2016), without a division and without a
// power of two for the number of slots. The shard was chosen by the low bits.
size_t ShardedBlockCache::Shard::HomeOf(uint64_t hash) const {
  return static_cast<size_t>((static_cast<unsigned __int128>(hash) * num_slots_) >> 64);
}

std::atomic<uint32_t>& ShardedBlockCache::Shard::GhostOf(uint64_t hash) const {
  return ghosts_[static_cast<size_t>((static_cast<unsigned __int128>(hash) * num_ghosts_) >> 64)];
}

// The slot's key is read twice: before the reference is taken, to leave slots of other keys (nearly
// all that a probe meets) without writing to their cache line, and after it, when invariant 1 says
// that the key cannot change any more.
//
// The use mark is left alone once it is full: a hot block would otherwise have its line written
// twice by each reader.
BlockRef ShardedBlockCache::Shard::AcquireIfMatches(Slot& slot, const BlockKey& key) {
  const auto matches = [&] {
    return slot.offset.load(std::memory_order_relaxed) == key.offset &&
           slot.table_id.load(std::memory_order_relaxed) == key.table_id;
  };
  if (!matches()) return BlockRef();  // may be stale, so that only "no" is believed
  // Acquire: pairs with the release of kVisible, so that key and block are those published.
  const uint64_t word = slot.word.fetch_add(kReference, std::memory_order_acquire);
  if ((word & kVisible) == 0 || !matches()) {
    slot.word.fetch_sub(kReference, std::memory_order_release);
    return BlockRef();
  }
  if ((word & kUseMask) != kUseMask) {
    slot.word.fetch_or(NextUseMark(word), std::memory_order_relaxed);
  }
  return BlockRef(slot.block.load(std::memory_order_relaxed), &slot.word, /*cached=*/true);
}

// Ends at a hit, or at a slot that nobody has probed past (invariant 3). A concurrent insertion
// that has passed this slot but not yet published may be missed, as if the lookup had come a moment
// earlier: Load looks again under its lock.
BlockRef ShardedBlockCache::Shard::Lookup(const BlockKey& key, uint64_t hash) {
  if (num_slots_ == 0) return BlockRef();
  size_t index = HomeOf(hash);
  for (size_t probe = 0; probe < kMaxProbes; probe++, index = Following(index)) {
    Slot& slot = SlotAt(index);
    if (BlockRef block = AcquireIfMatches(slot, key)) return block;
    if (Displacements(slot.word.load(std::memory_order_relaxed)) == 0) break;
  }
  return BlockRef();
}

// Relaxed loads and stores, by which threads may lose each other's notes: it is an estimate.
void ShardedBlockCache::Shard::NoteProbation(bool was_used) {
  const uint32_t worth = probation_worth_.load(std::memory_order_relaxed);
  const uint32_t now = was_used ? std::min(worth + kUsedOutweighs, kMaxProbationWorth)
                                : worth - std::min<uint32_t>(worth, 1);
  if (now != worth) probation_worth_.store(now, std::memory_order_relaxed);
}

// All but a sixteenth is taken: a full shard has room for less than a block.
bool ShardedBlockCache::Shard::HasRoom() const {
  const size_t capacity = capacity_bytes_.load(std::memory_order_relaxed);
  const size_t slots = MaxOccupied(num_slots_);
  return usage_bytes() < capacity - capacity / 16 &&
         num_occupied_.load(std::memory_order_relaxed) < slots - slots / 16;
}

// Reads spread over far more data than there is room for gain nothing from a cache, and pay for
// each block that goes in and out. That shows in probation, which blocks then leave unused: once
// nearly all of them do, a block is admitted the second time that it is missed within the memory of
// the ghosts, where the first time leaves it.
bool ShardedBlockCache::Shard::Admits(uint64_t hash) {
  if (num_slots_ == 0) return false;
  if (probation_worth_.load(std::memory_order_relaxed) > 0 || HasRoom()) return true;
  static constinit thread_local uint32_t num_refused = 0;
  std::atomic<uint32_t>& ghost = GhostOf(hash);
  const uint32_t fingerprint = static_cast<uint32_t>(hash) | 1;
  if (ghost.load(std::memory_order_relaxed) == fingerprint) return true;
  if (++num_refused % kAdmittedSample == 0) return true;
  ghost.store(fingerprint, std::memory_order_relaxed);
  return false;
}

BlockRef ShardedBlockCache::Shard::Insert(const BlockKey& key, uint64_t hash, BlockRef block,
                                          Priority priority) {
  const size_t charge = block->charge();
  if (num_slots_ == 0 || !MakeRoom(charge)) return block;

  bool is_protected = priority == Priority::kProtected;
  // A ghost is a block that left probation lately without a second use. Coming back so soon is that
  // second use, so the block starts protected. The fingerprint may belong to another block with the
  // same 32 bits: then a block is protected that need not be, and nothing worse.
  const uint32_t fingerprint = static_cast<uint32_t>(hash) | 1;
  if (std::atomic<uint32_t>& ghost = GhostOf(hash);
      ghost.load(std::memory_order_relaxed) == fingerprint) {
    ghost.store(0, std::memory_order_relaxed);
    is_protected = true;
  }

  const auto give_up_room = [&] {
    usage_bytes_.fetch_sub(charge, std::memory_order_relaxed);
    num_occupied_.fetch_sub(1, std::memory_order_relaxed);
  };
  // Probes as Lookup does, and counts a displacement on each slot that is passed, before the entry
  // is published. Whatever way this ends without an entry takes those counts back.
  const size_t home = HomeOf(hash);
  size_t index = home;
  for (size_t probe = 0; probe < kMaxProbes; probe++, index = Following(index)) {
    Slot& slot = SlotAt(index);
    // Another thread inserted the block meanwhile. Two that insert at the same moment may both
    // succeed, in two slots; lookups find the first, the second gets no use marks and leaves. The
    // contents are equal.
    if (BlockRef present = AcquireIfMatches(slot, key)) {
      RemoveDisplacements(home, index);
      give_up_room();
      return present;
    }
    // Acquire: the evictor's last reads of the slot come before our writes to it.
    if ((slot.word.load(std::memory_order_relaxed) & kOccupied) != 0 ||
        (slot.word.fetch_or(kOccupied, std::memory_order_acquire) & kOccupied) != 0) {
      slot.word.fetch_add(kDisplacement, std::memory_order_relaxed);
      continue;
    }
    NoteUsed(index);
    slot.table_id.store(key.table_id, std::memory_order_relaxed);
    slot.offset.store(key.offset, std::memory_order_relaxed);
    slot.block.store(block.block_, std::memory_order_relaxed);
    if (!is_protected) probation_bytes_.fetch_add(charge, std::memory_order_relaxed);
    // Publishes (release) and takes the caller's own reference in one step, so that the block
    // cannot be evicted before the caller has it. An addition rather than a store: references that
    // lookups are about to take back may be in the word.
    slot.word.fetch_add(kVisible + kReference + (is_protected ? kProtected : 0),
                        std::memory_order_release);
    CachedBlock* const owned = std::exchange(block.block_, nullptr);
    return BlockRef(owned, &slot.word, /*cached=*/true);
  }
  RemoveDisplacements(home, index);
  give_up_room();
  return block;
}

// Called with the range that Insert passed. While the counts are too high lookups probe further
// than they must; they are never too low.
void ShardedBlockCache::Shard::RemoveDisplacements(size_t home, size_t end) {
  for (size_t index = home; index != end; index = Following(index)) {
    SlotAt(index).word.fetch_sub(kDisplacement, std::memory_order_release);
  }
}

// The sweep: a CLOCK hand that all inserting threads of the shard push on together, each for what
// it needs. A thread that finds nothing to do (the common case while the cache fills) returns after
// two additions.
//
// What is wanted is bounded by an eighth of the shard, so that one insertion after a burst does not
// pay for all of it, and is at least one slot where the table rather than the capacity is full.
bool ShardedBlockCache::Shard::MakeRoom(size_t bytes) {
  // Room is taken first: threads that insert at the same time then evict for their own share.
  const size_t usage = usage_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const size_t occupied = num_occupied_.fetch_add(1, std::memory_order_relaxed) + 1;
  const size_t capacity = capacity_bytes_.load(std::memory_order_relaxed);
  size_t wanted = usage > capacity ? usage - capacity : 0;
  if (bytes <= capacity) {
    if (wanted == 0 && occupied <= MaxOccupied(num_slots_)) return true;
    wanted = std::min(std::max<size_t>(wanted, 1), std::max(bytes, capacity / 8));
    if (Evict(wanted) >= wanted) return true;
  }
  usage_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  num_occupied_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

// One attempt: what is held now leaves later, as insertions make room for themselves.
void ShardedBlockCache::Shard::SetCapacity(size_t capacity_bytes) {
  capacity_bytes_.store(capacity_bytes, std::memory_order_relaxed);
  const size_t usage = usage_bytes();
  if (num_slots_ != 0 && usage > capacity_bytes) Evict(usage - capacity_bytes);
}

size_t ShardedBlockCache::Shard::Evict(size_t wanted) {
  // Bounds the work: two rounds in which each class is spared as its share deserves; then at most
  // four rounds in which use marks decay (7, 3, 1, 0) until everything unused must have been met as
  // evictable; and one for what changed meanwhile. A round in which all blocks were in use ends the
  // search at once: the caller then keeps its block outside of the cache.
  const size_t max_visits = num_slots_ * 7;
  size_t freed = 0;
  size_t num_unused = 0;  // blocks met in the present round that nobody holds
  for (size_t visit = 0; visit < max_visits && freed < wanted; visit++) {
    if (visit != 0 && visit % num_slots_ == 0 && std::exchange(num_unused, 0) == 0) break;
    const size_t index = hand_.fetch_add(1, std::memory_order_relaxed) % num_slots_;
    if (!WasUsed(index)) continue;
    freed += SweepSlot(index, /*any_class=*/visit >= num_slots_ * 2, &num_unused);
  }
  return freed;
}

// What becomes of the block under the hand, if nobody holds it:
//
//                  | probation                        | protected
//   ---------------+----------------------------------+---------------------------------
//   use marks      | promoted: protected, marks 0     | marks halved (unless spared)
//   no use marks   | evicted, leaves a ghost          | evicted
//   spared when    | probation has a tenth or less    | probation has more than a tenth
//
// `any_class` lifts the sparing, for when two rounds found too little. So a scan, whose blocks are
// used once, replaces only blocks on probation, whatever its length.
size_t ShardedBlockCache::Shard::SweepSlot(size_t index, bool any_class, size_t* num_unused) {
  Slot& slot = SlotAt(index);
  uint64_t word = slot.word.load(std::memory_order_acquire);
  if ((word & kVisible) == 0 || References(word) != 0) return 0;
  ++*num_unused;
  // A tenth of what is held, not of the capacity: small blocks fill the slots long before the
  // bytes.
  const bool take_from_probation = probation_bytes_.load(std::memory_order_relaxed) >
                                   usage_bytes_.load(std::memory_order_relaxed) / 10;

  if ((word & kProtected) == 0) {
    if ((word & kUseMask) == 0) {
      return take_from_probation || any_class ? EvictSlot(index, word, /*remember=*/true) : 0;
    }
    // Used again while on probation: promoted. The reference keeps the block's size readable.
    // If the exchange fails, a reader or another sweeper changed the word: the next round decides.
    if (slot.word.compare_exchange_strong(word, ((word & ~kUseMask) | kProtected) + kReference,
                                          std::memory_order_acquire)) {
      const size_t charge = slot.block.load(std::memory_order_relaxed)->charge();
      probation_bytes_.fetch_sub(charge, std::memory_order_relaxed);
      slot.word.fetch_sub(kReference, std::memory_order_release);
      NoteProbation(/*was_used=*/true);
    }
    return 0;
  }

  if (take_from_probation && !any_class) return 0;
  if ((word & kUseMask) == 0) return EvictSlot(index, word, /*remember=*/false);
  const uint64_t decayed = (word & ~kUseMask) | (((word & kUseMask) >> 1) & kUseMask);
  (void)slot.word.compare_exchange_strong(word, decayed, std::memory_order_relaxed);
  return 0;
}

// Clearing kVisible is the moment of eviction: it succeeds only on the exact word that was judged,
// which had no references, so nobody holds the block and nobody can take it from here on. The slot
// stays occupied (no insertion may claim it) until its key has been cleared.
CachedBlock* ShardedBlockCache::Shard::TakeSlot(size_t index, uint64_t word, BlockKey* key) {
  Slot& slot = SlotAt(index);
  // Acquire: the last reader's release of its reference comes before the block is freed.
  if (!slot.word.compare_exchange_strong(word, word & ~kVisible, std::memory_order_acquire)) {
    return nullptr;
  }
  CachedBlock* const block = slot.block.load(std::memory_order_relaxed);
  *key = BlockKey{slot.table_id.load(std::memory_order_relaxed),
                  slot.offset.load(std::memory_order_relaxed)};
  const size_t charge = block->charge();
  slot.table_id.store(0, std::memory_order_relaxed);
  // fetch_and, not a store: lookups may have added references that they are about to take back.
  slot.word.fetch_and(~kStateMask, std::memory_order_release);
  RemoveDisplacements(HomeOf(HashBlockKey(*key)), index);
  if ((word & kProtected) == 0) probation_bytes_.fetch_sub(charge, std::memory_order_relaxed);
  usage_bytes_.fetch_sub(charge, std::memory_order_relaxed);
  num_occupied_.fetch_sub(1, std::memory_order_relaxed);
  return block;
}

// The ghost table is a plain array without chains: a newer ghost overwrites an older one of the
// same place, which gives it the finite memory that S3-FIFO's ghost queue has.
size_t ShardedBlockCache::Shard::EvictSlot(size_t index, uint64_t word, bool remember) {
  BlockKey key;
  CachedBlock* const block = TakeSlot(index, word, &key);
  if (block == nullptr) return 0;
  if (remember) {
    const uint64_t hash = HashBlockKey(key);
    GhostOf(hash).store(static_cast<uint32_t>(hash) | 1, std::memory_order_relaxed);
    NoteProbation(/*was_used=*/false);
  }
  const size_t charge = block->charge();
  CachedBlock::Free(block);
  return charge;
}

// A block that is held stays here until it is not, and a later SetCapacity meets it. What was used
// more than once here starts protected there.
void ShardedBlockCache::Shard::MoveTo(Shard& other) {
  capacity_bytes_.store(0, std::memory_order_relaxed);
  // Not further than the last block, as in the destructor. What is inserted at this moment is
  // counted before it is seen.
  for (size_t i = 0; i < num_slots_; i++) {
    if (num_occupied_.load(std::memory_order_relaxed) == 0) break;
    if (!WasUsed(i)) continue;
    const uint64_t word = SlotAt(i).word.load(std::memory_order_acquire);
    if ((word & kVisible) == 0 || References(word) != 0) continue;
    BlockKey key;
    CachedBlock* const block = TakeSlot(i, word, &key);
    if (block == nullptr) continue;
    const bool is_protected = (word & (kProtected | kUseMask)) != 0;
    block->references_.store(1, std::memory_order_relaxed);
    BlockRef moved(block, &block->references_, /*cached=*/false);
    other.Insert(key, HashBlockKey(key), std::move(moved),
                 is_protected ? Priority::kProtected : Priority::kProbation);
  }
}

// A hint only: table identities are never reused, so a block of a deleted file that stays can never
// be found wrongly and merely takes room until the hand meets it. The use marks are cleared to make
// that soon.
void ShardedBlockCache::Shard::Erase(const BlockKey& key, uint64_t hash) {
  if (num_slots_ == 0) return;
  size_t index = HomeOf(hash);
  for (size_t probe = 0; probe < kMaxProbes; probe++, index = Following(index)) {
    Slot& slot = SlotAt(index);
    if (BlockRef block = AcquireIfMatches(slot, key)) {
      slot.word.fetch_and(~kUseMask, std::memory_order_relaxed);
      block.Release();
      const uint64_t word = slot.word.load(std::memory_order_acquire);
      if ((word & kVisible) != 0 && References(word) == 0 &&
          slot.offset.load(std::memory_order_relaxed) == key.offset &&
          slot.table_id.load(std::memory_order_relaxed) == key.table_id) {
        EvictSlot(index, word, /*remember=*/false);
      }
      return;
    }
    if (Displacements(slot.word.load(std::memory_order_relaxed)) == 0) return;
  }
}

// A reference is taken for each look at a block's size, since an unpinned block may be freed at any
// moment. It also makes References(word), the value before the addition, the count of others.
size_t ShardedBlockCache::Shard::pinned_bytes() {
  size_t total = 0;
  for (size_t i = 0; i < num_slots_; i++) {
    if (!WasUsed(i)) continue;
    Slot& slot = slots_[i];
    if (References(slot.word.load(std::memory_order_relaxed)) == 0) continue;
    const uint64_t word = slot.word.fetch_add(kReference, std::memory_order_acquire);
    if ((word & kVisible) != 0 && References(word) != 0) {
      total += slot.block.load(std::memory_order_relaxed)->charge();
    }
    slot.word.fetch_sub(kReference, std::memory_order_release);
  }
  return total;
}

}  // namespace winnow
