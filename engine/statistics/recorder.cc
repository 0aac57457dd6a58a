#include "engine/statistics/recorder.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace winnow {

namespace {

// Values below 8 have a bucket each; larger ones eight buckets for each power of two.
size_t BucketOf(uint64_t nanos) {
  if (nanos < 8) return static_cast<size_t>(nanos);
  const auto power = static_cast<size_t>(std::bit_width(nanos)) - 1;
  const size_t eighth = (nanos >> (power - 3)) & 7;
  return std::min((power - 2) * 8 + eighth, Histogram::kNumBuckets - 1);
}

// The middle of a bucket.
double BucketNanos(size_t bucket) {
  if (bucket < 8) return static_cast<double>(bucket);
  const size_t power = bucket / 8 + 2;
  const double width = static_cast<double>(uint64_t{1} << (power - 3));
  return static_cast<double>(uint64_t{1} << power) +
         (static_cast<double>(bucket % 8) + 0.5) * width;
}

}  // namespace

void Histogram::AddNanos(uint64_t nanos) { buckets_[BucketOf(nanos)].Increment(); }

void Histogram::AddTo(std::array<uint64_t, kNumBuckets>* totals) const {
  for (size_t i = 0; i < kNumBuckets; i++) (*totals)[i] += buckets_[i].value();
}

HistogramSummary Histogram::Summarize(const std::array<uint64_t, kNumBuckets>& counts) {
  HistogramSummary summary;
  double sum = 0;
  for (size_t i = 0; i < kNumBuckets; i++) {
    summary.samples += counts[i];
    sum += static_cast<double>(counts[i]) * BucketNanos(i);
    if (counts[i] > 0) summary.max_micros = BucketNanos(i) / 1000;
  }
  if (summary.samples == 0) return summary;
  summary.mean_micros = sum / static_cast<double>(summary.samples) / 1000;
  const auto percentile = [&](double share) {
    const double wanted = share * static_cast<double>(summary.samples);
    double seen = 0;
    for (size_t i = 0; i < kNumBuckets; i++) {
      seen += static_cast<double>(counts[i]);
      if (seen >= wanted) return BucketNanos(i) / 1000;
    }
    return summary.max_micros;
  };
  summary.p50_micros = percentile(0.50);
  summary.p99_micros = percentile(0.99);
  summary.p999_micros = percentile(0.999);
  return summary;
}

FamilyCounters& ThreadCounters::MakeFamily(uint32_t family_id) {
  MutexLock lock(&mutex_);
  if (family_id >= families_.size()) families_.resize(family_id + 1);
  families_[family_id] = std::make_unique<FamilyCounters>();
  return *families_[family_id];
}

struct Recorder::Core {
  Mutex mutex;
  std::vector<std::unique_ptr<ThreadCounters>> all ABSL_GUARDED_BY(mutex);
  std::vector<ThreadCounters*> idle ABSL_GUARDED_BY(mutex);

  ThreadCounters* Take() {
    MutexLock lock(&mutex);
    if (!idle.empty()) {
      ThreadCounters* counters = idle.back();
      idle.pop_back();
      return counters;
    }
    all.push_back(std::make_unique<ThreadCounters>());
    return all.back().get();
  }
  void GiveBack(ThreadCounters* counters) {
    MutexLock lock(&mutex);
    idle.push_back(counters);
  }
};

namespace {

// The counters that one thread has in each database that it has used and that is still there.
struct ThreadEntries {
  struct Entry {
    uint64_t recorder_id;
    std::weak_ptr<Recorder::Core> core;
    ThreadCounters* counters;
  };
  std::vector<Entry> entries;

  ~ThreadEntries() {
    for (Entry& entry : entries) {
      if (auto core = entry.core.lock()) core->GiveBack(entry.counters);
    }
  }
};
thread_local ThreadEntries thread_entries;

}  // namespace

thread_local Recorder::Cached Recorder::cached_;

Recorder::Recorder()
    : id_([] {
        static std::atomic<uint64_t> next{1};
        return next.fetch_add(1, std::memory_order_relaxed);
      }()),
      core_(std::make_shared<Core>()) {}

Recorder::~Recorder() = default;

ThreadCounters& Recorder::FindLocal() {
  auto& entries = thread_entries.entries;
  std::erase_if(entries, [](const auto& entry) { return entry.core.expired(); });
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.recorder_id == id_; });
  ThreadCounters* counters = found != entries.end() ? found->counters : core_->Take();
  if (found == entries.end()) entries.push_back({id_, core_, counters});
  cached_ = {id_, counters};
  return *counters;
}

Recorder::Totals Recorder::Sum() const {
  Totals totals;
  std::array<std::array<uint64_t, Histogram::kNumBuckets>,
             static_cast<size_t>(LatencyHistogram::kCount)>
      histograms{};
  const auto add = [&](Ticker ticker, const SingleWriterCounter& counter) {
    totals.tickers[static_cast<size_t>(ticker)] += counter.value();
  };
  MutexLock lock(&core_->mutex);
  for (const auto& thread : core_->all) {
    for (size_t i = 0; i < totals.tickers.size(); i++) {
      totals.tickers[i] += thread->tickers_[i].value();
    }
    add(Ticker::kDataBlocksRead, thread->reads_.data_blocks_read);
    add(Ticker::kIndexBlocksRead, thread->reads_.index_blocks_read);
    add(Ticker::kBytesRead, thread->reads_.bytes_read);
    add(Ticker::kBlockCacheHits, thread->reads_.block_cache_hits);
    add(Ticker::kBlockCacheMisses, thread->reads_.block_cache_misses);
    add(Ticker::kBlockLoadWaits, thread->reads_.block_load_waits);
    for (size_t i = 0; i < histograms.size(); i++) thread->histograms_[i].AddTo(&histograms[i]);

    MutexLock families_lock(&thread->mutex_);
    for (uint32_t family = 0; family < thread->families_.size(); family++) {
      if (thread->families_[family] == nullptr) continue;
      for (size_t call = 0; call < static_cast<size_t>(FilterCall::kCount); call++) {
        const auto& table = (*thread->families_[family])[call].by_level_and_kind;
        for (int level = 0; level < kNumLevels; level++) {
          for (size_t kind = 0; kind < kNumFilterKinds; kind++) {
            const FilterCounters& counters = table[static_cast<size_t>(level)][kind];
            const Totals::FilterTotals one = {counters.not_asked.value(), counters.rejected.value(),
                                              counters.true_positive.value(),
                                              counters.false_positive.value()};
            if (one.not_asked + one.rejected + one.true_positive + one.false_positive == 0)
              continue;
            auto& sum = totals.filters[{family, level, kind, static_cast<FilterCall>(call)}];
            sum.not_asked += one.not_asked;
            sum.rejected += one.rejected;
            sum.true_positive += one.true_positive;
            sum.false_positive += one.false_positive;
          }
        }
      }
    }
  }
  for (size_t i = 0; i < histograms.size(); i++) {
    totals.histograms[i] = Histogram::Summarize(histograms[i]);
  }
  return totals;
}

}  // namespace winnow
