#include "winnow/guard/cache_guard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "filter/base/out_of_memory.h"
#include "filter/guard/guard_impl.h"
#include "filter/guard/user_call.h"

namespace winnow::guard {
namespace {

constexpr std::chrono::milliseconds kMaxNegativeTtl = std::chrono::seconds(300);
// Refreshes wait for the database: two at a time are no stampede, and one that hangs does not stop
// all of them. What does not fit among the waiting ones is dropped; the next hit asks again.
constexpr int kExecutorThreads = 2;
constexpr size_t kMaxWaitingRefreshes = 1024;
// A renewal waits for a third of lock_ttl for each load under a lock: so many loads may run at a
// time; a lock beyond that is not renewed.
constexpr size_t kMaxWaitingRenewals = 65'536;
// "For ever", of which some can be added to the time of day without an overflow.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 100);

absl::Status Absent() { return absl::NotFoundError("no such key"); }

absl::Status Validate(const GuardOptions& options) {
  const GuardOptions::Duration zero{0};
  if (options.ttl <= zero) return absl::InvalidArgumentError("ttl must be more than 0");
  if (options.min_jitter < zero || options.max_jitter < options.min_jitter) {
    return absl::InvalidArgumentError("min_jitter must be 0 or more, max_jitter no less than it");
  }
  if (options.negative_ttl < zero || options.serve_stale_for < zero ||
      options.keep_stale_for < zero || options.max_wait < zero || options.breaker_open_for < zero ||
      options.breaker_failures < 0) {
    return absl::InvalidArgumentError("times and numbers must not be negative");
  }
  // A third of it, which is when locks are renewed, must be a whole millisecond at least.
  if (options.lock_ttl < std::chrono::milliseconds(3) || options.lock_poll <= zero) {
    return absl::InvalidArgumentError("lock_ttl must be 3 ms or more, lock_poll more than 0");
  }
  // Negated, so that NaN is refused.
  if (!(options.early_refresh >= 0)) {
    return absl::InvalidArgumentError("early_refresh must be 0 or more");
  }
  return absl::OkStatus();
}

// Four of these times can be added to the time of day in microseconds: with 100 years each the sum
// stays far below 2^63.
void ShortenTimes(GuardOptions* options) {
  for (GuardOptions::Duration GuardOptions::*const time :
       {&GuardOptions::ttl, &GuardOptions::min_jitter, &GuardOptions::max_jitter,
        &GuardOptions::serve_stale_for, &GuardOptions::keep_stale_for, &GuardOptions::max_wait,
        &GuardOptions::lock_ttl, &GuardOptions::lock_poll, &GuardOptions::breaker_open_for}) {
    options->*time = std::min(options->*time, kLongest);
  }
  options->negative_ttl = std::min(options->negative_ttl, kMaxNegativeTtl);
}

// The validator is not ours, and may throw.
bool IsValid(const GuardOptions& options, std::string_view key) {
  if (!options.is_valid) return true;
  try {
    return options.is_valid(key);
  } catch (...) {
    return false;
  }
}

}  // namespace

CacheGuard::Impl::Impl(Cache* cache, GuardOptions options)
    : cache_(cache),
      options_(std::move(options)),
      breaker_(options_.breaker_failures, options_.breaker_open_for),
      limit_(options_.max_concurrent_loads) {
  if (options_.clock == nullptr) options_.clock = Clock::Real();
  if (options_.random == nullptr) options_.random = RandomSource::Real();
}

absl::Status CacheGuard::Impl::Start() {
  if (options_.executor == nullptr) {
    auto executor = NewThreadExecutor(kExecutorThreads, kMaxWaitingRefreshes);
    if (!executor.ok()) return executor.status();
    own_executor_ = *std::move(executor);
    options_.executor = own_executor_.get();
  }
  // A timer of its own, since refreshes may keep the other threads busy for as long as loads take,
  // and a renewal that comes too late loses the lock.
  if (options_.timer == nullptr && cache_->HasLocks()) {
    auto timer = NewThreadExecutor(1, kMaxWaitingRenewals);
    if (!timer.ok()) return timer.status();
    own_timer_ = *std::move(timer);
    options_.timer = own_timer_.get();
  }
  return absl::OkStatus();
}

// Background work begins by counting itself, under the same mutex: either it sees that the guard
// has stopped, or it is waited for.
void CacheGuard::Impl::Stop() {
  {
    MutexLock lock(&mutex_);
    is_stopped_ = true;
    while (num_background_ != 0) background_ended_.Wait(&mutex_);
  }
  // Outside the mutex: the executor joins its threads, one of which may be about to take it in
  // Refresh. Tasks that wait are dropped and end their flights as they go.
  own_executor_.reset();
  own_timer_.reset();
}

// What the cache has, a value past its time too. Errors and foreign bytes are as if it had nothing.
CacheGuard::Impl::Cached CacheGuard::Impl::ReadCache(std::string_view key, std::string* value) {
  Cached cached;
  const absl::StatusOr<bool> found = cache_->Get(key, value);
  if (!found.ok()) {
    Count(&GuardStatistics::cache_errors);
  } else if (*found) {
    cached.is_there = internal::Open(value, &cached.envelope);
  }
  return cached;
}

// In the order of what each step costs, and of what it keeps from the next: a validator and a
// filter take nanoseconds, the cache perhaps a round trip, a load the database.
absl::Status CacheGuard::Impl::Get(std::string_view key, const Loader& load, std::string* value) {
  Count(&GuardStatistics::requests);
  if (!IsValid(options_, key)) {
    Count(&GuardStatistics::refused_keys);
    return absl::InvalidArgumentError("the validator refuses this key");
  }
  // Sound because keys are in the filter before their rows are visible, see BeginInsert.
  if (options_.filter != nullptr && !options_.filter->MayContain(key)) {
    Count(&GuardStatistics::filtered);
    return Absent();
  }
  const Cached cached = ReadCache(key, value);
  if (!cached.is_there) return GetByLoading(key, load, std::nullopt, value);
  const TimePoint now = Now();
  if (now < cached.envelope.fresh_until) {
    if (cached.envelope.is_absent) {
      Count(&GuardStatistics::negative_hits);
      return Absent();
    }
    // Under the same key's flight, so that of all callers who draw early one loads; the others have
    // their answer already.
    if (ShouldRefreshEarly(cached.envelope, now)) {
      RefreshLater(key, load, cached.envelope, &GuardStatistics::early_refreshes);
    }
    Count(&GuardStatistics::hits);
    return absl::OkStatus();
  }
  // An absence past its time is no fallback: the row may have been written since.
  if (cached.envelope.is_absent) return GetByLoading(key, load, std::nullopt, value);
  if (now < cached.envelope.fresh_until + options_.serve_stale_for) {
    RefreshLater(key, load, cached.envelope, &GuardStatistics::refreshes);
    Count(&GuardStatistics::stale_hits);
    return absl::OkStatus();
  }
  // Others may wait for the load, but the fallback stays with this caller: it may be older than
  // what they may be given.
  const Fallback fallback = std::move(*value);
  return GetByLoading(key, load, fallback, value);
}

// XFetch: with a chance that rises towards the end, and the more so the longer the load takes, so
// that of many callers one is expected to come early enough.
bool CacheGuard::Impl::ShouldRefreshEarly(const internal::Envelope& envelope, TimePoint now) {
  if (options_.early_refresh == 0 || envelope.load_time.count() == 0) return false;
  const auto left = static_cast<double>((envelope.fresh_until - now).count());
  const double lead = static_cast<double>(envelope.load_time.count()) * options_.early_refresh;
  // The chance is exp(-left / lead): without a draw where it is less than 2^-64.
  // 45 is a little more than 64 ln 2.
  if (left > 45 * lead) return false;
  // In (0, 1]: the 53 high bits and one more than they say, since the logarithm of 0 is minus
  // infinity.
  const double chance = static_cast<double>((options_.random->Next() >> 11) + 1) * 0x1p-53;
  return -std::log(chance) * lead >= left;
}

void CacheGuard::Impl::RefreshLater(std::string_view key, const Loader& load,
                                    const internal::Envelope& seen,
                                    uint64_t GuardStatistics::*number) {
  // While the database is down a refresh would only fill the queue: the stale value serves.
  if (!breaker_.WouldAllow(Now())) return;
  try {
    BeginRefresh(key, load, seen.fresh_until, number);
  } catch (...) {
    // No memory, or a loader that cannot be copied: the caller has its answer, the next one tries
    // again.
  }
}

void CacheGuard::Impl::BeginRefresh(std::string_view key, const Loader& load, TimePoint seen,
                                    uint64_t GuardStatistics::*number) {
  internal::Flights::Place place = flights_->JoinForLater(key);
  // Somebody loads the key already.
  if (!place.is_first) return;
  // Owned before anything else takes memory. Shared because functions are copied. Dropped without
  // being run, it ends the flight.
  internal::OwnFlight begun(flights_, std::move(place));
  const auto own = std::make_shared<internal::OwnFlight>(std::move(begun));
  (void)options_.executor->Run(
      std::chrono::microseconds(0),
      // The guard may be gone when an executor of the program's runs this: the task keeps the
      // flight alive, but not the guard. The loader is copied, as the caller's ends with its call.
      [weak = weak_from_this(), own, load, seen, number] {
        // A caller who needs the value does not wait for the queue, but loads it.
        if (!own->Begin()) return;
        if (const std::shared_ptr<Impl> impl = weak.lock()) {
          impl->Refresh(own.get(), load, seen, number);
        }
      });
}

void CacheGuard::Impl::Refresh(internal::OwnFlight* own, const Loader& load, TimePoint seen,
                               uint64_t GuardStatistics::*number) {
  {
    MutexLock lock(&mutex_);
    if (is_stopped_) return;
    ++num_background_;
  }
  Count(number);
  // Nobody is there to be told of an error: the value that is there stays, and the next caller
  // tries again.
  (void)UnlessOutOfMemory([&] {
    std::string value;
    // Waits for nothing: a refresh that would have to queue for the limit, or for another process's
    // lock, is not worth a thread.
    (void)Fly(own, load, seen, {Duration(0)}, &value);
  });
  MutexLock lock(&mutex_);
  --num_background_;
  background_ended_.SignalAll();
}

// Uniform: the modulo's bias is below 2^-20 for ranges of any sense.
CacheGuard::Impl::Duration CacheGuard::Impl::RandomTtl() {
  const auto range = static_cast<uint64_t>((options_.max_jitter - options_.min_jitter).count()) + 1;
  return options_.ttl + options_.min_jitter +
         Duration(static_cast<int64_t>(options_.random->Next() % range));
}

std::string CacheGuard::Impl::SealFor(std::string_view value, Duration ttl,
                                      std::chrono::microseconds load_time) {
  std::string sealed;
  // The trailer's size: one allocation for both.
  sealed.reserve(value.size() + 16);
  sealed.assign(value);
  internal::Seal({.is_absent = false, .fresh_until = Now() + ttl, .load_time = load_time}, &sealed);
  return sealed;
}

// The filter knows the key before the row is visible: a reader in between goes to the database in
// vain, where the other order would have it told that a row which is there is absent.
absl::StatusOr<InsertIntent> CacheGuard::Impl::BeginInsert(std::string_view key) {
  KeyFilter* const filter = options_.filter;
  if (filter != nullptr) {
    // Made first: what the filter remembers must find its end.
    InsertIntent intent(nullptr, key);
    if (const absl::Status status = filter->BeginInsert(key); !status.ok()) return status;
    intent.filter_ = filter;
    return intent;
  }
  return InsertIntent(nullptr, key);
}

absl::Status CacheGuard::Impl::Put(std::string_view key, std::string_view value) {
  absl::Status added;
  if (options_.filter != nullptr) {
    // For rows that were written without BeginInsert: a value that the filter hides could never be
    // read. If it fails, the older value must go all the same: the row is committed.
    added = internal::CatchFrom("the filter", [&] { return options_.filter->Add(key); });
  }
  const Duration ttl = RandomTtl();
  const std::string sealed = SealFor(value, ttl, std::chrono::microseconds(0));
  // Before: no load stores an older value over this one. After: nobody joins a load that has found
  // the older value in the cache.
  flights_->Overtake(key);
  const absl::Status status = cache_->Set(key, sealed, ttl + KeptFor());
  flights_->Overtake(key);
  if (!status.ok()) Count(&GuardStatistics::cache_errors);
  return added.ok() ? status : added;
}

// Overtaken before and after, for the reasons of Put.
absl::Status CacheGuard::Impl::Invalidate(std::string_view key) {
  flights_->Overtake(key);
  const absl::Status status = cache_->Remove(key);
  flights_->Overtake(key);
  if (!status.ok()) Count(&GuardStatistics::cache_errors);
  return status;
}

// Each number is exact once its callers have returned; between them there is no common moment.
GuardStatistics CacheGuard::Impl::statistics() const {
  GuardStatistics statistics = counters_.Sum();
  statistics.breaker = breaker_.state();
  statistics.has_filter = options_.filter != nullptr;
  return statistics;
}

InsertIntent::InsertIntent(InsertIntent&& other) noexcept
    : filter_(std::exchange(other.filter_, nullptr)), key_(std::move(other.key_)) {}

InsertIntent::~InsertIntent() {
  // After the commit, or after it failed: the key stays in the filter either way, which costs a
  // false positive at most.
  if (filter_ != nullptr) filter_->EndInsert(key_);
}

absl::StatusOr<std::unique_ptr<CacheGuard>> CacheGuard::Create(Cache* cache, GuardOptions options) {
  if (cache == nullptr) return absl::InvalidArgumentError("a cache guard needs a cache");
  if (const absl::Status status = Validate(options); !status.ok()) return status;
  ShortenTimes(&options);
  // If the second executor cannot start, the first ends with `impl`: nothing has been given to it
  // yet.
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<CacheGuard>> {
    auto impl = std::make_shared<Impl>(cache, std::move(options));
    if (const absl::Status status = impl->Start(); !status.ok()) return status;
    return std::unique_ptr<CacheGuard>(new CacheGuard(std::move(impl)));
  });
}

CacheGuard::CacheGuard(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
// Tasks of the program's executor may hold `impl_` for a moment longer; after Stop they touch
// neither cache nor filter.
CacheGuard::~CacheGuard() { impl_->Stop(); }

absl::Status CacheGuard::Get(std::string_view key, const Loader& load, std::string* value) {
  return CatchOutOfMemory([&] { return impl_->Get(key, load, value); });
}

absl::StatusOr<std::string> CacheGuard::Get(std::string_view key, const Loader& load) {
  std::string value;
  if (const absl::Status status = Get(key, load, &value); !status.ok()) return status;
  return value;
}

absl::StatusOr<InsertIntent> CacheGuard::BeginInsert(std::string_view key) {
  return CatchOutOfMemory([&] { return impl_->BeginInsert(key); });
}

absl::Status CacheGuard::Put(std::string_view key, std::string_view value) {
  return CatchOutOfMemory([&] { return impl_->Put(key, value); });
}

absl::Status CacheGuard::Invalidate(std::string_view key) {
  return CatchOutOfMemory([&] { return impl_->Invalidate(key); });
}

GuardStatistics CacheGuard::statistics() const { return impl_->statistics(); }

}  // namespace winnow::guard
