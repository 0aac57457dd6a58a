// The command line of `winnow_bench pe`: that of HBase's PerformanceEvaluation, and more.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_OPTIONS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_OPTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow::bench::pe {

// What reads ask for: rows and columns that are there, or one of them not.
enum class Absent { kNothing, kRow, kColumn };

struct PeOptions {
  std::string command;
  uint32_t clients = 1;

  uint64_t rows = 1'048'576;  // of each client: 1 GiB of values of 1,000 bytes
  double size_gib = 0;        // 0: as `rows` says
  uint64_t value_bytes = 1000;
  bool random_value_size = false;  // from 0 to value_bytes
  uint64_t columns = 1;
  uint64_t families = 1;
  std::string table = "TestTable";
  std::string bloom_filter = "ROW";
  std::string filter = "blocked_bloom:10";
  std::string compression = "none";
  uint64_t block_bytes = 4096;
  uint64_t cache_bytes = uint64_t{64} << 20;
  uint64_t write_buffer_bytes = uint64_t{64} << 20;
  bool write_to_wal = true;
  bool flush = false;  // at the end
  bool add_columns = true;
  uint64_t multi_get = 0;
  uint64_t multi_put = 0;
  double sample_rate = 1;
  uint64_t cycles = 1;
  uint64_t start_row = 0;
  uint64_t measure_after = 0;
  bool latency = false;
  Absent absent = Absent::kNothing;
  uint64_t seed = 0;

  std::vector<std::string> engines = {"tables"};
  std::string directory;  // empty: winnow_bench-pe-<user id> in $TMPDIR or /tmp
  std::string json;
  bool help = false;

  uint64_t total_rows() const;
};

// The words behind `pe`. InvalidArgument: an unknown flag, command or value, with the nearest known
// name, or a combination that cannot be run.
absl::StatusOr<PeOptions> ParsePeOptions(std::span<const std::string> words);

// What `winnow_bench pe --help` prints.
std::string PeHelp();

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_OPTIONS_H_
