// Counts what a database does, one set of counters for each thread.
#ifndef WINNOW_ENGINE_STATISTICS_RECORDER_H_
#define WINNOW_ENGINE_STATISTICS_RECORDER_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/counter.h"
#include "engine/statistics/filter_counter_map.h"
#include "engine/version/version.h"
#include "filter/base/mutex.h"
#include "winnow/statistics.h"

namespace winnow {

// Latencies in buckets whose width is an eighth of their power of two: at most 12 % off.
class Histogram {
 public:
  static constexpr size_t kNumBuckets = 40 * 8;
  void AddNanos(uint64_t nanos);
  // Adds this histogram's counts to `totals`.
  void AddTo(std::array<uint64_t, kNumBuckets>* totals) const;
  static HistogramSummary Summarize(const std::array<uint64_t, kNumBuckets>& counts);

 private:
  std::array<SingleWriterCounter, kNumBuckets> buckets_;
};

// Sums over all threads.
struct RecorderTotals {
  std::array<uint64_t, static_cast<size_t>(Ticker::kCount)> tickers{};
  std::array<HistogramSummary, static_cast<size_t>(LatencyHistogram::kCount)> histograms{};
  struct FilterTotals {
    uint64_t not_asked = 0;
    uint64_t rejected = 0;
    uint64_t true_positive = 0;
    uint64_t false_positive = 0;
    uint64_t promised = 0;  // RangeFilterCounters::promised
  };
  // FilterKey::kind of range filters; the others are SstableFile::filter_kind_index().
  static constexpr size_t kRangeKind = kNumFilterKinds;
  struct FilterKey {
    uint32_t family_id;
    int level;
    size_t kind;
    FilterPartCategory part;  // kCount of range filters
    FilterCall call;
    auto operator<=>(const FilterKey&) const = default;
  };
  std::map<FilterKey, FilterTotals> filters;
};

// The column families of a database that have been dropped: a bit for each id that was given.
// Thread-safe.
class DroppedFamilies {
 public:
  void Add(uint32_t family_id) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Has(uint32_t family_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  mutable Mutex mutex_;
  std::vector<bool> by_id_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> count_{0};
};

// What one thread counts for one database. Only the owning thread calls the non-const members.
class ThreadCounters {
 public:
  // For all threads that there was no memory for: what several count at one time may be lost.
  // Nothing is counted by column family, for which MakeFilters throws as if asked for memory.
  struct ForAnyThread {};

  explicit ThreadCounters(const DroppedFamilies* dropped) : dropped_(*dropped) {}
  ThreadCounters(const DroppedFamilies* dropped, ForAnyThread /*tag*/)
      : dropped_(*dropped), is_for_any_thread_(true) {}

  void Add(Ticker ticker, uint64_t amount = 1) {
    tickers_[static_cast<size_t>(ticker)].Add(amount);
  }
  ReadCounters& reads() { return reads_; }
  SingleWriterCounter& ticker(Ticker ticker) { return tickers_[static_cast<size_t>(ticker)]; }
  // To be called inside a HazardGuard of kReadView, as all do who read. Stays until the outermost
  // guard of the thread ends: a comparator or a merge operator, called in the middle of a look-up,
  // may look up in other families and drop them.
  FilterCounterTable& Filters(uint32_t family_id, FilterCall call) {
    FilterCounterTable* const table = filters_.Find(family_id, call);
    if (table != nullptr) [[likely]]
      return *table;
    return MakeFilters(family_id, call);
  }
  Histogram& histogram(LatencyHistogram which) { return histograms_[static_cast<size_t>(which)]; }
  // True for one call in kSampleEvery of those that the histogram is of. Each has a count of its
  // own: by one for all, a thread that calls in turns would have the same call timed each time.
  static constexpr uint32_t kSampleEvery = 64;
  bool ShouldTime(LatencyHistogram which) {
    std::atomic<uint32_t>& of_histogram = calls_[static_cast<size_t>(which)];
    // A load and a store: it is nobody else's, or need not be exact.
    const uint32_t calls = of_histogram.load(std::memory_order_relaxed);
    of_histogram.store(calls + 1, std::memory_order_relaxed);
    return calls % kSampleEvery == 0;
  }

 private:
  friend class Recorder;
  FilterCounterTable& MakeFilters(uint32_t family_id, FilterCall call) ABSL_LOCKS_EXCLUDED(mutex_);
  // The tables of families that have been dropped, if it is worth looking for them.
  void FreeDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddFiltersTo(std::map<RecorderTotals::FilterKey, RecorderTotals::FilterTotals>* totals) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::array<SingleWriterCounter, static_cast<size_t>(Ticker::kCount)> tickers_;
  ReadCounters reads_;
  std::array<Histogram, static_cast<size_t>(LatencyHistogram::kCount)> histograms_;
  const DroppedFamilies& dropped_;
  const bool is_for_any_thread_ = false;
  std::array<std::atomic<uint32_t>, static_cast<size_t>(LatencyHistogram::kCount)> calls_ = {};
  // Changed by the owner under the lock, so that the owner may read without and others with it.
  Mutex mutex_;
  FilterCounterMap filters_;
  // The owner's alone.
  uint64_t drops_looked_at_ = 0;
  std::unique_ptr<FilterCounterTable> of_dropped_;  // what is counted in it is of no interest
};

// Thread-safe. Counters of ended threads are kept and given to new ones; what those have counted by
// column family is added up first, so that tables exist for threads that run, and not for all that
// ever ran.
class Recorder {
 public:
  Recorder();
  ~Recorder();

  // Takes memory the first time that a thread asks, and does without if there is none.
  ThreadCounters& Local() noexcept {
    if (cached_.recorder_id == id_) [[likely]]
      return *cached_.counters;
    return FindLocal();
  }

  using Totals = RecorderTotals;
  Totals Sum() const;
  // The family has been dropped: what has been counted for it is forgotten. What memory it takes
  // comes back as threads come to count for other families, or end.
  void ForgetFamily(uint32_t family_id);

  struct Core;  // outlives the recorder while threads still refer to it

 private:
  struct Cached {
    uint64_t recorder_id = 0;
    ThreadCounters* counters = nullptr;
  };
  ThreadCounters& FindLocal() noexcept;

  static constinit thread_local Cached cached_;
  const uint64_t id_;  // never reused, unlike addresses
  const std::shared_ptr<Core> core_;
};

// Times a scope into a histogram if it was chosen as a sample.
class SampledTimer {
 public:
  SampledTimer(ThreadCounters& counters, LatencyHistogram which)
      : counters_(counters), which_(which), timed_(counters.ShouldTime(which)) {
    if (timed_) start_ = std::chrono::steady_clock::now();
  }
  ~SampledTimer() {
    if (!timed_) return;
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    counters_.histogram(which_).AddNanos(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()));
  }
  SampledTimer(const SampledTimer&) = delete;
  SampledTimer& operator=(const SampledTimer&) = delete;

 private:
  ThreadCounters& counters_;
  const LatencyHistogram which_;
  const bool timed_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_RECORDER_H_
