#include "bench/filter/hashed_rows.h"

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "bench/filter/filter_set.h"
#include "bench/filter/key_stream.h"
#include "bench/filter/measurement.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/reader.h"

namespace winnow::bench {
namespace {

constexpr uint64_t kQueries = uint64_t{1} << 20;

// Hash number i is in the filters of more than i keys; this one is in none.
uint64_t AbsentHash(uint64_t i) { return Scramble(~i); }

// The hashes of a filter, and queries. Shared by all rows of as many keys.
struct Hashes {
  explicit Hashes(uint64_t num_keys) : keys(num_keys) {
    for (uint64_t i = 0; i < num_keys; ++i) keys[i] = Scramble(i);
    for (const Measurement& measurement : kSingle) {
      std::vector<uint64_t>& asked = queries[measurement.present_percent];
      asked.resize(kQueries);
      for (uint64_t i = 0; i < kQueries; ++i) {
        const uint64_t random = Scramble(i + (uint64_t{1} << 40));
        asked[i] = random % 128 * 100 < measurement.present_percent * 128
                       ? keys[Reduce(Scramble(random), num_keys)]
                       : AbsentHash(i);
      }
    }
  }

  std::vector<uint64_t> keys;
  std::map<uint64_t, std::vector<uint64_t>> queries;  // by present_percent
};

std::shared_ptr<const Hashes> HashesOf(uint64_t num_keys) {
  static auto* const all = new std::map<uint64_t, std::shared_ptr<const Hashes>>;
  std::shared_ptr<const Hashes>& hashes = (*all)[num_keys];
  if (hashes == nullptr) hashes = std::make_shared<Hashes>(num_keys);
  return hashes;
}

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "bench_filter: " << what << "\n";
  std::exit(1);
}

class HashedWinnowFilter {
 public:
  using Kind = std::string;  // its spec
  static std::string NameOf(const Kind& spec) { return spec; }

  static uint64_t BuildOnce(const Kind& spec, const std::vector<uint64_t>& keys) {
    return Build(spec, keys).size();
  }

  HashedWinnowFilter(const Kind& spec, const std::vector<uint64_t>& keys)
      : block_(Build(spec, keys), Placement::kResident),
        reader_(filter::FilterReader::Open(block_.view(), nullptr)) {}

  uint64_t num_bytes() const { return block_.view().size(); }
  bool MayContain(uint64_t hash) const { return reader_.MayContain(hash); }
  void MayContainBatch(const uint64_t* hashes, uint8_t* answers) const {
    reader_.MayContainBatch(hashes, kBatch, answers);
  }

 private:
  static std::string Build(const Kind& spec, const std::vector<uint64_t>& keys) {
    auto builder = *filter::FilterBuilder::Create(*filter::ParseFilterSpec(spec), 0);
    builder->set_verify(false);  // the others do not look their keys up again either
    builder->AddBorrowed(keys);
    return std::move(builder->Finish().block);
  }

  FilterCopy block_;
  filter::FilterReader reader_;
};

class PeerFilter {
 public:
  using Kind = WinnowPeerKind;
  static std::string NameOf(const Kind& kind) { return std::string("peer.") + kind.name; }

  static uint64_t BuildOnce(const Kind& kind, const std::vector<uint64_t>& keys) {
    return PeerFilter(kind, keys).num_bytes();
  }

  PeerFilter(const Kind& kind, const std::vector<uint64_t>& keys)
      : kind_(kind), filter_(kind.build(keys.data(), keys.size())) {
    if (filter_ == nullptr) Fail(NameOf(kind) + " could not be built");
  }
  ~PeerFilter() { kind_.release(filter_); }
  PeerFilter(const PeerFilter&) = delete;
  PeerFilter& operator=(const PeerFilter&) = delete;

  uint64_t num_bytes() const { return kind_.num_bytes(filter_); }
  bool MayContain(uint64_t key) const { return kind_.may_contain(filter_, key) != 0; }
  void MayContainBatch(const uint64_t* keys, uint8_t* answers) const {
    if (kind_.may_contain_batch != nullptr) {
      return kind_.may_contain_batch(filter_, keys, kBatch, answers);
    }
    for (size_t i = 0; i < kBatch; ++i) answers[i] = MayContain(keys[i]) ? 1 : 0;
  }

 private:
  const WinnowPeerKind kind_;
  void* const filter_;
};

template <typename Filter>
void AskSingly(benchmark::State& state, const Filter& filter, const std::vector<uint64_t>& asked) {
  uint64_t begin = 0;
  uint64_t positives = 0;
  for (auto _ : state) {
    for (uint64_t i = begin; i < begin + kQueriesOfIteration; ++i) {
      positives += filter.MayContain(asked[i]) ? 1 : 0;
    }
    begin = (begin + kQueriesOfIteration) % kQueries;
  }
  benchmark::DoNotOptimize(positives);
}

template <typename Filter>
void AskInBatches(benchmark::State& state, const Filter& filter,
                  const std::vector<uint64_t>& asked) {
  uint64_t begin = 0;
  uint8_t answers[kBatch];
  for (auto _ : state) {
    for (uint64_t i = begin; i < begin + kQueriesOfIteration; i += kBatch) {
      filter.MayContainBatch(&asked[i], answers);
      benchmark::DoNotOptimize(answers);
    }
    begin = (begin + kQueriesOfIteration) % kQueries;
  }
}

// Absent hashes that are answered "maybe"; and present ones must all be.
template <typename Filter>
double MeasureFpr(const Filter& filter, const Hashes& hashes, const std::string& name) {
  for (const uint64_t key : hashes.keys) {
    if (!filter.MayContain(key)) Fail(name + " has lost a key");
  }
  constexpr uint64_t kFprQueries = 2'000'000;
  uint64_t positives = 0;
  for (uint64_t i = 0; i < kFprQueries; ++i) {
    positives += filter.MayContain(AbsentHash(i)) ? 1 : 0;
  }
  return static_cast<double>(positives) / kFprQueries;
}

template <typename Filter>
void Register(const typename Filter::Kind& kind, const Size& size, bool is_quick, ResultRow* row) {
  const std::shared_ptr<const Hashes> hashes = HashesOf(size.keys_per_filter);
  const auto filter = std::make_shared<const Filter>(kind, hashes->keys);
  row->filter = Filter::NameOf(kind);
  row->place = size.place;
  row->bits_per_key =
      static_cast<double>(filter->num_bytes()) * 8 / static_cast<double>(size.keys_per_filter);
  row->fpr = MeasureFpr(*filter, *hashes, row->filter);
  AddMeasurement(*row, kBuild, is_quick, [kind, hashes](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(Filter::BuildOnce(kind, hashes->keys));
  });
  for (const Measurement& measurement : kSingle) {
    const std::vector<uint64_t>& asked = hashes->queries.at(measurement.present_percent);
    AddMeasurement(*row, measurement, is_quick, [filter, hashes, &asked](benchmark::State& state) {
      AskSingly(state, *filter, asked);
    });
  }
  for (const Measurement& measurement : kBatches) {
    const std::vector<uint64_t>& asked = hashes->queries.at(measurement.present_percent);
    AddMeasurement(*row, measurement, is_quick, [filter, hashes, &asked](benchmark::State& state) {
      AskInBatches(state, *filter, asked);
    });
  }
}

}  // namespace

void RegisterHashed(const std::string& spec, const Size& size, bool is_quick, ResultRow* row) {
  Register<HashedWinnowFilter>(spec, size, is_quick, row);
}

void RegisterPeer(const WinnowPeerKind& kind, const Size& size, bool is_quick, ResultRow* row) {
  Register<PeerFilter>(kind, size, is_quick, row);
}

}  // namespace winnow::bench
