// The flags themselves and the text of --help.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/flags.h"
#include "tools/winnow_bench/key_shape.h"
#include "tools/winnow_bench/workload.h"

namespace winnow::bench {
namespace {

constexpr double kLargestCount = 1e12;
constexpr double kLargestBytes = 1e15;

void AddRunFlags(BenchConfig* config, std::vector<Flag>* flags) {
  const std::string_view group = "What to run";
  flags->insert(
      flags->end(),
      {{group, "benchmarks", &config->benchmarks, "comma list, run in this order"},
       {group, "engine", &config->engine,
        "comma list; each runs every benchmark; rocksdb@cuckoo:1% is rocksdb with that "
        "filter, rocksdb@*:10 with each kind"},
       {group, "rocksdb_tuned", &config->rocksdb_tuned,
        "beside each rocksdb also rocksdb_tuned: tuned for points"},
       {group, "rounds", &config->rounds, "repeat everything, engines interleaved (A B A B)", 1,
        1000},
       {group, "warmup", &config->warmup, "unmeasured runs before each measured read benchmark", 0,
        1000},
       {group, "threads", &config->threads, "threads that call the engine", 1, 1024},
       {group, "duration", &config->duration, "seconds of each random benchmark; 0: by count", 0,
        1e6},
       {group, "db", &config->db,
        "directory; each engine's database in DIR/<engine>; empty: in $TMPDIR or /tmp"},
       {group, "use_existing_db", &config->use_existing_db,
        "keep what is there; otherwise a fill starts from an empty database"},
       {group, "replay", &config->replay,
        "a trace (DB::StartTrace), whose calls benchmark replay makes again; --benchmarks "
        "is replay then, if it is not given"},
       {group, "replay_family", &config->replay_family,
        "number of the column family whose calls are replayed", 0, 4294967295.0},
       {group, "seed", &config->seed,
        "the same seed gives every engine the same keys and values"}});
}

void AddDataFlags(BenchConfig* config, std::vector<Flag>* flags) {
  const std::string_view group = "Keys, values and operations";
  flags->insert(
      flags->end(),
      {{group, "num", &config->num, "keys in the database", 1, kLargestCount},
       {group, "reads", &config->reads, "reads of each thread; -1: num", -1, kLargestCount},
       {group, "deletes", &config->deletes, "deletions; -1: num", -1, kLargestCount},
       {group, "key_shape", &config->key_shape, "one of the key shapes above"},
       {group, "key_size", &config->key_size, "bytes of a key, where its shape has no own length",
        2, 1 << 20},
       {group, "value_size", &config->value_size, "bytes of a value", 0, 1 << 30},
       {group, "compression_ratio", &config->compression_ratio,
        "values compress to this share of their size", 0.001, 1},
       {group, "prefix_size", &config->prefix_size,
        "bytes of a key's group prefix (key shape db_bench); 0: none", 0, 8},
       {group, "keys_per_prefix", &config->keys_per_prefix, "keys that share a prefix", 1,
        kLargestCount},
       {group, "batch_size", &config->batch_size, "entries of one write of a fill", 1, 1e6},
       {group, "multiread_batch", &config->multiread_batch, "keys of one multiread call", 1, 1e6},
       {group, "seek_nexts", &config->seek_nexts, "entries read after each seek", 0,
        kLargestCount}});
}

void AddEngineFlags(BenchConfig* config, std::vector<Flag>* flags) {
  const std::string_view group = "Settings, the same for every engine";
  flags->insert(
      flags->end(),
      {{group, "cache_size", &config->cache_size, "bytes of the block cache", 0, kLargestBytes},
       {group, "write_buffer_size", &config->write_buffer_size, "bytes of a memtable", 64 << 10,
        double{1ull << 34}},
       {group, "bloom_bits", &config->bloom_bits, "filter bits per key; 0: no filter; -1: 10", -1,
        100},
       {group, "filter", &config->filter,
        "filter spec, instead of bloom_bits; or one for each engine: cuckoo:1%,rocksdb.ribbon:10"},
       {group, "filter_key", &config->filter_key,
        "what is hashed: whole, prefix:N or whole+prefix:N"},
       {group, "cache_index_and_filter_blocks", &config->cache_index_and_filter_blocks,
        "rocksdb: filters take part in the block cache"},
       {group, "partition_index_and_filters", &config->partition_index_and_filters,
        "rocksdb: filters in partitions of 4 KiB"},
       {group, "filter_memory_budget", &config->filter_memory_budget,
        "winnow: bytes for all filters, in place of the amounts that filter and bloom_bits give; "
        "rocksdb: as much more block cache, for "
        "filters in partitions. 0: none",
        0, kLargestBytes},
       {group, "optimize_filters_for_hits", &config->optimize_filters_for_hits,
        "winnow: no filters of the last level in memory while nearly all look-ups there find their "
        "key; rocksdb: none written there"},
       {group, "compression_type", &config->compression_type, "none, snappy, lz4 or zstd"},
       {group, "block_size", &config->block_size,
        "uncompressed bytes of a data block (lmdb and wiredtiger: 4 and 32 KiB)", 256, 16 << 20},
       {group, "target_file_size", &config->target_file_size,
        "bytes of an SSTable; the first level has four (leveldb: 10 MB)", 64 << 10, 1 << 30},
       {group, "compaction", &config->compaction,
        "leveled, lazy_leveled (winnow), tiered (rocksdb: universal) or fifo:BYTES; leveldb: "
        "leveled"},
       {group, "transactions", &config->transactions,
        "winnow, rocksdb: optimistic or pessimistic, of txnrandom"},
       {group, "open_files", &config->open_files,
        "SSTables kept open (winnow: at least 16); -1: all", -1, 1e9},
       {group, "mmap_reads", &config->mmap_reads,
        "winnow, rocksdb: map SSTables into memory (winnow_mapped, leveldb and lmdb always do)"},
       {group, "io_uring_reads", &config->io_uring_reads,
        "winnow: blocks of a batch that are not in memory are read by one call"},
       {group, "row_cache_size", &config->row_cache_size,
        "winnow: bytes for whole answers, also that a key is not there; 0: none", 0, kLargestBytes},
       {group, "max_background_jobs", &config->max_background_jobs,
        "threads for flushes and compactions (leveldb always has one)", 1, 64},
       {group, "sync", &config->sync, "each write survives a power failure"},
       {group, "disable_wal", &config->disable_wal, "write no log"},
       {group, "disable_auto_compactions", &config->disable_auto_compactions,
        "compact only when asked"},
       {group, "verify_checksum", &config->verify_checksum, "check each block that is read"}});
}

void AddOutputFlags(BenchConfig* config, std::vector<Flag>* flags) {
  const std::string_view group = "Output";
  flags->insert(
      flags->end(),
      {{group, "histogram", &config->histogram, "time every operation; prints percentiles"},
       {group, "statistics", &config->statistics,
        "the engines' own statistics (slows rocksdb; winnow's are always on)"},
       {group, "json", &config->json, "write all results to this file"},
       {group, "report", &config->report, "write all results to this file as a page with plots"},
       {group, "from_json", &config->from_json,
        "run nothing; report the results in these files, a comma list"},
       {group, "help", &config->help, "this text"}});
}

constexpr std::string_view kIntroduction =
    R"(winnow_bench runs the benchmarks of db_bench on several storage engines with the same keys,
values, memory and filter size, and prints db_bench's result lines, then medians and ratios.

  winnow_bench --num=1000000
      Winnow alone: load a million keys in random order, compact, look up present and absent keys.

  winnow_bench --engine=winnow,rocksdb,leveldb --rounds=3 --compression_type=none --json=r.json
      The same on three engines, three interleaved rounds, one table of medians at the end.

  winnow_bench --engine=winnow,rocksdb,lmdb,wiredtiger --rocksdb_tuned --compression_type=none \
      --key_shape=url --benchmarks=fillrandom,readrandom,readmissing,seekrandom --seek_nexts=10
      B-trees too, RocksDB also tuned for points, and keys that share their first bytes.

  winnow_bench --engine=winnow,rocksdb --filter=cuckoo:12,rocksdb.ribbon:10 \
      --use_existing_db --benchmarks=readmissing --reads=2000000 --histogram
      Other filters, the databases of an earlier run, latency percentiles.

  winnow_bench --engine=rocksdb@rocksdb.bloom:10,rocksdb@*:10 --rounds=3 --report=r.html
      RocksDB with its own Bloom filter and with each of Winnow's kinds at 10 bits per key.

Keys are made from even numbers (0, 2, 4, ...), in the shape that --key_shape names. A random fill
visits each key exactly once (db_bench draws with replacement and leaves 63 % of them), so that
readrandom asks for keys that are there. readmissing asks for the odd numbers between them: absent
keys of the same shape inside the key range of every file, so that filters answer and not file
boundaries.

The table says of each benchmark that writes what its writes survive: "log, unsynced" and "copy on
write, unsynced" the end of the process, "synced" a power failure, "no log" neither. Every engine
runs every benchmark but deleterange, mergerandom, ingest and txnrandom, for which only winnow and
rocksdb have calls; what else one does not have (filters, compactions) stands below the table.

Several threads share a fill; reads count for each thread. Each engine and round runs in a process
of its own, so that memory figures are its own.

Exit codes: 0 done, 1 an engine or file failed, 2 wrong command line, 130 interrupted.
)";

}  // namespace

std::vector<Flag> FlagsOf(BenchConfig* config) {
  std::vector<Flag> flags;
  AddRunFlags(config, &flags);
  AddDataFlags(config, &flags);
  AddEngineFlags(config, &flags);
  AddOutputFlags(config, &flags);
  return flags;
}

std::string HelpText() {
  std::string text(kIntroduction);
  text.append("\nBenchmarks\n");
  for (const Workload& workload : Workloads()) {
    absl::StrAppendFormat(&text, "  %-20s %s\n", std::string(workload.name),
                          std::string(workload.description));
  }
  text.append("\nKey shapes\n");
  for (const KeyShapeName& shape : KeyShapes()) {
    absl::StrAppendFormat(&text, "  %-20s %s\n", std::string(shape.name),
                          std::string(shape.description));
  }
  text.append("\nEngines in this build\n");
  for (std::string_view engine : CompiledEngines()) {
    absl::StrAppend(&text, "  ", EngineTitle(engine), "\n");
  }
  BenchConfig defaults;
  std::string_view group;
  for (const Flag& flag : FlagsOf(&defaults)) {
    if (flag.group != group) {
      group = flag.group;
      absl::StrAppend(&text, "\n", absl::string_view(group.data(), group.size()),
                      " (default in brackets)\n");
    }
    absl::StrAppendFormat(&text, "  --%-25s %s [%s]\n", std::string(flag.name),
                          std::string(flag.description), flag.ValueText());
  }
  return text;
}

}  // namespace winnow::bench
