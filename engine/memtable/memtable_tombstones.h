// The range deletions of one memtable, which come one by one and are read meanwhile.
#ifndef WINNOW_ENGINE_MEMTABLE_MEMTABLE_TOMBSTONES_H_
#define WINNOW_ENGINE_MEMTABLE_MEMTABLE_TOMBSTONES_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/range_tombstones.h"
#include "filter/base/mutex.h"

namespace winnow {

// Immutable: the tombstones at one moment, in several indexes, each at least twice as large as the
// next (the logarithmic method: Bentley and Saxe, 1980). A new tombstone makes an index of its own
// and joins those that are no larger; so each is indexed anew a logarithmic number of times,
// whatever reads come in between, and a look-up asks a logarithmic number of indexes.
class MemtableTombstoneRuns {
 public:
  SequenceNumber NewestCovering(std::string_view user_key, SequenceNumber snapshot) const {
    SequenceNumber newest = 0;
    for (const auto& run : runs_) {
      newest = std::max(newest, run->index.NewestCovering(user_key, snapshot));
    }
    return newest;
  }
  // Does any tombstone, whatever its number, cover a key of [smallest, largest]?
  bool Overlap(std::string_view smallest, std::string_view largest) const;

  size_t num_runs() const { return runs_.size(); }
  const RangeTombstoneIndex& run(size_t i) const { return runs_[i]->index; }
  // All of them, in no order.
  void AppendTo(std::vector<RangeTombstone>* tombstones) const;
  size_t memory_bytes() const;

 private:
  friend class MemtableTombstones;
  struct Run {
    Run(const InternalKeyComparator& comparator, std::vector<RangeTombstone> given)
        : tombstones(std::move(given)), index(comparator, tombstones) {}
    const std::vector<RangeTombstone> tombstones;
    const RangeTombstoneIndex index;
  };
  std::vector<std::shared_ptr<const Run>> runs_;
};

// Thread-safe. Readers wait for nobody: what they read is announced (base/hazard_slot.h) and
// replaced, never changed.
class MemtableTombstones {
 public:
  explicit MemtableTombstones(const InternalKeyComparator& comparator) : comparator_(comparator) {}
  MemtableTombstones(const MemtableTombstones&) = delete;
  MemtableTombstones& operator=(const MemtableTombstones&) = delete;

  // The keys' bytes must outlive this, and what Shared gave. Returns by how much the most memory
  // that was ever in use has grown. std::bad_alloc: nothing has changed.
  size_t Add(const RangeTombstone& tombstone) ABSL_LOCKS_EXCLUDED(mutex_);

  bool empty() const { return current_.load(std::memory_order_acquire) == nullptr; }
  SequenceNumber NewestCovering(std::string_view user_key, SequenceNumber snapshot) const;
  // For readers that outlive a call; null if there is none.
  std::shared_ptr<const MemtableTombstoneRuns> Shared() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Runs = MemtableTombstoneRuns;

  void FreeUnread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const InternalKeyComparator& comparator_;
  std::atomic<const Runs*> current_{nullptr};
  mutable Mutex mutex_;
  std::shared_ptr<const Runs> owner_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const Runs>> retired_ ABSL_GUARDED_BY(mutex_);
  size_t most_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_MEMTABLE_TOMBSTONES_H_
