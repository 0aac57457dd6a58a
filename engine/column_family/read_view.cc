// Why a view can be freed without asking its readers, and why no reader has to write to anything
// shared. A reader announces the view it has loaded and then checks that it is still the present
// one; whoever replaces a view stores the new one first and scans the announcements later. All four
// accesses are sequentially consistent, so that they have one order in which either
//
//  - the announcement comes before the scan of that slot, which finds it and spares the view, or
//  - the scan comes first. Then the replacement, which precedes the scan, also precedes the check
//    of the reader, who sees another view and starts over without having touched the old one.
//
// Were either pair only acquire and release, both could miss the other: a store may then pass a
// later load of a different address. That a new view may get the address of a freed one is
// harmless: the check asks whether what is announced is the present view, and an address answers
// that.
#include "engine/column_family/read_view.h"

#include <algorithm>

namespace winnow {

// All slots ever made; they are reused but never freed, since any thread may scan them at any time.
struct HazardRegistry {
  Mutex mutex;
  std::vector<HazardSlot*> all ABSL_GUARDED_BY(mutex);
  std::vector<HazardSlot*> idle ABSL_GUARDED_BY(mutex);

  static HazardRegistry& Get() {
    static HazardRegistry& registry = *new HazardRegistry;  // outlives every thread
    return registry;
  }

  // A thread that gets a slot while another scans either is in the list that the scan walks or
  // joins it afterwards, and then, by this mutex, reads after the replacement that the scan
  // follows.
  HazardSlot* Take() {
    MutexLock lock(&mutex);
    if (idle.empty()) {
      all.push_back(new HazardSlot);
      return all.back();
    }
    HazardSlot* slot = idle.back();
    idle.pop_back();
    return slot;
  }

  void GiveBack(HazardSlot* slot) {
    slot->announced_.store(nullptr, std::memory_order_release);
    MutexLock lock(&mutex);
    idle.push_back(slot);
  }
};

namespace {

struct ThreadSlot {
  HazardSlot* slot = HazardRegistry::Get().Take();
  ~ThreadSlot() { HazardRegistry::Get().GiveBack(slot); }
};

}  // namespace

HazardSlot& HazardSlot::ForThisThread() {
  thread_local ThreadSlot slot;
  return *slot.slot;
}

bool HazardSlot::AnyAnnounces(const ReadView* view) {
  HazardRegistry& registry = HazardRegistry::Get();
  MutexLock lock(&registry.mutex);
  return std::any_of(registry.all.begin(), registry.all.end(), [&](const HazardSlot* slot) {
    return slot->announced_.load(std::memory_order_seq_cst) == view;
  });
}

ViewHolder::~ViewHolder() = default;

void ViewHolder::Install(std::shared_ptr<const ReadView> view) {
  {
    MutexLock lock(&mutex_);
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
