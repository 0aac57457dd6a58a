#include "engine/background/background_scheduler.h"

#include <chrono>
#include <utility>

namespace winnow {

BackgroundScheduler::BackgroundScheduler(DatabaseMutex* mutex, EventQueue* events,
                                         Recorder* recorder, std::function<void()> on_error)
    // An error ends waiting as the end of a job does, or those who wait for a flush would wait for
    // ever.
    : mutex_(mutex), errors_(events, recorder, [this, on_error = std::move(on_error)] {
        on_error();
        progress_.SignalAll();
      }) {}

// Joining here would be too late: the jobs' other parts are destroyed before this one.
BackgroundScheduler::~BackgroundScheduler() = default;

void BackgroundScheduler::Start(int num_threads, BackgroundJobs* jobs) {
  for (int i = 0; i < num_threads; i++) {
    threads_.emplace_back([this, jobs] { RunThread(jobs); });
  }
}

void BackgroundScheduler::Stop() {
  {
    // Under the mutex, or a thread between its look at `stopping_` and its wait would miss the
    // signal.
    DatabaseLock lock(mutex_);
    stopping_ = true;
    // Jobs run without the mutex and look at this instead. What they have written so far is removed
    // or left for the next open; nothing names it yet.
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
    // Looked at again before every job: after a fatal error nothing may be written any more, since
    // what is on disk is not known until the database is reopened.
    const bool may_run = errors_.fatal().ok() && !errors_.IsWaitingToRetry();
    if (!may_run || !jobs->RunMostUrgent()) {
      WaitForWork();
      continue;
    }
    progress_.SignalAll();
    work_available_.SignalAll();  // what was blocked by the job may run now
    // Without the mutex: freeing a view may remove files and give back whole memtables.
    DatabaseUnlock unlock(mutex_);
    jobs->ReleaseReplaced();
  }
}

// A retry is due by the clock and not by a signal, hence the wait with an end. It may end early, or
// for no reason: the caller's loop decides anew.
void BackgroundScheduler::WaitForWork() {
  if (errors_.retried().ok()) {
    work_available_.Wait(mutex_);
    return;
  }
  const auto delay = errors_.next_try() - SteadyNow();
  work_available_.WaitFor(mutex_, std::chrono::ceil<std::chrono::microseconds>(delay));
}

}  // namespace winnow
