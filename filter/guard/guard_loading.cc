#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "filter/guard/guard_impl.h"
#include "filter/guard/system_random.h"
#include "filter/guard/user_call.h"

namespace winnow::guard {
namespace {

// Overtaken so often, a caller loads for itself.
constexpr int kMaxJoins = 3;

absl::StatusOr<std::string> Call(const Loader& load, std::string_view key) {
  return internal::CatchFrom("the loader", [&] { return load(key); });
}

// Whether the database has answered.
bool IsAnswer(const absl::Status& status) { return status.ok() || absl::IsNotFound(status); }

// Compared by its text, as the refusal comes back through the program's loader as an ordinary
// Status.
constexpr absl::string_view kRefusal = "the database fails: loads are stopped for a while";

// Without memory: a probe must be told to have ended.
bool IsRefusal(const absl::Status& status) {
  return absl::IsUnavailable(status) && status.message() == kRefusal;
}

absl::Status LoadTakesTooLong() {
  return absl::DeadlineExceededError("the key's load takes too long");
}

// What was found in the cache is this caller's answer only. Those who wait may have come when it
// had been removed: they ask the cache themselves.
void Distrust(internal::Flight* flight) {
  (void)flight->StoreUnlessOvertaken([] { return false; });
}

}  // namespace

// Joins the key's load or begins it. A caller whose flight was overtaken looks into the cache,
// where the writer may have put the value, and joins again; after three times it loads for itself
// and stores nothing.
absl::Status CacheGuard::Impl::GetByLoading(std::string_view key, const Loader& load,
                                            const Fallback& fallback, std::string* value) {
  for (int joins = 0; joins < kMaxJoins; ++joins) {
    internal::Flights::Place place = flights_->Join(key);
    if (place.is_first || place.flight->TakeUp()) {
      internal::OwnFlight own(flights_, std::move(place));
      return FallBack(Fly(&own, load, TimePoint::min(), {options_.max_wait}, value), fallback,
                      value);
    }
    // Once for a call, as the number is of calls.
    if (joins == 0) Count(&GuardStatistics::joined);
    absl::Status status;
    switch (WaitFor(place.flight.get(), &status, value)) {
      case internal::Flight::Outcome::kDone:
        return FallBack(status, fallback, value);
      case internal::Flight::Outcome::kTimeout:
        return FallBack(LoadTakesTooLong(), fallback, value);
      case internal::Flight::Outcome::kOvertaken:
        break;
    }
    if (const auto found = FindFresh(key, TimePoint::min(), value)) return *found;
  }
  const std::shared_ptr<internal::Flight> alone = internal::Flights::Alone(key);
  Patience patience = {options_.max_wait};
  return FallBack(FindOrLoad(alone.get(), load, TimePoint::min(), &patience, value), fallback,
                  value);
}

absl::Status CacheGuard::Impl::FallBack(const absl::Status& status, const Fallback& fallback,
                                        std::string* value) {
  // That the key makes no sense is an answer, too.
  if (IsAnswer(status) || absl::IsInvalidArgument(status) || !fallback) return status;
  Count(&GuardStatistics::stale_fallbacks);
  value->assign(*fallback);
  return absl::OkStatus();
}

internal::Flight::Outcome CacheGuard::Impl::WaitFor(internal::Flight* flight, absl::Status* status,
                                                    std::string* value) {
  // If all places were held by loaders that wait for loads without a place, nobody would go on.
  const internal::LoadLimit::Loan loan(LimitOfOuterLoad());
  return flight->Wait(options_.max_wait, status, value);
}

absl::Status CacheGuard::Impl::Fly(internal::OwnFlight* own, const Loader& load, TimePoint seen,
                                   Patience patience, std::string* value) {
  bool is_its_turn = false;
  {
    const internal::LoadLimit::Loan loan(LimitOfOuterLoad());
    is_its_turn = own->WaitForTurn(patience.most);
  }
  patience.has_ended = !is_its_turn;
  absl::Status status =
      is_its_turn ? FindOrLoad(own->flight(), load, seen, &patience, value) : LoadTakesTooLong();
  // Callers have joined it who have the patience that a refresh has not.
  if (patience.has_ended && patience.most == Duration(0)) {
    own->GiveUp();
    return status;
  }
  // If anything above throws, ~OwnFlight ends the flight instead.
  own->End(status, *value);
  return status;
}

// A value that came into the cache since it was asked, or that the key is absent.
std::optional<absl::Status> CacheGuard::Impl::FindFresh(std::string_view key, TimePoint seen,
                                                        std::string* value) {
  const Cached cached = ReadCache(key, value);
  // The value that is being replaced may be fresh still, with an early refresh: it must not be
  // found here, or nothing would be loaded.
  if (!cached.is_there || cached.envelope.fresh_until <= seen ||
      cached.envelope.fresh_until <= Now()) {
    return std::nullopt;
  }
  return cached.envelope.is_absent ? absl::NotFoundError("no such key") : absl::OkStatus();
}

absl::Status CacheGuard::Impl::RefusedByBreaker() {
  Count(&GuardStatistics::breaker_refusals);
  return absl::UnavailableError(kRefusal);
}

// In any case the cache is asked once more: another flight may have ended between this caller's
// question and this flight's begin.
absl::Status CacheGuard::Impl::FindOrLoad(internal::Flight* flight, const Loader& load,
                                          TimePoint seen, Patience* patience, std::string* value) {
  const std::string& key = flight->key();
  internal::HeldLock lock(cache_, options_.timer, options_.lock_ttl);
  bool is_locked = false;
  bool may_store = true;
  // Before the lock: while the database is down no round trips are spent on it.
  if (!IsWithinProbe() && !breaker_.WouldAllow(Now())) return RefusedByBreaker();
  if (cache_->HasLocks()) {
    absl::Status found;
    switch (TakeLock(key, seen, patience->most, &lock, value, &found)) {
      case LockEnd::kTaken:
        is_locked = true;
        break;
      case LockEnd::kFound:
        Distrust(flight);
        return found;
      case LockEnd::kTimeout:
        patience->has_ended = true;
        return absl::DeadlineExceededError("another process's load of the key takes too long");
      case LockEnd::kNoLocks:
        // Nothing will tell whether another process writes the key from now on: what is loaded is
        // for those alone who are here already.
        flights_->Depart(*flight);
        may_store = false;
        break;
    }
  } else if (auto found = FindFresh(key, seen, value)) {
    Distrust(flight);
    return *std::move(found);
  }
  std::chrono::microseconds load_time{0};
  absl::Status status = CallLoader(key, load, patience, &load_time, value);
  if (may_store) {
    Store(flight, status, *value, load_time, is_locked ? &lock : nullptr);
  } else if (IsAnswer(status)) {
    Count(&GuardStatistics::discarded_loads);
  }
  return status;
}

CacheGuard::Impl::LockEnd CacheGuard::Impl::TakeLock(std::string_view key, TimePoint seen,
                                                     Duration max_wait, internal::HeldLock* lock,
                                                     std::string* value, absl::Status* found) {
  TimePoint deadline = Now() + max_wait;
  const std::string token = NewToken();
  for (bool has_waited = false;; has_waited = true) {
    const absl::StatusOr<bool> taken = lock->Take(key, token);
    if (!taken.ok()) {
      // The cache is out of reach: loading without it is better than not at all. It may have taken
      // the lock all the same, which nobody would release.
      Count(&GuardStatistics::cache_errors);
      Release(lock);
      return LockEnd::kNoLocks;
    }
    // After the lock was asked for, taken or not: a holder stores the value and releases in one
    // step, so that with the lock in hand this sees whatever the last holder stored.
    std::optional<absl::Status> fresh = FindFresh(key, seen, value);
    if (fresh) {
      if (*taken) Release(lock);
      if (has_waited || !*taken) Count(&GuardStatistics::found_by_others);
      *found = *std::move(fresh);
      return LockEnd::kFound;
    }
    if (*taken) return LockEnd::kTaken;
    // The lock may be one of ours that the cache has not released: nobody works behind it.
    const TimePoint now = Now();
    if (MayHoldUnreleased(now)) return LockEnd::kNoLocks;
    // A clock that was set back must not let it wait for longer.
    deadline = std::min(deadline, now + max_wait);
    if (now >= deadline) return LockEnd::kTimeout;
    options_.clock->SleepFor(options_.lock_poll);
  }
}

// If the breaker and the limit let it. As part of another load it has that one's place; the
// breaker takes what it says for that of an ordinary load, which decides nothing during a probe.
absl::Status CacheGuard::Impl::CallLoader(std::string_view key, const Loader& load,
                                          Patience* patience, std::chrono::microseconds* load_time,
                                          std::string* value) {
  const bool is_nested = OuterLoad() != nullptr;
  const bool is_within_probe = IsWithinProbe();
  // The limit before the breaker: a load that queued may find that the breaker has opened
  // meanwhile, and a probe must not wait in a queue while it keeps others out.
  if (!is_nested && !limit_.Enter(patience->most)) {
    patience->has_ended = true;
    Count(&GuardStatistics::limit_refusals);
    return absl::ResourceExhaustedError("too many loads are running");
  }
  internal::LoadLimit::Place place(is_nested ? nullptr : &limit_);
  const TimePoint begin = Now();
  internal::Breaker::Pass pass;
  if (!is_within_probe && !breaker_.Begin(begin, &pass)) return RefusedByBreaker();
  Count(&GuardStatistics::loads);
  // The thread's innermost load ends with this block, whether the loader returns or throws.
  absl::StatusOr<std::string> loaded = [&] {
    const internal::RunningLoad running(this, is_within_probe || pass.probe != 0);
    return Call(load, key);
  }();
  const TimePoint end = Now();
  // The place is free before the result is stored: storing is the cache's work, not the database's.
  place.Leave();
  *load_time = end - begin;
  if (IsAnswer(loaded.status())) {
    breaker_.Succeeded(pass);
  } else {
    // A loader that was refused another key, on another thread, has not failed by the database; nor
    // has one to which the key makes no sense, whether the database was asked or not.
    const bool is_failure =
        !IsRefusal(loaded.status()) && !absl::IsInvalidArgument(loaded.status());
    is_failure ? breaker_.Failed(pass, end) : breaker_.GaveUp(pass);
    Count(&GuardStatistics::load_failures);
  }
  if (absl::IsNotFound(loaded.status())) Count(&GuardStatistics::loads_not_found);
  if (!loaded.ok()) return loaded.status();
  *value = *std::move(loaded);
  return absl::OkStatus();
}

// What was loaded, if the database has answered; releases the lock, if there is one.
void CacheGuard::Impl::Store(internal::Flight* flight, const absl::Status& status,
                             const std::string& value, std::chrono::microseconds load_time,
                             internal::HeldLock* lock) {
  const std::string& key = flight->key();
  std::string sealed;
  Duration ttl{0};
  if (status.ok()) {
    ttl = RandomTtl();
    sealed = SealFor(value, ttl, load_time);
    ttl += KeptFor();
  } else if (absl::IsNotFound(status) && AdmitNegative(Now())) {
    ttl = options_.negative_ttl;
    internal::Seal({.is_absent = true, .fresh_until = Now() + ttl, .load_time = load_time},
                   &sealed);
  }
  bool is_stored = false;
  if (IsAnswer(status)) {
    // Under a lock it is the cache that says whether the key has been written, by this process or
    // another, up to the moment of storing: nobody may join after it.
    if (lock != nullptr) flights_->Close(*flight);
    is_stored = flight->StoreUnlessOvertaken([&] { return StoreSealed(key, sealed, ttl, lock); });
    if (!is_stored) Count(&GuardStatistics::discarded_loads);
  }
  if (!is_stored && lock != nullptr) Release(lock);
}

// A lock that the cache does not release lasts until its time is over. Nobody's load stands behind
// it, so that waiting for one would be in vain.
void CacheGuard::Impl::Release(internal::HeldLock* lock) {
  // False is as good as true: it says that the lock has ended already.
  if (lock->Release().ok()) return;
  Count(&GuardStatistics::cache_errors);
  unreleased_until_.store((Now() + options_.lock_ttl).time_since_epoch().count(),
                          std::memory_order_relaxed);
}

bool CacheGuard::Impl::MayHoldUnreleased(TimePoint now) {
  const TimePoint::rep until = unreleased_until_.load(std::memory_order_relaxed);
  // A clock that was set back makes this longer than a lock lasts.
  const TimePoint::rep latest = (now + options_.lock_ttl).time_since_epoch().count();
  if (until > latest) unreleased_until_.store(latest, std::memory_order_relaxed);
  return now.time_since_epoch().count() < until;
}

// False if the lock has ended, so that the key may have been written meanwhile, or if the cache
// cannot tell whether it has.
bool CacheGuard::Impl::StoreSealed(std::string_view key, const std::string& sealed, Duration ttl,
                                   internal::HeldLock* lock) {
  // Only an absent key that is not remembered has no time to live.
  if (ttl == Duration(0)) return StoreNothing(key, lock);
  // The flight's mutex is held: Put and Invalidate of this process wait, so that theirs comes
  // later. An error leaves what was there, and counts as stored: no one has overtaken the value.
  if (lock == nullptr) {
    if (!cache_->Set(key, sealed, ttl).ok()) Count(&GuardStatistics::cache_errors);
    return true;
  }
  const absl::StatusOr<bool> stored = lock->StoreAndRelease(sealed, ttl);
  CountUnlessTrue(stored);
  return stored.value_or(false);
}

void CacheGuard::Impl::CountUnlessTrue(const absl::StatusOr<bool>& held) {
  if (!held.ok()) {
    Count(&GuardStatistics::cache_errors);
  } else if (!*held) {
    Count(&GuardStatistics::lost_locks);
  }
}

// The same for an absent key that is not remembered. A value past its time may be there.
bool CacheGuard::Impl::StoreNothing(std::string_view key, internal::HeldLock* lock) {
  if (lock != nullptr) {
    const absl::StatusOr<bool> released = lock->Release();
    CountUnlessTrue(released);
    // The key may have been written meanwhile: what is there stays.
    if (!released.value_or(false)) return false;
  }
  if (!cache_->Remove(key).ok()) Count(&GuardStatistics::cache_errors);
  return true;
}

bool CacheGuard::Impl::AdmitNegative(TimePoint now) {
  if (options_.negative_ttl == Duration(0)) return false;
  MutexLock lock(&negatives_mutex_);
  // All have one and the same time to live, so that the first one in is the first to end. Amortised
  // O(1): each is pushed and popped once. One with more than that before it is of a time before the
  // clock was set back.
  while (!negatives_.empty() &&
         (negatives_.front() <= now || negatives_.front() > now + options_.negative_ttl)) {
    negatives_.pop_front();
  }
  if (negatives_.size() >= options_.max_negative_entries) {
    Count(&GuardStatistics::unstored_negatives);
    return false;
  }
  negatives_.push_back(now + options_.negative_ttl);
  return true;
}

// Whoever sees the cache sees tokens, from which the next numbers of a RandomSource could be told.
// With the process's number, since after a fork both processes may have the same random ones where
// the system has none.
std::string CacheGuard::Impl::NewToken() {
  return absl::StrCat(::getpid(), "-", absl::Hex(internal::SystemRandom(), absl::kZeroPad16),
                      absl::Hex(internal::SystemRandom(), absl::kZeroPad16));
}

}  // namespace winnow::guard
