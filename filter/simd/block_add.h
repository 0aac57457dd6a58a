// What the ways to fill blocks have in common. Internal.

#ifndef WINNOW_FILTER_SIMD_BLOCK_ADD_H_
#define WINNOW_FILTER_SIMD_BLOCK_ADD_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "winnow/filter/internal/block_probe.h"
#include "winnow/filter/internal/fetch_line.h"

namespace winnow::filter::internal {

// The blocks of the next keys, found before the first of them is written: a processor lets the
// loads behind a store wait until it knows the store's address, so that computing each address just
// before its store would chain the keys.
template <size_t kGroup>
class BlocksOfGroup {
 public:
  // Of the first `size` hashes, of `count` that are left. Fetches the blocks of keys further on:
  // more than what one group takes must be under way to hide an access to memory (40 million keys:
  // 3.6 ns a key with 64 ahead, 6.7 with 16, 10 with none; on an AMD EPYC).
  BlocksOfGroup(const MutableBlockTable& table, const uint64_t* hashes, size_t size, size_t count) {
    if (size == kGroup && count >= kKeysAhead + kGroup) {
#pragma GCC unroll 8
      for (size_t i = 0; i < kGroup; ++i) {
        Find(table, hashes, i);
        Fetch(table, hashes[kKeysAhead + i]);
      }
      return;
    }
    for (size_t i = 0; i < size; ++i) Find(table, hashes, i);
    for (size_t i = kKeysAhead; i < std::min(count, kKeysAhead + size); ++i) {
      Fetch(table, hashes[i]);
    }
  }

  uint8_t* operator[](size_t i) const { return blocks_[i]; }

 private:
  static constexpr size_t kKeysAhead = 64;

  void Find(const MutableBlockTable& table, const uint64_t* hashes, size_t i) {
    blocks_[i] = BlockAt(table.mutable_payload, table.num_blocks, hashes[i]);
  }
  static void Fetch(const BlockTable& table, uint64_t hash) { FetchLine(table.BlockOf(hash)); }

  std::array<uint8_t*, kGroup> blocks_;
};

#if defined(__x86_64__)
// A further way to do what AddToBlocks does, with at most kMaxProbesOfRound probes: see
// block_add_matrices.cc.
extern const bool kHasGfni;
void FillBlocksGfni(const MutableBlockTable& table, const uint64_t* hashes, size_t count);
#endif

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_SIMD_BLOCK_ADD_H_
