#include "engine/statistics/recorder.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <utility>

#include "engine/base/hazard_slot.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/per_thread.h"

namespace winnow {

namespace {

// Values below 8 have a bucket each; larger ones eight buckets for each power of two.
// A fixed table, so that adding is a few instructions and histograms of threads are summed bucket
// by bucket.
size_t BucketOf(uint64_t nanos) {
  if (nanos < 8) return static_cast<size_t>(nanos);
  const auto power = static_cast<size_t>(std::bit_width(nanos)) - 1;
  // The three bits below the leading one. 8, the first with `power` 3, gets bucket 8: none is left
  // out.
  const size_t eighth = (nanos >> (power - 3)) & 7;
  // The last bucket begins at 1.875 * 2^41 ns, some 69 minutes, and takes all that is longer.
  return std::min((power - 2) * 8 + eighth, Histogram::kNumBuckets - 1);
}

// The middle of a bucket.
// A bucket from L on is as wide as an eighth of its power of two, and so at most L / 8: its middle
// is off by at most half of that, 6.25 % of the value. Below 8 the value is exact.
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

// All figures come from the buckets: the samples themselves are gone, and no exact sum is kept,
// whose addition every sample would pay for.
HistogramSummary Histogram::Summarize(const std::array<uint64_t, kNumBuckets>& counts) {
  HistogramSummary summary;
  double sum = 0;
  for (size_t i = 0; i < kNumBuckets; i++) {
    summary.samples += counts[i];
    sum += static_cast<double>(counts[i]) * BucketNanos(i);
    // Like every other figure the middle of a bucket: the largest value may be a little larger.
    if (counts[i] > 0) summary.max_micros = BucketNanos(i) / 1000;
  }
  if (summary.samples == 0) return summary;
  summary.mean_micros = sum / static_cast<double>(summary.samples) / 1000;
  // The bucket of the smallest sample that at least this share of all samples does not exceed.
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

namespace {

void AddTotals(const RecorderTotals::FilterTotals& more, RecorderTotals::FilterTotals* sum) {
  sum->not_asked += more.not_asked;
  sum->rejected += more.rejected;
  sum->true_positive += more.true_positive;
  sum->false_positive += more.false_positive;
  sum->promised += more.promised;
}

// A row is made only for what has been met.
void AddTable(uint32_t family, FilterCall call, const FilterCounterTable& table,
              std::map<RecorderTotals::FilterKey, RecorderTotals::FilterTotals>* totals) {
  table.ForEach([&](int level, size_t slot, const FilterCounters& counters) {
    const RecorderTotals::FilterTotals one = {counters.not_asked.value(), counters.rejected.value(),
                                              counters.true_positive.value(),
                                              counters.false_positive.value(), 0};
    if (one.not_asked + one.rejected + one.true_positive + one.false_positive == 0) return;
    AddTotals(one, &(*totals)[{family, level, KindOfSlot(slot), PartOfSlot(slot), call}]);
  });
  const FilterCounterTable::Ranges* const ranges = table.range_filters();
  for (int level = 0; ranges != nullptr && level < kNumLevels; level++) {
    const RangeFilterCounters& counters = (*ranges)[static_cast<size_t>(level)];
    const RecorderTotals::FilterTotals one = {
        counters.not_asked.value(), counters.rejected.value(), counters.true_positive.value(),
        counters.false_positive.value(), counters.promised.value()};
    if (one.not_asked + one.rejected + one.true_positive + one.false_positive == 0) continue;
    AddTotals(
        one,
        &(*totals)[{family, level, RecorderTotals::kRangeKind, FilterPartCategory::kCount, call}]);
  }
}

}  // namespace

void DroppedFamilies::Add(uint32_t family_id) {
  MutexLock lock(&mutex_);
  if (family_id >= by_id_.size()) by_id_.resize(family_id + 1);
  by_id_[family_id] = true;
  count_.fetch_add(1, std::memory_order_relaxed);
}

bool DroppedFamilies::Has(uint32_t family_id) const {
  MutexLock lock(&mutex_);
  return family_id < by_id_.size() && by_id_[family_id];
}

// The owner reads `filters_` without the lock, since nobody else writes to it; Sum, in another
// thread, must not see its places move.
FilterCounterTable& ThreadCounters::MakeFilters(uint32_t family_id, FilterCall call) {
  if (is_for_any_thread_) throw std::bad_alloc();
  // A call that began before the drop, or an iterator that goes on after it.
  if (dropped_.Has(family_id)) {
    if (of_dropped_ == nullptr) of_dropped_ = std::make_unique<FilterCounterTable>();
    return *of_dropped_;
  }
  MutexLock lock(&mutex_);
  const bool is_inside_another_call = HazardSlot::NumGuards(HazardSlot::kReadView) > 1;
  if (!is_inside_another_call) FreeDropped();
  return filters_.Make(family_id, call);
}

// Looks at all tables, and so not before there are some drops for each eight of them: where many
// families stay, one that is dropped costs little still.
void ThreadCounters::FreeDropped() {
  const uint64_t count = dropped_.count();
  if ((count - drops_looked_at_) * 8 <= filters_.size()) return;
  drops_looked_at_ = count;
  filters_.EraseFamilies([this](uint32_t family_id) { return dropped_.Has(family_id); });
}

void ThreadCounters::AddFiltersTo(
    std::map<RecorderTotals::FilterKey, RecorderTotals::FilterTotals>* totals) const {
  filters_.ForEach([&](uint32_t family_id, FilterCall call, const FilterCounterTable& table) {
    if (!dropped_.Has(family_id)) AddTable(family_id, call, table, totals);
  });
}

// all   the counters of every thread that has ever counted here, with one owner at most
// idle  those whose thread has ended
//
// What an ended thread has counted stays in the sums: the thread that takes its counters adds to
// them, and its tables by column family, which are many where families are, are added to `ended`
// and freed. So there are as many as threads have used the database at one time, however many come
// and go. The lock in between lets the new owner see what the old one wrote, so that each counter
// has one writer still.
struct Recorder::Core {
  Mutex mutex;
  std::vector<std::unique_ptr<ThreadCounters>> all ABSL_GUARDED_BY(mutex);
  std::vector<ThreadCounters*> idle ABSL_GUARDED_BY(mutex);
  std::map<RecorderTotals::FilterKey, RecorderTotals::FilterTotals> ended ABSL_GUARDED_BY(mutex);
  DroppedFamilies dropped;
  ThreadCounters for_any_thread{&dropped, ThreadCounters::ForAnyThread()};

  ThreadCounters* Take() {
    MutexLock lock(&mutex);
    // Any of them will do, the last first: its lines are the most likely to be in a cache.
    if (!idle.empty()) {
      ThreadCounters* counters = idle.back();
      idle.pop_back();
      return counters;
    }
    auto counters = std::make_unique<ThreadCounters>(&dropped);
    // A thread that ends cannot be refused a place for them.
    idle.reserve(all.size() + 1);
    all.push_back(std::move(counters));
    return all.back().get();
  }
  // By the thread itself, as it ends.
  void GiveBack(ThreadCounters* counters) noexcept {
    // What else ends with the thread, after this, may still call the database.
    if (cached_.counters == counters) cached_ = {};
    MutexLock lock(&mutex);
    idle.push_back(counters);
    MutexLock families_lock(&counters->mutex_);
    UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex, counters->mutex_) {
      counters->AddFiltersTo(&ended);
    });
    counters->filters_.Clear();
  }
};

namespace {

// The counters that one thread has in each database that it has used and that is still there.
// Thread and database end in either order. If the database goes first, its Core goes with it, and
// the entry has expired; if the thread does, it gives the counters back. Taking the weak pointer
// keeps the Core alive for that moment.
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

}  // namespace

// The database that this thread has used last: most threads use one.
constinit thread_local Recorder::Cached Recorder::cached_;

Recorder::Recorder()
    // Never given twice. A database may be opened where another was in memory before, and
    // `cached_`, which outlives it, would then be taken for the new one's and lead to counters that
    // are freed.
    : id_([] {
        static std::atomic<uint64_t> next{1};
        return next.fetch_add(1, std::memory_order_relaxed);
      }()),
      core_(std::make_shared<Core>()) {}

Recorder::~Recorder() = default;

ThreadCounters& Recorder::FindLocal() noexcept {
  ThreadEntries* const of_thread = PerThread<ThreadEntries>::GetOrNull();
  if (of_thread == nullptr) return core_->for_any_thread;  // and the next call tries again
  auto& entries = of_thread->entries;
  // Only here, where a thread changes from one database to another: a thread that opens and closes
  // many does not gather entries.
  std::erase_if(entries, [](const auto& entry) { return entry.core.expired(); });
  // A walk: a thread has an entry for each open database that it uses, a few at most.
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.recorder_id == id_; });
  ThreadCounters* counters = found != entries.end() ? found->counters : nullptr;
  if (counters == nullptr) {
    const bool taken = UnlessOutOfMemory([&] {
      entries.reserve(entries.size() + 1);
      counters = core_->Take();
    });
    if (!taken) return core_->for_any_thread;
    entries.push_back({id_, core_, counters});
  }
  cached_ = {id_, counters};
  return *counters;
}

// Others than this thread read their tables without a lock, and free them themselves.
void Recorder::ForgetFamily(uint32_t family_id) {
  // Without memory it is taken for one that is there, whose rows nobody asks for.
  UnlessOutOfMemory([&] {
    core_->dropped.Add(family_id);
    if (HazardSlot::NumGuards(HazardSlot::kReadView) > 0) return;  // dropped by a comparator
    ThreadCounters& own = Local();
    MutexLock lock(&own.mutex_);
    own.FreeDropped();
  });
  MutexLock lock(&core_->mutex);
  // Tables of other threads that still count for it are passed over by Sum, and freed by those.
  std::erase_if(core_->ended, [&](const auto& row) { return row.first.family_id == family_id; });
}

// Threads go on counting meanwhile. Each counter is read once, and none goes back, but the sums are
// not of one moment: of two that belong together one may be ahead by what is just being done.
//
// Locks: the Core's, then that of one thread's families. No counting thread takes either, but for
// its first use of the database or of a family.
RecorderTotals Recorder::Sum() const {
  RecorderTotals totals;
  std::array<std::array<uint64_t, Histogram::kNumBuckets>,
             static_cast<size_t>(LatencyHistogram::kCount)>
      histograms{};
  const auto add = [&](Ticker ticker, const SingleWriterCounter& counter) {
    totals.tickers[static_cast<size_t>(ticker)] += counter.value();
  };
  MutexLock lock(&core_->mutex);
  totals.filters = core_->ended;
  std::vector<ThreadCounters*> threads = {&core_->for_any_thread};
  for (const auto& thread : core_->all) threads.push_back(thread.get());
  for (ThreadCounters* thread : threads) {
    for (size_t i = 0; i < totals.tickers.size(); i++) {
      totals.tickers[i] += thread->tickers_[i].value();
    }
    // Tables count in ReadCounters, since jobs count there too, which are no reads of users.
    add(Ticker::kDataBlocksRead, thread->reads_.data_blocks_read);
    add(Ticker::kBlocksReadTogether, thread->reads_.blocks_read_together);
    add(Ticker::kIndexBlocksRead, thread->reads_.index_blocks_read);
    add(Ticker::kFilterBlocksRead, thread->reads_.filter_blocks_read);
    add(Ticker::kSignatureBlocksRead, thread->reads_.signature_blocks_read);
    add(Ticker::kBytesRead, thread->reads_.bytes_read);
    add(Ticker::kBlockCacheHits, thread->reads_.block_cache_hits);
    add(Ticker::kBlockCacheMisses, thread->reads_.block_cache_misses);
    add(Ticker::kBlockLoadWaits, thread->reads_.block_load_waits);
    for (size_t i = 0; i < histograms.size(); i++) thread->histograms_[i].AddTo(&histograms[i]);

    MutexLock families_lock(&thread->mutex_);
    thread->AddFiltersTo(&totals.filters);
  }
  for (size_t i = 0; i < histograms.size(); i++) {
    totals.histograms[i] = Histogram::Summarize(histograms[i]);
  }
  return totals;
}

}  // namespace winnow
