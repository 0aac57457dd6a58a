// The command line of the comparison tool, in db_bench's habits: --name=value, --name value,
// --switch, --noswitch.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_FLAGS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_FLAGS_H_

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/winnow_bench/config.h"

namespace winnow::bench {

// One flag, tied to the field of a BenchConfig that it sets.
struct Flag {
  std::string_view group;
  std::string_view name;
  std::variant<bool*, int64_t*, double*, std::string*> target;
  std::string_view description;
  double min = std::numeric_limits<double>::lowest();  // range of numbers, both ends included
  double max = std::numeric_limits<double>::max();

  std::string ValueText() const;
};

// Every flag, in the order of --help. The pointers go into `*config`, which must outlive them.
std::vector<Flag> FlagsOf(BenchConfig* config);

// Reads the words after the program's name. InvalidArgument: an unknown flag (with the nearest
// known one), a value that does not parse or is out of range, or a combination that cannot be run.
absl::StatusOr<BenchConfig> ParseFlags(std::span<const std::string> words);

// InvalidArgument if `name` is none of `compiled`, the engines of a build: what to install for a
// peer, the nearest name for anything else.
absl::Status EngineIsCompiled(std::string_view name, const std::vector<std::string_view>& compiled);

// What --help prints.
std::string HelpText();

// The filter spec that an item of --engine is to use: what stands behind its "@", or the item of
// --filter that starts with "<engine>.", or else its plain item, or else --bloom_bits (negative:
// 10) as "blocked_bloom:N" or "none". For LevelDB a Bloom filter of N bits per key is
// "leveldb.bloom:N"; for RocksDB only --bloom_bits means its own, "rocksdb.bloom:N".
std::string FilterFor(const BenchConfig& config, std::string_view contender);

// "a,b,,c" as a list without empty names.
std::vector<std::string> SplitNames(std::string_view list);

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_FLAGS_H_
