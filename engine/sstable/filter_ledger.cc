#include "engine/sstable/filter_ledger.h"

#include <algorithm>

#include "engine/base/hazard_slot.h"
#include "engine/sstable/filter_units.h"

namespace winnow {

FilterLedger::FilterLedger(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
FilterLedger::~FilterLedger() = default;

// Where the unit does not fit, three things are tried in this order: what was dropped and is not
// read any more is freed; for a first unit further units of other tables are dropped, the least
// valuable first; and a first unit may then exceed the limit, if nothing did before (invariant 2).
// A further unit that is larger than the limit gets room only where nothing else is counted.
//
// The sum grows under the lock, and shrinks without it.
bool FilterLedger::Reserve(uint64_t bytes, Claim claim) {
  MutexLock lock(&mutex_);
  const uint64_t limit = limit_bytes();
  if (limit != 0 && resident_bytes() + bytes > limit) {
    ReclaimLocked();
    while (claim == Claim::kFirstUnit && resident_bytes() + bytes > limit) {
      if (!DropLeastValued()) break;
      ReclaimLocked();
    }
    const uint64_t most_before =
        claim == Claim::kFirstUnit ? limit : limit - std::min(limit, bytes);
    if (resident_bytes() > most_before) return false;
  }
  const uint64_t now = resident_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  // No update is lost: nobody raises the sum, or the peak, without the lock.
  if (now > peak_bytes()) peak_bytes_.store(now, std::memory_order_relaxed);
  return true;
}

bool FilterLedger::Reclaim() {
  MutexLock lock(&mutex_);
  ReclaimLocked();
  return replaced_.empty();
}

// O(sets * threads). A set that some thread announces now is looked at again the next time.
void FilterLedger::ReclaimLocked() {
  std::erase_if(replaced_, [](const std::unique_ptr<const ResidentUnits>& units) {
    return !HazardSlot::AnyAnnounces(units.get());
  });
}

// O(tables). First units are left alone (CanDrop). What is dropped takes its room until readers
// have left it, which the caller finds out by reclaiming.
bool FilterLedger::DropLeastValued() {
  FilterUnits* least = nullptr;
  double least_value = 0;
  for (FilterUnits* const member : members_) {
    if (!member->CanDrop(*this)) continue;
    const double value = member->value_.load(std::memory_order_relaxed);
    if (least != nullptr && value >= least_value) continue;
    least = member;
    least_value = value;
  }
  if (least == nullptr) return false;
  least->Publish(*this, least->num_resident() - 1, nullptr);
  return true;
}

}  // namespace winnow
