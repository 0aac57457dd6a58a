// Filters on a Redis server: keys a second, one call a key and in batches.
//
//   redis-server --port 7777 --save '' & WINNOW_REDIS_URL=redis://127.0.0.1:7777 bench_redis
//
// It writes to keys that begin with "winnow-bench".

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

constexpr size_t kKeys = 100'000;

// A filter with even numbers as keys; empty where there is no server.
struct Setting {
  std::unique_ptr<Client> client;
  std::unique_ptr<BitmapFilter> filter;
  std::vector<std::string> names;
  std::vector<std::string_view> keys;
};

const Setting& GetSetting() {
  static const Setting* const setting = [] {
    auto* made = new Setting();
    const char* url = std::getenv("WINNOW_REDIS_URL");
    made->client = *Client::Open(url == nullptr ? "redis://127.0.0.1:6379" : url);
    made->filter = *BitmapFilter::Open(made->client.get(), "winnow-bench");
    if (!made->filter->Remove().ok() || !made->filter->Create(*RedissonShape(kKeys, 0.01)).ok()) {
      made->filter = nullptr;
      return made;
    }
    for (size_t i = 0; i < kKeys; ++i) made->names.push_back("user:" + std::to_string(i));
    made->keys.assign(made->names.begin(), made->names.end());
    std::vector<std::string_view> even;
    for (size_t i = 0; i < kKeys; i += 2) even.push_back(made->keys[i]);
    if (!made->filter->Add(even).ok()) made->filter = nullptr;
    return made;
  }();
  return *setting;
}

template <typename Call>
void RunBatches(benchmark::State& state, Call call) {
  const Setting& setting = GetSetting();
  if (setting.filter == nullptr) {
    state.SkipWithError("no Redis server at WINNOW_REDIS_URL");
    return;
  }
  const auto batch = static_cast<size_t>(state.range(0));
  size_t at = 0;
  for (auto _ : state) {
    call(setting.filter.get(), std::span(setting.keys).subspan(at, batch));
    at = at + 2 * batch > kKeys ? 0 : at + batch;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void MeasureMayContain(benchmark::State& state) {
  RunBatches(state, [](BitmapFilter* filter, std::span<const std::string_view> keys) {
    benchmark::DoNotOptimize(filter->MayContain(keys));
  });
}

void MeasureAdd(benchmark::State& state) {
  RunBatches(state, [](BitmapFilter* filter, std::span<const std::string_view> keys) {
    benchmark::DoNotOptimize(filter->Add(keys).ok());
  });
}

void Register(const char* name, void (*run)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, run)->RangeMultiplier(10)->Range(1, 1000)->UseRealTime();
}

}  // namespace
}  // namespace winnow::filter::redis

int main(int argc, char** argv) {
  winnow::filter::redis::Register("may_contain", winnow::filter::redis::MeasureMayContain);
  winnow::filter::redis::Register("add", winnow::filter::redis::MeasureAdd);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
