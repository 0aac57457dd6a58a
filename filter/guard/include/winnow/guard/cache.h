// What the guard asks of a cache. Implement it over any cache that several processes share; one in
// this process's memory is in memory_cache.h.
//
// The values are the guard's own: a caller's value followed by a few bytes of its bookkeeping. A
// cache stores and returns them unchanged.

#ifndef WINNOW_GUARD_CACHE_H_
#define WINNOW_GUARD_CACHE_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::guard {

// Keys and values are any bytes, empty ones among them. All functions may be called by any number
// of threads at a time. None throws. An error means that the cache could not be asked; the guard
// then goes on without it and counts the error, so a call should give up after a short time rather
// than wait for a server that is gone. If a lock cannot be released, the guard waits for nobody's
// lock until that one has ended.
class Cache {
 public:
  virtual ~Cache() = default;

  // Whether the key has a value that has not expired; if so, `value` is assigned it. What `value`
  // held is lost in any case.
  virtual absl::StatusOr<bool> Get(std::string_view key, std::string* value) = 0;

  // Stores the value for `ttl`, which is more than 0, in place of the one that is there, and ends
  // the key's lock, whoever holds it: a load that began before this must not store what it read.
  // A cache may evict any value before its time.
  virtual absl::Status Set(std::string_view key, std::string_view value,
                           std::chrono::milliseconds ttl) = 0;

  // Removes the key's value, if there is one, and ends the key's lock, whoever holds it.
  virtual absl::Status Remove(std::string_view key) = 0;

  // A lock for each key, by which several processes let one of them load a value. They are the
  // leases of Nishtala et al., "Scaling Memcache at Facebook" (NSDI 2013): a value that was read
  // under a lock is stored only while the lock is still held, so that neither a Set or Remove in
  // the meantime nor a slow load that outlived its lock brings an old value back.
  //
  // A cache without locks leaves these five as they are: each process then loads by itself.
  virtual bool HasLocks() const { return false; }

  // Takes the key's lock for `ttl` if nobody holds it; false if somebody does. `token` is the
  // caller's name, which no other holder has. After an error, which may hide that the lock was
  // taken, the guard calls Unlock.
  virtual absl::StatusOr<bool> TryLock(std::string_view key, std::string_view token,
                                       std::chrono::milliseconds ttl) {
    (void)key, (void)token, (void)ttl;
    return absl::UnimplementedError("this cache has no locks");
  }

  // Lets the lock last for `ttl` from now on. False, and nothing done, if this token does not hold
  // it (any more).
  virtual absl::StatusOr<bool> RenewLock(std::string_view key, std::string_view token,
                                         std::chrono::milliseconds ttl) {
    (void)key, (void)token, (void)ttl;
    return absl::UnimplementedError("this cache has no locks");
  }

  // Stores the value and releases the lock in one step. False, and nothing done, if this token does
  // not hold the lock (any more).
  virtual absl::StatusOr<bool> SetAndUnlock(std::string_view key, std::string_view token,
                                            std::string_view value, std::chrono::milliseconds ttl) {
    (void)key, (void)token, (void)value, (void)ttl;
    return absl::UnimplementedError("this cache has no locks");
  }

  // Releases the lock. False, and nothing done, if this token does not hold it (any more).
  virtual absl::StatusOr<bool> Unlock(std::string_view key, std::string_view token) {
    (void)key, (void)token;
    return absl::UnimplementedError("this cache has no locks");
  }
};

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_CACHE_H_
