// Reads at many places by one system call: io_uring(7), without liburing.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_READ_RING_H_
#define WINNOW_ENGINE_FILE_SYSTEM_READ_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "filter/base/mutex.h"

namespace winnow {

// One place to read. The descriptor must stay open, and the buffer be left alone, until the call
// that it is given to returns.
struct RingRead {
  int descriptor = -1;
  uint64_t offset = 0;
  uint32_t length = 0;
  char* buffer = nullptr;
  bool is_whole = false;  // out: all bytes are in the buffer
};

// The rings of one database: each read has one for itself while it lasts. They belong to a
// database, which a child made by fork(2) may not use, and not to the process: a child shares their
// memory with its parent, and may open databases of its own. Thread-safe.
class ReadRings {
 public:
  // Reads under way at one time in one ring.
  static constexpr size_t kMostReads = 64;
  // Each takes a descriptor and some 10 KB, kept until the end.
  static constexpr size_t kMostRings = 8;

  explicit ReadRings(size_t most_rings = kMostRings);
  ~ReadRings();

  // Reads up to kMostReads places side by side and waits for all. What is not whole afterwards, for
  // whatever reason, is to be read by pread(2), which says why. False, with nothing read: the
  // kernel has no io_uring, it is forbidden here, there is no descriptor or memory for another
  // ring, or all are in use.
  bool Read(std::span<RingRead> reads) ABSL_LOCKS_EXCLUDED(mutex_);

  // True once the kernel has refused, which it is not asked again.
  bool is_refused() const { return is_refused_.load(std::memory_order_relaxed); }

 private:
  class Ring;

  std::unique_ptr<Ring> Take() ABSL_LOCKS_EXCLUDED(mutex_);
  void PutBack(std::unique_ptr<Ring> ring) ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t most_rings_;
  std::atomic<bool> is_refused_{false};
  Mutex mutex_;
  std::vector<std::unique_ptr<Ring>> unused_ ABSL_GUARDED_BY(mutex_);  // room for all
  size_t num_rings_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_READ_RING_H_
