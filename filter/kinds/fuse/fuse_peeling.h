// Building one shard of a binary fuse filter: the keys are peeled off their slots one by one, and
// get their fingerprints in the opposite order (Botelho, Pagh and Ziviani, WADS 2007; Graf and
// Lemire, section 3). Internal.

#ifndef WINNOW_FILTER_KINDS_FUSE_FUSE_PEELING_H_
#define WINNOW_FILTER_KINDS_FUSE_FUSE_PEELING_H_

#include <cstdint>

#include "filter/base/build_memory.h"
#include "filter/kinds/fuse/fuse_slots.h"
#include "winnow/filter/internal/hash_list.h"

namespace winnow::filter::internal {

// One shard while it is built; memory is kept from shard to shard.
class FusePeeling {
 public:
  // For shards of at most `max_keys` keys.
  FusePeeling(const FuseShape& shape, uint64_t max_keys, uint64_t num_shards, uint64_t salt);

  // Finds for each key a slot of its own, such that the keys can be given their fingerprints one
  // after the other. False if there is no such order: always with duplicates, else rarely.
  bool Peel(const HashList& shard);

  // Gives the keys that Peel ordered their fingerprints; the slots from `first_slot` of `payload`
  // on are zero.
  void Assign(uint64_t first_slot, int fingerprint_bits, uint8_t* payload) const;

  uint64_t memory_bytes() const;

 private:
  struct __attribute__((packed)) Slot {
    uint64_t keys;  // exclusive or of its keys that are not yet peeled
    uint8_t num_keys;
  };

  void LoadByFirstSlot(const HashList& shard);
  bool CountKeysOfSlots();
  template <typename Contents>
  void AssignInto(uint64_t first_slot, uint64_t width, uint8_t* payload) const;

  const FuseShape shape_;
  const uint64_t num_shards_;
  const uint64_t salt_;
  BuildVector<uint64_t> keys_;  // remixed; at last in the order in which they were peeled
  BuildVector<Slot> slots_;
  // First the own slots of the peeled keys, then slots that became single, to be looked at: there
  // are never more of the former than were taken from the latter.
  BuildVector<uint32_t> queue_;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_FUSE_FUSE_PEELING_H_
