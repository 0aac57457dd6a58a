// One thread of a benchmark: its share of the work, its calls, and what it has measured.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_WORKER_H_
#define WINNOW_TOOLS_WINNOW_BENCH_WORKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/winnow_bench/config.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/key_space.h"
#include "tools/winnow_bench/latency.h"
#include "tools/winnow_bench/random.h"

namespace winnow::bench {

// How a benchmark's threads write. `force_sync`: as if --sync, and with a log.
SessionSettings SessionSettingsOf(const BenchConfig& config, bool force_sync);

class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  struct Place {
    int thread = 0;
    int num_threads = 1;
    uint64_t thread_seed = 0;  // different in each thread
    uint64_t shared_seed = 0;  // the same in all threads of a benchmark
  };

  // All three outlive the worker; `stop` ends it early when set.
  Worker(const BenchConfig& config, Engine& engine, const std::atomic<bool>& stop, Place place);

  // Opens the session; before the clock starts.
  absl::Status Prepare(bool force_sync);
  // Once more where a workload has prepared something that is not to be measured.
  void StartClock();
  void StopClock();
  // Time that has passed and does not count.
  void Deduct(Clock::duration time) { deducted_ += time; }

  // --- For the loops of workload.cc and ycsb.cc ---

  // While (Continues(done, limit)): false at the limit, at the end of --duration (0: none), after
  // an error, and when stopped. With a duration, kUnlessTimed goes on past the limit.
  enum class Limit { kHard, kUnlessTimed };
  bool Continues(uint64_t done, uint64_t limit, Limit kind);
  // After `operations` operations that were done by one call.
  void Finished(uint64_t operations);
  void CountLookups(uint64_t asked, uint64_t found) {
    lookups_ += asked;
    found_ += found;
  }
  void CountWritten(std::string_view key, std::string_view value) {
    bytes_ += key.size() + value.size();
    user_bytes_written_ += key.size() + value.size();
  }
  // The engine's calls add value bytes here, the workload key bytes.
  uint64_t* bytes() { return &bytes_; }
  void Fail(absl::Status status);

  // The part of `total` that is this thread's: positions thread, thread + num_threads, ...
  uint64_t ShareOf(uint64_t total) const;
  uint64_t PositionOf(uint64_t share_index) const {
    return share_index * static_cast<uint64_t>(place_.num_threads) +
           static_cast<uint64_t>(place_.thread);
  }

  const BenchConfig& config() const { return config_; }
  const KeySpace& keys() const { return keys_; }
  const Place& place() const { return place_; }
  Engine& engine() { return engine_; }
  Session& session() { return *session_; }
  Random& random() { return random_; }
  ValueSource& values() { return values_; }

  // --- What it has measured ---
  uint64_t done() const { return done_.load(std::memory_order_relaxed); }  // from any thread
  uint64_t lookups() const { return lookups_; }
  uint64_t found() const { return found_; }
  uint64_t counted_bytes() const { return bytes_; }
  uint64_t user_bytes_written() const { return user_bytes_written_; }
  Clock::time_point start() const { return start_; }
  Clock::time_point finish() const { return finish_; }
  const LatencyHistogram* latency() const { return latency_.get(); }
  absl::Status status() const;

 private:
  const BenchConfig& config_;
  Engine& engine_;
  const std::atomic<bool>& stop_;
  const Place place_;
  const KeySpace keys_;
  Random random_;
  ValueSource values_;
  std::unique_ptr<Session> session_;
  absl::Status failure_;

  // Written by this worker only; the progress line reads it, and needs no order with the rest.
  std::atomic<uint64_t> done_{0};
  uint64_t calls_since_clock_ = 0;
  uint64_t lookups_ = 0;
  uint64_t found_ = 0;
  uint64_t bytes_ = 0;
  uint64_t user_bytes_written_ = 0;
  bool out_of_time_ = false;
  Clock::time_point start_;
  Clock::time_point finish_;
  Clock::time_point last_finish_;
  Clock::duration deducted_{};
  std::unique_ptr<LatencyHistogram> latency_;  // null without --histogram
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_WORKER_H_
