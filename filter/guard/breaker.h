// Stops loads from a database that fails. Internal.

#ifndef WINNOW_GUARD_BREAKER_H_
#define WINNOW_GUARD_BREAKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "filter/base/mutex.h"
#include "winnow/guard/environment.h"
#include "winnow/guard/statistics.h"

namespace winnow::guard::internal {

// Closed: all loads are begun. After `max_failures` failures in a row open: none is. After
// `open_for` half open: one at a time is tried, the probe; a success closes it, a failure opens it
// again. A probe that has not ended after `open_for` lets another one through.
class Breaker {
 public:
  // With max_failures 0 it never opens.
  Breaker(int max_failures, std::chrono::microseconds open_for)
      : max_failures_(max_failures), open_for_(open_for) {}

  // As what a load was let through.
  struct Pass {
    uint64_t probe = 0;  // its number; 0: none, the breaker was closed
  };

  // False if a load would be refused now. Takes no lock.
  bool WouldAllow(TimePoint now) const;
  // Whether a load may begin; then one of the three that follow tells how it ended.
  bool Begin(TimePoint now, Pass* pass);
  void Succeeded(Pass pass);
  void Failed(Pass pass, TimePoint now);
  // The database was not asked: the next load may be the probe.
  void GaveUp(Pass pass);

  BreakerState state() const { return state_.load(std::memory_order_relaxed); }

 private:
  void OpenFrom(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int max_failures_;
  const std::chrono::microseconds open_for_;
  Mutex mutex_;
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
  uint64_t last_probe_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_probing_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint probe_until_ ABSL_GUARDED_BY(mutex_);  // so long it keeps others out
  // Changed under the mutex.
  std::atomic<BreakerState> state_ = BreakerState::kClosed;
  std::atomic<TimePoint::rep> open_until_ = 0;
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_BREAKER_H_
