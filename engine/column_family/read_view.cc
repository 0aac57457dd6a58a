// Views are freed as hazard_slot.h has it: replaced first, then looked for among what threads
// announce.
#include "engine/column_family/read_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

void ViewHolder::Install(Held view) {
  MutexLock lock(&mutex_);
  // The pointer before the retirement: a view in `retired_` is one that no later reader's check
  // can succeed for, which is what the scan relies on. Nothing is freed here, since this runs
  // under the database's mutex, and the last reference to a memtable or an obsolete file costs
  // I/O and time.
  current_.store(view.front().get(), std::memory_order_seq_cst);
  retired_.splice(retired_.end(), present_);
  present_ = std::move(view);
}

std::shared_ptr<const ReadView> ViewHolder::Shared() const {
  MutexLock lock(&mutex_);
  return present_.empty() ? nullptr : present_.front();
}

bool ViewHolder::has_retired() const {
  MutexLock lock(&mutex_);
  return !retired_.empty();
}

// A view that is announced now is tried again by the next call: the number that stays is bounded by
// the number of threads in the middle of a look-up.
size_t ViewHolder::Reclaim() {
  Held freed;  // destroyed after the lock
  MutexLock lock(&mutex_);
  for (auto view = retired_.begin(); view != retired_.end();) {
    const auto next = std::next(view);
    if (!HazardSlot::AnyAnnounces(view->get())) freed.splice(freed.end(), retired_, view);
    view = next;
  }
  return retired_.size();
}

}  // namespace winnow
