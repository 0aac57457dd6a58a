#include "winnow/filter/concurrent_bloom.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace winnow::filter {

namespace {

// From here on, two pages, from the system itself: zeroed page by page as keys are added, so that a
// filter that is made ahead and holds few keys costs little, and given back at once.
constexpr size_t kMinMappedBytes = size_t{8} << 10;

std::shared_ptr<void> AllocateZeroed(size_t num_blocks) {
  const size_t bytes = (num_blocks + 1) * internal::kBlockBytes;  // one to align in
  if (bytes < kMinMappedBytes) {
    void* const memory = std::calloc(1, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return std::shared_ptr<void>(memory, &std::free);
  }
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, [bytes](void* mapped) { munmap(mapped, bytes); });
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
      memory_(AllocateZeroed(num_blocks_)),
      blocks_(reinterpret_cast<Block*>(AlignedIn(memory_.get()))) {}

}  // namespace winnow::filter
