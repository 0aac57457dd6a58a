#include "winnow/guard/statistics.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "filter/guard/counters.h"

namespace winnow::guard {
namespace {

struct Row {
  uint64_t GuardStatistics::*number;
  const char* name;
};

constexpr Row kRequests = {&GuardStatistics::requests, "requests"};
// Every number is kRequests or stands in one of the two lists: the table and the sum over threads
// both follow them, so that a number that is missing here would always be 0.
constexpr Row kAnswers[] = {
    {&GuardStatistics::refused_keys, "refused by the validator"},
    {&GuardStatistics::filtered, "absent by the filter"},
    {&GuardStatistics::hits, "found in the cache"},
    {&GuardStatistics::negative_hits, "absent by the cache"},
    {&GuardStatistics::stale_hits, "past its time, refreshed later"},
    {&GuardStatistics::joined, "joined another caller's load"},
    {&GuardStatistics::found_by_others, "joined another process's load"},
    {&GuardStatistics::stale_fallbacks, "past its time, load failed"},
    {&GuardStatistics::breaker_refusals, "refused by the breaker"},
    {&GuardStatistics::limit_refusals, "refused, too many loads"},
};
constexpr Row kLoads[] = {
    {&GuardStatistics::loads, "loads"},
    {&GuardStatistics::loads_not_found, "of absent keys"},
    {&GuardStatistics::load_failures, "failed"},
    {&GuardStatistics::refreshes, "refreshes past a value's time"},
    {&GuardStatistics::early_refreshes, "refreshes before it"},
    {&GuardStatistics::discarded_loads, "not stored, maybe overtaken"},
    {&GuardStatistics::unstored_negatives, "absent keys not remembered"},
    {&GuardStatistics::cache_errors, "errors of the cache"},
    {&GuardStatistics::lost_locks, "locks that ended too early"},
};

}  // namespace

std::string_view ToString(BreakerState state) {
  switch (state) {
    case BreakerState::kClosed:
      return "closed";
    case BreakerState::kOpen:
      return "open";
    case BreakerState::kHalfOpen:
      return "half open";
  }
  return "unknown";
}

// Absent keys that came past the filter show as absences of the cache or of the database. One that
// is asked for again and again counts each time, as the rate of requests, not of keys.
double GuardStatistics::FilterFalsePositiveRate() const {
  const uint64_t let_through = negative_hits + loads_not_found;
  const uint64_t absent = let_through + filtered;
  if (!has_filter || absent == 0) return 0;
  return static_cast<double>(let_through) / static_cast<double>(absent);
}

std::string GuardStatistics::ToTable() const {
  std::string table;
  // More than it needs: StrAppendFormat ends the process if a string must grow and cannot.
  table.reserve(4096);
  const double all = static_cast<double>(std::max<uint64_t>(requests, 1));
  absl::StrAppendFormat(&table, "%-32s %12d\n", kRequests.name, requests);
  for (const Row& row : kAnswers) {
    absl::StrAppendFormat(&table, "  %-30s %12d %6.2f %%\n", row.name, this->*row.number,
                          100 * static_cast<double>(this->*row.number) / all);
  }
  for (const Row& row : kLoads) {
    absl::StrAppendFormat(&table, "%s%-*s %12d\n", &row == kLoads ? "" : "  ",
                          &row == kLoads ? 32 : 30, row.name, this->*row.number);
  }
  absl::StrAppendFormat(&table, "%-32s %12s\n", "breaker", ToString(breaker));
  constexpr char kFalsePositives[] = "filter's false positives";
  if (has_filter && filtered + negative_hits + loads_not_found != 0) {
    absl::StrAppendFormat(&table, "%-32s %10.3f %%\n", kFalsePositives,
                          100 * FilterFalsePositiveRate());
  } else {
    absl::StrAppendFormat(&table, "%-32s %12s\n", kFalsePositives, "-");
  }
  return table;
}

namespace internal {

GuardStatistics Counters::Sum() const {
  GuardStatistics sum;
  const auto add = [&](const Row& row) {
    // Relaxed and one after the other: while others count, the numbers are of slightly different
    // moments.
    for (const Part& part : parts_) {
      sum.*row.number += std::atomic_ref(part.numbers.*row.number).load(std::memory_order_relaxed);
    }
  };
  add(kRequests);
  for (const Row& row : kAnswers) add(row);
  for (const Row& row : kLoads) add(row);
  return sum;
}

}  // namespace internal
}  // namespace winnow::guard
