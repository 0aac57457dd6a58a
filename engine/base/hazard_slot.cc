// Why an object can be freed without asking its readers, and why no reader has to write to anything
// shared. A reader announces the object it has loaded and then checks that it is still the present
// one; whoever replaces an object stores the new one first and scans the announcements later. All
// four accesses are sequentially consistent, so that they have one order in which either
//
//  - the announcement comes before the scan of that slot, which finds it and spares the object, or
//  - the scan comes first. Then the replacement, which precedes the scan, also precedes the check
//    of the reader, who sees another object and starts over without having touched the old one.
//
// Were either pair only acquire and release, both could miss the other: a store may then pass a
// later load of a different address. That a new object may get the address of a freed one is
// harmless: the check asks whether what is announced is the present object, and an address answers
// that.
#include "engine/base/hazard_slot.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "filter/base/mutex.h"
#include "filter/base/per_thread.h"

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
      all.reserve(all.size() + 1);
      idle.reserve(all.size() + 1);  // a thread that ends cannot be refused a place for its slot
      all.push_back(new HazardSlot);
      return all.back();
    }
    HazardSlot* slot = idle.back();
    idle.pop_back();
    return slot;
  }

  void GiveBack(HazardSlot* slot) {
    for (auto& announced : slot->announced_) announced.store(nullptr, std::memory_order_release);
    MutexLock lock(&mutex);
    idle.push_back(slot);
  }

  static bool Announces(const HazardSlot& slot, const void* object) {
    return std::any_of(slot.announced_.begin(), slot.announced_.end(), [&](const auto& announced) {
      return announced.load(std::memory_order_seq_cst) == object;
    });
  }
};

namespace {

constinit thread_local HazardSlot* slot_of_thread = nullptr;

struct ThreadSlot {
  ThreadSlot() { slot_of_thread = HazardRegistry::Get().Take(); }
  ~ThreadSlot() { HazardRegistry::Get().GiveBack(std::exchange(slot_of_thread, nullptr)); }
};

}  // namespace

HazardSlot& HazardSlot::ForThisThread() {
  if (slot_of_thread == nullptr) [[unlikely]]
    PerThread<ThreadSlot>::Get();
  return *slot_of_thread;
}

bool HazardSlot::AnyAnnounces(const void* object) {
  HazardRegistry& registry = HazardRegistry::Get();
  MutexLock lock(&registry.mutex);
  return std::any_of(registry.all.begin(), registry.all.end(), [&](const HazardSlot* slot) {
    return HazardRegistry::Announces(*slot, object);
  });
}

}  // namespace winnow
