// Calls of a load that may not fail: each is timed, and a failure is a problem.
#ifndef WINNOW_TESTS_ENGINE_SOAK_TIMED_CALLS_H_
#define WINNOW_TESTS_ENGINE_SOAK_TIMED_CALLS_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace winnow::soak {

// Thread-safe. A call that is no longer than the longest so far takes no lock.
class TimedCalls {
 public:
  // `call` gives a status; true if that is OK.
  template <typename Call>
  bool Do(const char* name, const Call& call) {
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = call();
    const auto took = std::chrono::steady_clock::now() - begin;
    if (took > longest_.load(std::memory_order_relaxed)) NoteLongest(name, took);
    if (!status.ok()) AddProblem(absl::StrCat(name, ": ", status.ToString()));
    return status.ok();
  }

  // The first ten are kept.
  void AddProblem(std::string what) {
    std::replace(what.begin(), what.end(), '\n', ' ');
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_.store(true, std::memory_order_relaxed);
    if (problems_.size() < 10) problems_.push_back(std::move(what));
  }

  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  // Of all calls until now; once no thread makes any.
  uint64_t longest_milliseconds() const {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(longest_.load()).count());
  }
  const std::string& longest_call() const { return longest_call_; }
  std::vector<std::string> TakeProblems() { return std::move(problems_); }

 private:
  void NoteLongest(const char* name, std::chrono::steady_clock::duration took) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (took <= longest_.load(std::memory_order_relaxed)) return;
    longest_.store(took, std::memory_order_relaxed);
    longest_call_ = name;
  }

  std::atomic<std::chrono::steady_clock::duration> longest_{
      std::chrono::steady_clock::duration::zero()};
  std::atomic<bool> failed_{false};
  // Guards what follows while threads make calls.
  std::mutex mutex_;
  std::string longest_call_ = "none";
  std::vector<std::string> problems_;
};

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_TIMED_CALLS_H_
