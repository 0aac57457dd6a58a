#include "bench/engine/write_benchmarks.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/engine/memory_database.h"

namespace winnow::bench {
namespace {

constexpr const char* kFilters[] = {"none", "blocked_bloom:10", "binary_fuse:9", "ribbon:10"};

std::unique_ptr<MemoryDatabase> EmptyDatabase(const std::string& filter) {
  Options options;
  options.compression = Compression::kNone;
  options.write_buffer_bytes = size_t{1} << 30;  // flushed when the benchmark says so
  options.filter = filter;
  return std::make_unique<MemoryDatabase>(options);
}

// Into a memtable that grows to the number of keys, and then is a new one.
void Put(benchmark::State& state) {
  const uint64_t num_keys = static_cast<uint64_t>(state.range(0));
  std::unique_ptr<MemoryDatabase> database = EmptyDatabase("none");
  uint64_t written = 0;
  for (auto _ : state) {
    if (written == num_keys) [[unlikely]] {
      state.PauseTiming();
      database = EmptyDatabase("none");
      written = 0;
      state.ResumeTiming();
    }
    database->Put(2 * Reduce(Scramble(written++), num_keys));
  }
}

// An iteration is a whole flush; RegisterJob shows the share of one entry.
void Flush(benchmark::State& state, const std::string& filter) {
  const uint64_t num_keys = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<MemoryDatabase> database = EmptyDatabase(filter);
    database->Load(num_keys);
    state.ResumeTiming();
    Must(database->db().Flush());
    state.PauseTiming();
    database.reset();
    state.ResumeTiming();
  }
}

// Two SSTables of level 0 with the same keys become one.
void Compact(benchmark::State& state) {
  const uint64_t num_keys = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    std::unique_ptr<MemoryDatabase> database = EmptyDatabase("blocked_bloom:10");
    for (int i = 0; i < 2; ++i) {
      database->Load(num_keys);
      Must(database->db().Flush());
    }
    state.ResumeTiming();
    Must(database->db().CompactRange(std::nullopt, std::nullopt));
    state.PauseTiming();
    database.reset();
    state.ResumeTiming();
  }
}

// What another thread does counts; the time for one entry is shown beside that of an iteration.
template <typename Function>
void RegisterJob(const std::string& name, std::span<const int64_t> sizes, double entries_per_key,
                 Function function) {
  auto* const registered = benchmark::RegisterBenchmark(
      name.c_str(), [function, entries_per_key](benchmark::State& state) {
        function(state);
        state.counters["per_entry"] = benchmark::Counter(
            entries_per_key * static_cast<double>(state.range(0)),
            benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
      });
  registered->UseRealTime()->Unit(benchmark::kMillisecond);
  for (int64_t size : sizes) registered->Arg(size);
}

}  // namespace

void RegisterWrites(std::span<const int64_t> sizes) {
  auto* const put = benchmark::RegisterBenchmark("put", Put);
  for (int64_t size : sizes) put->Arg(size);
  for (const char* filter : kFilters) {
    RegisterJob(absl::StrCat("flush/", filter), sizes, 1,
                [filter = std::string(filter)](benchmark::State& state) { Flush(state, filter); });
  }
  RegisterJob("compact", sizes, 2, Compact);
}

}  // namespace winnow::bench
