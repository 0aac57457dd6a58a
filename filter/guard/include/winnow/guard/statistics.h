// What a guard did, since it was created.

#ifndef WINNOW_GUARD_STATISTICS_H_
#define WINNOW_GUARD_STATISTICS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace winnow::guard {

enum class BreakerState : uint8_t { kClosed, kOpen, kHalfOpen };
std::string_view ToString(BreakerState state);

// Numbers of calls of Get, unless something else is said.
struct GuardStatistics {
  uint64_t requests = 0;

  // Answered without a load.
  uint64_t refused_keys = 0;      // by the validator
  uint64_t filtered = 0;          // by the filter: the key is absent
  uint64_t hits = 0;              // a fresh value in the cache
  uint64_t negative_hits = 0;     // the cache knew that the key is absent
  uint64_t stale_hits = 0;        // a value past its time, refreshed in the background
  uint64_t joined = 0;            // waited for another caller's load
  uint64_t found_by_others = 0;   // waited for another process's load
  uint64_t stale_fallbacks = 0;   // a value past its time, since it could not be loaded
  uint64_t breaker_refusals = 0;  // loads that were not begun, as the breaker was open
  uint64_t limit_refusals = 0;    // as too many were running

  // Calls of loaders, those of refreshes among them.
  uint64_t loads = 0;
  uint64_t loads_not_found = 0;
  uint64_t load_failures = 0;    // any error but NotFound
  uint64_t refreshes = 0;        // in the background, after a value's time
  uint64_t early_refreshes = 0;  // in the background, before it

  // Not stored, as the value was overtaken by Put or Invalidate, or might have been.
  uint64_t discarded_loads = 0;
  uint64_t unstored_negatives = 0;  // as there were too many already
  uint64_t cache_errors = 0;
  uint64_t lost_locks = 0;  // that ended before the load did

  BreakerState breaker = BreakerState::kClosed;
  bool has_filter = false;

  // Of absent keys, what share the filter let through, as measured: 0 if none was asked for, or
  // there is no filter.
  double FilterFalsePositiveRate() const;
  // All of this as lines of text.
  std::string ToTable() const;
};

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_STATISTICS_H_
