#include "tools/winnow_bench/worker.h"

#include <utility>

namespace winnow::bench {
namespace {

constexpr uint64_t kCallsBetweenClockReads = 32;

}  // namespace

SessionSettings SessionSettingsOf(const BenchConfig& config, bool force_sync) {
  SessionSettings settings;
  settings.sync = config.sync || force_sync;
  settings.disable_wal = config.disable_wal && !force_sync;
  settings.verify_checksums = config.verify_checksum;
  return settings;
}

Worker::Worker(const BenchConfig& config, Engine& engine, const std::atomic<bool>& stop,
               Place place)
    : config_(config),
      engine_(engine),
      stop_(stop),
      place_(place),
      keys_(config),
      random_(place.thread_seed),
      values_(static_cast<size_t>(config.value_size), config.compression_ratio,
              place.thread_seed + 1) {
  if (config.histogram) latency_ = std::make_unique<LatencyHistogram>();
}

absl::Status Worker::Prepare(bool force_sync) {
  absl::StatusOr<std::unique_ptr<Session>> session =
      engine_.NewSession(SessionSettingsOf(config_, force_sync));
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  return absl::OkStatus();
}

void Worker::StartClock() { start_ = finish_ = last_finish_ = Clock::now(); }

void Worker::StopClock() { finish_ = Clock::now() - deducted_; }

bool Worker::Continues(uint64_t done, uint64_t limit, Limit kind) {
  const bool timed = config_.duration > 0;
  if (done >= limit && !(timed && kind == Limit::kUnlessTimed)) return false;
  if (!session_->status().ok() || !failure_.ok()) return false;
  if (stop_.load(std::memory_order_relaxed)) return false;  // carries no data with it
  return !out_of_time_;
}

void Worker::Finished(uint64_t operations) {
  done_.store(done_.load(std::memory_order_relaxed) + operations, std::memory_order_relaxed);
  if (latency_ != nullptr) {
    const Clock::time_point now = Clock::now();
    latency_->Add(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_finish_).count()));
    last_finish_ = now;
  }
  if (config_.duration > 0 && ++calls_since_clock_ >= kCallsBetweenClockReads) {
    calls_since_clock_ = 0;
    out_of_time_ = Clock::now() - start_ >= std::chrono::seconds(config_.duration);
  }
}

void Worker::Fail(absl::Status status) {
  if (failure_.ok()) failure_ = std::move(status);
}

uint64_t Worker::ShareOf(uint64_t total) const {
  const uint64_t threads = static_cast<uint64_t>(place_.num_threads);
  const uint64_t thread = static_cast<uint64_t>(place_.thread);
  return total / threads + (thread < total % threads ? 1 : 0);
}

absl::Status Worker::status() const {
  if (!failure_.ok()) return failure_;
  return session_ == nullptr ? absl::OkStatus() : session_->status();
}

}  // namespace winnow::bench
