#include "engine/background/background_scheduler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/start_thread.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

constexpr std::chrono::milliseconds kShortestWait{20};
// As long as writes may go to a log that somebody else has removed before they are refused.
constexpr std::chrono::seconds kUpkeepInterval{1};

}  // namespace

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

absl::Status BackgroundScheduler::Start(int num_threads, BackgroundJobs* jobs) {
  DatabaseLock lock(mutex_);
  jobs_ = jobs;
  next_upkeep_ = SteadyNow() + kUpkeepInterval;
  UseThreads(num_threads);
  const absl::Status started = StartThreads(static_cast<size_t>(num_threads));
  return threads_.empty() ? started : absl::OkStatus();
}

// A new thread waits for the mutex first.
absl::Status BackgroundScheduler::StartThreads(size_t num_threads) {
  threads_.reserve(num_threads);
  while (threads_.size() < num_threads) {
    std::thread thread;
    WINNOW_RETURN_IF_ERROR(StartThread(
        &thread, [this, jobs = jobs_, index = threads_.size()] { RunThread(jobs, index); }));
    threads_.push_back(std::move(thread));
  }
  return absl::OkStatus();
}

// Threads that were started before one could not be are there for the next time.
absl::Status BackgroundScheduler::StartMoreThreads(int num_threads) {
  // After Stop has taken the threads nobody would join another one.
  if (stopping_ || jobs_ == nullptr) return absl::OkStatus();
  return StartThreads(static_cast<size_t>(num_threads));
}

void BackgroundScheduler::Stop() {
  std::vector<std::thread> threads;
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
    // Out of the reach of StartMoreThreads, and joined without the mutex, which the threads need to
    // end.
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void BackgroundScheduler::RunThread(BackgroundJobs* jobs, size_t index) {
  DatabaseLock lock(mutex_);
  while (!stopping_) {
    // Threads beyond the number that the options give are not ended but sleep: a larger number
    // later needs none to be started, which the system might refuse.
    if (index >= num_used_) {
      work_available_.Wait(mutex_);
      continue;
    }
    if (UpkeepIfDue(jobs)) continue;
    // Looked at again before every job: after a fatal error nothing may be written any more, since
    // what is on disk is not known until the database is reopened.
    bool ran = false;
    if (errors_.fatal().ok()) {
      // Jobs tell of their own failures. Without memory to choose one there is none, for a while.
      UnlessOutOfMemory(
          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { ran = jobs->RunMostUrgent(); });
    }
    if (!ran) {
      WaitForWork();
      continue;
    }
    progress_.SignalAll();
    work_available_.SignalAll();  // what was blocked by the job may run now
    // Without the mutex: freeing a view may remove files and give back whole memtables.
    DatabaseUnlock unlock(mutex_);
    UnlessOutOfMemory([&] { jobs->ReleaseReplaced(); });
  }
}

bool BackgroundScheduler::UpkeepIfDue(BackgroundJobs* jobs) {
  if (upkeep_runs_ || !errors_.fatal().ok() || SteadyNow() < next_upkeep_) return false;
  // One thread at a time, since what is looked at has no lock of its own (FileInPlace).
  upkeep_runs_ = true;
  absl::Status status;
  {
    DatabaseUnlock unlock(mutex_);
    status = CatchOutOfMemory([&] { return jobs->DoUpkeep(); });
  }
  upkeep_runs_ = false;
  // From the end: however slow the disk is, threads have an interval for other work.
  next_upkeep_ = SteadyNow() + kUpkeepInterval;
  // Without the means to look, nothing is known that was not known before.
  if (!status.ok() && !absl::IsResourceExhausted(status)) {
    errors_.SetFatal(status, "keeping the database's files in place");
  }
  return true;
}

// A retry, or the next look at the files, is due by the clock and not by a signal, hence the wait
// with an end. It may end early, or for no reason: the caller's loop decides anew.
void BackgroundScheduler::WaitForWork() {
  if (!errors_.fatal().ok()) {
    work_available_.Wait(mutex_);  // for the end
    return;
  }
  const SteadyTime next = std::min(errors_.next_try().value_or(next_upkeep_), next_upkeep_);
  // Not shorter: what failed may not be due any more, and then the time of its retry is past.
  const auto delay = std::max<SteadyTime::duration>(next - SteadyNow(), kShortestWait);
  work_available_.WaitFor(mutex_, std::chrono::ceil<std::chrono::microseconds>(delay));
}

}  // namespace winnow
