#include "engine/table/write_clock.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "winnow/table.h"

namespace winnow {

WriteClock::WriteClock(const Clock* clock, const Bounds& saved, Save save)
    : clock_(clock),
      save_(std::move(save)),
      latest_ms_(saved.time_ms),
      next_number_(saved.write_number),
      saved_ms_(saved.time_ms),
      saved_number_(saved.write_number) {}

uint64_t WriteClock::Read() const { return std::min(clock_->NowMicros() / 1000, kMaxTimestamp); }

// Written to only when the millisecond is a new one: readers share the line and seldom change it. A
// clock that goes back is not followed: the latest time that was given stays the present.
uint64_t WriteClock::AtLeast(uint64_t time_ms) {
  uint64_t latest = latest_ms_.load(std::memory_order_relaxed);
  while (latest < time_ms && !latest_ms_.compare_exchange_weak(latest, time_ms)) {
  }
  return std::max(latest, time_ms);
}

uint64_t WriteClock::SavedNow() const {
  return std::min(latest_ms_.load(std::memory_order_relaxed),
                  saved_ms_.load(std::memory_order_acquire));
}

// Read under the mutex: whoever asks SavedNowForAll before gets no later time, and after finds it
// held.
uint64_t WriteClock::HoldNow() {
  const MutexLock lock(&held_mutex_);
  return *held_ms_.insert(Now());
}

void WriteClock::Release(uint64_t time_ms) {
  const MutexLock lock(&held_mutex_);
  held_ms_.erase(held_ms_.find(time_ms));
}

uint64_t WriteClock::SavedNowForAll() const {
  const MutexLock lock(&held_mutex_);
  const uint64_t now = SavedNow();
  return held_ms_.empty() ? now : std::min(now, *held_ms_.begin());
}

absl::StatusOr<WriteClock::Stamp> WriteClock::TakeAt(uint64_t read_ms, uint64_t count) {
  Stamp stamp;
  stamp.now_ms = AtLeast(read_ms);
  // Before it is known whether it may be used. The numbers of a call that fails are lost: gaps do
  // no harm.
  stamp.write_number = next_number_.fetch_add(count, std::memory_order_relaxed);
  const uint64_t end = stamp.write_number + count;
  // Bounds are saved ahead, so that under load this is so about once a second.
  if (stamp.now_ms > saved_ms_.load(std::memory_order_acquire) ||
      end > saved_number_.load(std::memory_order_acquire)) [[unlikely]] {
    WINNOW_RETURN_IF_ERROR(Extend(stamp.now_ms, end));
  }
  return stamp;
}

absl::Status WriteClock::Extend(uint64_t time_ms, uint64_t end_number) {
  const MutexLock lock(&mutex_);
  Bounds bounds{saved_ms_.load(std::memory_order_relaxed),
                saved_number_.load(std::memory_order_relaxed)};
  // Somebody else has saved them while this call waited for the mutex.
  if (time_ms <= bounds.time_ms && end_number <= bounds.write_number) return absl::OkStatus();
  if (time_ms > bounds.time_ms) bounds.time_ms = std::min(time_ms + kAheadMs, kMaxTimestamp);
  if (end_number > bounds.write_number) bounds.write_number = end_number + kAheadNumbers;
  WINNOW_RETURN_IF_ERROR(save_(bounds));
  // Published after they are saved: a write that relies on them stands behind them in the log.
  saved_ms_.store(bounds.time_ms, std::memory_order_release);
  saved_number_.store(bounds.write_number, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status WriteClock::SaveExactly() {
  const MutexLock lock(&mutex_);
  // Back to what was handed out. Nobody may take a stamp meanwhile: the database is being closed.
  const Bounds bounds{latest_ms_.load(std::memory_order_relaxed),
                      next_number_.load(std::memory_order_relaxed)};
  WINNOW_RETURN_IF_ERROR(save_(bounds));
  saved_ms_.store(bounds.time_ms, std::memory_order_release);
  saved_number_.store(bounds.write_number, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace winnow
