// What probing needs of one unit of a filter block. Internal: it is here because FilterReader holds
// one by value.

#ifndef WINNOW_FILTER_INTERNAL_UNIT_VIEW_H_
#define WINNOW_FILTER_INTERNAL_UNIT_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace winnow::filter::internal {

// The high 64 bits of a * b: maps a uniform 64-bit `a` to [0, b) without division or modulo bias
// beyond b/2^64 (Lemire, "Fast Random Integer Generation in an Interval", 2019).
inline uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

// Keys looked for in a unit at once: not more than the processor can have under way and the
// first-level cache can keep.
inline constexpr size_t kMaxBatch = 64;

// Invariant: all fields were checked against the payload's length when the unit was opened.
struct UnitView {
  const uint8_t* payload = nullptr;
  uint64_t num_slots = 0;  // in all shards; a slot is a bit, a 64-byte block, ..., by kind
  uint8_t parameter = 0;   // probes, or fingerprint bits
  uint64_t salt = 0;
  uint64_t num_shards = 0;
  uint64_t slots_per_shard = 0;
  uint64_t detail = 0;
  // Numbers that each query of this kind needs, computed once.
  std::array<uint64_t, 9> prepared{};
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_UNIT_VIEW_H_
