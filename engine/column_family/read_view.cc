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
    current_.store(view.get(), std::memory_order_seq_cst);
    if (owner_ != nullptr) retired_.push_back(std::move(owner_));
    owner_ = std::move(view);
  }
}

std::shared_ptr<const ReadView> ViewHolder::Shared() const {
  MutexLock lock(&mutex_);
  return owner_;
}

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
