#include "filter/guard/held_lock.h"

#include <utility>

#include "filter/base/out_of_memory.h"

namespace winnow::guard::internal {

// Key and token are written without the mutex: no renewal is under way before the lock has been
// taken, and RenewLater's hand-over to the timer publishes them.
absl::StatusOr<bool> HeldLock::Take(std::string_view key, std::string token) {
  state_->key.assign(key);
  state_->token = std::move(token);
  absl::StatusOr<bool> taken = state_->cache->TryLock(key, state_->token, state_->ttl);
  if (!taken.ok() || !*taken) return taken;
  {
    MutexLock lock(&state_->mutex);
    state_->is_held = true;
  }
  state_->RenewLater();
  return true;
}

void HeldLock::State::RenewLater() {
  // If the timer refuses, or there is no memory for the task, the lock ends at its time, and what
  // was loaded is not stored.
  // At a third of its time, so that one renewal may fail, or come late, before the lock ends. Weak,
  // so that a load that is over keeps no memory until then.
  (void)UnlessOutOfMemory([&] {
    timer->Run(ttl / 3, [weak = weak_from_this()] {
      if (const std::shared_ptr<State> state = weak.lock()) state->Renew();
    });
  });
}

void HeldLock::State::Renew() {
  {
    // Held while the cache is asked: a renewal after the release would find another's lock.
    MutexLock lock(&mutex);
    if (!is_held) return;
    const absl::StatusOr<bool> renewed = cache->RenewLock(key, token, ttl);
    // After an error the next one may come in time.
    if (renewed.ok() && !*renewed) is_held = false;
  }
  RenewLater();
}

void HeldLock::State::Stop() {
  MutexLock lock(&mutex);
  is_held = false;
}

absl::StatusOr<bool> HeldLock::StoreAndRelease(std::string_view value,
                                               std::chrono::milliseconds ttl) {
  // The renewals first: Stop waits for one that is asking the cache, and none asks after it.
  state_->Stop();
  return state_->cache->SetAndUnlock(state_->key, state_->token, value, ttl);
}

absl::StatusOr<bool> HeldLock::Release() {
  state_->Stop();
  return state_->cache->Unlock(state_->key, state_->token);
}

}  // namespace winnow::guard::internal
