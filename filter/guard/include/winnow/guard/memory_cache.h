// A cache in this process's memory.

#ifndef WINNOW_GUARD_MEMORY_CACHE_H_
#define WINNOW_GUARD_MEMORY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "winnow/guard/cache.h"
#include "winnow/guard/environment.h"

namespace winnow::guard {

struct MemoryCacheOptions {
  // Keys, values and what is needed to manage them, together.
  uint64_t capacity_bytes = uint64_t{64} << 20;
  // A power of two up to 4096, each with a lock and its part of the capacity: a value larger than a
  // shard's part is not kept.
  size_t num_shards = 64;
  // Null: the system's.
  Clock* clock = nullptr;
};

struct MemoryCacheUsage {
  uint64_t bytes;
  uint64_t entries;
  uint64_t evictions;
};

// Bounded, and scan-resistant: what is asked for once passes through a tenth of the memory and does
// not push out what is asked for again (S3-FIFO: Yang et al., "FIFO queues are all you need for
// cache eviction", SOSP 2023). Has locks. A value's memory is freed when it is evicted, or asked
// for after its time.
class MemoryCache : public Cache {
 public:
  virtual MemoryCacheUsage usage() const = 0;
};

std::unique_ptr<MemoryCache> NewMemoryCache(const MemoryCacheOptions& options = {});

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_MEMORY_CACHE_H_
