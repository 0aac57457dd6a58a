// What one run of the comparison tool is asked to do: its flags as values.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_CONFIG_H_
#define WINNOW_TOOLS_WINNOW_BENCH_CONFIG_H_

#include <cstdint>
#include <string>

namespace winnow::bench {

inline constexpr double kMebibyte = 1048576.0;

// Defaults are db_bench's where db_bench has the flag. flags.cc says what each field means.
struct BenchConfig {
  std::string benchmarks = "fillrandom,compact,readrandom,readmissing";
  std::string engine = "winnow";
  std::string db;  // empty: winnow_bench-<user id> in $TMPDIR or /tmp
  bool use_existing_db = false;
  std::string replay;  // a trace's file
  int64_t replay_family = 0;

  int64_t num = 1'000'000;
  int64_t reads = -1;    // negative: num
  int64_t deletes = -1;  // negative: num
  std::string key_shape = "db_bench";
  int64_t key_size = 16;
  int64_t value_size = 100;
  double compression_ratio = 0.5;
  int64_t prefix_size = 0;
  int64_t keys_per_prefix = 1;
  int64_t threads = 1;
  int64_t duration = 0;
  int64_t batch_size = 1;
  int64_t multiread_batch = 32;
  int64_t seek_nexts = 0;
  int64_t seed = 0;

  int64_t rounds = 1;
  int64_t warmup = 0;

  int64_t cache_size = int64_t{8} << 20;
  int64_t write_buffer_size = int64_t{64} << 20;
  int64_t block_size = 4096;
  int64_t target_file_size = int64_t{64} << 20;
  std::string compaction = "leveled";
  std::string transactions = "optimistic";
  int64_t open_files = -1;
  bool mmap_reads = false;
  bool io_uring_reads = true;
  int64_t row_cache_size = 0;
  int64_t max_background_jobs = 2;
  int64_t bloom_bits = -1;
  std::string filter;
  std::string filter_key = "whole";
  bool cache_index_and_filter_blocks = false;
  bool partition_index_and_filters = false;
  int64_t filter_memory_budget = 0;
  bool optimize_filters_for_hits = false;
  bool rocksdb_tuned = false;
  std::string compression_type = "snappy";
  bool sync = false;
  bool disable_wal = false;
  bool disable_auto_compactions = false;
  bool verify_checksum = true;

  bool histogram = false;
  bool statistics = false;
  std::string json;
  std::string report;
  std::string from_json;
  bool help = false;

  uint64_t num_keys() const { return static_cast<uint64_t>(num); }
  uint64_t num_reads() const { return static_cast<uint64_t>(reads < 0 ? num : reads); }
  uint64_t num_deletes() const { return static_cast<uint64_t>(deletes < 0 ? num : deletes); }
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_CONFIG_H_
