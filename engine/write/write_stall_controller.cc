#include "engine/write/write_stall_controller.h"

#include <algorithm>
#include <utility>

namespace winnow {

namespace {

constexpr double kDelayedBytesPerSecond = 64.0 * (1 << 20);
constexpr double kSlowestShare = 0.1;
// The system does not keep shorter sleeps.
constexpr std::chrono::duration<double> kShortestSleep{0.001};

}  // namespace

void WriteStallController::AddDelay(const WritePressure& pressure, size_t bytes) {
  const double room = static_cast<double>(pressure.level0_stop_trigger - pressure.level0_files) /
                      (pressure.level0_stop_trigger - pressure.level0_slowdown_trigger + 1);
  const double bytes_per_second = kDelayedBytesPerSecond * std::max(room, kSlowestShare);
  owed_ += std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second);
}

std::chrono::duration<double> WriteStallController::TakeDelay() {
  if (owed_ <= kShortestSleep) return std::chrono::duration<double>(0);
  return std::exchange(owed_, std::chrono::duration<double>(0));
}

std::optional<Event> WriteStallController::Note(std::string_view family, std::string_view why) {
  const bool stalls = !family.empty();
  if (stalls == is_stalled()) return std::nullopt;
  Event event;
  if (stalls) {
    stalled_family_ = std::string(family);
    stalled_since_ = clock_();
    event.kind = Event::Kind::kWriteStallBegin;
    event.message = std::string(why);
    event.column_family = stalled_family_;
  } else {
    event.kind = Event::Kind::kWriteStallEnd;
    event.column_family = std::exchange(stalled_family_, std::string());
    event.duration = MicrosSince(stalled_since_, clock_());
  }
  return event;
}

}  // namespace winnow
