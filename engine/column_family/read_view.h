// What a reader of one column family reads from, and how it is pinned without a shared counter.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_READ_VIEW_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_READ_VIEW_H_

#include <atomic>
#include <memory>
#include <vector>

#include "engine/memtable/memtable.h"
#include "engine/version/version.h"
#include "filter/base/mutex.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/hash.h"

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

  LookupKey MakeLookupKey(std::string_view user_key, SequenceNumber snapshot) const {
    return {user_key,
            snapshot,
            filter::HashKey(extractor.FilterKey(user_key), hash_seed),
            {hash_seed, extractor}};
  }
  // The hash that memtable filters are asked with.
  uint64_t WholeKeyHash(const LookupKey& key) const {
    return extractor.is_whole_key() ? key.filter_hash : filter::HashKey(key.user_key, hash_seed);
  }
};

// One thread's announcement of the view that it is reading (hazard pointers, Michael, TPDS 2004).
// A look-up costs one exclusive store to a line that no other thread writes.
class HazardSlot {
 public:
  // The calling thread's slot. Slots of ended threads are given to new ones.
  static HazardSlot& ForThisThread();
  // True if some thread announces the view.
  static bool AnyAnnounces(const ReadView* view);

 private:
  friend class ViewGuard;
  friend struct HazardRegistry;
  alignas(64) std::atomic<const ReadView*> announced_{nullptr};
};

// The present view of a column family. Readers that finish within one call use ViewGuard; readers
// that outlive a call (iterators) take Shared().
class ViewHolder {
 public:
  ViewHolder() = default;
  ~ViewHolder();

  // Makes `view` the present one. The old one is retired: freed once no reader announces it.
  void Install(std::shared_ptr<const ReadView> view) ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<const ReadView> Shared() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees retired views that nobody announces any more; returns how many are left. The memtables
  // and files that go with them are released on the calling thread.
  size_t Reclaim() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class ViewGuard;
  std::atomic<const ReadView*> current_{nullptr};
  mutable Mutex mutex_;
  std::shared_ptr<const ReadView> owner_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const ReadView>> retired_ ABSL_GUARDED_BY(mutex_);
};

// Pins the present view for a scope on one thread. Invariant: a view is freed only after a scan of
// all slots, made after it was replaced, did not find it; the reader announces first and then
// checks that the view is still the present one, so one of the two sees the other.
class ViewGuard {
 public:
  explicit ViewGuard(const ViewHolder& holder) : slot_(HazardSlot::ForThisThread()) {
    if (slot_.announced_.load(std::memory_order_relaxed) != nullptr) [[unlikely]] {
      // A look-up inside a look-up (a comparator that reads a database): the slot is taken.
      fallback_ = holder.Shared();
      view_ = fallback_.get();
      return;
    }
    const ReadView* view = holder.current_.load(std::memory_order_acquire);
    for (;;) {
      slot_.announced_.store(view, std::memory_order_seq_cst);
      const ReadView* now = holder.current_.load(std::memory_order_seq_cst);
      if (now == view) break;
      view = now;
    }
    view_ = view;
  }
  ~ViewGuard() {
    if (fallback_ == nullptr) slot_.announced_.store(nullptr, std::memory_order_release);
  }
  ViewGuard(const ViewGuard&) = delete;
  ViewGuard& operator=(const ViewGuard&) = delete;

  const ReadView* operator->() const { return view_; }
  const ReadView& operator*() const { return *view_; }

 private:
  HazardSlot& slot_;
  const ReadView* view_;
  std::shared_ptr<const ReadView> fallback_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_READ_VIEW_H_
