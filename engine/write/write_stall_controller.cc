#include "engine/write/write_stall_controller.h"

#include <algorithm>
#include <utility>

namespace winnow {

namespace {

// The rate at which delays begin. The share keeps it above zero: a delay may grow long, but it
// ends, and waiting altogether is for the stop trigger.
constexpr double kDelayedBytesPerSecond = 64.0 * (1 << 20);
constexpr double kSlowestShare = 0.1;
// The system does not keep shorter sleeps.
constexpr std::chrono::duration<double> kShortestSleep{0.001};

}  // namespace

// The rate falls with the room that is left, so that it settles where compaction keeps up instead
// of swinging between full speed and a stop. The divisor stays above zero where both triggers are
// equal.
void WriteStallController::AddDelay(const WritePressure& pressure, size_t bytes) {
  const double room = static_cast<double>(pressure.level0_stop_trigger - pressure.level0_files) /
                      (pressure.level0_stop_trigger - pressure.level0_slowdown_trigger + 1);
  const double bytes_per_second = kDelayedBytesPerSecond * std::max(room, kSlowestShare);
  owed_ += std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_second);
}

// What is too short to sleep stays owed: small writes pay together, now and then, and the rate
// holds on average.
std::chrono::duration<double> WriteStallController::TakeDelay() {
  if (owed_ <= kShortestSleep) return std::chrono::duration<double>(0);
  return std::exchange(owed_, std::chrono::duration<double>(0));
}

// One pair of events for a stall, however many writes it covers. Family and reason are those of its
// beginning: a stall that changes its cause is still the same stall to who watches.
std::optional<Event> WriteStallController::Note(std::string_view family, std::string_view why) {
  const bool stalls = !family.empty();
  if (stalls == is_stalled()) return std::nullopt;
  Event event;
  if (stalls) {
    event.kind = Event::Kind::kWriteStallBegin;
    event.message = std::string(why);
    event.column_family = std::string(family);
    stalled_family_ = std::string(family);
    stalled_since_ = clock_();
  } else {
    event.kind = Event::Kind::kWriteStallEnd;
    event.column_family = std::exchange(stalled_family_, std::string());
    event.duration = MicrosSince(stalled_since_, clock_());
  }
  return event;
}

}  // namespace winnow
