// Two kinds of mutex, a stripe's before the graph's. A stripe's guards the locks on its keys, and
// is what a waiter sleeps with; no other stripe's is ever taken beside it, so that stripes need no
// order. The graph's guards who waits for what, over all stripes: whatever is on an edge of the
// graph changes with both held, so that the walk along it needs the graph's alone.
//
// A lock without waiters never touches the graph: uncontended locking costs a stripe and a map
// entry.
#include "engine/transaction/point_locks.h"

#include "absl/strings/str_cat.h"
#include "engine/base/database_closed.h"
#include "engine/base/steady_clock.h"
#include "engine/transaction/tracked_keys.h"
#include "winnow/filter/hash.h"

namespace winnow {

// Keys that compare equal must meet in one stripe. Where they may have different bytes, all of the
// family are in one.
PointLocks::Stripe& PointLocks::StripeOf(const ColumnFamilyState& family, std::string_view key) {
  const bool by_bytes = family.comparator().user()->EqualKeysHaveEqualBytes();
  const uint64_t hash = by_bytes ? filter::HashKey(key, family.id()) : family.id();
  return stripes_[hash % kStripes];
}

LockResult PointLocks::Lock(uint64_t owner, const ColumnFamilyState& family, std::string_view key,
                            const Patience& patience) {
  Stripe& stripe = StripeOf(family, key);
  MutexLock guard(&stripe.mutex);
  if (stripe.closed) return {LockOutcome::kClosed, false, DatabaseClosedError()};
  // By views: a key is copied only when a new lock is made for it.
  auto found = stripe.locks.find(LockKeyView{family.id(), key});
  if (found == stripe.locks.end()) {
    LockKey lock_key{family.id(), family.comparator(), std::string(key)};
    stripe.locks.emplace(std::move(lock_key), HeldLock{owner, nullptr, nullptr});
    return {};
  }
  // On this stack, where it stays until this call returns: queue and graph hold its address as long
  // as its state says that it waits.
  Waiter waiter;
  waiter.id = owner;
  waiter.lock = &found->second;
  waiter.description = DescribeKey(family.name(), key);
  return Wait(&stripe, &found->second, &waiter, patience);
}

// Whoever gives the lock on, or closes, takes the waiter out of queue and graph; one that gives up
// does it itself. The lock stays where it is as long as somebody waits for it.
LockResult PointLocks::Wait(Stripe* stripe, HeldLock* lock, Waiter* waiter,
                            const Patience& patience) {
  const auto timed_out = [&](uint64_t owner) -> absl::Status {
    return absl::DeadlineExceededError(absl::StrCat(
        "transaction ", waiter->id, " waited ", patience.timeout.count(), " ms for the lock on ",
        waiter->description, ", which transaction ", owner, " holds"));
  };
  // A try that does not wait closes no circle.
  if (patience.timeout.count() <= 0) return {LockOutcome::kTimedOut, false, timed_out(lock->owner)};
  {
    MutexLock graph(&graph_mutex_);
    if (patience.detect_deadlocks) {
      // With the same hold of the graph as the entry below: of two that would close a circle
      // between them the second sees the first.
      std::string circle = DescribeCircle(*waiter, *lock);
      if (!circle.empty()) return {LockOutcome::kDeadlock, false, absl::AbortedError(circle)};
    }
    // First, since it alone may fail.
    waiting_.emplace(waiter->id, waiter);
    (lock->first_waiter == nullptr ? lock->first_waiter : lock->last_waiter->next) = waiter;
    lock->last_waiter = waiter;
  }
  const SteadyTime deadline = SteadyNow() + patience.timeout;
  while (waiter->state == Waiter::State::kWaits) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - SteadyNow());
    if (left.count() <= 0) {
      // Before this one leaves: without a waiter the lock may go at once with its owner's Unlock.
      const uint64_t owner = lock->owner;
      {
        MutexLock graph(&graph_mutex_);
        waiting_.erase(waiter->id);
        RemoveFromQueue(lock, waiter);
      }
      return {LockOutcome::kTimedOut, true, timed_out(owner)};
    }
    // Wakes without cause, too: the state says why.
    waiter->changed.WaitFor(&stripe->mutex, left);
  }
  if (waiter->state == Waiter::State::kGranted) return {LockOutcome::kGranted, true, {}};
  return {LockOutcome::kClosed, true, DatabaseClosedError()};
}

void PointLocks::RemoveFromQueue(HeldLock* lock, const Waiter* waiter) {
  Waiter* before = nullptr;
  // Linear, where a waiter gives up; the one that is granted the lock is the first.
  for (Waiter* at = lock->first_waiter; at != waiter; at = at->next) before = at;
  (before == nullptr ? lock->first_waiter : before->next) = waiter->next;
  if (lock->last_waiter == waiter) lock->last_waiter = before;
}

void PointLocks::Unlock(const ColumnFamilyState& family, std::string_view key) {
  Stripe& stripe = StripeOf(family, key);
  MutexLock guard(&stripe.mutex);
  const auto found = stripe.locks.find(LockKeyView{family.id(), key});
  if (found == stripe.locks.end()) return;
  HeldLock& lock = found->second;
  Waiter* const next = lock.first_waiter;
  if (next == nullptr) {
    stripe.locks.erase(found);
    return;
  }
  // Handed on rather than freed: nobody who comes in between can take it before those who wait.
  MutexLock graph(&graph_mutex_);
  RemoveFromQueue(&lock, next);
  waiting_.erase(next->id);
  lock.owner = next->id;
  next->state = Waiter::State::kGranted;
  next->changed.Signal();
}

// The locks themselves stay until their owners, or this, go.
void PointLocks::Close() {
  for (Stripe& stripe : stripes_) {
    MutexLock guard(&stripe.mutex);
    stripe.closed = true;
    for (auto& [key, lock] : stripe.locks) {
      MutexLock graph(&graph_mutex_);
      while (lock.first_waiter != nullptr) {
        Waiter* const waiter = lock.first_waiter;
        RemoveFromQueue(&lock, waiter);
        waiting_.erase(waiter->id);
        waiter->state = Waiter::State::kClosed;
        waiter->changed.Signal();
      }
    }
  }
}

// Every transaction on the path but the last waits, for a lock whose owner is the next. No circle
// is there yet, so that the path ends, unless it comes back to the one that is about to wait.
std::string PointLocks::DescribeCircle(const Waiter& waiter, const HeldLock& lock) const {
  uint64_t owner = lock.owner;
  size_t steps = 1;
  for (; owner != waiter.id; steps++) {
    const auto next = waiting_.find(owner);
    // Waits without detection may have closed a circle that this one is not in.
    if (next == waiting_.end() || steps > waiting_.size()) return {};
    owner = next->second->lock->owner;
  }
  // The same path once more, which is known to lead back.
  std::string text = absl::StrCat("deadlock: transaction ", waiter.id, " waits for ",
                                  waiter.description, ", held by transaction ", lock.owner);
  for (owner = lock.owner; owner != waiter.id;) {
    const Waiter& next = *waiting_.at(owner);
    absl::StrAppend(&text, ", which waits for ", next.description, ", held by transaction ",
                    next.lock->owner);
    owner = next.lock->owner;
  }
  return text;
}

}  // namespace winnow
