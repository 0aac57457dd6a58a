#include "engine/table/column_judge.h"

#include <iterator>

namespace winnow {

uint64_t RowMarkers::FindNewestReaching(uint64_t timestamp) const {
  // Those that reach it stand in front; the last of them is the newest.
  const auto end =
      std::partition_point(markers_.begin(), markers_.end(),
                           [&](const Marker& marker) { return marker.timestamp >= timestamp; });
  return end == markers_.begin() ? 0 : std::prev(end)->write_number;
}

bool ColumnJudge::IsLetGoByAge(uint64_t timestamp) const {
  return std::any_of(rules_.aged.begin(), rules_.aged.end(),
                     [&](const GarbageRule::Limit& aged) { return IsLetGoBy(aged, timestamp); });
}

// Too old, and not one of those that are kept all the same. A newer version whose own time to live
// is up counts if it was there when this one became too old: what it let go then stays away.
bool ColumnJudge::IsLetGoBy(const GarbageRule::Limit& aged, uint64_t timestamp) const {
  const uint64_t last_moment = LastMoment(timestamp, aged.age_ms);
  if (now_ms_ <= last_moment) return false;
  // When this version came under the limit: when it became too old, or when rules were last made
  // stricter. The sum does not overflow: the present is greater than last_moment.
  const uint64_t judged = std::max(last_moment + 1, rules_.tightened_ms);
  const auto num_newer_then = num_live_ + static_cast<uint64_t>(std::count_if(
                                              last_moments_.begin(), last_moments_.end(),
                                              [&](uint64_t moment) { return moment >= judged; }));
  return num_newer_then >= aged.versions;
}

}  // namespace winnow
