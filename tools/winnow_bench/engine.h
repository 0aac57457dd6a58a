// What the benchmarks need of a storage engine, and the engines of this build.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ENGINE_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::bench {

struct EngineSettings {
  std::string directory;
  uint64_t cache_bytes = 0;
  uint64_t write_buffer_bytes = 0;
  uint64_t block_bytes = 0;
  size_t table_file_bytes = size_t{64} << 20;
  int open_files = -1;
  bool mmap_reads = false;
  bool io_uring_reads = true;    // winnow
  uint64_t row_cache_bytes = 0;  // winnow
  int background_threads = 2;
  std::string filter;  // winnow's spec text, or "<engine>.<kind>:<bits>"
  // RocksDB: filters and indexes in the block cache, and cut into partitions.
  bool cache_index_and_filter_blocks = false;
  bool partition_index_and_filters = false;
  // Winnow's option of this name; RocksDB has it on top of its cache, with filters in partitions
  // there.
  uint64_t filter_memory_budget = 0;
  // Both have an option of this name: RocksDB writes no filters on the last level, Winnow leaves
  // them out of memory where that costs little.
  bool optimize_filters_for_hits = false;
  // Keys and values of the whole run, uncompressed: more than the caches hold, or less?
  uint64_t data_bytes = 0;
  std::string filter_key;  // "whole", "prefix:N", "whole+prefix:N"
  std::string compression;
  bool disable_auto_compactions = false;
  std::string compaction = "leveled";  // winnow's text for the style
  bool statistics = false;
  // "optimistic" or "pessimistic": the run has transactions of this kind. Empty: it has none.
  std::string transactions;
};

struct SessionSettings {
  bool sync = false;
  bool disable_wal = false;
  bool verify_checksums = true;
};

// What an engine has counted since it was opened; unset: it does not count that, or not now.
struct EngineCounters {
  std::optional<uint64_t> filter_checked;
  std::optional<uint64_t> filter_rejected;
  std::optional<uint64_t> filter_true_positive;
  std::optional<uint64_t> filter_false_positive;
  std::optional<uint64_t> data_blocks_read;
  // To logs and tables, framing included; for engines that map files, whose writes no system call
  // shows.
  std::optional<uint64_t> bytes_written;
};

// The filters of the database as it stands.
struct FilterShape {
  std::optional<uint64_t> filter_bytes;
  std::optional<double> bits_per_key;
  std::optional<double> promised_fpr;
};

enum class Direction { kForward, kBackward };

// An iterator of one thread.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view key) = 0;
  virtual bool StandsOn(std::string_view key) = 0;
  // Reads up to `max_entries` entries from the present one on, and stands after them. Returns how
  // many there were and adds their bytes.
  virtual uint64_t Walk(uint64_t max_entries, Direction direction, uint64_t* bytes) = 0;
  virtual absl::Status status() = 0;
};

// The calls of one thread. After the first error every call does nothing and status() says why.
class Session {
 public:
  virtual ~Session() = default;
  virtual void Put(std::string_view key, std::string_view value) = 0;
  virtual void Delete(std::string_view key) = 0;
  // Deletes the keys from `begin` to before `end`.
  virtual void DeleteRange(std::string_view begin, std::string_view end) {
    Fail(absl::UnimplementedError("the engine has no range deletions"));
  }
  // Adds a number of eight bytes, little-endian, to the key's.
  virtual void MergeNumber(std::string_view key, std::string_view number) {
    Fail(absl::UnimplementedError("the engine has no merge operators"));
  }
  // One transaction: reads each key for update and then gives it the value. Returns whether it was
  // committed; false: another was faster, or an error. Adds to `found` how many keys were there.
  virtual bool Transact(std::span<const std::string_view> keys, std::string_view value,
                        uint64_t* found) {
    Fail(absl::UnimplementedError("the engine has no transactions"));
    return false;
  }
  // Adds an entry, in ascending order of the keys, to a table outside of the database; IngestTables
  // brings all of them in, whole.
  virtual void AddToTable(std::string_view key, std::string_view value) {
    Fail(absl::UnimplementedError("the engine ingests no tables"));
  }
  virtual void IngestTables() {}
  // Collects entries and writes them as one batch.
  virtual void AddToBatch(std::string_view key, std::string_view value) = 0;
  virtual void WriteBatch() = 0;
  // Adds the value's bytes if the key is there. Values are read the engine's cheapest way: pinned
  // where it can, copied where not.
  virtual bool Get(std::string_view key, uint64_t* bytes) = 0;
  // Returns how many of the keys are there.
  virtual uint64_t MultiGet(std::span<const std::string_view> keys, uint64_t* bytes) = 0;
  virtual std::unique_ptr<Cursor> NewCursor() = 0;
  // For one that reads nothing outside of [lower, upper); an engine may make use of knowing that.
  virtual std::unique_ptr<Cursor> NewCursorBetween(std::string_view lower, std::string_view upper) {
    return NewCursor();
  }

  const absl::Status& status() const { return status_; }

 protected:
  bool failed() const { return !status_.ok(); }
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

 private:
  absl::Status status_;
};

// An open database. Thread-safe; a session is not. Destroyed after its sessions.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionSettings& settings) = 0;
  virtual absl::Status Flush() = 0;
  virtual absl::Status Compact() = 0;
  virtual absl::Status WaitForCompactions() = 0;
  // For how long WaitForCompactions looks on when nothing is done any more, to be sure of it.
  virtual std::chrono::milliseconds IdleTimeOfWait() const { return {}; }
  virtual EngineCounters Counters() = 0;
  virtual FilterShape Shape() = 0;
  virtual std::string StatsText() = 0;
  virtual std::string LevelsText() = 0;
  virtual absl::Status Close() = 0;
};

// Names for --engine, in the order of --help.
std::vector<std::string_view> CompiledEngines();

// An engine that is in the build where its package was found.
struct KnownPeer {
  std::string_view name;
  std::string_view product;
  std::string_view package;  // Debian's
};
// Null if no peer has this name.
const KnownPeer* FindPeer(std::string_view name);

// Engines are named as --engine does, a "@<filter>" behind the name being of no account here.
//
// Name and version, and whether it was compiled with assertions, which makes it slower than the
// build its users run.
std::string EngineTitle(std::string_view name);
// Whether a write survives, once it has returned: in a log, or by copying pages; synced, so that it
// outlives a power failure, or not, so that it outlives the process.
std::string Durability(std::string_view name, const SessionSettings& settings);
// Removes the database in `directory`, if there is one, and nothing else.
absl::Status DestroyDatabase(std::string_view name, const std::string& directory);
// Creates the database if it is missing.
absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(std::string_view name,
                                                   const EngineSettings& settings);

// The bits per key of a filter spec that a plain Bloom filter of a peer can honour: "none",
// "bloom:N", "blocked_bloom:N", "<engine>.bloom:N". InvalidArgument for other specs. 0: no filter.
absl::StatusOr<double> PeerBloomBits(std::string_view engine, std::string_view spec);

// Walks any of the engines' iterators; they all have the same five calls.
template <typename Iterator>
uint64_t WalkIterator(Iterator& iterator, uint64_t max_entries, Direction direction,
                      uint64_t* bytes) {
  uint64_t entries = 0;
  for (; entries < max_entries && iterator.Valid(); entries++) {
    *bytes += iterator.key().size() + iterator.value().size();
    if (direction == Direction::kForward) {
      iterator.Next();
    } else {
      iterator.Prev();
    }
  }
  return entries;
}

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ENGINE_H_
