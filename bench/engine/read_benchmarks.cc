#include "bench/engine/read_benchmarks.h"

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/engine/memory_database.h"

namespace winnow::bench {
namespace {

enum class Place { kMemtable, kSstables };
enum class Wanted { kPresent, kAbsent };

constexpr uint64_t kBatch = 32;
constexpr uint64_t kNumQueries = 65536;  // a power of two, which a mask walks through

// Loaded by the first benchmark that asks for it, and kept for the others.
DB& Database(Place place, int64_t num_keys) {
  static std::map<std::pair<Place, int64_t>, std::unique_ptr<MemoryDatabase>> databases;
  std::unique_ptr<MemoryDatabase>& database = databases[{place, num_keys}];
  if (database == nullptr) {
    Options options;
    options.compression = Compression::kNone;
    options.block_cache_bytes = size_t{1} << 30;
    options.write_buffer_bytes = size_t{1} << 30;  // so that nothing leaves it by itself
    database = std::make_unique<MemoryDatabase>(options);
    database->Load(static_cast<uint64_t>(num_keys));
    if (place == Place::kSstables) database->Settle();
  }
  return database->db();
}

std::vector<Key> Queries(Wanted wanted, int64_t num_keys) {
  std::vector<Key> keys;
  keys.reserve(kNumQueries);
  for (uint64_t i = 0; i < kNumQueries; ++i) {
    const uint64_t number = 2 * Reduce(Scramble(i), static_cast<uint64_t>(num_keys));
    keys.emplace_back(number + (wanted == Wanted::kAbsent ? 1 : 0));
  }
  return keys;
}

void CheckFound(benchmark::State& state, bool found, Wanted wanted) {
  if (found != (wanted == Wanted::kPresent)) state.SkipWithError("a look-up found the wrong thing");
}

void Get(benchmark::State& state, Place place, Wanted wanted) {
  DB& db = Database(place, state.range(0));
  const std::vector<Key> keys = Queries(wanted, state.range(0));
  const ReadOptions options;
  PinnedValue value;
  uint64_t i = 0;
  absl::Status status;
  for (auto _ : state) {
    status = db.Get(options, keys[i++ & (kNumQueries - 1)].view(), &value);
    benchmark::DoNotOptimize(status);
  }
  CheckFound(state, status.ok(), wanted);
}

// An iteration is one key, so that the time beside Get's compares: a call is made for each 32.
void MultiGet(benchmark::State& state, Wanted wanted) {
  DB& db = Database(Place::kSstables, state.range(0));
  const std::vector<Key> keys = Queries(wanted, state.range(0));
  std::vector<std::string_view> views;
  views.reserve(keys.size());
  for (const Key& key : keys) views.push_back(key.view());
  const ReadOptions options;
  std::vector<PinnedValue> values(kBatch);
  std::vector<absl::Status> statuses(kBatch);
  uint64_t first = 0;
  while (state.KeepRunningBatch(kBatch)) {
    db.MultiGet(options, std::span(views).subspan(first, kBatch), values, statuses);
    first = (first + kBatch) & (kNumQueries - 1);
  }
  CheckFound(state, statuses.front().ok(), wanted);
}

// Of an iterator that is there already.
void Seek(benchmark::State& state) {
  DB& db = Database(Place::kSstables, state.range(0));
  const std::vector<Key> keys = Queries(Wanted::kPresent, state.range(0));
  const std::unique_ptr<Iterator> iterator = db.NewIterator(ReadOptions());
  uint64_t i = 0;
  for (auto _ : state) iterator->Seek(keys[i++ & (kNumQueries - 1)].view());
  CheckFound(state, iterator->Valid(), Wanted::kPresent);
}

void Next(benchmark::State& state) {
  DB& db = Database(Place::kSstables, state.range(0));
  const std::unique_ptr<Iterator> iterator = db.NewIterator(ReadOptions());
  iterator->SeekToFirst();
  uint64_t bytes = 0;
  for (auto _ : state) {
    bytes += iterator->key().size() + iterator->value().size();
    iterator->Next();
    if (!iterator->Valid()) [[unlikely]]
      iterator->SeekToFirst();
  }
  benchmark::DoNotOptimize(bytes);
  CheckFound(state, iterator->status().ok(), Wanted::kPresent);
}

}  // namespace

void RegisterReads(std::span<const int64_t> sizes) {
  const auto add = [&](const char* name, auto function) {
    auto* const registered = benchmark::RegisterBenchmark(name, function);
    for (int64_t size : sizes) registered->Arg(size);
  };
  add("get_absent", [](benchmark::State& state) { Get(state, Place::kSstables, Wanted::kAbsent); });
  add("get_present",
      [](benchmark::State& state) { Get(state, Place::kSstables, Wanted::kPresent); });
  add("get_memtable",
      [](benchmark::State& state) { Get(state, Place::kMemtable, Wanted::kPresent); });
  add("multiget_absent", [](benchmark::State& state) { MultiGet(state, Wanted::kAbsent); });
  add("multiget_present", [](benchmark::State& state) { MultiGet(state, Wanted::kPresent); });
  add("seek", Seek);
  add("next", Next);
}

}  // namespace winnow::bench
