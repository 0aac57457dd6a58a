// The threads that flush and compact, and waiting for them.
#ifndef WINNOW_ENGINE_BACKGROUND_BACKGROUND_SCHEDULER_H_
#define WINNOW_ENGINE_BACKGROUND_BACKGROUND_SCHEDULER_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "engine/background/background_errors.h"
#include "engine/base/database_mutex.h"

namespace winnow {

// What the threads run.
class BackgroundJobs {
 public:
  virtual ~BackgroundJobs() = default;
  // Runs the most urgent job there is, giving the mutex back meanwhile; false if there is none that
  // may run now. Whether a kind of job waits for its retry is for the jobs to ask.
  virtual bool RunMostUrgent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) = 0;
  // After each job, without the mutex: frees what the job has replaced.
  virtual void ReleaseReplaced() ABSL_LOCKS_EXCLUDED(database_mutex) = 0;
  // Every second in which a thread has time for it, by one at a time: are the files that the
  // database stands on still there? An error is fatal. What is done now and then is done here too.
  virtual absl::Status DoUpkeep() ABSL_LOCKS_EXCLUDED(database_mutex) = 0;
};

// Threads wait for work (`SignalWork`); writers, and callers of Flush and the like, wait for what
// it leads to (`WaitForProgress`). After a fatal error no job begins, and while a failed one waits
// for its retry none of its kind does.
class BackgroundScheduler {
 public:
  // `on_error` is called, with the mutex held, when an error may concern those who write.
  BackgroundScheduler(DatabaseMutex* mutex, EventQueue* events, Recorder* recorder,
                      std::function<void()> on_error);
  ~BackgroundScheduler();  // Stop has been called, unless Start never was

  // With fewer threads if the system has no more to give; ResourceExhausted if it has none.
  absl::Status Start(int num_threads, BackgroundJobs* jobs) ABSL_LOCKS_EXCLUDED(database_mutex);
  // Another number of threads, after Start, in two steps. First there are so many, if there were
  // fewer. ResourceExhausted: the system has not so many to give, and nothing has changed.
  absl::Status StartMoreThreads(int num_threads) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Then so many look for work, and those beyond do nothing any more.
  void UseThreads(int num_threads) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    num_used_ = static_cast<size_t>(num_threads);
    SignalWork();
  }
  // Cancels the jobs that run and waits for their threads. No job runs afterwards.
  void Stop() ABSL_LOCKS_EXCLUDED(database_mutex);
  bool is_stopping() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return stopping_; }
  // True from Stop on: jobs look at it every now and then.
  const std::atomic<bool>& cancelled() const { return cancelled_; }

  // There may be work to do.
  void SignalWork() { work_available_.SignalAll(); }
  // What somebody waits for may have come about.
  void SignalProgress() { progress_.SignalAll(); }
  // Waits for the end of a job or for an error; also returns for no reason.
  void WaitForProgress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { progress_.Wait(mutex_); }
  // The same, but no longer than this.
  void WaitForProgressFor(std::chrono::microseconds timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    progress_.WaitFor(mutex_, timeout);
  }

  BackgroundErrors& errors() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return errors_; }

 private:
  void RunThread(BackgroundJobs* jobs, size_t index) ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status StartThreads(size_t num_threads) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // True if it was time to look, and the mutex was given back meanwhile.
  bool UpkeepIfDue(BackgroundJobs* jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  DatabaseMutex* const mutex_;
  DatabaseCondVar work_available_;
  DatabaseCondVar progress_;
  BackgroundErrors errors_;
  std::atomic<bool> cancelled_{false};
  bool stopping_ ABSL_GUARDED_BY(database_mutex) = false;
  bool upkeep_runs_ ABSL_GUARDED_BY(database_mutex) = false;
  SteadyTime next_upkeep_ ABSL_GUARDED_BY(database_mutex);
  BackgroundJobs* jobs_ ABSL_GUARDED_BY(database_mutex) = nullptr;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(database_mutex);
  size_t num_used_ ABSL_GUARDED_BY(database_mutex) = 0;  // of the threads, the first ones
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BACKGROUND_BACKGROUND_SCHEDULER_H_
