#include "tools/winnow_bench/flags.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/flags/arguments.h"
#include "tools/flags/nearest_name.h"
#include "tools/winnow_bench/contender.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/key_shape.h"
#include "tools/winnow_bench/key_space.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status BadValue(const Flag& flag, std::string_view value, std::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", Absl(flag.name), ": \"", Absl(value), "\" is not ", Absl(wanted)));
}

// A whole number, with db_bench's plain digits or a suffix K, M, G, T (powers of 1024).
bool ParseInteger(std::string_view text, int64_t* value) {
  constexpr std::string_view kSuffixes = "KMGT";
  int64_t factor = 1;
  if (!text.empty()) {
    const char last = static_cast<char>(text.back() & ~0x20);
    const size_t index = kSuffixes.find(last);
    if (index != std::string_view::npos && text.size() > 1) {
      factor = int64_t{1} << (10 * (index + 1));
      text.remove_suffix(1);
    }
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(Absl(text), &number)) return false;
  return !__builtin_mul_overflow(number, factor, value);
}

absl::Status SetFlag(const Flag& flag, std::string_view value) {
  double number = 0;
  if (bool* const* target = std::get_if<bool*>(&flag.target)) {
    if (!absl::SimpleAtob(Absl(value), *target)) return BadValue(flag, value, "true or false");
    return absl::OkStatus();
  }
  if (std::string* const* target = std::get_if<std::string*>(&flag.target)) {
    **target = std::string(value);
    return absl::OkStatus();
  }
  if (int64_t* const* target = std::get_if<int64_t*>(&flag.target)) {
    if (!ParseInteger(value, *target)) return BadValue(flag, value, "a whole number");
    number = static_cast<double>(**target);
  } else if (double* const* real = std::get_if<double*>(&flag.target)) {
    if (!absl::SimpleAtod(Absl(value), *real) || std::isnan(**real)) {
      return BadValue(flag, value, "a number");
    }
    number = **real;
  }
  if (number < flag.min || number > flag.max) {
    return BadValue(flag, value, absl::StrCat("between ", flag.min, " and ", flag.max));
  }
  return absl::OkStatus();
}

std::vector<cli::FlagSpec> SpecsOf(const std::vector<Flag>& flags) {
  std::vector<cli::FlagSpec> specs;
  specs.reserve(flags.size());
  for (const Flag& flag : flags) {
    const bool is_switch = std::holds_alternative<bool*>(flag.target);
    specs.push_back({flag.name, is_switch ? "" : "VALUE", flag.description});
  }
  return specs;
}

absl::Status CheckName(std::string_view kind, std::string_view name,
                       std::span<const std::string_view> known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", Absl(kind), " \"", Absl(name), "\"", cli::DidYouMean(name, known)));
}

absl::Status CheckKeyShape(std::string_view name) {
  std::vector<std::string_view> known;
  for (const KeyShapeName& shape : KeyShapes()) known.push_back(shape.name);
  return CheckName("key shape", name, known);
}

// The flag has nothing to do where no plain rocksdb is in the list.
absl::Status CheckTuned(const BenchConfig& config) {
  if (!config.rocksdb_tuned) return absl::OkStatus();
  for (const std::string& name : SplitNames(config.engine)) {
    if (StoreOf(name) == "rocksdb") return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "--rocksdb_tuned is about rocksdb, which --engine does not name");
}

// Combinations that no engine can run, and names that nothing has.
absl::Status CheckConfig(const BenchConfig& config) {
  for (const std::string& name : SplitNames(config.engine)) {
    absl::Status compiled = EngineIsCompiled(EngineOf(name), CompiledEngines());
    if (!compiled.ok()) return compiled;
  }
  if (absl::Status tuned = CheckTuned(config); !tuned.ok()) return tuned;
  if (absl::Status known = CheckKeyShape(config.key_shape); !known.ok()) return known;
  const std::vector<std::string_view> workloads = WorkloadNames();
  for (const std::string& name : SplitNames(config.benchmarks)) {
    if (absl::Status known = CheckName("benchmark", name, workloads); !known.ok()) return known;
  }
  if (SplitNames(config.engine).empty() || SplitNames(config.benchmarks).empty()) {
    return absl::InvalidArgumentError("--engine and --benchmarks must each name at least one");
  }
  const std::string_view kCompressions[] = {"none", "snappy", "lz4", "zstd"};
  if (absl::Status known = CheckName("compression", config.compression_type, kCompressions);
      !known.ok()) {
    return known;
  }
  const std::string_view kTransactions[] = {"optimistic", "pessimistic"};
  if (absl::Status known = CheckName("kind of transactions", config.transactions, kTransactions);
      !known.ok()) {
    return known;
  }
  const std::vector<std::string> benchmarks = SplitNames(config.benchmarks);
  const bool replays =
      std::find(benchmarks.begin(), benchmarks.end(), "replay") != benchmarks.end();
  if (replays != !config.replay.empty()) {
    return absl::InvalidArgumentError("benchmark replay and --replay=FILE need each other");
  }
  if (config.sync && config.disable_wal) {
    return absl::InvalidArgumentError("--sync and --disable_wal exclude each other");
  }
  return KeySpace::Check(config);
}

}  // namespace

std::string Flag::ValueText() const {
  if (bool* const* value = std::get_if<bool*>(&target)) return **value ? "true" : "false";
  if (int64_t* const* value = std::get_if<int64_t*>(&target)) return absl::StrCat(**value);
  if (double* const* value = std::get_if<double*>(&target)) return absl::StrCat(**value);
  return *std::get<std::string*>(target);
}

absl::Status EngineIsCompiled(std::string_view name,
                              const std::vector<std::string_view>& compiled) {
  if (std::find(compiled.begin(), compiled.end(), name) != compiled.end()) return absl::OkStatus();
  if (const KnownPeer* peer = FindPeer(name); peer != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("this winnow_bench was built without ",
                                                   Absl(peer->product), "; install ",
                                                   Absl(peer->package), " and build it again"));
  }
  return CheckName("engine", name, compiled);
}

absl::StatusOr<BenchConfig> ParseFlags(std::span<const std::string> words) {
  BenchConfig config;
  const std::vector<Flag> flags = FlagsOf(&config);
  const absl::StatusOr<cli::Arguments> arguments =
      cli::Arguments::Parse(SpecsOf(flags), words, cli::Dialect::kDbBench);
  if (!arguments.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(arguments.status().message(), " (--help lists all flags)"));
  }
  for (const Flag& flag : flags) {
    for (const std::string& value : arguments->All(flag.name)) {
      if (absl::Status set = SetFlag(flag, value); !set.ok()) return set;
    }
  }
  if (config.help) return config;
  if (!config.from_json.empty()) {
    if (config.json.empty()) return config;
    return absl::InvalidArgumentError(
        "--json is for what is measured, and --from_json measures nothing");
  }
  if (!config.replay.empty() && arguments->All("benchmarks").empty()) config.benchmarks = "replay";
  config.engine = ExpandContenders(config.engine);
  if (config.rocksdb_tuned) config.engine = AddTunedContenders(config.engine);
  if (absl::Status checked = CheckConfig(config); !checked.ok()) return checked;
  return config;
}

std::string FilterFor(const BenchConfig& config, std::string_view contender) {
  if (const auto filter = FilterOf(contender)) return std::string(*filter);
  const std::string_view engine = StoreOf(contender);
  if (engine == "lmdb" || engine == "wiredtiger") return "none";  // B-trees ask no filter
  std::string plain;
  const std::string prefix = absl::StrCat(Absl(engine), ".");
  const std::vector<std::string_view> known = {"winnow.", "winnow_leveldb.", "rocksdb.",
                                               "leveldb."};
  for (const std::string& item : SplitNames(config.filter)) {
    // A peer's filters keep its name, and Winnow's own have none.
    if (item.starts_with(prefix)) return engine == "winnow" ? item.substr(prefix.size()) : item;
    const bool for_another = std::any_of(known.begin(), known.end(), [&](std::string_view other) {
      return item.starts_with(other);
    });
    if (!for_another) plain = item;
  }
  if (plain.empty() && config.bloom_bits == 0) return "none";
  if (plain.empty()) {
    plain = absl::StrCat("blocked_bloom:", config.bloom_bits < 0 ? 10 : config.bloom_bits);
  }
  if (engine == "winnow") return plain;
  // RocksDB takes Winnow's filters when it is given one by name; LevelDB has one filter, its own.
  if (engine == "rocksdb" && !config.filter.empty()) return plain;
  for (std::string_view kind : {"blocked_bloom:", "bloom:"}) {
    if (plain.starts_with(kind)) return absl::StrCat(prefix, "bloom:", plain.substr(kind.size()));
  }
  return plain;
}

std::vector<std::string> SplitNames(std::string_view list) {
  return absl::StrSplit(Absl(list), ',', absl::SkipWhitespace());
}

}  // namespace winnow::bench
