// What a cache guard costs where it answers out of memory, by one thread and by 64.
//
//   bench_guard                                  nanoseconds a call (real time over all threads)
//   bench_guard --benchmark_filter='hit/'        the hit alone
//
// Rows: `hit` is a fresh value of one of 10,000 keys, each of 100 bytes; `hit_of_many` of 100,000,
// which no processor's second-level cache holds; `hit_behind_filter` has a Bloom filter in front;
// `one_hot_key` is the same key for all threads, and so one shard's lock; `negative` a key
// that is known to be absent; `filtered` one that the filter refuses. `hit_one_shard` is a hit of a
// cache whose keys share one lock: the others show that they do not.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/guard/cache_guard.h"
#include "winnow/guard/memory_cache.h"

namespace winnow::guard {
namespace {

constexpr size_t kKeys = 10'000;
constexpr size_t kManyKeys = 100'000;
constexpr int kManyThreads = 64;

enum class Row { kHit, kHitOfMany, kBehindFilter, kOneHotKey, kNegative, kFiltered, kOneShard };

absl::StatusOr<std::string> Load(std::string_view key) {
  if (key.starts_with("absent")) return absl::NotFoundError("no such row");
  return std::string(100, 'v');
}

// A guard with a value for every key, and what is asked of it.
class Setting {
 public:
  explicit Setting(Row row) {
    cache_ = NewMemoryCache(
        {.capacity_bytes = uint64_t{256} << 20, .num_shards = row == Row::kOneShard ? 1u : 64u});
    const bool has_filter = row == Row::kBehindFilter || row == Row::kFiltered;
    if (has_filter) filter_ = *NewBloomKeyFilter(kKeys, 0.01);
    GuardOptions options;
    options.filter = filter_.get();
    options.ttl = std::chrono::hours(24);
    options.max_negative_entries = kKeys;
    options.early_refresh = 0;
    guard_ = *CacheGuard::Create(cache_.get(), options);
    const bool is_absent = row == Row::kNegative || row == Row::kFiltered;
    const size_t num_keys = row == Row::kOneHotKey ? 1 : row == Row::kHitOfMany ? kManyKeys : kKeys;
    for (size_t i = 0; i < num_keys; ++i) {
      keys_.push_back((is_absent ? "absent:" : "user:") + std::to_string(i));
      if (row == Row::kBehindFilter) (void)guard_->BeginInsert(keys_.back());
      benchmark::DoNotOptimize(guard_->Get(keys_.back(), Load));
    }
  }

  CacheGuard& guard() const { return *guard_; }
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  std::unique_ptr<MemoryCache> cache_;
  std::unique_ptr<KeyFilter> filter_;
  std::unique_ptr<CacheGuard> guard_;
  std::vector<std::string> keys_;
};

// Made once for all numbers of threads, by whichever thread is first.
template <Row kRow>
const Setting& SettingOf() {
  static const Setting* const setting = new Setting(kRow);
  return *setting;
}

template <Row kRow>
void Measure(benchmark::State& state) {
  const Setting& setting = SettingOf<kRow>();
  const std::vector<std::string>& keys = setting.keys();
  const Loader load = Load;
  std::string value;
  // Hashing spreads the keys over the cache's memory, in whatever order they are asked for. Each
  // thread begins elsewhere.
  size_t at = static_cast<size_t>(state.thread_index()) * (keys.size() / kManyThreads);
  for (auto _ : state) {
    benchmark::DoNotOptimize(setting.guard().Get(keys[at], load, &value).ok());
    if (++at == keys.size()) at = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

template <Row kRow>
void Register(const char* name) {
  benchmark::RegisterBenchmark(name, Measure<kRow>)
      ->Threads(1)
      ->Threads(kManyThreads)
      ->UseRealTime();
}

}  // namespace
}  // namespace winnow::guard

int main(int argc, char** argv) {
  using winnow::guard::Row;
  winnow::guard::Register<Row::kHit>("hit");
  winnow::guard::Register<Row::kHitOfMany>("hit_of_many");
  winnow::guard::Register<Row::kBehindFilter>("hit_behind_filter");
  winnow::guard::Register<Row::kOneHotKey>("one_hot_key");
  winnow::guard::Register<Row::kNegative>("negative");
  winnow::guard::Register<Row::kFiltered>("filtered");
  winnow::guard::Register<Row::kOneShard>("hit_one_shard");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
