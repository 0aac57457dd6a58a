// Which process an object belongs to. A child made by fork(2) has a copy of each object, of its
// mutexes as they were, held or not, and of its descriptors, but none of the other threads.
#ifndef WINNOW_ENGINE_BASE_OWNING_PROCESS_H_
#define WINNOW_ENGINE_BASE_OWNING_PROCESS_H_

#include <atomic>
#include <cstdint>

namespace winnow {

// Of the process that constructs it.
class OwningProcess {
 public:
  OwningProcess() : forks_(forks_so_far.load(std::memory_order_relaxed)) {}

  // False in a child that was forked later, and in its children. One load: it may be asked in hot
  // paths, where getpid(2) would be too slow.
  bool IsThisOne() const { return forks_ == forks_so_far.load(std::memory_order_relaxed); }

 private:
  friend struct ForkCounter;
  // Between this process and the one that the program began as. Relaxed: it changes only while the
  // process has one thread.
  static constinit std::atomic<uint64_t> forks_so_far;

  const uint64_t forks_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_OWNING_PROCESS_H_
