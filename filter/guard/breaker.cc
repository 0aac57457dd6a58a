#include "filter/guard/breaker.h"

#include <algorithm>

namespace winnow::guard::internal {

// closed --max failures in a row--> open --its time is over--> half open --success--> closed
//                                    ^                             |
//                                    +----------failure------------+
//
// Half open, one load at a time is let through. This question is asked on the way of each miss and
// takes no lock; it may be wrong by one, and Begin decides.
//
// A load from before the breaker opened says nothing about the database as it is now: open or half
// open, only a probe counts. One that was overtaken by another, since it took too long, may close
// the breaker, but not open it again.
//
// A clock that was set back would keep the breaker open for longer than `open_for`: no end is
// further away than that.
bool Breaker::WouldAllow(TimePoint now) const {
  if (state() != BreakerState::kOpen) return true;
  const TimePoint open_until(TimePoint::duration(open_until_.load(std::memory_order_relaxed)));
  return now >= open_until || open_until > now + open_for_;
}

// The state is an atomic beside the mutex so that WouldAllow can read it; it changes under the
// mutex alone, where relaxed accesses are enough.
bool Breaker::Begin(TimePoint now, Pass* pass) {
  MutexLock lock(&mutex_);
  pass->probe = 0;
  if (state() == BreakerState::kClosed) return true;
  if (state() == BreakerState::kOpen) {
    const TimePoint open_until(TimePoint::duration(open_until_.load(std::memory_order_relaxed)));
    if (open_until > now + open_for_) OpenFrom(now);
    if (now < open_until) return false;
    state_.store(BreakerState::kHalfOpen, std::memory_order_relaxed);
  }
  // A probe that hangs, or never tells how it ended, would keep the breaker half open for ever:
  // after `open_for` the next load takes its place.
  probe_until_ = std::min(probe_until_, now + open_for_);
  if (is_probing_ && now < probe_until_) return false;
  is_probing_ = true;
  probe_until_ = now + open_for_;
  // Numbered from 1, so that the verdict of a probe that has been replaced is told from that of the
  // one under way, and 0 means an ordinary load.
  pass->probe = ++last_probe_;
  return true;
}

void Breaker::Succeeded(Pass pass) {
  MutexLock lock(&mutex_);
  // A success from before the breaker opened must not shorten the time for which the database is
  // left alone.
  if (state() == BreakerState::kOpen) return;
  if (state() == BreakerState::kHalfOpen && pass.probe == 0) return;
  failures_ = 0;
  is_probing_ = false;
  state_.store(BreakerState::kClosed, std::memory_order_relaxed);
}

void Breaker::Failed(Pass pass, TimePoint now) {
  MutexLock lock(&mutex_);
  switch (state()) {
    case BreakerState::kOpen:
      return;
    case BreakerState::kHalfOpen:
      if (pass.probe == last_probe_) OpenFrom(now);
      return;
    case BreakerState::kClosed:
      if (max_failures_ != 0 && ++failures_ >= max_failures_) OpenFrom(now);
      return;
  }
}

// Neither success nor failure: the state stays, and the place of the probe is free at once, rather
// than after `open_for`.
void Breaker::GaveUp(Pass pass) {
  MutexLock lock(&mutex_);
  if (pass.probe == last_probe_) is_probing_ = false;
}

void Breaker::OpenFrom(TimePoint now) {
  failures_ = 0;
  is_probing_ = false;
  // Relaxed: a reader that sees kOpen with the old time lets its load go as far as Begin, which
  // refuses it under the mutex.
  open_until_.store((now + open_for_).time_since_epoch().count(), std::memory_order_relaxed);
  state_.store(BreakerState::kOpen, std::memory_order_relaxed);
}

}  // namespace winnow::guard::internal
