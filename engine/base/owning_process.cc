#include "engine/base/owning_process.h"

#include <pthread.h>

namespace winnow {

constinit std::atomic<uint64_t> OwningProcess::forks_so_far{0};

struct ForkCounter {
  // Where there is no memory to register it, children are not told from their parents.
  ForkCounter() {
    ::pthread_atfork(nullptr, nullptr,
                     [] { OwningProcess::forks_so_far.fetch_add(1, std::memory_order_relaxed); });
  }
};

namespace {

// Before main, or when the library is loaded: databases are opened later.
[[maybe_unused]] const ForkCounter counter;

}  // namespace

}  // namespace winnow
