// Locks with the annotations that clang's -Wthread-safety checks.
//
// They wrap std::mutex rather than absl::Mutex because packaged Abseil libraries are built without
// ThreadSanitizer's hooks: under TSan every absl::Mutex would be invisible and every guarded access
// a reported race.
#ifndef WINNOW_FILTER_BASE_MUTEX_H_
#define WINNOW_FILTER_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace winnow {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

// Of clang's spellings only this one lets the end of the scope take the lock again.
#if defined(__clang__)
#define WINNOW_RELEASES_FOR_SCOPE(mutex) __attribute__((release_capability(mutex)))
#else
#define WINNOW_RELEASES_FOR_SCOPE(mutex)
#endif

// Gives a held lock back for a scope: I/O and waiting in the middle of a locked function.
class ABSL_SCOPED_LOCKABLE MutexUnlock {
 public:
  explicit MutexUnlock(Mutex* mutex) WINNOW_RELEASES_FOR_SCOPE(mutex) : mutex_(mutex) {
    mutex_->Unlock();
  }
  ~MutexUnlock() ABSL_UNLOCK_FUNCTION() { mutex_->Lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex* const mutex_;
};

class CondVar {
 public:
  // Waking without a signal is possible: wait in a loop over the condition.
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    variable_.wait(lock);
    lock.release();
  }
  void WaitFor(Mutex* mutex, std::chrono::microseconds timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
    variable_.wait_for(lock, timeout);
    lock.release();
  }
  void Signal() { variable_.notify_one(); }
  void SignalAll() { variable_.notify_all(); }

 private:
  std::condition_variable variable_;
};

}  // namespace winnow

#endif  // WINNOW_FILTER_BASE_MUTEX_H_
