// All filter kinds beside each other, and beside RocksDB's own where its library is installed:
// building, single queries and batches, in a core's cache, in the last-level cache and beyond.
//
//   build/release/bin/bench_filter [--quick] [--filters=ribbon:7,rocksdb.ribbon:10]
//                                  [--in=L2,memory] [--same-memory] [--json=FILE]
//                                  [--plot=FILE.svg] [--benchmark_...]
//   build/release/bin/bench_filter --peer=LIBRARY.so [--filters=cuckoo:12,peer.NAME] [--in=1M]
//   [...]
//
// With --peer, which may be given more than once, the filters of other libraries run beside ours:
// shared libraries that speak peer_filter.h. Keys are then 64-bit hashes, which all such libraries
// take: none is made or hashed, and each row has one filter, of 100k, 1M and 10M keys. --hashes is
// this mode without a peer. Without --filters all filters of the peers are shown.
//
// Otherwise times are processor time for each key, with hashing it; medians of repetitions in
// random order. Keys to ask for are made before the time is taken, as a store's caller has them at
// hand, those of batches as views or slices; keys to build from are made meanwhile (about 1 ns).
// Single queries are independent of each other, each to a random filter; a batch asks one.
// Filters are not verified after building: RocksDB's are not.
//
// Each library's filters lie where its store keeps them: ours in ResidentMemory, on huge pages from
// a few MiB on; RocksDB's in memory from malloc, as in its block cache. With --same-memory
// RocksDB's lie in ResidentMemory too.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/filter/filter_set.h"
#include "bench/filter/hashed_rows.h"
#include "bench/filter/measurement.h"
#include "bench/filter/peer_library.h"
#include "bench/filter/result_table.h"
#include "tools/flags/arguments.h"
#include "tools/process/standard_streams.h"
#include "tools/report/report_file.h"
#include "winnow/filter/spec.h"

namespace winnow::bench {
namespace {

const std::vector<std::string> kOurFilters = {
    "blocked_bloom:10", "bloom:10",  "cuckoo:12", "cuckoo:12:semi_sorted",
    "binary_fuse:9",    "ribbon:10", "ribbon:7"};

struct Settings {
  bool is_quick = false;
  bool has_hashes = false;  // in place of keys
  Placement placement_of_others = Placement::kAllocator;
  std::vector<std::string> filters;  // empty: ours, and those of the others
  std::vector<std::string> places;   // empty: all
  std::vector<std::string> peer_libraries;
  std::string json_file;
  std::string plot_file;
};

std::vector<Size> Sizes(bool is_quick) {
  if (is_quick) return {{"L2", 100'000, 1, 1}, {"L3", 1'000'000, 1, 10}};
  return {{"L2", 100'000, 1, 1}, {"L3", 1'000'000, 3, 10}, {"memory", 1'000'000, 3, 200}};
}

std::vector<Size> HashedSizes(bool is_quick) {
  std::vector<Size> sizes = {{"100k", 100'000, 1, 1}, {"1M", 1'000'000, 1, 1}};
  if (!is_quick) sizes.push_back({"10M", 10'000'000, 1, 1});
  return sizes;
}

// Keys and the filters to ask for them, one filter for each `keys_of_filter` keys.
class Queries {
 public:
  Queries(const Size& size, uint64_t present_percent, uint64_t keys_of_filter)
      : size_(size), present_percent_(present_percent), keys_of_filter_(keys_of_filter) {}

  // Others than all before.
  void Renew() {
    for (uint64_t i = 0; i < keys_.size(); ++i) {
      if (i % keys_of_filter_ == 0) {
        filters_[i / keys_of_filter_] = FilterOf(Scramble(++number_), size_);
      }
      const uint64_t filter = filters_[i / keys_of_filter_];
      keys_[i].SetNumber(NumberFor(Scramble(++number_), size_, filter, present_percent_));
    }
  }

  // They stay where they are when they are renewed.
  const std::vector<Key>& keys() const { return keys_; }
  const uint64_t* filters() const { return filters_.data(); }

 private:
  const Size size_;
  const uint64_t present_percent_;
  const uint64_t keys_of_filter_;
  uint64_t number_ = 0;
  std::vector<Key> keys_ = std::vector<Key>(kQueriesOfIteration);
  std::vector<uint64_t> filters_ = std::vector<uint64_t>(kQueriesOfIteration);
};

template <typename Set>
void AskSingly(benchmark::State& state, const Set& set, const Size& size, uint64_t percent) {
  Queries queries(size, percent, 1);
  uint64_t positives = 0;
  for (auto _ : state) {
    state.PauseTiming();
    queries.Renew();
    state.ResumeTiming();
    for (uint64_t i = 0; i < kQueriesOfIteration; ++i) {
      positives += set.MayContain(queries.filters()[i], queries.keys()[i]) ? 1 : 0;
    }
  }
  benchmark::DoNotOptimize(positives);
}

template <typename Set>
void AskInBatches(benchmark::State& state, const Set& set, const Size& size, uint64_t percent) {
  Queries queries(size, percent, kBatch);
  typename Set::KeyViews keys(queries.keys());
  bool answers[kBatch];
  for (auto _ : state) {
    state.PauseTiming();
    queries.Renew();
    state.ResumeTiming();
    for (uint64_t i = 0; i < kQueriesOfIteration / kBatch; ++i) {
      set.MayContainBatch(queries.filters()[i], keys, i * kBatch, answers);
      benchmark::DoNotOptimize(answers);
    }
  }
}

// Absent keys that are answered "maybe"; and present ones must all be.
template <typename Set>
double MeasureFpr(const Set& set, const Size& size) {
  constexpr uint64_t kQueries = 2'000'000;
  uint64_t positives = 0;
  for (uint64_t i = 0; i < kQueries; ++i) {
    const uint64_t filter = i % size.num_distinct;
    positives += set.MayContain(filter, Key(NumberFor(Scramble(~i), size, filter, 0))) ? 1 : 0;
    if (!set.MayContain(filter, Key(NumberFor(Scramble(~i), size, filter, 100)))) {
      std::cerr << "bench_filter: a filter has lost a key\n";
      std::exit(1);
    }
  }
  return static_cast<double>(positives) / kQueries;
}

// Registers all measurements of one row; the set lives as long as the program.
template <typename Set>
void Register(const std::string& spec, const Size& size, Placement placement, bool is_quick,
              ResultRow* row) {
  const auto set = std::make_shared<Set>(spec, size, placement);
  row->filter = spec;
  row->place = size.place;
  row->bits_per_key = set->bits_per_key();
  row->fpr = MeasureFpr(*set, size);
  const auto add = [&](const Measurement& measurement, auto function) {
    AddMeasurement(*row, measurement, is_quick, function);
  };
  add(kBuild, [spec, size](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(Set::BuildOnce(spec, size, 0));
  });
  for (const Measurement& measurement : kSingle) {
    add(measurement, [set, size, percent = measurement.present_percent](benchmark::State& state) {
      AskSingly(state, *set, size, percent);
    });
  }
  for (const Measurement& measurement : kBatches) {
    add(measurement, [set, size, percent = measurement.present_percent](benchmark::State& state) {
      AskInBatches(state, *set, size, percent);
    });
  }
}

constexpr cli::FlagSpec kFlags[] = {
    {"quick", "", "smaller sets of keys"},
    {"hashes", "", "take 64-bit hashes for keys, as --peer does"},
    {"same-memory", "", "RocksDB's filters in the memory that ours lie in"},
    {"filters", "LIST", "ribbon:7,rocksdb.ribbon:10,peer.NAME ..."},
    {"in", "LIST", "L2, L3, memory; with hashes 100k, 1M, 10M"},
    {"peer", "LIBRARY", "a shared library of other filters (peer_filter.h)", /*repeatable=*/true},
    {"json", "FILE", "write the rows there"},
    {"plot", "FILE", "draw them there, as SVG"}};

// Google Benchmark's own --help ends the program without a look at what became of it.
int PrintHelp() {
  std::printf("bench_filter [--FLAG ...]: all filter kinds beside each other.\n\n");
  for (const cli::FlagSpec& flag : kFlags) {
    std::string form = "--";
    form.append(flag.name).append(flag.value_name.empty() ? "" : "=").append(flag.value_name);
    std::printf("  %-16s %s\n", form.c_str(), std::string(flag.help).c_str());
  }
  std::printf("\nAnd those of Google Benchmark:\n\n");
  benchmark::PrintDefaultHelp();
  return 0;
}

// Google Benchmark reads its own flags.
bool IsForGoogleBenchmark(std::string_view word) {
  return word.starts_with("--benchmark_") || word.starts_with("--v=");
}

std::vector<std::string> ListFrom(const std::optional<std::string>& text) {
  if (!text.has_value()) return {};
  return absl::StrSplit(*text, ',');
}

absl::StatusOr<Settings> ReadSettings(const std::vector<std::string>& words) {
  const absl::StatusOr<cli::Arguments> arguments = cli::Arguments::Parse(kFlags, words);
  if (!arguments.ok()) return arguments.status();
  if (!arguments->positionals().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(arguments->positionals().front(), " is not a flag"));
  }
  Settings settings;
  settings.is_quick = arguments->Has("quick");
  if (arguments->Has("same-memory")) settings.placement_of_others = Placement::kResident;
  settings.filters = ListFrom(arguments->Text("filters"));
  settings.places = ListFrom(arguments->Text("in"));
  settings.peer_libraries = arguments->All("peer");
  settings.has_hashes = arguments->Has("hashes") || arguments->Has("peer");
  settings.json_file = arguments->Text("json").value_or("");
  settings.plot_file = arguments->Text("plot").value_or("");
  return settings;
}

using PeerKinds = std::map<std::string, WinnowPeerKind>;  // by the names of their rows

// False, with a message, if a library cannot be loaded.
bool LoadPeers(const std::vector<std::string>& libraries, PeerKinds* peers) {
  for (const std::string& library : libraries) {
    const auto kinds = LoadPeerLibrary(library);
    if (!kinds.ok()) {
      std::cerr << "bench_filter: " << kinds.status().message() << "\n";
      return false;
    }
    for (const WinnowPeerKind& kind : *kinds)
      peers->insert({absl::StrCat("peer.", kind.name), kind});
  }
  return true;
}

std::vector<std::string> FiltersOf(const Settings& settings, const PeerKinds& peers) {
  if (!settings.filters.empty()) return settings.filters;
  std::vector<std::string> filters = kOurFilters;
  for (const auto& [name, kind] : peers) filters.push_back(name);
  if (!settings.has_hashes)
    filters.insert(filters.end(), {"rocksdb.bloom:10", "rocksdb.ribbon:10"});
  return filters;
}

// Registers what `spec` names; false, with a message, if that is nothing.
bool RegisterSpec(const Settings& settings, const PeerKinds& peers, const std::string& spec,
                  const Size& size, ResultRow* row) {
  if (const auto peer = peers.find(spec); peer != peers.end()) {
    RegisterPeer(peer->second, size, settings.is_quick, row);
    return true;
  }
  if (spec.rfind("rocksdb.", 0) == 0) {
#if WINNOW_BENCH_HAS_ROCKSDB
    if (!settings.has_hashes) {
      Register<RocksDbSet>(spec, size, settings.placement_of_others, settings.is_quick, row);
      return true;
    }
    std::cerr << "bench_filter: RocksDB hashes its keys itself, " << spec << " is left out\n";
#else
    std::cerr << "bench_filter: built without RocksDB, " << spec << " is left out\n";
#endif
    return false;
  }
  if (const auto parsed = filter::ParseFilterSpec(spec);
      !parsed.ok() || parsed->kind == filter::FilterKind::kNone) {
    std::cerr << "bench_filter: " << spec << " is no filter: " << parsed.status() << "\n";
    return false;
  }
  if (settings.has_hashes) {
    RegisterHashed(spec, size, settings.is_quick, row);
  } else {
    Register<WinnowSet>(spec, size, Placement::kResident, settings.is_quick, row);
  }
  return true;
}

// The sizes that were asked for; none, with a message, if there is no such place.
std::vector<Size> SizesOf(const Settings& settings) {
  std::vector<Size> sizes =
      settings.has_hashes ? HashedSizes(settings.is_quick) : Sizes(settings.is_quick);
  for (const std::string& place : settings.places) {
    if (std::none_of(sizes.begin(), sizes.end(),
                     [&](const Size& size) { return size.place == place; })) {
      std::cerr << "bench_filter: there is no " << place << " to measure in\n";
      return {};
    }
  }
  if (!settings.places.empty()) {
    std::erase_if(sizes, [&](const Size& size) {
      return std::find(settings.places.begin(), settings.places.end(), size.place) ==
             settings.places.end();
    });
  }
  return sizes;
}

// Measures every row, and fills it in.
std::vector<ResultRow> Measure(const Settings& settings, const PeerKinds& peers,
                               const std::vector<Size>& sizes) {
  std::vector<ResultRow> rows;
  std::vector<Size> sizes_of_rows;
  for (const Size& size : sizes) {
    for (const std::string& spec : FiltersOf(settings, peers)) {
      ResultRow row;
      if (!RegisterSpec(settings, peers, spec, size, &row)) continue;
      rows.push_back(row);
      sizes_of_rows.push_back(size);
    }
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  for (size_t i = 0; i < rows.size(); ++i) {
    collector.FillIn(sizes_of_rows[i].keys_per_filter, &rows[i]);
  }
  return rows;
}

int Main(int argc, char** argv) {
  static char interleave[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> for_google_benchmark = {argv[0], interleave};
  std::vector<std::string> words;
  for (char* word : std::span(argv + 1, argv + argc)) {
    if (std::string_view(word) == "--help") return PrintHelp();
    if (IsForGoogleBenchmark(word)) {
      for_google_benchmark.push_back(word);
    } else {
      words.emplace_back(word);
    }
  }
  int count = static_cast<int>(for_google_benchmark.size());
  benchmark::Initialize(&count, for_google_benchmark.data());
  if (benchmark::ReportUnrecognizedArguments(count, for_google_benchmark.data())) return 2;
  const absl::StatusOr<Settings> settings = ReadSettings(words);
  if (!settings.ok()) {
    std::cerr << "bench_filter: " << settings.status().message() << "\n";
    return 2;
  }
  PeerKinds peers;
  if (!LoadPeers(settings->peer_libraries, &peers)) return 2;
  const std::vector<Size> sizes = SizesOf(*settings);
  if (sizes.empty()) return 2;

  const std::vector<ResultRow> rows = Measure(*settings, peers, sizes);
  std::cout << ToTable(rows);
  bool all_written = true;
  for (const absl::Status& written :
       {report::WriteReportFile(settings->json_file, ToJson(rows)),
        report::WriteReportFile(settings->plot_file, ToSvg(rows, sizes.front().place))}) {
    if (!written.ok()) std::cerr << "bench_filter: " << written.message() << "\n";
    all_written = all_written && written.ok();
  }
  return all_written ? 0 : 1;
}

}  // namespace
}  // namespace winnow::bench

int main(int argc, char** argv) {
  winnow::process::PrepareStandardStreams();
  const int code = winnow::bench::Main(argc, argv);
  std::cout.flush();
  const absl::Status printed = winnow::process::FlushStandardOutput();
  if (code != 0 || printed.ok()) return code;
  std::cerr << "bench_filter: " << printed.message() << "\n";
  return 1;
}
