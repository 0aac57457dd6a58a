#include "engine/sstable/block_hints.h"

#include <new>

namespace winnow {

BlockHints::BlockHints(size_t num_blocks)
    : lines_(new (std::nothrow) std::atomic<uint32_t>[num_blocks]()) {
  num_blocks_ = lines_ == nullptr ? 0 : num_blocks;
}

}  // namespace winnow
