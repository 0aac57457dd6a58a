// The newest writes of one column family, in memory and in order, with a filter of their own.
#ifndef WINNOW_ENGINE_MEMTABLE_MEMTABLE_H_
#define WINNOW_ENGINE_MEMTABLE_MEMTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/base/capabilities.h"
#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/memtable/arena.h"
#include "engine/memtable/b_tree.h"
#include "engine/memtable/memtable_tombstones.h"
#include "engine/memtable/operand_folds.h"
#include "engine/memtable/write_buffer_budget.h"
#include "winnow/filter/concurrent_bloom.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

// How large a memtable may be expected to become.
struct MemtableSizes {
  size_t buffer_bytes = 0;  // at which it is full
  size_t filter_bytes = 0;  // of the filter of a full one; 0 for none
  // Of the one before it: what the budget leaves to it may be as much again.
  size_t previous_bytes = 0;
};

// What its filter knows besides whole keys.
struct MemtableFilterKey {
  filter::FilterKeyExtractor extractor;  // of more than whole keys: under the bytewise order alone
  uint64_t hash_seed = 0;
};

// Thread-safe: inserts and reads may run together. An entry is visible to a reader whose snapshot
// includes its sequence number. The filter hashes whole keys, whatever the SSTables' filters hash,
// and besides the parts of keys that these would get now: a memtable keeps the filter key that it
// was made with. Where look-ups ask SSTables by components of the key, as tables do, whose own
// look-ups never know a whole key, it has the parts alone.
class Memtable {
 public:
  // The log_number of a memtable that no log holds entries of.
  static constexpr uint64_t kNoLog = UINT64_MAX;

  // Without entries it takes next to no memory. It counts in the budget for as long as it lives;
  // null: in none.
  Memtable(const InternalKeyComparator& comparator, const MemtableSizes& sizes,
           std::shared_ptr<WriteBufferBudget> budget = nullptr,
           const MemtableFilterKey& filter_key = {});
  ~Memtable();
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // An entry that is about to be added is in log `number`, or, if no log holds it, it is the newest
  // log now. The first number stays.
  void NoteLog(uint64_t number) {
    // Members of a write group that come at once bring the same number.
    if (log_number_.load(std::memory_order_relaxed) == kNoLog) {
      log_number_.store(number, std::memory_order_relaxed);
    }
  }

  void Add(SequenceNumber sequence, EntryType type, std::string_view user_key,
           std::string_view value);

  // Deletes the keys from `begin` to before `end`, which is greater.
  void AddRangeDeletion(SequenceNumber sequence, std::string_view begin, std::string_view end);

  bool empty() const { return num_entries_.load(std::memory_order_acquire) == 0; }
  // `whole_key_hash` is filter::HashKey(user_key, MemtableFilterKey::hash_seed).
  bool MayContain(std::string_view user_key, uint64_t whole_key_hash) const {
    return AskFilter(LookupHash(user_key, whole_key_hash));
  }
  // By the part that all keys that begin with the prefix have, if the filter knows one.
  bool MayContainPrefix(filter::PrefixQuestion* question) const {
    if (filter_key_.extractor.is_whole_key()) return true;
    const auto* asked = question->For(filter_key_.extractor, filter_key_.hash_seed);
    return asked == nullptr || AskFilter(asked->hash);
  }
  // The same of keys from `lower` to before `upper`. Unset: there is no such part, or no filter.
  std::optional<bool> AskRange(std::string_view lower, std::string_view upper) const;
  bool MayContainRange(std::string_view lower, std::string_view upper) const {
    return AskRange(lower, upper).value_or(true);
  }
  // False: there is none, or no entry yet.
  bool has_filter() const { return filter_.load(std::memory_order_acquire) != nullptr; }

  // The newest entry for the key with sequence <= snapshot; null if none. It lives as long
  // as the memtable.
  const BTree::Entry* Find(std::string_view user_key, SequenceNumber snapshot) const;

  // The first entry of the key or of one behind it, whatever its number; null if none.
  const BTree::Entry* FirstFrom(std::string_view user_key) const {
    return tree_.FindGreaterOrEqual(user_key, PackTrailer(kMaxSequenceNumber, kEntryTypeForSeek));
  }

  // Of chains of merge operands that readers have combined.
  OperandFolds& folds() const { return folds_; }
  // Neither Find nor the iterator nor the filter knows of range deletions: who looks for entries
  // asks these too, whatever the filter says.
  bool has_range_deletions() const { return !tombstones_.empty(); }
  const MemtableTombstones& range_tombstones() const { return tombstones_; }

  // The iterator must not outlive the memtable.
  std::unique_ptr<InternalIterator> NewIterator() const;

  size_t memory_bytes() const;
  // It has come to a later stage, in which nothing is added any more.
  void EnterStage(WriteBufferBudget::Stage stage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Range deletions among them.
  uint64_t num_entries() const { return num_entries_.load(std::memory_order_relaxed); }
  uint64_t num_range_deletions() const {
    return num_range_deletions_.load(std::memory_order_relaxed);
  }
  // Of what has been added; kMaxSequenceNumber: nothing has.
  SequenceNumber smallest_sequence() const {
    return smallest_sequence_.load(std::memory_order_relaxed);
  }
  uint64_t num_deletions() const { return num_deletions_.load(std::memory_order_relaxed); }
  // Iterators passed many entries that deletions hide, of which it has many: it is worth a flush
  // before it is full. True the first time.
  bool NoteGarbage() { return !garbage_met_.exchange(true, std::memory_order_relaxed); }
  bool garbage_met() const { return garbage_met_.load(std::memory_order_relaxed); }
  // An iterator passed so many entries in a row; returns what all have passed so by now.
  uint64_t AddGarbagePassed(uint64_t num_entries) {
    return garbage_passed_.fetch_add(num_entries, std::memory_order_relaxed) + num_entries;
  }
  // Of some entry of those that are visible to the caller.
  bool has_write_times() const { return has_write_times_.load(std::memory_order_relaxed); }
  // The oldest log that holds entries of this memtable.
  uint64_t log_number() const { return log_number_.load(std::memory_order_relaxed); }
  const InternalKeyComparator& comparator() const { return comparator_; }

 private:
  // Most often a load: numbers come in order, or nearly.
  void NoteSequence(SequenceNumber sequence) {
    SequenceNumber smallest = smallest_sequence();
    while (sequence < smallest && !smallest_sequence_.compare_exchange_weak(
                                      smallest, sequence, std::memory_order_relaxed)) {
    }
  }
  bool AskFilter(uint64_t hash) const {
    // Acquire: an entry that the reader may see was added after its filter was there.
    const auto* filter = filter_.load(std::memory_order_acquire);
    return filter == nullptr || filter->MayContain(hash);
  }
  // By which the filter is asked for a key.
  uint64_t LookupHash(std::string_view user_key, uint64_t whole_key_hash) const {
    return has_whole_keys_ ? whole_key_hash
                           : filter_key_.extractor.LookupHash(user_key, filter_key_.hash_seed);
  }
  // What the filter learns of a key.
  struct FilterHashes {
    uint64_t whole_key = 0;
    size_t count = 0;  // of the parts
    filter::FilterKeyExtractor::Hashes parts;
  };
  FilterHashes HashForFilter(std::string_view user_key,
                             const filter::ConcurrentBlockedBloom& filter) const;
  void AddToFilter(const FilterHashes& hashes, filter::ConcurrentBlockedBloom* filter) const;
  // The filter, made by the first entry.
  filter::ConcurrentBlockedBloom* FilterForAdd();

  const InternalKeyComparator comparator_;
  const MemtableSizes sizes_;
  const MemtableFilterKey filter_key_;
  const bool has_whole_keys_;                        // the filter
  const std::shared_ptr<WriteBufferBudget> budget_;  // never null
  WriteBufferBudget::Stage stage_ ABSL_GUARDED_BY(database_mutex) =
      WriteBufferBudget::Stage::kActive;
  std::atomic<uint64_t> log_number_{kNoLog};
  Arena arena_;
  BTree tree_;
  std::atomic<filter::ConcurrentBlockedBloom*> filter_{nullptr};
  mutable OperandFolds folds_{sizes_.buffer_bytes};
  MemtableTombstones tombstones_{comparator_};
  std::atomic<size_t> tombstone_bytes_{0};  // without their keys, which are in the arena
  std::atomic<uint64_t> num_entries_{0};
  std::atomic<uint64_t> num_deletions_{0};
  std::atomic<uint64_t> num_range_deletions_{0};
  std::atomic<SequenceNumber> smallest_sequence_{kMaxSequenceNumber};
  std::atomic<bool> has_write_times_{false};
  std::atomic<bool> garbage_met_{false};
  std::atomic<uint64_t> garbage_passed_{0};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_MEMTABLE_H_
