#include "filter/guard/breaker.h"

namespace winnow::guard::internal {

// closed --max failures in a row--> open --its time is over--> half open --success--> closed
//                                    ^                             |
//                                    +----------failure------------+
//
// Half open, one load at a time is let through. This question is asked on the way of each miss and
// takes no lock; it may be wrong by one, and Begin decides.
bool Breaker::WouldAllow(TimePoint now) const {
  return state() != BreakerState::kOpen ||
         now.time_since_epoch().count() >= open_until_.load(std::memory_order_relaxed);
}

bool Breaker::Begin(TimePoint now) {
  MutexLock lock(&mutex_);
  if (state() == BreakerState::kClosed) return true;
  if (state() == BreakerState::kOpen) {
    if (now.time_since_epoch().count() < open_until_.load(std::memory_order_relaxed)) return false;
    state_.store(BreakerState::kHalfOpen, std::memory_order_relaxed);
  }
  if (is_probing_) return false;
  is_probing_ = true;
  return true;
}

void Breaker::Succeeded() {
  MutexLock lock(&mutex_);
  // A load from before the breaker opened says nothing about the database as it is now.
  if (state() == BreakerState::kOpen) return;
  failures_ = 0;
  is_probing_ = false;
  state_.store(BreakerState::kClosed, std::memory_order_relaxed);
}

void Breaker::Failed(TimePoint now) {
  MutexLock lock(&mutex_);
  switch (state()) {
    case BreakerState::kOpen:
      return;
    case BreakerState::kHalfOpen:
      return OpenFrom(now);
    case BreakerState::kClosed:
      if (max_failures_ != 0 && ++failures_ >= max_failures_) OpenFrom(now);
      return;
  }
}

void Breaker::OpenFrom(TimePoint now) {
  failures_ = 0;
  is_probing_ = false;
  open_until_.store((now + open_for_).time_since_epoch().count(), std::memory_order_relaxed);
  state_.store(BreakerState::kOpen, std::memory_order_relaxed);
}

}  // namespace winnow::guard::internal
