#include "winnow/filter/concurrent_bloom.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace winnow::filter {

namespace {

// Zeroed, and so by calloc that a large filter takes memory page by page as keys are added: one
// that is made ahead and holds few keys, or none, costs little.
void* AllocateZeroed(size_t num_blocks) {
  void* memory = std::calloc(num_blocks + 1, internal::kBlockBytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

char* AlignedIn(void* memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return reinterpret_cast<char*>((address + internal::kBlockBytes - 1) &
                                 ~uintptr_t{internal::kBlockBytes - 1});
}

}  // namespace

// Rounds up without adding to `bytes`, which could wrap. Zeros are in place before the object can
// be shared, so that no atomic needs an order for that.
ConcurrentBlockedBloom::ConcurrentBlockedBloom(size_t bytes, int probes)
    : num_blocks_(std::max<uint64_t>(1, bytes / sizeof(Block) + (bytes % sizeof(Block) != 0))),
      probes_(std::clamp(probes, 1, internal::kMaxBlockProbes)),
      memory_(AllocateZeroed(num_blocks_), &std::free),
      blocks_(reinterpret_cast<Block*>(AlignedIn(memory_.get()))) {}

}  // namespace winnow::filter
