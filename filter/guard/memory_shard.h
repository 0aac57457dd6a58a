// A part of the cache in memory: S3-FIFO (Yang et al., SOSP 2023). Internal.

#ifndef WINNOW_GUARD_MEMORY_SHARD_H_
#define WINNOW_GUARD_MEMORY_SHARD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/base/mutex.h"
#include "winnow/guard/environment.h"
#include "winnow/guard/memory_cache.h"

namespace winnow::guard::internal {

// Values come into the small queue, a tenth of the memory. What leaves it goes to the main queue if
// it was asked for meanwhile, and is evicted if not; its hash is then remembered among the ghosts,
// and if it comes again while it is one, it goes to the main queue at once. What leaves the main
// queue goes round again as often as it was asked for, three times at most.
//
//   Set --> small --asked for--> main --+
//             |                  ^  |   | asked for
//             v                  |  v   |
//           ghost --Set again----+ gone +--> main
//
// A hit changes one byte of the entry and no queue.
class alignas(64) MemoryShard {
 public:
  explicit MemoryShard(uint64_t capacity_bytes);
  MemoryShard(const MemoryShard&) = delete;
  ~MemoryShard();

  // `hash` is the key's.
  bool Get(uint64_t hash, std::string_view key, TimePoint now, std::string* value);
  void Set(uint64_t hash, std::string_view key, std::string_view value, TimePoint expires);
  void Remove(uint64_t hash, std::string_view key);

  bool TryLock(std::string_view key, std::string_view token, TimePoint now, TimePoint expires);
  bool RenewLock(std::string_view key, std::string_view token, TimePoint now, TimePoint expires);
  bool SetAndUnlock(uint64_t hash, std::string_view key, std::string_view token, TimePoint now,
                    std::string_view value, TimePoint expires);
  bool Unlock(std::string_view key, std::string_view token, TimePoint now);

  void AddTo(MemoryCacheUsage* usage);

 private:
  struct Entry {
    Entry* next_in_bucket = nullptr;
    Entry* next_in_queue = nullptr;  // the one that came after
    uint64_t hash;
    TimePoint expires;
    uint64_t charge;
    uint8_t uses = 0;
    bool is_in_main = false;
    bool is_dead = false;  // no longer in its bucket, and freed when it leaves its queue
    std::string key;
    std::string value;
  };
  struct Queue {
    Entry* first = nullptr;
    Entry* last = nullptr;
    uint64_t bytes = 0;

    void Push(Entry* entry);
    Entry* Pop();  // the one that came first; the queue is not empty
  };
  struct Lock {
    std::string token;
    TimePoint expires;
  };

  Entry** PlaceOf(uint64_t hash, std::string_view key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Charge(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Kill(Entry** place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetLocked(uint64_t hash, std::string_view key, std::string_view value, TimePoint expires)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictFromSmall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictFromMain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TakeGhost(uint64_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberGhost(uint64_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Holds(std::string_view key, std::string_view token, TimePoint now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropExpiredLocks(TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::vector<Entry*> buckets_ ABSL_GUARDED_BY(mutex_);  // a power of two
  uint64_t num_entries_ ABSL_GUARDED_BY(mutex_) = 0;     // in buckets
  uint64_t num_evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  Queue small_ ABSL_GUARDED_BY(mutex_);
  Queue main_ ABSL_GUARDED_BY(mutex_);
  // The hashes that were evicted last: each in a place that it determines, so that a later one may
  // push it out.
  std::vector<uint64_t> ghosts_ ABSL_GUARDED_BY(mutex_);
  const uint64_t capacity_bytes_;  // without the ghosts
  std::unordered_map<std::string, Lock> locks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_MEMORY_SHARD_H_
