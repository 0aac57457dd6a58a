// Decides when writes must slow down or wait because flushes and compactions do not keep up.
#ifndef WINNOW_ENGINE_WRITE_WRITE_STALL_CONTROLLER_H_
#define WINNOW_ENGINE_WRITE_WRITE_STALL_CONTROLLER_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/capabilities.h"
#include "engine/base/steady_clock.h"
#include "winnow/event_listener.h"

namespace winnow {

// How full one column family is.
struct WritePressure {
  std::string_view family;
  int num_memtables = 1;  // the active one included
  int max_write_buffers = 1;
  bool active_is_full = false;
  int level0_files = 0;  // that a compaction will merge, now or later
  int level0_slowdown_trigger = 0;
  int level0_stop_trigger = 0;

  // A write must wait for a flush.
  bool MemtablesAreFull() const { return num_memtables >= max_write_buffers && active_is_full; }
  // A write must wait for a compaction of level 0.
  bool LevelZeroIsFull() const { return level0_files >= level0_stop_trigger; }
  bool MustStop() const { return MemtablesAreFull() || LevelZeroIsFull(); }
  bool MustSlowDown() const { return level0_files >= level0_slowdown_trigger; }
  // The next write may have to do either: whoever leads it must look.
  bool IsNearLimit() const {
    return level0_files >= level0_slowdown_trigger || num_memtables >= max_write_buffers;
  }
};

// Decides and keeps account; waiting is left to the caller, who alone leads the write queue.
//
// Between its slowdown and its stop trigger level 0 takes 64 MiB a second at first and a tenth of
// that just before the stop, so that compaction catches up before writes have to wait for it. A
// delay is owed for each byte and slept once it is long enough for the system to keep.
class WriteStallController {
 public:
  explicit WriteStallController(SteadyClock clock = SteadyNow) : clock_(std::move(clock)) {}

  // The write adds `bytes` under this pressure.
  void AddDelay(const WritePressure& pressure, size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  // The delay to sleep now, which is then owed no more; zero if it is not worth sleeping yet.
  std::chrono::duration<double> TakeDelay() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);

  // The stall that listeners know of begins with the first write that is stalled (by `family`, for
  // the reason `why`), and ends with the first that is not (an empty `family`). The event, where
  // the one or the other is now.
  std::optional<Event> Note(std::string_view family, std::string_view why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership);
  bool is_stalled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return !stalled_family_.empty();
  }

 private:
  const SteadyClock clock_;
  std::chrono::duration<double> owed_ ABSL_GUARDED_BY(write_leadership){0};
  std::string stalled_family_ ABSL_GUARDED_BY(write_leadership);  // empty: no stall
  SteadyTime stalled_since_ ABSL_GUARDED_BY(write_leadership);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_WRITE_STALL_CONTROLLER_H_
