// Queries a filter block. A reader that cannot understand its block answers "may contain" to
// everything: a damaged or unknown filter costs speed, never a key.
//
//   FilterState state;
//   FilterReader reader = FilterReader::Open(block, &state);
//   if (state.code != FilterStateCode::kOk) log(state.reason);
//   if (!reader.MayContain(HashKey(key, seed))) return NotFound;

#ifndef WINNOW_FILTER_READER_H_
#define WINNOW_FILTER_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "winnow/filter/filter_state.h"
#include "winnow/filter/internal/block_probe.h"
#include "winnow/filter/internal/unit_view.h"
#include "winnow/filter/spec.h"

namespace winnow::filter {

// What stands before the first unit of a filter block.
inline constexpr uint64_t kFilterBlockHeaderBytes = 64;

namespace internal {
struct KindOperations;
struct Unit;
}  // namespace internal

// What a filter block says about itself; for tools and statistics.
struct FilterInfo {
  FilterKind kind = FilterKind::kNone;  // of the first unit that is understood
  std::string_view layout;              // the spec's word for it; empty for the usual one
  uint64_t hash_seed = 0;               // the seed that its keys were hashed with
  uint64_t num_keys = 0;
  uint64_t num_bytes = 0;  // of the whole block
  double bits_per_key = 0;
  int probes = 0;            // Bloom kinds
  int fingerprint_bits = 0;  // kinds that keep fingerprints
  uint32_t num_shards = 0;
  uint32_t num_units = 0;
  uint64_t salt = 0;
  double expected_fpr = 1;  // by theory, from the parameters and the fill
  double fill = 0;          // share of set bits, or of used slots
};

// A cheap value over borrowed bytes: the block must outlive it and all its copies. Const methods
// may be called from many threads. No call allocates but Open (only for the reason of a failure).
// Probes touch the fewest cache lines when the block starts at a multiple of 64 bytes; any address
// is right.
class FilterReader {
 public:
  // Answers "may contain" to everything.
  FilterReader();

  // Reads the block's headers and checks every byte of it against its checksums. On any problem
  // the reader answers "may contain" wherever it cannot be sure; `*state` (may be null) says why.
  static FilterReader Open(std::string_view block, FilterState* state);
  // The same for a block that Open has accepted before and that was read anew: compares no checksum
  // but the first header's, and so takes no time that grows with the block. What was damaged since
  // may go unnoticed, and hide keys.
  static FilterReader OpenUnchecked(std::string_view block, FilterState* state);

  // One unit of a block by itself, which refutes keys as it does among the others: for stores that
  // keep some of a block's units in memory. `unit` is its bytes, BuiltUnit::bytes of them, and is
  // damaged unless it carries `checksum`, BuiltUnit::checksum.
  static FilterReader OpenUnit(std::string_view unit, uint64_t checksum, FilterState* state);

  // False only if the key of this hash was not added.
  bool MayContain(uint64_t key_hash) const { return may_contain_(unit_, key_hash); }

  // Asks the processor to fetch what MayContain(key_hash) will read.
  void Prefetch(uint64_t key_hash) const {
    if (mode_ == Mode::kBlockedBloom) [[likely]] {
      internal::PrefetchBlock(internal::BlockAt(unit_.payload, unit_.num_slots, key_hash));
      return;
    }
    PrefetchGeneral(key_hash);
  }

  // Sets may_contain[i], for i below `count`, to 1 or 0 as MayContain(key_hashes[i]) answers. All
  // memory is prefetched before any is waited for.
  void MayContainBatch(const uint64_t* key_hashes, size_t count, uint8_t* may_contain) const;
  // The same for keys, which it hashes under hash_seed().
  void MayContainBatch(const std::string_view* keys, size_t count, uint8_t* may_contain) const;

  // May a key of [lower, upper) be there? True for all of today's kinds: none keeps the keys'
  // order.
  bool MayContainRange(std::string_view /*lower*/, std::string_view /*upper*/) const {
    return true;
  }

  // Is the answer to everything "may contain"?
  bool always_true() const { return mode_ == Mode::kAlwaysTrue; }
  // The kind of the first unit that is understood; kNone if always_true().
  FilterKind kind() const { return kind_; }
  // The seed that hashes must be made with; 0 if always_true().
  uint64_t hash_seed() const { return hash_seed_; }
  // Everything known about the block. Counts bits: reads the whole filter.
  FilterInfo Describe() const;

 private:
  static FilterReader OpenUnits(std::string_view block, const std::vector<internal::Unit>& units,
                                FilterState* state);

  enum class Mode : uint8_t { kAlwaysTrue, kAlwaysFalse, kBlockedBloom, kOneUnit, kManyUnits };

  void HashAndQuery(const std::string_view* keys, size_t count, uint8_t* may_contain) const;
  void PrefetchGeneral(uint64_t key_hash) const;

  // First what each query needs.
  Mode mode_ = Mode::kAlwaysTrue;
  FilterKind kind_ = FilterKind::kNone;
  // Answers for unit_, in every mode.
  bool (*may_contain_)(const internal::UnitView& unit, uint64_t key_hash);
  // In the modes of one unit that unit, of kind_. In kManyUnits the whole block: `payload` is its
  // first byte and `num_slots` its length.
  internal::UnitView unit_;
  uint64_t hash_seed_ = 0;
  const internal::KindOperations* operations_ = nullptr;  // of kind_
  std::string_view block_;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_READER_H_
