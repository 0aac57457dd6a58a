#include "filter/guard/memory_shard.h"

#include <algorithm>
#include <utility>

namespace winnow::guard::internal {
namespace {

constexpr uint8_t kMaxUses = 3;
constexpr uint64_t kSmallShare = 10;  // of the capacity, a tenth
constexpr size_t kFirstBuckets = 16;
// 32 KiB, which a shard of the default size, a megabyte, just reaches.
constexpr size_t kMaxGhosts = 4096;
// A ghost for so much of the capacity: they take a thirty-second of it at most.
constexpr uint64_t kCapacityOfGhost = 32 * sizeof(uint64_t);
// What malloc and the table take for an entry beside its strings.
constexpr uint64_t kOverheadBytes = 64;
// Locks are held by loads that are running; more than this many are looked through for dead ones.
constexpr size_t kManyLocks = 1024;

// What a string takes beside itself: short ones lie in it.
// libstdc++ keeps up to 15 bytes in the string's 32: a capacity of less than half of its size is
// that.
uint64_t HeapBytes(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 1;
}

size_t NumGhosts(uint64_t capacity_bytes) {
  return static_cast<size_t>(
      std::clamp<uint64_t>(capacity_bytes / kCapacityOfGhost, 1, kMaxGhosts));
}

}  // namespace

MemoryShard::MemoryShard(uint64_t capacity_bytes)
    : buckets_(kFirstBuckets, nullptr),
      ghosts_(NumGhosts(capacity_bytes), 0),
      capacity_bytes_(capacity_bytes -
                      std::min(capacity_bytes, ghosts_.size() * sizeof(uint64_t))) {}

MemoryShard::~MemoryShard() {
  for (Queue* queue : {&small_, &main_}) {
    while (queue->first != nullptr) delete queue->Pop();
  }
}

void MemoryShard::Queue::Push(Entry* entry) {
  entry->next_in_queue = nullptr;
  (last != nullptr ? last->next_in_queue : first) = entry;
  last = entry;
  bytes += entry->charge;
}

MemoryShard::Entry* MemoryShard::Queue::Pop() {
  Entry* const entry = first;
  first = entry->next_in_queue;
  if (first == nullptr) last = nullptr;
  bytes -= entry->charge;
  return entry;
}

// Where the pointer to the key's entry is, or the null pointer that ends its bucket.
MemoryShard::Entry** MemoryShard::PlaceOf(uint64_t hash, std::string_view key) {
  Entry** place = &buckets_[hash & (buckets_.size() - 1)];
  while (*place != nullptr && ((*place)->hash != hash || (*place)->key != key)) {
    place = &(*place)->next_in_bucket;
  }
  return place;
}

// What an entry takes has changed, while it is in its queue.
// Invariant: each queue's `bytes` is the sum of the charges of its entries, dead ones included.
void MemoryShard::Charge(Entry* entry) {
  uint64_t& bytes = (entry->is_in_main ? main_ : small_).bytes;
  bytes -= entry->charge;
  entry->charge = sizeof(Entry) + kOverheadBytes + HeapBytes(entry->key) + HeapBytes(entry->value);
  bytes += entry->charge;
}

// Takes an entry out of its bucket and frees its strings. What remains leaves its queue in its
// turn.
void MemoryShard::Kill(Entry** place) {
  Entry* const entry = *place;
  // Not taken out of its queue, which is linked one way only: that would be O(entries).
  *place = entry->next_in_bucket;
  --num_entries_;
  entry->is_dead = true;
  entry->key = std::string();
  entry->value = std::string();
  Charge(entry);
}

// A hit moves nothing: it counts a use, up to three, which the queues look at when the entry comes
// to their end. That is what makes the time under the mutex short.
bool MemoryShard::Get(uint64_t hash, std::string_view key, TimePoint now, std::string* value) {
  MutexLock lock(&mutex_);
  Entry** const place = PlaceOf(hash, key);
  Entry* const entry = *place;
  if (entry == nullptr) return false;
  if (entry->expires <= now) {
    Kill(place);
    return false;
  }
  if (entry->uses < kMaxUses) ++entry->uses;
  value->assign(entry->value);
  return true;
}

void MemoryShard::Set(uint64_t hash, std::string_view key, std::string_view value,
                      TimePoint expires) {
  MutexLock lock(&mutex_);
  if (!locks_.empty()) locks_.erase(std::string(key));
  SetLocked(hash, key, value, expires);
}

void MemoryShard::SetLocked(uint64_t hash, std::string_view key, std::string_view value,
                            TimePoint expires) {
  Entry** const place = PlaceOf(hash, key);
  if (*place != nullptr) {
    Entry* const entry = *place;
    // In place: it keeps its queue and its uses. The charge is by capacity, since a shorter value
    // does not give memory back.
    entry->value.assign(value);
    entry->expires = expires;
    Charge(entry);
    if (entry->charge > capacity_bytes_) Kill(place);
  } else {
    // Whatever takes memory comes before the first change to the shard: the entry, its strings, and
    // the larger table.
    auto entry = std::make_unique<Entry>();
    entry->hash = hash;
    entry->expires = expires;
    entry->key.assign(key);
    entry->value.assign(value);
    entry->charge =
        sizeof(Entry) + kOverheadBytes + HeapBytes(entry->key) + HeapBytes(entry->value);
    // Making room for it would empty the shard and still not be enough.
    if (entry->charge > capacity_bytes_) return;
    if (num_entries_ >= buckets_.size()) Grow();
    Entry*& bucket = buckets_[hash & (buckets_.size() - 1)];
    entry->next_in_bucket = bucket;
    bucket = entry.get();
    ++num_entries_;
    entry->is_in_main = TakeGhost(hash);
    (entry->is_in_main ? main_ : small_).Push(entry.release());
  }
  MakeRoom();
}

// O(entries), under the mutex; by doubling, so that an insertion costs O(1) on average. The table
// never shrinks.
void MemoryShard::Grow() {
  std::vector<Entry*> buckets(buckets_.size() * 2, nullptr);
  for (Entry* entry : buckets_) {
    while (entry != nullptr) {
      Entry* const next = entry->next_in_bucket;
      Entry*& bucket = buckets[entry->hash & (buckets.size() - 1)];
      entry->next_in_bucket = bucket;
      bucket = entry;
      entry = next;
    }
  }
  buckets_.swap(buckets);
}

// New entries go to the small queue. Those that were used there come to the main one, the others
// leave, and of them the hash is kept for a while: an entry that comes back in that time goes to
// the main queue at once. So what is seen once, as in a scan, passes through a tenth of the memory.
void MemoryShard::MakeRoom() {
  // Ends: each turn frees an entry, moves one out of the small queue, or takes a use from one of
  // the main queue, of which there are three at most for each.
  while (small_.bytes + main_.bytes > capacity_bytes_) {
    if (small_.bytes > capacity_bytes_ / kSmallShare || main_.first == nullptr) {
      EvictFromSmall();
    } else {
      EvictFromMain();
    }
  }
}

void MemoryShard::EvictFromSmall() {
  Entry* const entry = small_.Pop();
  if (entry->is_dead) {
    delete entry;
  } else if (entry->uses != 0) {
    // Used while it was in the small queue: to stay in the main one it has to be used again.
    entry->uses = 0;
    entry->is_in_main = true;
    main_.Push(entry);
  } else {
    RememberGhost(entry->hash);
    Evict(entry);
  }
}

void MemoryShard::EvictFromMain() {
  Entry* const entry = main_.Pop();
  if (entry->is_dead) {
    delete entry;
  } else if (entry->uses != 0) {
    // Another round, as CLOCK gives it.
    --entry->uses;
    main_.Push(entry);
  } else {
    Evict(entry);
  }
}

// An entry that has left its queue.
void MemoryShard::Evict(Entry* entry) {
  Entry** const place = PlaceOf(entry->hash, entry->key);
  *place = entry->next_in_bucket;
  --num_entries_;
  delete entry;
  ++num_evictions_;
}

bool MemoryShard::TakeGhost(uint64_t hash) {
  uint64_t& ghost = ghosts_[(hash >> 32) % ghosts_.size()];
  // 0 is the empty place.
  const bool is_ghost = ghost == hash && hash != 0;
  if (is_ghost) ghost = 0;
  return is_ghost;
}

// By hash alone, in a table without order: a collision brings one entry to the main queue early.
void MemoryShard::RememberGhost(uint64_t hash) { ghosts_[(hash >> 32) % ghosts_.size()] = hash; }

void MemoryShard::Remove(uint64_t hash, std::string_view key) {
  MutexLock lock(&mutex_);
  if (!locks_.empty()) locks_.erase(std::string(key));
  Entry** const place = PlaceOf(hash, key);
  if (*place != nullptr) Kill(place);
}

bool MemoryShard::TryLock(std::string_view key, std::string_view token, TimePoint now,
                          TimePoint expires) {
  MutexLock lock(&mutex_);
  // O(locks), but only where there are that many; those of running loads stay.
  if (locks_.size() >= kManyLocks) DropExpiredLocks(now);
  Lock& held = locks_[std::string(key)];
  // An empty token is that of an entry that was just made, or that no memory was there to name.
  if (!held.token.empty() && held.expires > now) return false;
  held.token.assign(token);
  held.expires = expires;
  return true;
}

bool MemoryShard::Holds(std::string_view key, std::string_view token, TimePoint now) {
  const auto found = locks_.find(std::string(key));
  return found != locks_.end() && found->second.token == token && found->second.expires > now;
}

// Of loads that died with their process or thread: nobody comes to release them.
void MemoryShard::DropExpiredLocks(TimePoint now) {
  std::erase_if(locks_, [now](const auto& lock) { return lock.second.expires <= now; });
}

bool MemoryShard::RenewLock(std::string_view key, std::string_view token, TimePoint now,
                            TimePoint expires) {
  MutexLock lock(&mutex_);
  if (!Holds(key, token, now)) return false;
  locks_[std::string(key)].expires = expires;
  return true;
}

bool MemoryShard::SetAndUnlock(uint64_t hash, std::string_view key, std::string_view token,
                               TimePoint now, std::string_view value, TimePoint expires) {
  MutexLock lock(&mutex_);
  if (!Holds(key, token, now)) return false;
  // In one step under the mutex: nobody can write the key between the look at the lock and the
  // store.
  locks_.erase(std::string(key));
  SetLocked(hash, key, value, expires);
  return true;
}

bool MemoryShard::Unlock(std::string_view key, std::string_view token, TimePoint now) {
  MutexLock lock(&mutex_);
  if (!Holds(key, token, now)) return false;
  locks_.erase(std::string(key));
  return true;
}

void MemoryShard::AddTo(MemoryCacheUsage* usage) {
  MutexLock lock(&mutex_);
  usage->bytes += small_.bytes + main_.bytes;
  usage->entries += num_entries_;
  usage->evictions += num_evictions_;
}

}  // namespace winnow::guard::internal
