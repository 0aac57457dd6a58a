// A row is what the tables of a family had of one key when it was read. Rows are never updated: one
// that is out of date goes when it is met (another generation, or its time is up), when a flush
// writes its key, or when there is no room. The shards are hash tables over lists in the order of
// the last use; that part of the protocol which makes answers right is RowValidity's, in the
// header.
#include "engine/column_family/row_cache.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/steady_clock.h"
#include "filter/base/mutex.h"
#include "filter/base/out_of_memory.h"
#include "winnow/filter/hash.h"

namespace winnow {

namespace {

// Values of more than this part of a shard's bytes would leave room for little else.
constexpr size_t kValuesInShard = 6;
// What a row takes besides its key and its value's block: itself, and its places in list and table.
constexpr size_t kBytesElsewhere = 64;

uint64_t NowMillis() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(SteadyNow().time_since_epoch())
          .count());
}

// A merge operand is no whole answer.
bool IsWhole(const PointResult& result) {
  if (!result.found) return true;
  return IsPut(result.type) || result.type == EntryType::kDelete ||
         result.type == EntryType::kRangeDelete;
}

}  // namespace

struct RowCache::Row {
  uint64_t hash;
  uint32_t family_id;
  uint64_t generation;     // RowValidity's; of another one it is out of date
  SequenceNumber read_at;  // for readers of no older moment
  uint64_t expires_at;     // milliseconds; 0: never
  bool found;
  bool filter_key_present;
  EntryType type;  // if it was found, as the rest
  SequenceNumber sequence;
  BlockRef value;  // none: it is empty
  std::string key;

  size_t bytes() const {
    return sizeof(*this) + kBytesElsewhere + key.capacity() + (value ? value->charge() : 0);
  }
};

// One row for each hash: of two keys with one hash the newer one is known.
class RowCache::Shard {
 public:
  bool Find(uint64_t hash, const RowFamily& family, std::string_view key, SequenceNumber snapshot,
            uint64_t now, PointResult* result) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) return false;
    const Row& row = *found->second;
    // Another key with the same hash: the one row that there is says nothing of this one.
    if (row.family_id != family.id || row.key != key) return false;
    // So ForgetAll is one addition, however many rows there are: they go one by one as they are
    // met, or as the oldest.
    if (row.generation != family.validity->generation() ||
        (row.expires_at != 0 && row.expires_at <= now)) {
      Erase(found->second);
      return false;
    }
    // It may have what the snapshot must not see, and stays for those who read later.
    if (row.read_at > snapshot) return false;
    rows_.splice(rows_.begin(), rows_, found->second);
    result->found = row.found;
    result->filter_key_present = row.filter_key_present;
    result->type = row.type;
    result->sequence = row.sequence;
    result->mapped = nullptr;
    // A share of the bytes: the row may be dropped while the caller has the value.
    result->pin = row.value ? row.value.Share() : BlockRef();
    result->value = row.value ? row.value->contents() : std::string_view();
    return true;
  }

  // The lock orders this against Forget: either the flush is seen to have begun, or it comes to the
  // row later and forgets it. Likewise against SetLimits: a row whose time was chosen by others
  // than the present ones is not kept.
  void Insert(Row row, const RowFamily& family, const RowValidity::Moment& moment,
              uint64_t ttl_millis) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::list<Row> made;  // outside of the lock
    const uint64_t hash = row.hash;
    made.push_back(std::move(row));
    std::list<Row> dropped;
    MutexLock lock(&mutex_);
    if (!family.validity->IsStill(moment)) return;
    if (most_bytes_ == 0 || ttl_millis != ttl_millis_) return;
    // The one step that may run out of memory, and nothing has changed before it. What follows only
    // moves nodes from list to list.
    const auto [place, is_new] = by_hash_.try_emplace(hash, made.begin());
    if (!is_new) {
      bytes_ -= place->second->bytes();
      dropped.splice(dropped.begin(), rows_, place->second);
      place->second = made.begin();
    }
    bytes_ += made.front().bytes();
    rows_.splice(rows_.begin(), made);
    // The new row is in front and stays, whatever it takes: RowCache::Insert has bounded it.
    while (bytes_ > most_bytes_ && rows_.size() > 1) TakeOldest(&dropped);
  }

  void SetLimits(size_t most_bytes, uint64_t ttl_millis) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::list<Row> dropped;  // freed outside of the lock, as the table is
    std::unordered_map<uint64_t, std::list<Row>::iterator> table;
    MutexLock lock(&mutex_);
    // The end of a row's time is in the row, chosen when it came. All of them go, rather than each
    // be looked at under the lock.
    const bool is_shorter = ttl_millis != 0 && (ttl_millis_ == 0 || ttl_millis < ttl_millis_);
    most_bytes_ = most_bytes;
    ttl_millis_ = ttl_millis;
    if (most_bytes == 0 || is_shorter) {
      dropped.swap(rows_);
      table.swap(by_hash_);
      bytes_ = 0;
    }
    while (bytes_ > most_bytes_) TakeOldest(&dropped);
  }

  bool empty() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return rows_.empty();
  }

  bool Forget(uint64_t hash) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) return false;
    Erase(found->second);
    return true;
  }

  size_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return bytes_;
  }

 private:
  void TakeOldest(std::list<Row>* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bytes_ -= rows_.back().bytes();
    by_hash_.erase(rows_.back().hash);
    dropped->splice(dropped->begin(), rows_, std::prev(rows_.end()));
  }
  void Erase(std::list<Row>::iterator row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bytes_ -= row->bytes();
    by_hash_.erase(row->hash);
    rows_.erase(row);
  }

  mutable Mutex mutex_;
  std::list<Row> rows_ ABSL_GUARDED_BY(mutex_);  // those that were asked for last first
  std::unordered_map<uint64_t, std::list<Row>::iterator> by_hash_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t most_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t ttl_millis_ ABSL_GUARDED_BY(mutex_) = 0;
};

RowCache::RowCache(size_t capacity_bytes, uint64_t ttl_seconds) : seed_(RandomIdentity()) {
  for (size_t i = 0; i < kNumShards; i++) shards_.push_back(std::make_unique<Shard>());
  SetLimits(capacity_bytes, ttl_seconds);
}

RowCache::~RowCache() = default;

RowCache::Shard& RowCache::ShardOf(uint64_t hash) const { return *shards_[hash % kNumShards]; }

void RowCache::SetLimits(size_t capacity_bytes, uint64_t ttl_seconds) {
  // No lock covers all of this: an Insert that has chosen by one time, and meets the other in its
  // shard, keeps nothing.
  bytes_of_shard_.store(capacity_bytes / kNumShards, std::memory_order_relaxed);
  ttl_millis_.store(ttl_seconds * 1000, std::memory_order_relaxed);
  for (const auto& shard : shards_) {
    shard->SetLimits(capacity_bytes / kNumShards, ttl_seconds * 1000);
  }
}

// Nobody outside knows the seed, and so nobody can choose keys with one hash.
uint64_t RowCache::HashOf(uint32_t family_id, std::string_view user_key) const {
  // The golden ratio as a fraction of 2^64: seeds of neighbouring families share no pattern, so
  // that one key has unrelated rows in them.
  return filter::HashKey(user_key, seed_ + family_id * uint64_t{0x9e3779b97f4a7c15});
}

bool RowCache::Find(const RowFamily& family, std::string_view user_key, SequenceNumber snapshot,
                    PointResult* result) {
  const uint64_t hash = HashOf(family.id, user_key);
  // Without a time limit no row has an end, and the clock is not asked.
  const uint64_t now = ttl_millis_.load(std::memory_order_relaxed) == 0 ? 0 : NowMillis();
  return ShardOf(hash).Find(hash, family, user_key, snapshot, now, result);
}

// Without memory for a row it is not kept.
void RowCache::Insert(const RowFamily& family, const RowValidity::Moment& moment,
                      std::string_view user_key, SequenceNumber read_at,
                      const PointResult& result) {
  if (!IsWhole(result) || !family.validity->MayKeep(read_at)) return;
  const size_t value_bytes = result.found ? result.value.size() : 0;
  const size_t most_bytes = bytes_of_shard_.load(std::memory_order_relaxed) / kValuesInShard;
  if (value_bytes > most_bytes || user_key.size() > most_bytes) return;
  const uint64_t ttl_millis = ttl_millis_.load(std::memory_order_relaxed);
  UnlessOutOfMemory([&] {
    Row row;
    row.hash = HashOf(family.id, user_key);
    row.family_id = family.id;
    // The moment's: the shard compares that with the present one, under its lock.
    row.generation = moment.generation;
    row.read_at = read_at;
    row.expires_at = 0;
    // From nine to eleven tenths of the time, each as likely.
    if (ttl_millis != 0) {
      const uint64_t tenth = ttl_millis / 10;
      row.expires_at = NowMillis() + ttl_millis - tenth + RandomIdentity() % (2 * tenth + 1);
    }
    row.found = result.found;
    row.filter_key_present = result.filter_key_present;
    row.type = result.found ? result.type : EntryType::kDelete;
    row.sequence = result.found ? result.sequence : 0;
    if (value_bytes > 0) {
      // A copy, since a share would keep the whole block that the value lies in, beyond the account
      // of the block cache.
      row.value = CachedBlock::Allocate(value_bytes);
      if (!row.value) return;
      std::memcpy(row.value.mutable_block()->mutable_data(), result.value.data(), value_bytes);
    }
    row.key = std::string(user_key);
    const uint64_t hash = row.hash;
    ShardOf(hash).Insert(std::move(row), family, moment, ttl_millis);
  });
}

// In this order: a look-up that takes its moment after the first step sees what the memtables hold,
// since all of that had been visible before they were flushed. Whether there are rows is asked
// under the shards' locks, and not by is_on: a row that comes later finds that the flush has begun.
uint64_t RowCache::Forget(const RowFamily& family,
                          const std::vector<std::shared_ptr<Memtable>>& memtables) {
  family.validity->BeginFlush();
  for (const auto& memtable : memtables) {
    // Rows are found by hash: which of them a range covers cannot be told without looking at every
    // one.
    if (!memtable->has_range_deletions()) continue;
    family.validity->ForgetAll();
    return 0;
  }
  uint64_t forgotten = 0;
  const auto is_empty = [](const std::unique_ptr<Shard>& shard) { return shard->empty(); };
  if (std::all_of(shards_.begin(), shards_.end(), is_empty)) return 0;
  for (const auto& memtable : memtables) {
    const std::unique_ptr<InternalIterator> entries = memtable->NewIterator();
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      const std::string_view user_key = UserKey(entries->key());
      const uint64_t hash = HashOf(family.id, user_key);
      forgotten += ShardOf(hash).Forget(hash) ? 1 : 0;
    }
  }
  return forgotten;
}

size_t RowCache::memory_bytes() const {
  size_t bytes = sizeof(*this);
  for (const auto& shard : shards_) bytes += sizeof(Shard) + shard->bytes();
  return bytes;
}

}  // namespace winnow
