// What of a family's cells is kept: the rules of its schema as readers and compactions use them.
#ifndef WINNOW_ENGINE_TABLE_FAMILY_RULES_H_
#define WINNOW_ENGINE_TABLE_FAMILY_RULES_H_

#include <atomic>
#include <cstdint>
#include <limits>

namespace winnow {

struct FamilyRules {
  uint32_t max_versions = 1;
  uint32_t min_versions = 0;
  uint64_t ttl_ms = 0;  // 0: none
  // When rules were last made stricter; 0: never. What was there then was judged by the new ones.
  uint64_t tightened_ms = 0;
};

// The last moment at which something with this time to live exists.
inline uint64_t LastMoment(uint64_t timestamp, uint64_t ttl_ms) {
  const uint64_t sum = timestamp + ttl_ms;
  return sum < timestamp ? std::numeric_limits<uint64_t>::max() : sum;
}

// The rules of a family that is open, and what is known of its cells; changed while all row latches
// are held, read by anybody. Single fields: who reads while a schema is altered may see some of the
// old and some of the new rules.
class LiveRules {
 public:
  FamilyRules Load() const {
    return {max_versions_.load(std::memory_order_relaxed),
            min_versions_.load(std::memory_order_relaxed), ttl_ms_.load(std::memory_order_relaxed),
            tightened_ms_.load(std::memory_order_relaxed)};
  }
  void Store(const FamilyRules& rules) {
    max_versions_.store(rules.max_versions, std::memory_order_relaxed);
    min_versions_.store(rules.min_versions, std::memory_order_relaxed);
    ttl_ms_.store(rules.ttl_ms, std::memory_order_relaxed);
    tightened_ms_.store(rules.tightened_ms, std::memory_order_relaxed);
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
  // The greatest write number of a marker since the family was opened; 0: there was none. Noted
  // before the marker is written, by whoever holds its row's latch.
  uint64_t last_marker() const { return last_marker_.load(std::memory_order_relaxed); }
  void NoteMarker(uint64_t write_number) {
    uint64_t last = last_marker();
    while (last < write_number && !last_marker_.compare_exchange_weak(last, write_number)) {
    }
  }
  void set_has_row_markers() { has_row_markers_.store(true, std::memory_order_release); }
  void set_has_cell_ttls() { has_cell_ttls_.store(true, std::memory_order_release); }

 private:
  std::atomic<uint32_t> max_versions_{1};
  std::atomic<uint32_t> min_versions_{0};
  std::atomic<uint64_t> ttl_ms_{0};
  std::atomic<uint64_t> tightened_ms_{0};
  std::atomic<uint64_t> last_marker_{0};
  std::atomic<bool> has_row_markers_{false};
  std::atomic<bool> has_cell_ttls_{false};
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FAMILY_RULES_H_
