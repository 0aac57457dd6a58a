// What a static filter kind is to the rest of the library. A further kind, or another layout of one
// that a word in the spec asks for, is one pair of files that defines a KindOperations, and one
// line in filter/registry/registry.cc. The kinds include this header; it includes none of them.

#ifndef WINNOW_FILTER_KINDS_KIND_H_
#define WINNOW_FILTER_KINDS_KIND_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "filter/format/block_format.h"
#include "winnow/filter/filter_kind.h"
#include "winnow/filter/internal/hash_list.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

// One try at building a unit.
struct BuildRequest {
  double bits_per_key;  // validated
  double fpr;           // the rate that bits_per_key was computed from; 0: bits were asked for
  uint64_t hash_seed;
  uint64_t max_shard_bits;
  int attempt;   // from 0; another one must use another salt, if the kind has salts
  int unit = 0;  // of the block, from 0: each asks of the same hashes, and must err independently
};

// What the hashes of a unit are remixed with: a unit must not let through what another one does.
inline uint64_t SaltOfUnit(const BuildRequest& request) {
  return static_cast<uint64_t>(request.unit) * 0xd1342543de82ef95;
}
// The same for kinds that try again.
inline uint64_t SaltOfAttempt(const BuildRequest& request) {
  return SaltOfUnit(request) + static_cast<uint64_t>(request.attempt) * 0x9e3779b97f4a7c15;
}

struct BuildResult {
  std::string block;  // sealed, of one unit
  uint64_t num_keys = 0;
  double expected_fpr = 1;
  uint64_t temporary_bytes = 0;  // the most memory held beside `hashes` and the block
};

// The parts of FilterInfo that a kind knows.
struct UnitDescription {
  double expected_fpr = 1;
  double fill = 0;
  int probes = 0;
  int fingerprint_bits = 0;
};

using MayContainFunction = bool (*)(const UnitView& unit, uint64_t key_hash);
using MayContainBatchFunction = void (*)(const UnitView& unit, const uint64_t* key_hashes,
                                         size_t count, uint8_t* may_contain);

struct KindOperations {
  FilterKind kind;
  std::string_view name;
  std::string_view word = {};  // in the spec, for a layout that is not the kind's usual one
  uint8_t version;             // of the unit's payload; distinguishes a kind's layouts
  BitsPerKeyRange bits_per_key;
  bool verify_by_default;

  // Theory: the least bits per key for an FPR in a large filter, and the FPR at some bits per key.
  double (*bits_per_key_for_fpr)(double fpr);
  double (*expected_fpr)(double bits_per_key, uint64_t num_keys);

  // Builds from `*hashes`, of which there is at least one, and which it may reorder and from which
  // it may drop duplicates. False if this attempt did not succeed.
  bool (*build)(const BuildRequest& request, HashList* hashes, BuildResult* result);

  // Do the header's fields agree with each other and with the payload's length, so that no probe
  // can leave the payload? Called for units with a payload. Any header must be survived.
  bool (*is_consistent)(const UnitHeader& header);

  // Null, or fills in unit->prepared.
  void (*prepare)(UnitView* unit) = nullptr;
  MayContainFunction may_contain;
  // Null, or which function answers as may_contain does for this unit, without looking at what all
  // its queries have in common.
  MayContainFunction (*may_contain_of)(const UnitView& unit) = nullptr;
  void (*prefetch)(const UnitView& unit, uint64_t key_hash);
  // 1 to kMaxBatch hashes; prefetches the memory of many before it waits for any.
  MayContainBatchFunction may_contain_batch;
  UnitDescription (*describe)(const Unit& unit);
};

// The shards that `num_keys` keys of `bits_per_key` are cut into.
uint32_t ShardCount(double num_keys, double bits_per_key, uint64_t max_shard_bits);
// For kinds that need many keys in a shard to be small, or to be built at all: ShardCount, but not
// so many that the mean shard has less than kMinKeysOfShard keys.
inline constexpr uint64_t kMinKeysOfShard = 16'384;
uint32_t LargeShardCount(uint64_t num_keys, double bits_per_key, uint64_t max_shard_bits);

// A unit's header and payload, checked by operations.is_consistent, as its probes want them.
UnitView MakeUnitView(const KindOperations& operations, const Unit& unit);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_KIND_H_
