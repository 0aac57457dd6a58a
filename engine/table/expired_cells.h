// Compactions drop cells whose time is up, where nothing else depends on them, and whole files of
// such cells unread.
#ifndef WINNOW_ENGINE_TABLE_EXPIRED_CELLS_H_
#define WINNOW_ENGINE_TABLE_EXPIRED_CELLS_H_

#include <atomic>
#include <string>

#include "engine/base/key_times.h"
#include "engine/table/family_rules.h"
#include "engine/table/write_clock.h"
#include "winnow/compaction_filter.h"

namespace winnow {

// Of one column family, which may be that of a table or become it: until then it keeps everything.
// What rules let go of because newer versions exist it keeps too: whether those are still there is
// not to be seen from here.
class ExpiredCells final : public CompactionFilter, public KeyLifetimes {
 public:
  // The clock is set once it is there; both outlive the database.
  void SetClock(const WriteClock* clock) { clock_.store(clock, std::memory_order_release); }
  LiveRules& rules() { return rules_; }

  Decision Filter(const Entry& entry, std::string* new_value) const override;
  // By the rules alone: what has a shorter time of its own is not known of whole files.
  KeyExpiry Expiry() const override;

 private:
  LiveRules rules_;
  std::atomic<const WriteClock*> clock_{nullptr};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_EXPIRED_CELLS_H_
