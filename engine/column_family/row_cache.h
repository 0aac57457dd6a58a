// What look-ups found in SSTables, whole: values, deletions, and that there is nothing.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_ROW_CACHE_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_ROW_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/memtable/memtable.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// When what the cache knows of a column family is out of date. Memtables are always asked before
// the cache, so that a write makes nothing wrong before its memtable is flushed. So
//
// 1. a flush forgets the keys that it writes, before readers can do without the memtables (and all
//    keys, if range deletions are among them);
// 2. whatever else changes what tables hold for readers, an ingestion, a compaction filter, files
//    that are dropped, forgets all keys.
//
// A look-up that began before either may have read what is out of date by its end: it takes a
// Moment before its view, and what it found is kept only if that has not passed.
class RowValidity {
 public:
  struct Moment {
    uint64_t generation = 0;  // of all keys
    uint64_t flushes = 0;
  };

  Moment Now() const {
    return {generation_.load(std::memory_order_acquire), flushes_.load(std::memory_order_acquire)};
  }
  bool IsStill(const Moment& moment) const {
    return generation() == moment.generation &&
           flushes_.load(std::memory_order_acquire) == moment.flushes;
  }
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // What a look-up found that sees entries up to this number is all that there was, and is.
  bool MayKeep(SequenceNumber read_at) const {
    return read_at >= least_sequence_.load(std::memory_order_acquire);
  }

  void BeginFlush() { flushes_.fetch_add(1, std::memory_order_acq_rel); }
  void ForgetAll() { generation_.fetch_add(1, std::memory_order_acq_rel); }
  // Entries of this number are about to come in with tables: what is found by look-ups that do not
  // see them is not kept.
  void ForgetAllBefore(SequenceNumber sequence) {
    least_sequence_.store(sequence, std::memory_order_release);
    ForgetAll();
  }

 private:
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> flushes_{0};
  std::atomic<SequenceNumber> least_sequence_{0};
};

// A family, as the cache knows it.
struct RowFamily {
  uint32_t id;
  RowValidity* validity;
};

// Bounded by bytes, in shards, each with a lock and the rows that were asked for last. Thread-safe.
class RowCache {
 public:
  // Rows are kept for `ttl_seconds`, a tenth more or less, so that those of one moment do not
  // expire together; 0: until they are out of date or there is no room.
  // A capacity of 0: nothing is kept.
  RowCache(size_t capacity_bytes, uint64_t ttl_seconds);
  ~RowCache();
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;

  // False: there is nothing to be found, so that nobody need ask.
  bool is_on() const { return bytes_of_shard_.load(std::memory_order_relaxed) != 0; }
  size_t capacity_bytes() const {
    return bytes_of_shard_.load(std::memory_order_relaxed) * kNumShards;
  }
  // Beside readers. What does not fit any more goes at once, and so do all rows if they might stay
  // for longer than the new time.
  void SetLimits(size_t capacity_bytes, uint64_t ttl_seconds);

  // What the tables of the family hold of the key for readers that see entries up to `snapshot`.
  // False: not known.
  bool Find(const RowFamily& family, std::string_view user_key, SequenceNumber snapshot,
            PointResult* result);
  // Keeps what a look-up found that began at `moment` and saw the newest entries, which are those
  // up to `read_at`. Merge operands and large values are not kept.
  void Insert(const RowFamily& family, const RowValidity::Moment& moment, std::string_view user_key,
              SequenceNumber read_at, const PointResult& result);
  // Before readers get a view without the memtables, which are full; gives how many rows are
  // forgotten.
  uint64_t Forget(const RowFamily& family, const std::vector<std::shared_ptr<Memtable>>& memtables);

  size_t memory_bytes() const;

 private:
  struct Row;
  class Shard;

  Shard& ShardOf(uint64_t hash) const;
  uint64_t HashOf(uint32_t family_id, std::string_view user_key) const;

  static constexpr size_t kNumShards = 16;

  const uint64_t seed_;
  // For those who have no lock yet; each shard knows its own.
  std::atomic<size_t> bytes_of_shard_{0};
  std::atomic<uint64_t> ttl_millis_{0};
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_ROW_CACHE_H_
