// Queries of a unit of 64-byte blocks. Of a batch, all blocks are prefetched before any is read.
// Internal.

#ifndef WINNOW_FILTER_SIMD_BLOCK_BATCH_H_
#define WINNOW_FILTER_SIMD_BLOCK_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

// contained[i] = may the unit, of kind blocked_bloom, hold keys[i], hashed under `seed`: 1 or 0.
void BlocksContainKeys(const UnitView& unit, uint64_t seed, const std::string_view* keys,
                       size_t count, uint8_t* contained);
// The same for hashes, at most kMaxBatch.
void BlocksContainHashes(const UnitView& unit, const uint64_t* hashes, size_t count,
                         uint8_t* contained);

#if defined(__x86_64__)
// One hash, looked for in a unit of at most kMaxProbesOfRound probes on a processor with
// kHasAvx512Vl. unit.prepared begins with eight lanes of 32 bits: ones, as many as there are
// probes.
bool PreparedUnitContainsAvx512(const UnitView& unit, uint64_t hash);
#endif

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_SIMD_BLOCK_BATCH_H_
