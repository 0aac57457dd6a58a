// A guard between callers, a cache and the database behind it, against the three ways in which a
// cache fails:
//
//   penetration  keys that do not exist miss the cache each time: refused by a validator and by a
//                filter, and remembered as absent for a short time
//   breakdown    a hot key expires and everybody loads it: one load a key at a time, in this
//                process and, if the cache has locks, in all; refreshed in the background before
//                or after it expires
//   avalanche    many keys expire at once, or the database fails: lives of random length, a bound
//                on loads, a breaker, and the value past its time as a fallback
//
//   winnow::guard::CacheGuard& guard = ...;
//   absl::StatusOr<std::string> name = guard.Get("user:17", [&](std::string_view key) {
//     return database.Read(key);      // NotFound if there is no such row
//   });

#ifndef WINNOW_GUARD_CACHE_GUARD_H_
#define WINNOW_GUARD_CACHE_GUARD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/guard/cache.h"
#include "winnow/guard/environment.h"
#include "winnow/guard/key_filter.h"
#include "winnow/guard/statistics.h"

namespace winnow::guard {

// Reads a value from the database. NotFound says that there is none, and is remembered; any other
// error is not. An exception counts as an error. With stale or early values it is copied and called
// later, on another thread, so what it refers to must live as long as the guard.
using Loader = std::function<absl::StatusOr<std::string>(std::string_view key)>;

// Times above 100 years are taken for 100 years.
struct GuardOptions {
  using Duration = std::chrono::milliseconds;

  // --- Penetration ---
  // Refuses keys that cannot exist, before anything else; so does an exception. Empty: all are
  // taken.
  std::function<bool(std::string_view key)> is_valid;
  // May be null. Keys are added by BeginInsert and Put. Outlives the guard.
  KeyFilter* filter = nullptr;
  // How long an absent key is remembered, at most 300 s; 0: not at all.
  Duration negative_ttl{std::chrono::seconds(60)};
  // How many absent keys are remembered by this process at a time.
  size_t max_negative_entries = 100'000;

  // --- Lives of values ---
  Duration ttl{std::chrono::minutes(10)};
  // To each life a random time between these is added, so that what was loaded together does not
  // expire together.
  Duration min_jitter{std::chrono::seconds(60)};
  Duration max_jitter{std::chrono::seconds(300)};
  // So long after its life a value is still returned, while it is loaded anew in the background.
  Duration serve_stale_for{0};
  // So long after its life a value is kept, for when loading fails.
  Duration keep_stale_for{0};
  // Values that took long to load, and are asked for often, are loaded anew in the background some
  // time before they expire (Vattani, Chierichetti and Lowenstein, "Optimal probabilistic cache
  // stampede prevention", VLDB 2015). Larger is earlier; 0: never.
  double early_refresh = 1;

  // --- Loads ---
  // Of all keys together, those in the background among them; 0: no bound. A load that another
  // one's loader asks for, on its thread, is a part of that one and not counted.
  size_t max_concurrent_loads = 64;
  // How long a caller waits for its turn, or for another caller's or process's load of its key. By
  // the system's clock, but for waiting for another process.
  Duration max_wait{std::chrono::seconds(10)};
  // The cache's lock on a key, if it has locks. Renewed while the load goes on.
  Duration lock_ttl{std::chrono::seconds(10)};
  // How often a process that waits for another one's load looks for its value.
  Duration lock_poll{20};
  // So many failures in a row open the breaker; 0: there is none. NotFound is no failure, and
  // InvalidArgument, which is of the key, is none either.
  int breaker_failures = 5;
  // Then there are no loads for so long, and after that one at a time until one succeeds; one that
  // takes longer than this again no longer keeps the next from being tried.
  Duration breaker_open_for{std::chrono::seconds(10)};

  // Null: the system's. They outlive the guard.
  Clock* clock = nullptr;
  RandomSource* random = nullptr;
  // Runs refreshes. Null: two threads of the guard's own.
  Executor* executor = nullptr;
  // Renews locks; should not be kept busy by long tasks. Null: a thread of the guard's own, if the
  // cache has locks.
  Executor* timer = nullptr;
};

// The key of a row that is being written: see CacheGuard::BeginInsert.
class InsertIntent {
 public:
  InsertIntent(InsertIntent&& other) noexcept;
  InsertIntent& operator=(InsertIntent&&) = delete;
  ~InsertIntent();

 private:
  friend class CacheGuard;
  InsertIntent(KeyFilter* filter, std::string_view key) : filter_(filter), key_(key) {}

  KeyFilter* filter_;  // null: nothing to end
  std::string key_;
};

// All functions may be called by any number of threads at a time; none throws. Keys and values are
// any bytes.
//
// Get never returns a value that is older than the last Put or Invalidate of its key that had
// returned before Get was called. That holds in this process, and in all that share a cache with
// locks and whose clocks agree.
class CacheGuard {
 public:
  // The cache outlives the guard. InvalidArgument for options that contradict each other or no
  // cache, ResourceExhausted without threads or memory.
  static absl::StatusOr<std::unique_ptr<CacheGuard>> Create(Cache* cache, GuardOptions options);

  // Waits for the refreshes that are running. No other call may be under way.
  ~CacheGuard();
  CacheGuard(const CacheGuard&) = delete;
  CacheGuard& operator=(const CacheGuard&) = delete;

  // The key's value: the cache's, or what the loader reads, which is then put into the cache.
  //
  // NotFound if the key is absent, InvalidArgument if the validator refuses it, Unavailable while
  // the breaker is open, ResourceExhausted if too many loads are running, DeadlineExceeded if
  // another's load takes too long, else the loader's error; all callers that waited for one load
  // get the same. A value past its time is returned instead of any error but NotFound and
  // InvalidArgument, if there is one. A loader may ask the guard for other keys, on its own thread:
  // what is loaded for it so is part of its load. Not for its own key: that waits for itself, until
  // max_wait is over.
  absl::StatusOr<std::string> Get(std::string_view key, const Loader& load);
  // The same into `value`, whose memory is used again; what it held is lost in any case, so `key`
  // must not lie in it.
  absl::Status Get(std::string_view key, const Loader& load, std::string* value);

  // Before a row becomes visible in the database: adds its key to the filter, since one that the
  // filter does not know would be called absent. Keep what is returned until the row is committed.
  // The filter's error; do not write the row then.
  absl::StatusOr<InsertIntent> BeginInsert(std::string_view key);

  // After a row was committed: its value is in the cache at once, and no load that began before
  // changes that. Of several writers of one key the last one to call this wins, whatever the
  // database's order was: where that matters, take Invalidate. If the cache fails, its error; what
  // it held may be there until its time is over. If the filter fails, its error; the value is in
  // the cache, but may be called absent until a Put or BeginInsert of the key succeeds.
  absl::Status Put(std::string_view key, std::string_view value);
  // After a row was changed or deleted: the next Get loads it.
  absl::Status Invalidate(std::string_view key);

  GuardStatistics statistics() const;

 private:
  class Impl;
  explicit CacheGuard(std::shared_ptr<Impl> impl);

  const std::shared_ptr<Impl> impl_;
};

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_CACHE_GUARD_H_
