// How CacheGuard does what it does. Internal.

#ifndef WINNOW_GUARD_GUARD_IMPL_H_
#define WINNOW_GUARD_GUARD_IMPL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "filter/base/mutex.h"
#include "filter/guard/breaker.h"
#include "filter/guard/counters.h"
#include "filter/guard/envelope.h"
#include "filter/guard/flights.h"
#include "filter/guard/held_lock.h"
#include "filter/guard/load_limit.h"
#include "filter/guard/running_load.h"
#include "winnow/guard/cache_guard.h"

namespace winnow::guard {

// Get:
//
//   validator --> filter --> cache --fresh--> answer
//                              |
//                              +--past its time, but not by much--> answer, and a refresh later
//                              |
//                              v
//                            flight: the key's load, if there is one, is waited for
//                              |
//                              v
//                            cache again --> cache's lock --> limit --> breaker --> loader -->
//                            store
//
// A flight is overtaken by Put and Invalidate: its result is then neither stored nor given to those
// who wait for it. A load under a cache's lock is overtaken as well if the lock has ended when its
// value is to be stored, or if the cache cannot tell. A load without a lock, though the cache has
// locks, is not stored, and given to those only who came before it began.
//
// A load that another one's loader asks for, on its thread, is part of that one: it takes no place
// of the limit, and is not refused while the other is the breaker's probe.
class CacheGuard::Impl : public std::enable_shared_from_this<CacheGuard::Impl> {
 public:
  Impl(Cache* cache, GuardOptions options);

  // InvalidArgument or ResourceExhausted as CacheGuard::Create.
  absl::Status Start();
  // No background work begins from now on; returns when that which runs has ended.
  void Stop();

  absl::Status Get(std::string_view key, const Loader& load, std::string* value);
  absl::StatusOr<InsertIntent> BeginInsert(std::string_view key);
  absl::Status Put(std::string_view key, std::string_view value);
  absl::Status Invalidate(std::string_view key);
  GuardStatistics statistics() const;

 private:
  using Duration = GuardOptions::Duration;

  // What the cache has of a key.
  struct Cached {
    bool is_there = false;
    internal::Envelope envelope;
  };
  // A value past its time, for when there is no better one.
  using Fallback = std::optional<std::string>;

  enum class LockEnd : uint8_t { kTaken, kFound, kNoLocks, kTimeout };

  // cache_guard.cc
  Cached ReadCache(std::string_view key, std::string* value);
  bool ShouldRefreshEarly(const internal::Envelope& envelope, TimePoint now);
  void RefreshLater(std::string_view key, const Loader& load, const internal::Envelope& seen,
                    uint64_t GuardStatistics::*number);
  void BeginRefresh(std::string_view key, const Loader& load, TimePoint seen,
                    uint64_t GuardStatistics::*number);
  void Refresh(internal::OwnFlight* own, const Loader& load, TimePoint seen,
               uint64_t GuardStatistics::*number);

  // guard_loading.cc. `seen` is the end of the life of the value that is to be replaced: only one
  // with a later end is taken from the cache instead of loading.
  absl::Status GetByLoading(std::string_view key, const Loader& load, const Fallback& fallback,
                            std::string* value);
  absl::Status FallBack(const absl::Status& status, const Fallback& fallback, std::string* value);
  internal::Flight::Outcome WaitFor(internal::Flight* flight, absl::Status* status,
                                    std::string* value);
  // How long a load waits for its turn, for another process's load and for a place. `has_ended`: it
  // has not come to an answer for want of patience.
  struct Patience {
    Duration most;
    bool has_ended = false;
  };
  absl::Status Fly(internal::OwnFlight* own, const Loader& load, TimePoint seen, Patience patience,
                   std::string* value);
  absl::Status FindOrLoad(internal::Flight* flight, const Loader& load, TimePoint seen,
                          Patience* patience, std::string* value);
  std::optional<absl::Status> FindFresh(std::string_view key, TimePoint seen, std::string* value);
  LockEnd TakeLock(std::string_view key, TimePoint seen, Duration max_wait,
                   internal::HeldLock* lock, std::string* value, absl::Status* found);
  absl::Status CallLoader(std::string_view key, const Loader& load, Patience* patience,
                          std::chrono::microseconds* load_time, std::string* value);
  void Release(internal::HeldLock* lock);
  // Whether the cache may have locks that Release could not release.
  bool MayHoldUnreleased(TimePoint now);
  void Store(internal::Flight* flight, const absl::Status& status, const std::string& value,
             std::chrono::microseconds load_time, internal::HeldLock* lock);
  bool StoreSealed(std::string_view key, const std::string& sealed, Duration ttl,
                   internal::HeldLock* lock);
  bool StoreNothing(std::string_view key, internal::HeldLock* lock);
  void CountUnlessTrue(const absl::StatusOr<bool>& held);
  absl::Status RefusedByBreaker();
  bool AdmitNegative(TimePoint now);
  static std::string NewToken();

  // Whether this thread runs a load whose loader asks for another one.
  const internal::RunningLoad* OuterLoad() const { return internal::RunningLoad::Of(this); }
  bool IsWithinProbe() const { return OuterLoad() != nullptr && OuterLoad()->is_probe(); }
  internal::LoadLimit* LimitOfOuterLoad() { return OuterLoad() != nullptr ? &limit_ : nullptr; }

  void Count(uint64_t GuardStatistics::*number) { counters_.Count(number); }
  TimePoint Now() { return options_.clock->Now(); }
  Duration RandomTtl();
  Duration KeptFor() const { return std::max(options_.serve_stale_for, options_.keep_stale_for); }
  std::string SealFor(std::string_view value, Duration ttl, std::chrono::microseconds load_time);

  Cache* const cache_;
  GuardOptions options_;
  internal::Counters counters_;
  // Shared with flights that an executor has not begun when the guard is gone.
  const std::shared_ptr<internal::Flights> flights_ = std::make_shared<internal::Flights>();
  internal::Breaker breaker_;
  internal::LoadLimit limit_;
  // Until then there may be locks that nobody releases, since the cache failed when they were to
  // be. Nothing else is read with it.
  std::atomic<TimePoint::rep> unreleased_until_ = 0;
  std::unique_ptr<Executor> own_executor_;
  std::unique_ptr<Executor> own_timer_;

  Mutex mutex_;
  CondVar background_ended_;
  size_t num_background_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex negatives_mutex_;
  // When the absent keys that were remembered are forgotten, in the order in which they were.
  std::deque<TimePoint> negatives_ ABSL_GUARDED_BY(negatives_mutex_);
};

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_GUARD_IMPL_H_
