// Keeps what flushes and compactions write to a rate, as long as they can afford it.
#ifndef WINNOW_ENGINE_COMPACTION_BACKGROUND_RATE_LIMITER_H_
#define WINNOW_ENGINE_COMPACTION_BACKGROUND_RATE_LIMITER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "engine/base/steady_clock.h"
#include "filter/base/mutex.h"
#include "winnow/file_system.h"

namespace winnow {

// What the background work of a database is under.
struct BackgroundLoad {
  // How near writes are to being delayed: 0, nothing is due; 1, they are about to be.
  double debt = 0;
  // Readers have loaded blocks from files since the last look.
  bool has_readers = false;
};

// A rate in bytes a second, shared by all threads. What flushes write counts against compactions,
// which wait behind it, and not the other way round. The rate is raised with the debt, r / (1 -
// debt), and is none from nine tenths on: a limit that made writes wait would be worth less than
// none. Where writes wait all the same, since memtables fill faster than anybody looks, there is no
// limit until they go on. RocksDB's auto-tuned rate limiter goes by how often the limit was met,
// Pebble paces compactions and flushes by the debt, as this does. While readers read from files and
// the debt is small, compactions have half of the rate. Thread-safe.
class BackgroundRateLimiter {
 public:
  enum class Priority { kFlush, kCompaction };
  using Sleep = std::function<void(std::chrono::microseconds)>;
  // Any of them ends a wait at once; may be null.
  using Cancelled = std::array<const std::atomic<bool>*, 2>;

  explicit BackgroundRateLimiter(uint64_t bytes_per_second);
  BackgroundRateLimiter(uint64_t bytes_per_second, SteadyClock clock, Sleep sleep);

  uint64_t bytes_per_second() const { return bytes_per_second_.load(std::memory_order_relaxed); }
  // Felt by those who wait after what they have asked for by then, a twentieth of a second's.
  void set_bytes_per_second(uint64_t bytes) {
    bytes_per_second_.store(bytes, std::memory_order_relaxed);
  }
  bool is_limited() const { return bytes_per_second() != 0; }
  // Asked by threads that are about to wait, forty times a second at most. Set before any is.
  void SetLoadSource(std::function<BackgroundLoad()> source) { load_source_ = std::move(source); }
  // Writes stand still, or are delayed, until background work is done: meanwhile nothing waits
  // here, within a hundredth of a second.
  void SetWritesWait(bool wait) { writes_wait_.store(wait, std::memory_order_relaxed); }
  // From now on nothing waits: the database is closing.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

  // Waits until `bytes` more may be written, and returns for how long.
  std::chrono::microseconds Request(uint64_t bytes, Priority priority, const Cancelled& cancelled);

 private:
  // When `bytes` that are asked for now may be written.
  SteadyTime Reserve(uint64_t bytes, Priority priority, SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes a second under the present load; nothing: no limit.
  std::optional<double> RateFor(Priority priority) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasNoLimit(Priority priority) ABSL_LOCKS_EXCLUDED(mutex_);
  void LookAtLoad(SteadyTime now) ABSL_LOCKS_EXCLUDED(mutex_);
  bool MustNotWait(const Cancelled& cancelled) const;

  const SteadyClock clock_;
  const Sleep sleep_;
  std::function<BackgroundLoad()> load_source_;
  std::atomic<uint64_t> bytes_per_second_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> writes_wait_{false};
  Mutex mutex_;
  BackgroundLoad load_ ABSL_GUARDED_BY(mutex_);
  std::optional<SteadyTime> looked_at_load_ ABSL_GUARDED_BY(mutex_);
  SteadyTime::duration load_interval_ ABSL_GUARDED_BY(mutex_){};
  // When what was asked for up to now has been written, at the rate.
  SteadyTime flushes_done_ ABSL_GUARDED_BY(mutex_);
  SteadyTime compactions_done_ ABSL_GUARDED_BY(mutex_);
};

// One of them is set; they may be null.
bool IsCancelled(const BackgroundRateLimiter::Cancelled& cancelled);
// Cancelled, if one is: for jobs that a close, or a drop of their family, ends.
absl::Status CheckNotCancelled(const BackgroundRateLimiter::Cancelled& cancelled);

// `file` as a job writes it, under the limiter. `*waited` grows by how long it waits; all of them
// outlive the file.
struct PacedBy {
  BackgroundRateLimiter* limiter = nullptr;
  BackgroundRateLimiter::Priority priority = BackgroundRateLimiter::Priority::kCompaction;
  BackgroundRateLimiter::Cancelled cancelled = {};
};
std::unique_ptr<WritableFile> NewPacedFile(std::unique_ptr<WritableFile> file, const PacedBy& by,
                                           std::chrono::microseconds* waited);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_BACKGROUND_RATE_LIMITER_H_
