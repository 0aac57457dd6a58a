// A guard over a cache in memory, with a clock that stands still, an executor that runs what it is
// told to, and a database that counts.

#ifndef WINNOW_TESTS_FILTER_GUARD_GUARD_FIXTURE_H_
#define WINNOW_TESTS_FILTER_GUARD_GUARD_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/guard/cache_guard.h"
#include "winnow/guard/memory_cache.h"

namespace winnow::guard {

using std::chrono::milliseconds;
using std::chrono::seconds;

class FakeClock final : public Clock {
 public:
  TimePoint Now() override { return TimePoint(std::chrono::microseconds(micros_.load())); }
  // Who sleeps lets time pass.
  void SleepFor(std::chrono::microseconds time) override { Advance(time); }
  void Advance(std::chrono::microseconds time) { micros_ += time.count(); }

 private:
  std::atomic<int64_t> micros_{1'700'000'000'000'000};
};

// SplitMix64: the same numbers in every run.
class FixedRandom final : public RandomSource {
 public:
  uint64_t Next() override {
    uint64_t mixed = state_.fetch_add(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::atomic<uint64_t> state_{4711};
};

// Runs tasks on the thread that asks it to.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(Clock* clock) : clock_(clock) {}

  bool Run(std::chrono::microseconds delay, std::function<void()> task) override {
    const std::scoped_lock lock(mutex_);
    if (refuses_) return false;
    tasks_.emplace(clock_->Now() + delay, std::move(task));
    return true;
  }
  // All that are due, those that they add among them. Returns how many.
  int RunDue() {
    int num_run = 0;
    for (;; ++num_run) {
      std::function<void()> task;
      {
        const std::scoped_lock lock(mutex_);
        if (tasks_.empty() || tasks_.begin()->first > clock_->Now()) return num_run;
        task = std::move(tasks_.extract(tasks_.begin()).mapped());
      }
      task();
    }
  }
  void Refuse() { refuses_ = true; }
  void Drop() {
    const std::scoped_lock lock(mutex_);
    tasks_.clear();
  }

 private:
  Clock* const clock_;
  // Guards what follows; standard mutexes cannot be annotated.
  std::mutex mutex_;
  std::atomic<bool> refuses_{false};
  std::multimap<TimePoint, std::function<void()>> tasks_;
};

class CountingDatabase {
 public:
  void Write(std::string_view key, std::string_view value) {
    const std::scoped_lock lock(mutex_);
    rows_[std::string(key)] = std::string(value);
  }
  void Fail(absl::Status status) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::move(status);
  }
  absl::StatusOr<std::string> Read(std::string_view key) {
    const std::scoped_lock lock(mutex_);
    ++loads_;
    if (!failure_.ok()) return failure_;
    const auto found = rows_.find(key);
    if (found == rows_.end()) return absl::NotFoundError("no row");
    return found->second;
  }
  Loader loader() {
    return [this](std::string_view key) { return Read(key); };
  }
  int loads() {
    const std::scoped_lock lock(mutex_);
    return loads_;
  }

 private:
  // Guards what follows; standard mutexes cannot be annotated.
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> rows_;
  absl::Status failure_;
  int loads_ = 0;
};

// Without jitter and early refreshes, so that times are exact.
class GuardTest : public testing::Test {
 protected:
  GuardTest() {
    options_.clock = &clock_;
    options_.random = &random_;
    options_.executor = &executor_;
    options_.timer = &executor_;
    options_.ttl = seconds(600);
    options_.min_jitter = options_.max_jitter = milliseconds(0);
    options_.early_refresh = 0;
  }

  std::unique_ptr<CacheGuard> NewGuard() {
    auto guard = CacheGuard::Create(cache_.get(), options_);
    EXPECT_TRUE(guard.ok()) << guard.status();
    return *std::move(guard);
  }
  static std::string Key(int64_t i) { return absl::StrCat("key", i); }

  FakeClock clock_;
  FixedRandom random_;
  ManualExecutor executor_{&clock_};
  CountingDatabase database_;
  GuardOptions options_;
  std::unique_ptr<MemoryCache> cache_ = NewMemoryCache({.clock = &clock_});
};

}  // namespace winnow::guard

#endif  // WINNOW_TESTS_FILTER_GUARD_GUARD_FIXTURE_H_
