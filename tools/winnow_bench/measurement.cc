#include "tools/winnow_bench/measurement.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace winnow::bench {
namespace {

using Clock = Worker::Clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// The threads of one workload. Invariant: the main thread reads what workers measured only after
// it has joined them, except for done().
class Team {
 public:
  Team(const BenchConfig& config, Engine& engine, const Workload& workload, uint64_t seed)
      : workload_(workload), num_workers_(NumWorkers(config, workload)), ready_(num_workers_ + 1) {
    const int num_all = num_workers_ + (workload.disturb == nullptr ? 0 : 1);
    for (int i = 0; i < num_all; i++) {
      Worker::Place place;
      place.thread = i;
      place.num_threads = num_workers_;
      place.shared_seed = seed;
      place.thread_seed = DeriveSeed(seed, "thread", static_cast<uint64_t>(i));
      const std::atomic<bool>& stop = i < num_workers_ ? stop_workers_ : stop_disturber_;
      workers_.push_back(std::make_unique<Worker>(config, engine, stop, place));
    }
  }

  absl::Status Run(std::string_view engine_name) {
    for (const auto& worker : workers_) {
      absl::Status prepared = worker->Prepare(workload_.forces_sync);
      if (!prepared.ok()) return prepared;
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < num_workers_; i++) {
      threads.emplace_back([this, i] { Work(*workers_[static_cast<size_t>(i)]); });
    }
    std::thread disturber;
    if (workload_.disturb != nullptr) {
      disturber = std::thread([this] { workload_.disturb(*workers_.back()); });
    }
    ready_.arrive_and_wait();
    ShowProgress(engine_name);
    for (std::thread& thread : threads) thread.join();
    stop_disturber_.store(true, std::memory_order_relaxed);
    if (disturber.joinable()) disturber.join();
    for (const auto& worker : workers_) {
      if (!worker->status().ok()) return worker->status();
    }
    return absl::OkStatus();
  }

  Measurement Sum() const {
    Measurement sum;
    sum.num_threads = num_workers_;
    Clock::time_point start = workers_[0]->start();
    Clock::time_point finish = workers_[0]->finish();
    for (size_t i = 0; i < workers_.size(); i++) {
      const Worker& worker = *workers_[i];
      sum.user_bytes_written += worker.user_bytes_written();
      if (i >= static_cast<size_t>(num_workers_)) continue;
      sum.ops += worker.done();
      sum.lookups += worker.lookups();
      sum.found += worker.found();
      sum.bytes += worker.counted_bytes();
      sum.thread_seconds += Seconds(worker.finish() - worker.start());
      start = std::min(start, worker.start());
      finish = std::max(finish, worker.finish());
      if (worker.latency() == nullptr) continue;
      if (sum.latency == nullptr) sum.latency = std::make_unique<LatencyHistogram>();
      sum.latency->Merge(*worker.latency());
    }
    sum.elapsed_seconds = Seconds(finish - start);
    return sum;
  }

 private:
  static int NumWorkers(const BenchConfig& config, const Workload& workload) {
    return workload.kind == WorkloadKind::kMaintenance ? 1 : static_cast<int>(config.threads);
  }

  void Work(Worker& worker) {
    ready_.arrive_and_wait();
    worker.StartClock();
    workload_.run(worker);
    worker.StopClock();
    if (!worker.status().ok()) stop_workers_.store(true, std::memory_order_relaxed);
    num_finished_.fetch_add(1, std::memory_order_relaxed);  // the progress line only
  }

  // Until all workers have finished; at once if nobody is watching.
  void ShowProgress(std::string_view engine_name) const {
    if (isatty(STDERR_FILENO) == 0) return;
    constexpr auto kPoll = std::chrono::milliseconds(10);
    constexpr int kPollsPerLine = 20;
    const Clock::time_point start = Clock::now();
    for (int poll = 1; num_finished_.load(std::memory_order_relaxed) < num_workers_; poll++) {
      std::this_thread::sleep_for(kPoll);
      if (poll % kPollsPerLine != 0) continue;
      uint64_t done = 0;
      for (int i = 0; i < num_workers_; i++) done += workers_[static_cast<size_t>(i)]->done();
      std::fprintf(stderr, "\r%s %s: %llu operations, %.0f s\033[K",
                   std::string(engine_name).c_str(), std::string(workload_.name).c_str(),
                   static_cast<unsigned long long>(done), Seconds(Clock::now() - start));
    }
    std::fprintf(stderr, "\r\033[K");
  }

  const Workload& workload_;
  const int num_workers_;
  std::vector<std::unique_ptr<Worker>> workers_;  // a disturbing one last
  std::latch ready_;
  std::atomic<int> num_finished_{0};
  std::atomic<bool> stop_workers_{false};
  std::atomic<bool> stop_disturber_{false};
};

}  // namespace

double Measurement::OpsPerSecond() const {
  return elapsed_seconds > 0 ? static_cast<double>(ops) / elapsed_seconds : 0;
}

double Measurement::MicrosPerOp() const {
  return ops > 0 ? thread_seconds * 1e6 / static_cast<double>(ops) : 0;
}

absl::StatusOr<Measurement> MeasureWorkload(const BenchConfig& config, Engine& engine,
                                            std::string_view engine_name, const Workload& workload,
                                            uint64_t seed) {
  Team team(config, engine, workload, seed);
  absl::Status status = team.Run(engine_name);
  if (!status.ok()) return status;
  return team.Sum();
}

}  // namespace winnow::bench
