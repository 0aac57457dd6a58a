#include "filter/kinds/fuse/fuse_peeling.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace winnow::filter::internal {
namespace {

// Peeling. Each key is in four slots. A slot that only one key is left in is that key's own: the
// key is taken out of its other three, which may leave single keys there in turn, and so on until
// no key is left. Then the keys get their fingerprints from the last taken to the first. When key k
// has its turn, its other three slots are final: if one of them is the own slot of a key, then of
// one that was taken after k, since a slot which still held k cannot have been single before. So
// writing k's own slot settles k, and no later write touches any of its four.
//
// Each slot becomes single at most once, since its count only falls. That bounds the queue by the
// number of slots and the work by four times that of the keys, whether peeling succeeds or not. It
// fails if some keys share all their slots among themselves (a 2-core): at the loads of
// binary_fuse.cc's ShapeFor rarely, and then another salt helps.

// Slots that became single, below which more are looked for: enough that a processor works on
// several keys at once, and so few that what is worked on stays together in memory.
constexpr uint64_t kMinQueued = 32;
constexpr uint64_t kSlotsOfScan = 64;

}  // namespace

FusePeeling::FusePeeling(const FuseShape& shape, uint64_t max_keys, uint64_t num_shards,
                         uint64_t salt)
    : shape_(shape), num_shards_(num_shards), salt_(salt) {
  keys_.reserve(max_keys);
  slots_.reserve(shape.num_slots);
  // A slot becomes single once; one place more is written to, but not kept.
  queue_.resize(shape.num_slots + 1);
}

uint64_t FusePeeling::memory_bytes() const {
  return keys_.capacity() * sizeof(keys_[0]) + slots_.capacity() * sizeof(slots_[0]) +
         queue_.capacity() * sizeof(queue_[0]);
}

// The keys, remixed, about in the order of their first slots: what follows then walks through
// memory instead of jumping.
void FusePeeling::LoadByFirstSlot(const HashList& shard) {
  constexpr uint64_t kGroups = 512;
  const auto group_of = [&](uint64_t hash) { return MultiplyHigh(hash * num_shards_, kGroups); };
  std::array<uint32_t, kGroups + 1> positions{};
  shard.ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) ++positions[group_of(Remix(run[i], salt_)) + 1];
  });
  for (uint64_t group = 1; group <= kGroups; ++group) positions[group] += positions[group - 1];
  keys_.resize(shard.size());
  shard.ForEachRun([&](const uint64_t* run, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t hash = Remix(run[i], salt_);
      keys_[positions[group_of(hash)]++] = hash;
    }
  });
}

// False if some slot has more keys than its eight-bit count holds. By chance a slot has about four;
// 256 happen only to adversarial hashes.
bool FusePeeling::CountKeysOfSlots() {
  slots_.resize(shape_.num_slots);
  Slot* const slots = slots_.data();
  std::memset(slots, 0, slots_.size() * sizeof(Slot));
  const FusePlaces places = shape_.Places();
  const uint64_t num_shards = num_shards_;
  const auto segment = static_cast<std::ptrdiff_t>(places.segment_mask + 1);
  bool overflow = false;
  for (const uint64_t hash : keys_) {
    VisitFuseSlots(hash, hash * num_shards, places, [&](uint8_t index, uint64_t position) {
      Slot& slot = slots[position];
      // The exclusive or of all keys of a slot: it is the key itself once the others have been
      // taken out, so that no slot needs a list of its keys.
      slot.keys ^= hash;
      overflow |= ++slot.num_keys == 0;
      if (index == kFuseArity - 1) __builtin_prefetch(&slot + segment, 1);
    });
  }
  return !overflow;
}

bool FusePeeling::Peel(const HashList& shard) {
  LoadByFirstSlot(shard);
  if (!CountKeysOfSlots()) return false;
  Slot* const slots = slots_.data();
  uint32_t* const queue = queue_.data();
  uint64_t* const keys = keys_.data();
  // Copies, which no write into a slot can change as far as the compiler knows.
  const FusePlaces places = shape_.Places();
  const uint64_t num_slots = shape_.num_slots;
  const uint64_t num_shards = num_shards_;
  const auto segment = static_cast<std::ptrdiff_t>(places.segment_mask + 1);
  uint64_t num_scanned = 0;  // slots, which were queued if single
  uint64_t queued = 0;
  uint64_t num_peeled = 0;
  for (uint64_t next = 0; next < queued || num_scanned < num_slots;) {
    // Slots in front of num_scanned are queued when they become single, those behind it when the
    // scan finds them single: each once, in whichever order the two happen.
    if (queued - next < kMinQueued && num_scanned < num_slots) {
      const uint64_t end = std::min(num_slots, num_scanned + kSlotsOfScan);
      // Always written, and kept by counting it: no branch depends on the slot.
      for (; num_scanned < end; ++num_scanned) {
        queue[queued] = static_cast<uint32_t>(num_scanned);
        queued += slots[num_scanned].num_keys == 1 ? 1 : 0;
      }
      continue;
    }
    const uint32_t own_slot = queue[next++];
    // Its only key may have been peeled off by another of its slots meanwhile.
    if (slots[own_slot].num_keys != 1) continue;
    const uint64_t hash = slots[own_slot].keys;
    // The front of the queue has been read: num_peeled < next.
    queue[num_peeled] = own_slot;
    keys[num_peeled++] = hash;
    // What becomes single cannot be predicted: there is no branch. What is yet to be scanned will
    // be found then.
    VisitFuseSlots(hash, hash * num_shards, places, [&](uint8_t index, uint64_t position) {
      Slot& slot = slots[position];
      slot.keys ^= hash;
      const bool is_single = --slot.num_keys == 1;
      queue[queued] = static_cast<uint32_t>(position);
      queued += (is_single ? 1 : 0) & (position < num_scanned ? 1 : 0);
      if (index == kFuseArity - 1) __builtin_prefetch(&slot + segment, 1);
    });
  }
  // What is left has two keys or more in every slot.
  return num_peeled == keys_.size();
}

template <typename Contents>
void FusePeeling::AssignInto(uint64_t first_slot, uint64_t width, uint8_t* payload) const {
  const FusePlaces places = shape_.Places();
  const uint64_t num_shards = num_shards_;
  const uint64_t* const keys = keys_.data();
  const uint32_t* const own_slots = queue_.data();
  const uint64_t mask = (uint64_t{1} << width) - 1;
  // From the last peeled to the first: see above.
  for (uint64_t i = keys_.size(); i-- > 0;) {
    const uint64_t hash = keys[i];
    // The key's own slot is still zero.
    uint64_t contents = FuseFingerprint(hash);
    VisitFuseSlots(hash, hash * num_shards, places, [&](uint8_t, uint64_t position) {
      contents ^= Contents::Load(payload, first_slot + position, width);
    });
    Contents::Store(payload, first_slot + own_slots[i], width, contents & mask);
  }
}

void FusePeeling::Assign(uint64_t first_slot, int fingerprint_bits, uint8_t* payload) const {
  WithFuseContents(fingerprint_bits, [&](auto contents) {
    AssignInto<decltype(contents)>(first_slot, static_cast<uint64_t>(fingerprint_bits), payload);
  });
}

}  // namespace winnow::filter::internal
