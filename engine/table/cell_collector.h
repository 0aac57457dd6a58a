// Compactions drop the cells and markers of a family that no reader of now or later needs, and
// whole files of such cells unread.
#ifndef WINNOW_ENGINE_TABLE_CELL_COLLECTOR_H_
#define WINNOW_ENGINE_TABLE_CELL_COLLECTOR_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string_view>

#include "engine/base/entry_collector.h"
#include "engine/base/key_times.h"
#include "engine/table/family_rules.h"
#include "engine/table/write_clock.h"
#include "filter/base/mutex.h"

namespace winnow {

// Of one column family, which may be that of a table or become it: until then it keeps everything.
class CellCollectors final : public EntryCollectorFactory, public KeyLifetimes {
 public:
  // The clock is set once it is there; both outlive the database.
  void SetClock(const WriteClock* clock) { clock_.store(clock, std::memory_order_release); }
  LiveRules& rules() { return rules_; }

  uint64_t Now() const override;
  // Where cells have times to live of their own, any of them may end what it superseded.
  bool EveryEntryRemoves() const override { return rules_.has_cell_ttls(); }
  std::unique_ptr<EntryCollector> NewCollector(const Collection& collection) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Columns are not parted, and markers of a row are with one another.
  bool MayPart(std::string_view before, std::string_view user_key) const override;
  std::string_view WalkBoundary(std::string_view user_key) const override;

  // By the rules alone: what has a shorter time of its own is not known of whole files.
  KeyExpiry Expiry() const override;

 private:
  struct Moment {
    uint64_t time_ms;
    SequenceNumber sequence;
  };
  // The latest that is no later than `settled`, after it has noted this one.
  Moment LastMomentWithin(SequenceNumber settled, const Moment& now) ABSL_LOCKS_EXCLUDED(mutex_);

  LiveRules rules_;
  std::atomic<const WriteClock*> clock_{nullptr};
  Mutex mutex_;  // a leaf
  // Of past compactions, ascending. Few.
  std::deque<Moment> moments_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_CELL_COLLECTOR_H_
