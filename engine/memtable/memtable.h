// The newest writes of one column family, in memory and in order, with a filter of their own.
#ifndef WINNOW_ENGINE_MEMTABLE_MEMTABLE_H_
#define WINNOW_ENGINE_MEMTABLE_MEMTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/memtable/arena.h"
#include "engine/memtable/skip_list.h"
#include "winnow/filter/concurrent_bloom.h"

namespace winnow {

// Thread-safe: inserts and reads may run together. An entry is visible to a reader whose snapshot
// includes its sequence number. The filter always hashes whole keys, whatever the SSTables' filters
// hash, so that changing the filter key touches no memtable.
class Memtable {
 public:
  // `expected_bytes`: the write buffer's size; `filter_bytes`: 0 for no filter. `log_number`: the
  // oldest log that holds entries of this memtable.
  Memtable(const InternalKeyComparator& comparator, size_t expected_bytes, size_t filter_bytes,
           uint64_t log_number);

  // `whole_key_hash` is filter::HashKey(user_key, database seed).
  void Add(SequenceNumber sequence, EntryType type, std::string_view user_key,
           std::string_view value, uint64_t whole_key_hash);

  bool empty() const { return num_entries_.load(std::memory_order_acquire) == 0; }
  bool MayContain(uint64_t whole_key_hash) const {
    return filter_ == nullptr || filter_->MayContain(whole_key_hash);
  }
  bool has_filter() const { return filter_ != nullptr; }

  // The newest entry for the key with sequence <= snapshot; null if none. The node lives as long
  // as the memtable.
  const SkipList::Node* Find(std::string_view user_key, SequenceNumber snapshot) const;

  // The iterator must not outlive the memtable.
  std::unique_ptr<InternalIterator> NewIterator() const;

  size_t memory_bytes() const;
  uint64_t num_entries() const { return num_entries_.load(std::memory_order_relaxed); }
  uint64_t num_deletions() const { return num_deletions_.load(std::memory_order_relaxed); }
  uint64_t log_number() const { return log_number_; }
  const InternalKeyComparator& comparator() const { return comparator_; }

 private:
  const InternalKeyComparator comparator_;
  const uint64_t log_number_;
  Arena arena_;
  SkipList list_;
  std::unique_ptr<filter::ConcurrentBlockedBloom> filter_;
  std::atomic<uint64_t> num_entries_{0};
  std::atomic<uint64_t> num_deletions_{0};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_MEMTABLE_H_
