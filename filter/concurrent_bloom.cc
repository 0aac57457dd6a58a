#include "winnow/filter/concurrent_bloom.h"

#include <algorithm>

namespace winnow::filter {

// Rounds up without adding to `bytes`, which could wrap. Zeroed by Block's initialisers before the
// object can be shared, so that no atomic needs an order for that.
ConcurrentBlockedBloom::ConcurrentBlockedBloom(size_t bytes, int probes)
    : num_blocks_(std::max<uint64_t>(1, bytes / sizeof(Block) + (bytes % sizeof(Block) != 0))),
      probes_(std::clamp(probes, 1, internal::kMaxBlockProbes)),
      blocks_(std::make_unique<Block[]>(num_blocks_)) {}

}  // namespace winnow::filter
