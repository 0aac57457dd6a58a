// Locks of the process that a forked child can take. Internal.

#ifndef WINNOW_FILTER_BASE_HOLD_WHILE_FORKING_H_
#define WINNOW_FILTER_BASE_HOLD_WHILE_FORKING_H_

#include <pthread.h>

#include "absl/base/thread_annotations.h"

namespace winnow::filter::internal {

// A forked child may free what it inherits, and no other thread lives in it to give a lock back: as
// the heap does, forking waits for it. `Owner::OfProcess()` is never destroyed, has LockForFork and
// UnlockAfterFork, and calls this once, when it makes the owner. It is called first while the
// library is loaded: a child that were forked while a thread made the owner would wait for ever for
// it to be made. Nobody may hold two such locks.
template <typename Owner>
void HoldWhileForking() {
  // Locked in one function and unlocked in another, which the analysis does not follow.
  constexpr auto unlock = []() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Owner::OfProcess().UnlockAfterFork();
  };
  (void)::pthread_atfork([]() ABSL_NO_THREAD_SAFETY_ANALYSIS { Owner::OfProcess().LockForFork(); },
                         unlock, unlock);
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_BASE_HOLD_WHILE_FORKING_H_
