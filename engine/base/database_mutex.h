// The one mutex of an open database. Holding it is the capability `database_mutex`.
#ifndef WINNOW_ENGINE_BASE_DATABASE_MUTEX_H_
#define WINNOW_ENGINE_BASE_DATABASE_MUTEX_H_

#include <chrono>

#include "engine/base/capabilities.h"
#include "filter/base/mutex.h"

namespace winnow {

class DatabaseMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION(database_mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.Lock();
  }
  void Unlock() ABSL_UNLOCK_FUNCTION(database_mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.Unlock();
  }

 private:
  friend class DatabaseCondVar;
  // What it guards names the capability, wherever it lies.
  Mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE DatabaseLock {
 public:
  explicit DatabaseLock(DatabaseMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(database_mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~DatabaseLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  DatabaseLock(const DatabaseLock&) = delete;
  DatabaseLock& operator=(const DatabaseLock&) = delete;

 private:
  DatabaseMutex* const mutex_;
};

// Gives the held mutex back for a scope: no I/O and no waiting happens under it.
class ABSL_SCOPED_LOCKABLE DatabaseUnlock {
 public:
  explicit DatabaseUnlock(DatabaseMutex* mutex) WINNOW_RELEASES_FOR_SCOPE(database_mutex)
      : mutex_(mutex) {
    mutex_->Unlock();
  }
  ~DatabaseUnlock() ABSL_UNLOCK_FUNCTION() { mutex_->Lock(); }
  DatabaseUnlock(const DatabaseUnlock&) = delete;
  DatabaseUnlock& operator=(const DatabaseUnlock&) = delete;

 private:
  DatabaseMutex* const mutex_;
};

class DatabaseCondVar {
 public:
  // Waking without a signal is possible: wait in a loop over the condition.
  void Wait(DatabaseMutex* mutex)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    variable_.Wait(&mutex->mutex_);
  }
  void WaitFor(DatabaseMutex* mutex, std::chrono::microseconds timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    variable_.WaitFor(&mutex->mutex_, timeout);
  }
  void SignalAll() { variable_.SignalAll(); }

 private:
  CondVar variable_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_DATABASE_MUTEX_H_
