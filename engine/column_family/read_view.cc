// Views are freed as hazard_slot.h has it: replaced first, then looked for among what threads
// announce.
#include "engine/column_family/read_view.h"

#include <algorithm>

namespace winnow {

bool ReadView::has_range_deletions() const {
  bool any = version->has_range_tombstones() || active->has_range_deletions();
  for (const auto& memtable : immutables) any = any || memtable->has_range_deletions();
  return any;
}

SequenceNumber ReadView::NewestRangeDeletion(const LookupKey& key) const {
  SequenceNumber newest = version->NewestRangeDeletion(key);
  const auto take = [&](const Memtable& memtable) {
    if (!memtable.has_range_deletions()) return;
    newest =
        std::max(newest, memtable.range_tombstones().NewestCovering(key.user_key, key.snapshot));
  };
  take(*active);
  for (const auto& memtable : immutables) take(*memtable);
  return newest;
}

ViewHolder::~ViewHolder() = default;

void ViewHolder::Install(std::shared_ptr<const ReadView> view) {
  {
    MutexLock lock(&mutex_);
    retired_.reserve(retired_.size() + 1);  // from here on nothing fails
    // The pointer before the retirement: a view in `retired_` is one that no later reader's check
    // can succeed for, which is what the scan relies on. Nothing is freed here, since this runs
    // under the database's mutex, and the last reference to a memtable or an obsolete file costs
    // I/O and time.
    current_.store(view.get(), std::memory_order_seq_cst);
    if (owner_ != nullptr) retired_.push_back(std::move(owner_));
    owner_ = std::move(view);
  }
}

std::shared_ptr<const ReadView> ViewHolder::Shared() const {
  MutexLock lock(&mutex_);
  return owner_;
}

// A view that is announced now is tried again by the next call: the number that stays is bounded by
// the number of threads in the middle of a look-up.
size_t ViewHolder::Reclaim() {
  std::vector<std::shared_ptr<const ReadView>> freed;  // destroyed after the lock
  MutexLock lock(&mutex_);
  const auto still_read = std::partition(retired_.begin(), retired_.end(), [](const auto& view) {
    return HazardSlot::AnyAnnounces(view.get());
  });
  freed.assign(std::make_move_iterator(still_read), std::make_move_iterator(retired_.end()));
  retired_.erase(still_read, retired_.end());
  return retired_.size();
}

}  // namespace winnow
