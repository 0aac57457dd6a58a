// Memory that is handed out in small pieces by several threads and freed all at once.
#ifndef WINNOW_ENGINE_MEMTABLE_ARENA_H_
#define WINNOW_ENGINE_MEMTABLE_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/memtable/write_buffer_budget.h"
#include "filter/base/mutex.h"

namespace winnow {

// Thread-safe. An allocation is one atomic addition; only a new chunk takes the lock. Chunks of
// kHugePageBytes are aligned to it and advised to be huge pages, since the walk of a large memtable
// is bound by address translation.
class Arena {
 public:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  // `expected_bytes` sizes the chunks: small arenas take small chunks. The first ones are smaller,
  // so that an arena that holds little takes little, and one that holds nothing, nothing. Chunks
  // are added to the budget, which may be null and must outlive the arena.
  explicit Arena(size_t expected_bytes, WriteBufferBudget* budget = nullptr);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns `bytes` bytes aligned to 8, which live as long as the arena.
  char* Allocate(size_t bytes);

  // Bytes taken from the system.
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Chunk {
    char* data = nullptr;
    size_t bytes = 0;
    bool is_pooled = false;  // in the budget's pool
    std::atomic<size_t> used{0};
  };

  char* AllocateSlow(size_t bytes);
  Chunk* NewChunk(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WriteBufferBudget* const budget_;
  const size_t chunk_bytes_;              // of the later chunks
  std::atomic<Chunk*> current_{nullptr};  // null: there is none yet
  std::atomic<size_t> memory_bytes_{0};
  Mutex mutex_;
  std::vector<Chunk*> chunks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_ARENA_H_
