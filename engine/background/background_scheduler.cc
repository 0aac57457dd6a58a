#include "engine/background/background_scheduler.h"

#include <chrono>
#include <utility>

namespace winnow {

BackgroundScheduler::BackgroundScheduler(DatabaseMutex* mutex, EventQueue* events,
                                         Recorder* recorder, std::function<void()> on_error)
    : mutex_(mutex), errors_(events, recorder, [this, on_error = std::move(on_error)] {
        on_error();
        progress_.SignalAll();
      }) {}

BackgroundScheduler::~BackgroundScheduler() = default;

void BackgroundScheduler::Start(int num_threads, BackgroundJobs* jobs) {
  for (int i = 0; i < num_threads; i++) {
    threads_.emplace_back([this, jobs] { RunThread(jobs); });
  }
}

void BackgroundScheduler::Stop() {
  {
    DatabaseLock lock(mutex_);
    stopping_ = true;
    cancelled_.store(true, std::memory_order_relaxed);
    work_available_.SignalAll();
    progress_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void BackgroundScheduler::RunThread(BackgroundJobs* jobs) {
  DatabaseLock lock(mutex_);
  while (!stopping_) {
    const bool may_run = errors_.fatal().ok() && !errors_.IsWaitingToRetry();
    if (!may_run || !jobs->RunMostUrgent()) {
      WaitForWork();
      continue;
    }
    progress_.SignalAll();
    work_available_.SignalAll();  // what was blocked by the job may run now
    DatabaseUnlock unlock(mutex_);
    jobs->ReleaseReplaced();
  }
}

void BackgroundScheduler::WaitForWork() {
  if (errors_.retried().ok()) {
    work_available_.Wait(mutex_);
    return;
  }
  const auto delay = errors_.next_try() - SteadyNow();
  work_available_.WaitFor(mutex_, std::chrono::ceil<std::chrono::microseconds>(delay));
}

}  // namespace winnow
