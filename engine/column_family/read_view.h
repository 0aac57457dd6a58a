// What a reader of one column family reads from, and how it is pinned without a shared counter.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_READ_VIEW_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_READ_VIEW_H_

#include <atomic>
#include <list>
#include <memory>
#include <vector>

#include "engine/base/hazard_slot.h"
#include "engine/memtable/memtable.h"
#include "engine/version/version.h"
#include "filter/base/mutex.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/hash.h"
#include "winnow/merge_operator.h"

namespace winnow {

// Immutable (the active memtable grows inside). Everything that a key can be found in, taken
// together at one moment, so that no flush or compaction can slip between two looks.
struct ReadView {
  InternalKeyComparator comparator{BytewiseComparator()};
  std::shared_ptr<Memtable> active;
  std::vector<std::shared_ptr<Memtable>> immutables;  // newest first
  std::shared_ptr<const Version> version;
  // How new SSTables make filter keys; what a look-up hashes for.
  filter::FilterKeyExtractor extractor;
  uint64_t hash_seed = 0;
  const MergeOperator* merge_operator = nullptr;  // the family's; null only where nothing is read

  LookupKey MakeLookupKey(std::string_view user_key, SequenceNumber snapshot) const {
    return {user_key,
            snapshot,
            extractor.LookupHash(user_key, hash_seed),
            {hash_seed, extractor.lookup_part()}};
  }
  // Some value has a write time.
  bool has_write_times() const {
    bool any = version->has_write_times() || active->has_write_times();
    for (const auto& memtable : immutables) any = any || memtable->has_write_times();
    return any;
  }
  // Some memtable, or some table that could be opened, has range deletions.
  bool has_range_deletions() const;
  // The number of the newest range deletion that covers the key and is no newer than its snapshot;
  // 0 if there is none.
  SequenceNumber NewestRangeDeletion(const LookupKey& key) const;
  // The hash that memtable filters are asked with.
  uint64_t WholeKeyHash(const LookupKey& key) const {
    return extractor.lookup_part().is_whole_key() ? key.filter_hash
                                                  : filter::HashKey(key.user_key, hash_seed);
  }
};

// The present view of a column family. Readers that finish within one call use ViewGuard; readers
// that outlive a call (iterators) take Shared().
class ViewHolder {
 public:
  ViewHolder() = default;
  ~ViewHolder();

  // Views, each in the memory that a holder needs to keep it.
  using Held = std::list<std::shared_ptr<ReadView>>;

  // Makes `view`, of which there is one, the present one; from now on nobody changes it. The old
  // one is retired: freed once no reader announces it. Takes no memory.
  void Install(Held view) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<const ReadView> Shared() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees retired views that nobody announces any more; returns how many are left. The memtables
  // and files that go with them are released on the calling thread.
  size_t Reclaim() ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_retired() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class ViewGuard;
  std::atomic<const ReadView*> current_{nullptr};
  mutable Mutex mutex_;
  Held present_ ABSL_GUARDED_BY(mutex_);
  Held retired_ ABSL_GUARDED_BY(mutex_);
};

// Pins the present view for a scope on one thread.
class ViewGuard {
 public:
  [[gnu::always_inline]] explicit ViewGuard(const ViewHolder& holder)
      : guard_(HazardSlot::kReadView) {
    if (!guard_.is_free()) [[unlikely]] {
      // A look-up inside a look-up (a comparator that reads a database).
      fallback_ = holder.Shared();
      view_ = fallback_.get();
      return;
    }
    view_ = guard_.Announce(holder.current_);
  }
  ViewGuard(const ViewGuard&) = delete;
  ViewGuard& operator=(const ViewGuard&) = delete;

  const ReadView* operator->() const { return view_; }
  const ReadView& operator*() const { return *view_; }

 private:
  HazardGuard guard_;
  const ReadView* view_;
  std::shared_ptr<const ReadView> fallback_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_READ_VIEW_H_
