// What of a family's cells is kept: the rules of its schema as readers and compactions use them.
#ifndef WINNOW_ENGINE_TABLE_FAMILY_RULES_H_
#define WINNOW_ENGINE_TABLE_FAMILY_RULES_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <list>
#include <utility>
#include <vector>

#include "engine/table/garbage_rule.h"

namespace winnow {

struct FamilyRules {
  FamilyRules() = default;
  FamilyRules(const GarbageRule& rule, uint64_t tightened);

  // So many versions are kept whatever their age.
  uint64_t max_versions = GarbageRule::kUnlimited;
  // Of those that are older, so many.
  std::vector<GarbageRule::Limit> aged = {};
  // Some of these keep versions: what they let go depends on what else is there.
  bool keeps_some_aged = false;
  // What is older than this goes, whatever else is there; 0: nothing does.
  uint64_t certain_age_ms = 0;
  // When rules were last made stricter; 0: never. What was there then was judged by the new ones.
  uint64_t tightened_ms = 0;
  // The newest sequence number when these came into force, or when the family was opened. What was
  // superseded before, others may have kept; by these only what is so at that number or later.
  uint64_t since_sequence = 0;
};

inline FamilyRules::FamilyRules(const GarbageRule& rule, uint64_t tightened)
    : tightened_ms(tightened) {
  for (const GarbageRule::Limit& limit : rule.limits()) {
    if (limit.age_ms == 0) {
      max_versions = limit.versions;
      continue;
    }
    aged.push_back(limit);
    keeps_some_aged = keeps_some_aged || limit.versions > 0;
    if (limit.versions == 0) certain_age_ms = limit.age_ms;
  }
}

// The last moment at which something with this time to live exists.
inline uint64_t LastMoment(uint64_t timestamp, uint64_t ttl_ms) {
  const uint64_t sum = timestamp + ttl_ms;
  return sum < timestamp ? std::numeric_limits<uint64_t>::max() : sum;
}

// The rules of a family that is open, and what is known of its cells; changed while all row latches
// are held, read by anybody.
class LiveRules {
 public:
  LiveRules() { Store(Prepare(FamilyRules())); }

  // Those that the family has now; they live as long as this object.
  const FamilyRules& Load() const { return *rules_.load(std::memory_order_acquire); }
  // Made ahead, so that to store them takes no memory.
  using Prepared = std::list<FamilyRules>;
  static Prepared Prepare(FamilyRules rules) {
    Prepared prepared;
    prepared.push_back(std::move(rules));
    return prepared;
  }
  // By one thread at a time.
  void Store(Prepared rules) {
    rules_.store(&rules.front(), std::memory_order_release);
    stored_.splice(stored_.end(), rules);
  }

  // Of a family that has just been opened or created.
  void StoreFlags(bool has_row_markers, bool has_cell_ttls) {
    has_row_markers_.store(has_row_markers, std::memory_order_release);
    has_cell_ttls_.store(has_cell_ttls, std::memory_order_release);
  }

  // Whether the family may have markers of rows, and cells with a time to live of their own. Set
  // before the first of them is written. A reader asks after it has fixed what it sees.
  bool has_row_markers() const { return has_row_markers_.load(std::memory_order_acquire); }
  bool has_cell_ttls() const { return has_cell_ttls_.load(std::memory_order_acquire); }
  void set_has_row_markers() { has_row_markers_.store(true, std::memory_order_release); }
  void set_has_cell_ttls() { has_cell_ttls_.store(true, std::memory_order_release); }

  // The greatest write number of a delete, but of rows by range, since the family was opened; 0:
  // there was none. Noted before it is written, by whoever holds its row's latch.
  uint64_t last_delete() const { return last_delete_.load(std::memory_order_relaxed); }
  void NoteDelete(uint64_t write_number) {
    uint64_t last = last_delete();
    while (last < write_number && !last_delete_.compare_exchange_weak(last, write_number)) {
    }
  }

 private:
  std::list<FamilyRules> stored_;  // all that there were
  std::atomic<const FamilyRules*> rules_{nullptr};
  std::atomic<uint64_t> last_delete_{0};
  std::atomic<bool> has_row_markers_{false};
  std::atomic<bool> has_cell_ttls_{false};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FAMILY_RULES_H_
