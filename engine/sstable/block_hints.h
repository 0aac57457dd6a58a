// Where the data blocks of a table were last seen in memory.
#ifndef WINNOW_ENGINE_SSTABLE_BLOCK_HINTS_H_
#define WINNOW_ENGINE_SSTABLE_BLOCK_HINTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/sstable/data_block.h"

namespace winnow {

// A look-up that knows its block's place in the index must wait for the cache's slot before it
// knows where the block is. A hint lets it fetch the block meanwhile. Hints are prefetched from and
// never read from: a block may have left since.
//
// Four bytes a block: a line's number, of which the upper half is kept once, since all blocks of a
// cache lie within the same 256 GiB or nearly so. Thread-safe.
class BlockHints {
 public:
  // Without memory for them there are none.
  explicit BlockHints(size_t num_blocks);

  size_t memory_bytes() const { return num_blocks_ * sizeof(lines_[0]); }

  void Prefetch(uint32_t block) const {
    if (block >= num_blocks_) return;
    const uint64_t line = lines_[block].load(std::memory_order_relaxed);
    if (line == 0) return;
    const uint64_t upper = upper_half_.load(std::memory_order_relaxed);
    DataBlock::PrefetchKeys(reinterpret_cast<const char*>(((upper << 32) | line) * kLineBytes));
  }
  // Where the block is; true if the hint said otherwise. Writes only what is new, so that the line
  // of a block that stays is shared by all readers.
  bool Note(uint32_t block, const char* contents) {
    if (block >= num_blocks_) return true;
    const uint64_t line = reinterpret_cast<uintptr_t>(contents) / kLineBytes;
    if (lines_[block].load(std::memory_order_relaxed) == static_cast<uint32_t>(line)) return false;
    lines_[block].store(static_cast<uint32_t>(line), std::memory_order_relaxed);
    upper_half_.store(line >> 32, std::memory_order_relaxed);
    return true;
  }

  void Forget(uint32_t block) {
    if (block >= num_blocks_ || lines_[block].load(std::memory_order_relaxed) == 0) return;
    lines_[block].store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kLineBytes = 64;

  size_t num_blocks_;
  std::unique_ptr<std::atomic<uint32_t>[]> lines_;
  std::atomic<uint64_t> upper_half_{0};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_BLOCK_HINTS_H_
