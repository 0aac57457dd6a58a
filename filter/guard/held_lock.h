// A lock of the cache, renewed while a load goes on. Internal.

#ifndef WINNOW_GUARD_HELD_LOCK_H_
#define WINNOW_GUARD_HELD_LOCK_H_

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "filter/base/mutex.h"
#include "winnow/guard/cache.h"
#include "winnow/guard/environment.h"

namespace winnow::guard::internal {

// For one load, from Take until StoreAndRelease or Release.
class HeldLock {
 public:
  HeldLock(Cache* cache, Executor* timer, std::chrono::milliseconds ttl)
      : state_(std::make_shared<State>(cache, timer, ttl)) {}
  HeldLock(const HeldLock&) = delete;
  // Without waiting: the lock ends by itself if it is still held.
  ~HeldLock() { state_->Stop(); }

  // Tries to take the key's lock under this token, and renews it from then on at every third of its
  // time. False if somebody else has it, or the cache's error.
  absl::StatusOr<bool> Take(std::string_view key, std::string token);
  // False, and nothing stored, if the lock has ended in the meantime.
  absl::StatusOr<bool> StoreAndRelease(std::string_view value, std::chrono::milliseconds ttl);
  // False if the lock has ended already.
  absl::StatusOr<bool> Release();

 private:
  // Shared with the renewals, which may come after the lock is gone.
  struct State : std::enable_shared_from_this<State> {
    State(Cache* asked, Executor* runner, std::chrono::milliseconds time)
        : cache(asked), timer(runner), ttl(time) {}
    void RenewLater();
    void Renew();
    // Returns when no renewal is asking the cache, and none will.
    void Stop();

    Cache* const cache;
    Executor* const timer;
    const std::chrono::milliseconds ttl;
    std::string key;
    std::string token;
    Mutex mutex;
    bool is_held ABSL_GUARDED_BY(mutex) = false;
  };

  const std::shared_ptr<State> state_;
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_HELD_LOCK_H_
