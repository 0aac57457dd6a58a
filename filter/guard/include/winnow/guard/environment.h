// What the guard takes from its surroundings, to be replaced in tests and in programs that have
// their own: time, chance, and threads.

#ifndef WINNOW_GUARD_ENVIRONMENT_H_
#define WINNOW_GUARD_ENVIRONMENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace winnow::guard {

using TimePoint = std::chrono::sys_time<std::chrono::microseconds>;

// All three may be called by any number of threads at a time, and do not throw.

// The time of day: processes that share a cache compare it with each other's, so their clocks
// should differ by less than a value may be stale.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint Now() = 0;
  virtual void SleepFor(std::chrono::microseconds time) = 0;

  // The system's. Never destroyed.
  static Clock* Real();
};

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // 64 independent bits.
  virtual uint64_t Next() = 0;

  // A generator for each thread, seeded by the system. Never destroyed.
  static RandomSource* Real();
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs the task on some other thread, not before `delay` has passed. False, and the task is
  // dropped, if too many are waiting; an executor that ends may drop tasks as well.
  virtual bool Run(std::chrono::microseconds delay, std::function<void()> task) = 0;
};

// Threads of its own, at most `max_waiting` tasks waiting for them. The destructor drops those that
// wait and returns when those that run have ended. ResourceExhausted if the system has no thread to
// give.
absl::StatusOr<std::unique_ptr<Executor>> NewThreadExecutor(int num_threads, size_t max_waiting);

}  // namespace winnow::guard

#endif  // WINNOW_GUARD_ENVIRONMENT_H_
