// The time and the order of writes to tables: timestamps that never go back, and numbers that grow
// from write to write, across openings too.
#ifndef WINNOW_ENGINE_TABLE_WRITE_CLOCK_H_
#define WINNOW_ENGINE_TABLE_WRITE_CLOCK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "filter/base/mutex.h"
#include "winnow/clock.h"

namespace winnow {

// Hands out what lies below bounds that have been saved, and saves new ones before it goes beyond
// them: after a crash it goes on from the bounds, as timestamp oracles do (Peng and Dabek,
// "Large-scale Incremental Processing", OSDI 2010). They are saved as any other write, without
// waiting for the disk: a crash loses a suffix of the log, so that no write survives that has a
// number above the bounds that do. Times are milliseconds. Thread-safe.
class WriteClock {
 public:
  struct Bounds {
    uint64_t time_ms = 0;       // no greater time has been handed out to a write
    uint64_t write_number = 1;  // all that were handed out are smaller
  };
  using Save = std::function<absl::Status(const Bounds&)>;

  // `saved` were given to `save` last. The clock must outlive this object.
  WriteClock(const Clock* clock, const Bounds& saved, Save save);

  struct Stamp {
    uint64_t now_ms = 0;
    uint64_t write_number = 0;  // the first of as many as were asked for
  };
  // An error is that of saving, and nothing was handed out then. Whoever asks holds the latches of
  // the rows that he will write to: their numbers grow in the order of their writes.
  absl::StatusOr<Stamp> Take(uint64_t count) ABSL_LOCKS_EXCLUDED(mutex_) {
    return TakeAt(Read(), count);
  }
  // As Take, of what Read gave a moment ago: a time that another write has got since is not gone
  // back from.
  absl::StatusOr<Stamp> TakeAt(uint64_t read_ms, uint64_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  // The system's time, whatever was handed out.
  uint64_t Read() const;
  // For readers: not before any time that was handed out.
  uint64_t Now() { return AtLeast(Read()); }
  // A time that has been reached, and that will not be in the future again after the process has
  // ended, whatever the clock does then: what has expired by it may be forgotten. A crash of the
  // machine may lose the end of the log: if the clock is behind as well when it comes up, a cell is
  // gone early that had expired once.
  uint64_t SavedNow() const;
  // As Now, for a reader who goes on reading as of that time until he releases it.
  uint64_t HoldNow() ABSL_LOCKS_EXCLUDED(held_mutex_);
  void Release(uint64_t time_ms) ABSL_LOCKS_EXCLUDED(held_mutex_);
  // As SavedNow, and no later than a time that is held now or will be.
  uint64_t SavedNowForAll() const ABSL_LOCKS_EXCLUDED(held_mutex_);
  // So that the next opening goes on without a gap.
  absl::Status SaveExactly() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // How far ahead bounds are saved. An opening after a crash begins with the time at most this far
  // in the future.
  static constexpr uint64_t kAheadMs = 1000;
  static constexpr uint64_t kAheadNumbers = uint64_t{1} << 20;

  // The latest time that was given, which from now on is `time_ms` or a later one.
  uint64_t AtLeast(uint64_t time_ms);
  absl::Status Extend(uint64_t time_ms, uint64_t end_number) ABSL_LOCKS_EXCLUDED(mutex_);

  const Clock* const clock_;
  const Save save_;
  std::atomic<uint64_t> latest_ms_;
  std::atomic<uint64_t> next_number_;
  std::atomic<uint64_t> saved_ms_;
  std::atomic<uint64_t> saved_number_;
  mutable Mutex held_mutex_;  // a leaf
  std::multiset<uint64_t> held_ms_ ABSL_GUARDED_BY(held_mutex_);
  // Taken to save. What has been saved is read without it.
  Mutex mutex_;
};

// WriteClock::HoldNow, until it is destroyed.
class HeldTime {
 public:
  explicit HeldTime(WriteClock& clock) : clock_(&clock), now_ms_(clock.HoldNow()) {}
  HeldTime(HeldTime&& other) noexcept
      : clock_(std::exchange(other.clock_, nullptr)), now_ms_(other.now_ms_) {}
  HeldTime& operator=(HeldTime&& other) noexcept {
    std::swap(clock_, other.clock_);
    std::swap(now_ms_, other.now_ms_);
    return *this;
  }
  ~HeldTime() {
    if (clock_ != nullptr) clock_->Release(now_ms_);
  }
  uint64_t now_ms() const { return now_ms_; }

 private:
  WriteClock* clock_;
  uint64_t now_ms_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_WRITE_CLOCK_H_
