// A bound on loads that run at a time. Internal.

#ifndef WINNOW_GUARD_LOAD_LIMIT_H_
#define WINNOW_GUARD_LOAD_LIMIT_H_

#include <chrono>
#include <cstddef>
#include <utility>

#include "filter/base/mutex.h"

namespace winnow::guard::internal {

class LoadLimit {
 public:
  // 0: no bound.
  explicit LoadLimit(size_t max_running) : max_running_(max_running) {}

  // Takes a place, waiting for one so long at most. False: there was none.
  bool Enter(std::chrono::microseconds max_wait) {
    if (max_running_ == 0) return true;
    const auto deadline = std::chrono::steady_clock::now() + max_wait;
    MutexLock lock(&mutex_);
    while (running_ >= max_running_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      left_.WaitFor(&mutex_, std::chrono::ceil<std::chrono::microseconds>(left));
    }
    ++running_;
    return true;
  }
  void Leave() {
    if (max_running_ == 0) return;
    MutexLock lock(&mutex_);
    --running_;
    left_.Signal();
  }

  // A place that was entered: left at the latest when this ends.
  class Place {
   public:
    // Null: there is none to leave.
    explicit Place(LoadLimit* limit) : limit_(limit) {}
    ~Place() { Leave(); }
    Place(const Place&) = delete;

    void Leave() {
      if (limit_ != nullptr) std::exchange(limit_, nullptr)->Leave();
    }

   private:
    LoadLimit* limit_;
  };

  // While a loader waits for another's load, which may need a place to begin: its own is free. It
  // is taken back without waiting, so that for a moment more may run.
  class Loan {
   public:
    // Null: there is none to lend.
    explicit Loan(LoadLimit* limit) : limit_(limit) {
      if (limit_ != nullptr) limit_->Leave();
    }
    ~Loan() {
      if (limit_ == nullptr || limit_->max_running_ == 0) return;
      MutexLock lock(&limit_->mutex_);
      ++limit_->running_;
    }
    Loan(const Loan&) = delete;

   private:
    LoadLimit* const limit_;
  };

 private:
  const size_t max_running_;
  Mutex mutex_;
  CondVar left_;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace winnow::guard::internal

#endif  // WINNOW_GUARD_LOAD_LIMIT_H_
