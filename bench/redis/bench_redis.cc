// Filters on a Redis server: keys a second in batches, and how many times those of one call a key
// that is.
//
//   redis-server --port 7777 --save '' & WINNOW_REDIS_URL=redis://127.0.0.1:7777 bench_redis
//
// It writes to keys that begin with "winnow-bench". Half of the keys that are asked for are there;
// of those that are added, all but the first time.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

constexpr size_t kKeys = 100'000;

using Batch = std::span<const std::string_view>;

struct Layout {
  std::string name;
  RedisBitmapShape shape;
};

// A filter with even numbers as keys; where it could not be made, `status` says why.
struct Setting {
  absl::Status status;
  std::unique_ptr<Client> client;
  std::unique_ptr<BitmapFilter> filter;
  std::vector<std::string> names;
  std::vector<std::string_view> keys;
};

absl::StatusOr<std::unique_ptr<BitmapFilter>> MakeFilter(
    Client* client, const Layout& layout, const std::vector<std::string_view>& keys) {
  const std::string name = "winnow-bench-" + layout.name;
  auto filter = BitmapFilter::Open(client, name, {.rule = layout.shape.rule});
  if (!filter.ok()) return filter.status();
  if (absl::Status removed = (*filter)->Remove(); !removed.ok()) return removed;
  if (absl::Status created = (*filter)->Create(layout.shape); !created.ok()) return created;
  // In pieces, each well within a time-out.
  std::vector<std::string_view> even;
  for (size_t i = 0; i < keys.size(); i += 2) {
    even.push_back(keys[i]);
    if (even.size() < 1000 && i + 2 < keys.size()) continue;
    if (auto added = (*filter)->Add(even); !added.ok()) return added.status();
    even.clear();
  }
  return filter;
}

const Setting& SettingOf(const Layout& layout) {
  static auto* const settings = new std::map<std::string, Setting>();
  const auto [place, is_new] = settings->try_emplace(layout.name);
  Setting& setting = place->second;
  if (!is_new) return setting;
  const char* url = std::getenv("WINNOW_REDIS_URL");
  auto client = Client::Open(url == nullptr ? "redis://127.0.0.1:6379" : url);
  setting.status = client.status();
  if (!client.ok()) return setting;
  setting.client = *std::move(client);
  for (size_t i = 0; i < kKeys; ++i) setting.names.push_back("user:" + std::to_string(i));
  setting.keys.assign(setting.names.begin(), setting.names.end());
  auto filter = MakeFilter(setting.client.get(), layout, setting.keys);
  setting.status = filter.status();
  if (filter.ok()) setting.filter = *std::move(filter);
  return setting;
}

void AskBatch(BitmapFilter* filter, Batch keys) {
  benchmark::DoNotOptimize(filter->MayContain(keys));
}
void AddBatch(BitmapFilter* filter, Batch keys) {
  benchmark::DoNotOptimize(filter->Add(keys).ok());
}

void RunBatches(benchmark::State& state, const Layout& layout, const std::string& row,
                void (*call)(BitmapFilter*, Batch)) {
  const Setting& setting = SettingOf(layout);
  if (setting.filter == nullptr) {
    state.SkipWithError(setting.status.ToString().c_str());
    return;
  }
  const auto batch = static_cast<size_t>(state.range(0));
  size_t at = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) {
    call(setting.filter.get(), std::span(setting.keys).subspan(at, batch));
    at = at + 2 * batch > kKeys ? 0 : at + batch;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double keys = static_cast<double>(state.iterations()) * static_cast<double>(batch);
  state.SetItemsProcessed(static_cast<int64_t>(keys));
  // What this row did with one key a call, which is measured first.
  static auto* const one_by_one = new std::map<std::string, double>();
  const double rate = keys / elapsed.count();
  if (batch == 1) (*one_by_one)[row] = rate;
  const auto single = one_by_one->find(row);
  if (single != one_by_one->end()) state.counters["times_single"] = rate / single->second;
}

void Register(const Layout& layout, const std::string& call_name,
              void (*call)(BitmapFilter*, Batch)) {
  const std::string row = call_name + "/" + layout.name;
  benchmark::RegisterBenchmark(
      row.c_str(),
      [layout, row, call](benchmark::State& state) { RunBatches(state, layout, row, call); })
      ->RangeMultiplier(10)
      ->Range(1, 1000)
      ->UseRealTime();
}

}  // namespace
}  // namespace winnow::filter::redis

int main(int argc, char** argv) {
  using namespace winnow::filter;  // NOLINT
  const std::vector<redis::Layout> layouts = {
      {"redisson", *RedissonShape(redis::kKeys, 0.01)},
      {"jedis", *JedisShape(redis::kKeys, 0.01)},
      {"gozero_sized", *GoZeroShape(redis::kKeys, 0.01)},
      {"gozero_14_probes", *GoZeroShape(20 * redis::kKeys)},
  };
  for (const redis::Layout& layout : layouts) {
    redis::Register(layout, "may_contain", redis::AskBatch);
    redis::Register(layout, "add", redis::AddBatch);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
