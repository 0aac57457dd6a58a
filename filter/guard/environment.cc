#include "winnow/guard/environment.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "filter/base/mutex.h"
#include "filter/guard/system_random.h"

namespace winnow::guard {
namespace {

class RealClock final : public Clock {
 public:
  TimePoint Now() override {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
  }
  void SleepFor(std::chrono::microseconds time) override { std::this_thread::sleep_for(time); }
};

class RealRandom final : public RandomSource {
 public:
  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  uint64_t Next() override {
    // No state that threads share: each goes on from a seed of its own.
    thread_local uint64_t state = internal::SystemRandom();
    uint64_t mixed = state += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(size_t max_waiting) : max_waiting_(max_waiting) {}
  // Tasks that wait are destroyed with `waiting_`, after the threads have ended and without the
  // mutex, so that what their destructors do cannot meet it.
  ~ThreadExecutor() override {
    {
      MutexLock lock(&mutex_);
      ends_ = true;
      changed_.SignalAll();
    }
    for (std::thread& thread : threads_) thread.join();
  }

  // Throws what std::thread throws.
  void Start(int num_threads) {
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { RunTasks(); });
  }

  bool Run(std::chrono::microseconds delay, std::function<void()> task) override {
    MutexLock lock(&mutex_);
    if (ends_ || waiting_.size() >= max_waiting_) return false;
    try {
      waiting_.emplace(std::chrono::steady_clock::now() + delay, std::move(task));
    } catch (const std::bad_alloc&) {
      return false;
    }
    // One thread is enough: whichever wakes looks at the earliest task, and a thread that runs a
    // task looks again before it sleeps.
    changed_.Signal();
    return true;
  }

 private:
  // Several threads may sleep until one and the same task is due; all but one then find it gone and
  // sleep on.
  void RunTasks() {
    MutexLock lock(&mutex_);
    while (!ends_) {
      if (waiting_.empty()) {
        changed_.Wait(&mutex_);
        continue;
      }
      const auto now = std::chrono::steady_clock::now();
      const auto due = waiting_.begin()->first;
      if (due > now) {
        changed_.WaitFor(&mutex_, std::chrono::ceil<std::chrono::microseconds>(due - now));
        continue;
      }
      std::function<void()> task = std::move(waiting_.extract(waiting_.begin()).mapped());
      MutexUnlock unlock(&mutex_);
      task();
      // Without the mutex: the destructors of what it holds may give the executor another task.
      task = nullptr;
    }
  }

  const size_t max_waiting_;
  Mutex mutex_;
  CondVar changed_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  // By when they are due.
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> waiting_
      ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace

// Never destroyed: threads may still ask while the program's statics are.
Clock* Clock::Real() {
  static auto* const clock = new RealClock();
  return clock;
}

RandomSource* RandomSource::Real() {
  static auto* const random = new RealRandom();
  return random;
}

absl::StatusOr<std::unique_ptr<Executor>> NewThreadExecutor(int num_threads, size_t max_waiting) {
  if (num_threads < 1 || max_waiting < 1) {
    return absl::InvalidArgumentError("an executor needs a thread and room for a task");
  }
  try {
    // If a later thread cannot be started, the destructor ends and joins those that could.
    auto executor = std::make_unique<ThreadExecutor>(max_waiting);
    executor->Start(num_threads);
    return executor;
  } catch (const std::exception&) {  // std::system_error, std::bad_alloc
    return absl::ResourceExhaustedError("cannot start a thread of a cache guard");
  }
}

}  // namespace winnow::guard
