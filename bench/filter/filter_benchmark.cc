// Building and asking one filter block of each kind, at 10 bits per key: in cache (10,000 keys) and
// beyond it (4 million keys).
//
//   build/release/bin/filter_benchmark --benchmark_filter=Absent
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "winnow/filter/builder.h"
#include "winnow/filter/reader.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kSeed = 7;
constexpr size_t kNumProbes = size_t{1} << 16;
constexpr size_t kBatch = 64;

// Hashes of a good hash function are random numbers, so that none need be computed here.
std::vector<uint64_t> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

std::unique_ptr<FilterBuilder> BuilderWith(const std::string& spec,
                                           const std::vector<uint64_t>& hashes) {
  auto builder = FilterBuilder::Create(*ParseFilterSpec(spec), kSeed);
  for (uint64_t hash : hashes) (*builder)->Add(hash);
  return *std::move(builder);
}

void Build(benchmark::State& state, const std::string& spec) {
  const std::vector<uint64_t> hashes = RandomHashes(static_cast<size_t>(state.range(0)), kSeed);
  for (auto _ : state) {
    benchmark::DoNotOptimize(BuilderWith(spec, hashes)->Finish().block.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// `probe_seed` is kSeed for keys that are there.
void Probe(benchmark::State& state, const std::string& spec, uint64_t probe_seed) {
  const size_t num_keys = static_cast<size_t>(state.range(0));
  const BuiltFilter built = BuilderWith(spec, RandomHashes(num_keys, kSeed))->Finish();
  const FilterReader reader = FilterReader::Open(built.block, nullptr);
  const std::vector<uint64_t> probes = RandomHashes(std::min(num_keys, kNumProbes), probe_seed);
  uint64_t positives = 0;
  for (auto _ : state) {
    for (uint64_t probe : probes) positives += reader.MayContain(probe) ? 1 : 0;
  }
  const int64_t num_asked = state.iterations() * static_cast<int64_t>(probes.size());
  state.SetItemsProcessed(num_asked);
  state.counters["positive"] = static_cast<double>(positives) / static_cast<double>(num_asked);
  state.counters["bits_per_key"] = reader.Describe().bits_per_key;
}

void ProbeAbsentInBatches(benchmark::State& state, const std::string& spec) {
  const size_t num_keys = static_cast<size_t>(state.range(0));
  const BuiltFilter built = BuilderWith(spec, RandomHashes(num_keys, kSeed))->Finish();
  const FilterReader reader = FilterReader::Open(built.block, nullptr);
  const std::vector<uint64_t> probes = RandomHashes(kNumProbes, kSeed + 1);
  std::vector<uint8_t> answers(kBatch);
  for (auto _ : state) {
    for (size_t start = 0; start < probes.size(); start += kBatch) {
      reader.MayContainBatch(&probes[start], kBatch, answers.data());
      benchmark::DoNotOptimize(answers.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(probes.size()));
}

void RegisterAll() {
  for (const std::string kind : {"blocked_bloom", "bloom", "cuckoo"}) {
    const std::string spec = kind + ":10";
    for (int64_t num_keys : {10'000, 4'000'000}) {
      benchmark::RegisterBenchmark((kind + "/Build").c_str(), Build, spec)->Arg(num_keys);
      benchmark::RegisterBenchmark((kind + "/Present").c_str(), Probe, spec, kSeed)->Arg(num_keys);
      benchmark::RegisterBenchmark((kind + "/Absent").c_str(), Probe, spec, kSeed + 1)
          ->Arg(num_keys);
      benchmark::RegisterBenchmark((kind + "/AbsentInBatches").c_str(), ProbeAbsentInBatches, spec)
          ->Arg(num_keys);
    }
  }
}

}  // namespace
}  // namespace winnow::filter

int main(int argc, char** argv) {
  winnow::filter::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
