// Why an object can be freed without asking its readers, and why no reader has to write to anything
// shared. A reader announces the object it has loaded and then checks that it is still the present
// one; whoever replaces an object stores the new one first and scans the announcements later. Where
// all four accesses are sequentially consistent they have one order in which either
//
//  - the announcement comes before the scan of that slot, which finds it and spares the object, or
//  - the scan comes first. Then the replacement, which precedes the scan, also precedes the check
//    of the reader, who sees another object and starts over without having touched the old one.
//
// Were either pair only acquire and release, both could miss the other: a store may then pass a
// later load of a different address. That a new object may get the address of a freed one is
// harmless: the check asks whether what is announced is the present object, and an address answers
// that.
//
// Such a store costs the reader a fence, at each look-up: everything behind it waits until all
// before it is done. Objects are replaced far less often than read, so that where the system can do
// it (Linux, membarrier(2)) the scan pays for both: between replacement and scan it has every
// thread of the process pass a full fence. A reader whose announcement comes before the fence is
// seen by the scan; one whose announcement comes later checks later still, and sees the
// replacement. (The arrangement of liburcu and of folly's AsymmetricThreadFence.)
#include "engine/base/hazard_slot.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

struct HazardSlot::Owner {
  Owner() { of_this_thread_ = HazardRegistry::Get().Take(); }
  ~Owner() { HazardRegistry::Get().GiveBack(std::exchange(of_this_thread_, nullptr)); }
};

HazardSlot& HazardSlot::TakeForThisThread() {
  PerThread<Owner>::Get();
  return *of_this_thread_;
}

namespace {

#if defined(__linux__)
bool Membarrier(int command) {
  return syscall(SYS_membarrier, command, /*flags=*/0, /*cpu_id=*/0) == 0;
}
// To ask for the fence is allowed to those who said before that they would.
bool MayFenceAllThreads() { return Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
// A forked child may have to say so again.
bool FenceAllThreads() {
  return Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (MayFenceAllThreads() && Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
#else
bool MayFenceAllThreads() { return false; }
bool FenceAllThreads() { return false; }
#endif

}  // namespace

// False while statics are still being initialised, which is the careful way.
const bool HazardSlot::scans_fence_ = MayFenceAllThreads();

bool HazardSlot::AnyAnnounces(const void* object) {
  // Without a fence (the system has begun to refuse it) nobody knows, and nothing is freed.
  if (scans_fence_ && !FenceAllThreads()) return true;
  HazardRegistry& registry = HazardRegistry::Get();
  MutexLock lock(&registry.mutex);
  return std::any_of(registry.all.begin(), registry.all.end(), [&](const HazardSlot* slot) {
    return HazardRegistry::Announces(*slot, object);
  });
}

}  // namespace winnow
