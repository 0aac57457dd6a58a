// RocksDB with the sizes of the run: as it comes, and tuned for points (rocksdb_tuned).
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tools/winnow_bench/assertions.h"
#include "tools/winnow_bench/engine_factory.h"
#include "tools/winnow_bench/peer_session.h"
#include "tools/winnow_bench/rocksdb_transactions.h"
#include "tools/winnow_bench/table_folder.h"
#ifdef WINNOW_BENCH_ROCKSDB_FILTERS
#include "winnow/filter/rocksdb.h"
#endif
#include "winnow/compaction_style.h"

namespace winnow::bench {
namespace {

struct RocksDbApi {
  static constexpr const char* kName = "rocksdb";
  using Database = rocksdb::DB;
  using Iterator = rocksdb::Iterator;
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;
  using WriteBatch = rocksdb::WriteBatch;
  using ReadOptions = rocksdb::ReadOptions;
  using WriteOptions = rocksdb::WriteOptions;
};

// RocksDB takes bounds by reference, and reads them as long as the iterator lives.
struct Bounds {
  Bounds(std::string_view begin, std::string_view end)
      : lower(begin), upper(end), lower_slice(lower), upper_slice(upper) {}
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;

  const std::string lower;
  const std::string upper;
  const rocksdb::Slice lower_slice;
  const rocksdb::Slice upper_slice;
};

rocksdb::ReadOptions Within(const Bounds& bounds, rocksdb::ReadOptions options) {
  options.iterate_lower_bound = &bounds.lower_slice;
  options.iterate_upper_bound = &bounds.upper_slice;
  return options;
}

class BoundedCursor final : private Bounds, public PeerCursor<RocksDbApi> {
 public:
  BoundedCursor(rocksdb::DB* db, const rocksdb::ReadOptions& options, std::string_view begin,
                std::string_view end)
      : Bounds(begin, end), PeerCursor(db->NewIterator(Within(*this, options))) {}
};

// What the sessions of one database share.
struct Opened {
  std::unique_ptr<rocksdb::DB> db;
  RocksDbBegin begin;
  rocksdb::Options options;
  TableFolder tables;
};

class RocksDbSession final : public PeerSession<RocksDbApi> {
 public:
  RocksDbSession(Opened* opened, const SessionSettings& settings)
      : PeerSession(opened->db.get(), settings), opened_(opened) {
    write_options_.disableWAL = settings.disable_wal;
  }

  void DeleteRange(std::string_view begin, std::string_view end) override {
    if (failed()) return;
    // The database below: one that is open for transactions refuses ranges.
    Check(db_->GetRootDB()->DeleteRange(write_options_, db_->DefaultColumnFamily(),
                                        AsSlice<RocksDbApi>(begin), AsSlice<RocksDbApi>(end)));
  }
  void MergeNumber(std::string_view key, std::string_view number) override {
    if (failed()) return;
    Check(db_->Merge(write_options_, db_->DefaultColumnFamily(), AsSlice<RocksDbApi>(key),
                     AsSlice<RocksDbApi>(number)));
  }

  bool Transact(std::span<const std::string_view> keys, std::string_view value,
                uint64_t* found) override {
    if (failed()) return false;
    transaction_.reset(opened_->begin(write_options_, transaction_.release()));
    rocksdb::Status status;
    for (const std::string_view key : keys) {
      value_.Reset();
      status = transaction_->GetForUpdate(read_options_, db_->DefaultColumnFamily(),
                                          AsSlice<RocksDbApi>(key), &value_);
      *found += status.ok() ? 1 : 0;
      if (status.ok() || status.IsNotFound()) {
        status = transaction_->Put(AsSlice<RocksDbApi>(key), AsSlice<RocksDbApi>(value));
      }
      if (!status.ok()) break;
    }
    if (status.ok()) status = transaction_->Commit();
    if (status.ok()) return true;
    transaction_->Rollback().PermitUncheckedError();
    if (!status.IsBusy() && !status.IsTimedOut() && !status.IsTryAgain()) Check(status);
    return false;
  }

  void AddToTable(std::string_view key, std::string_view value) override {
    if (failed()) return;
    if (writer_ == nullptr) BeginTable();
    if (failed()) return;
    Check(writer_->Put(AsSlice<RocksDbApi>(key), AsSlice<RocksDbApi>(value)));
    if (writer_->FileSize() >= opened_->options.target_file_size_base) EndTable();
  }
  void IngestTables() override {
    if (writer_ != nullptr) EndTable();
    if (failed() || tables_.empty()) return;
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    Check(db_->IngestExternalFile(tables_, options));
    tables_.clear();
  }

  bool Get(std::string_view key, uint64_t* bytes) override {
    value_.Reset();
    return Found(
        db_->Get(read_options_, db_->DefaultColumnFamily(), AsSlice<RocksDbApi>(key), &value_),
        value_, bytes);
  }

  uint64_t MultiGet(std::span<const std::string_view> keys, uint64_t* bytes) override {
    if (slices_.size() < keys.size()) {
      slices_.resize(keys.size());
      values_.resize(keys.size());
      statuses_.resize(keys.size());
    }
    for (size_t i = 0; i < keys.size(); i++) {
      slices_[i] = AsSlice<RocksDbApi>(keys[i]);
      values_[i].Reset();
    }
    db_->MultiGet(read_options_, db_->DefaultColumnFamily(), keys.size(), slices_.data(),
                  values_.data(), statuses_.data());
    uint64_t found = 0;
    for (size_t i = 0; i < keys.size(); i++) found += Found(statuses_[i], values_[i], bytes);
    return found;
  }

  std::unique_ptr<Cursor> NewCursorBetween(std::string_view lower,
                                           std::string_view upper) override {
    return std::make_unique<BoundedCursor>(db_, read_options_, lower, upper);
  }

 private:
  void BeginTable() {
    const absl::StatusOr<std::string> path = opened_->tables.NextTable();
    if (!path.ok()) return Fail(path.status());
    writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), opened_->options);
    tables_.push_back(*path);
    Check(writer_->Open(*path));
  }
  void EndTable() {
    Check(writer_->Finish());
    writer_.reset();
  }

  Opened* const opened_;
  std::unique_ptr<rocksdb::Transaction> transaction_;  // of the call before, to be used again
  std::unique_ptr<rocksdb::SstFileWriter> writer_;     // of the last of `tables_`, if not null
  std::vector<std::string> tables_;
  rocksdb::PinnableSlice value_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

class RocksDbEngine final : public Engine {
 public:
  explicit RocksDbEngine(std::unique_ptr<Opened> opened)
      : opened_(std::move(opened)),
        statistics_(opened_->options.statistics),
        db_(opened_->db.get()) {}

  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionSettings& settings) override {
    return std::make_unique<RocksDbSession>(opened_.get(), settings);
  }

  absl::Status Flush() override {
    return AsStatus<RocksDbApi>(db_->Flush(rocksdb::FlushOptions()));
  }

  absl::Status Compact() override {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    return AsStatus<RocksDbApi>(db_->CompactRange(options, nullptr, nullptr));
  }

  absl::Status WaitForCompactions() override {
    for (;;) {
      const bool runs = Property("rocksdb.mem-table-flush-pending") +
                            Property("rocksdb.num-running-flushes") +
                            Property("rocksdb.num-running-compactions") >
                        0;
      if (!runs && (Property("rocksdb.compaction-pending") == 0 || !ChangesByItself())) {
        return absl::OkStatus();
      }
      if (Property("rocksdb.background-errors") > 0) {
        return absl::UnavailableError("rocksdb: a background job failed; its LOG file says why");
      }
      if (runs) absl::SleepFor(absl::Milliseconds(2));
    }
  }

  EngineCounters Counters() override {
    EngineCounters counters;
    if (statistics_ == nullptr) return counters;
    const uint64_t rejected = statistics_->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL) +
                              statistics_->getTickerCount(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
    const uint64_t positive = statistics_->getTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
    const uint64_t true_positive =
        statistics_->getTickerCount(rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE);
    counters.filter_checked = rejected + positive;
    counters.filter_rejected = rejected;
    counters.filter_true_positive = true_positive;
    counters.filter_false_positive = positive - true_positive;
    counters.data_blocks_read = statistics_->getTickerCount(rocksdb::BLOCK_CACHE_DATA_MISS);
    return counters;
  }

  FilterShape Shape() override {
    FilterShape shape;
    rocksdb::TablePropertiesCollection tables;
    if (!db_->GetPropertiesOfAllTables(&tables).ok()) return shape;
    uint64_t bytes = 0;
    uint64_t entries = 0;
    for (const auto& [file, properties] : tables) {
      bytes += properties->filter_size;
      entries += properties->num_entries;
    }
    shape.filter_bytes = bytes;
    if (entries > 0) {
      shape.bits_per_key = 8.0 * static_cast<double>(bytes) / static_cast<double>(entries);
    }
    return shape;
  }

  std::string StatsText() override {
    std::string text;
    db_->GetProperty("rocksdb.stats", &text);
    if (statistics_ != nullptr) absl::StrAppend(&text, "STATISTICS:\n", statistics_->ToString());
    return text;
  }

  std::string LevelsText() override {
    std::string text;
    db_->GetProperty("rocksdb.levelstats", &text);
    return text;
  }

  absl::Status Close() override { return AsStatus<RocksDbApi>(db_->Close()); }

 private:
  uint64_t Property(const char* name) {
    uint64_t value = 0;
    return db_->GetIntProperty(name, &value) ? value : 0;
  }

  // Universal compaction calls itself pending with as many runs as start it, and may then find
  // none to merge, for ever. To pause waits for what has been scheduled.
  bool ChangesByItself() {
    constexpr const char* kVersion = "rocksdb.current-super-version-number";
    const uint64_t before = Property(kVersion);
    db_->PauseBackgroundWork().PermitUncheckedError();
    db_->ContinueBackgroundWork().PermitUncheckedError();
    return Property(kVersion) != before;
  }

  const std::unique_ptr<Opened> opened_;
  const std::shared_ptr<rocksdb::Statistics> statistics_;
  rocksdb::DB* const db_;
};

std::string TitleOf(const char* name) {
  std::string title =
      absl::StrCat(name, " ", ROCKSDB_MAJOR, ".", ROCKSDB_MINOR, ".", ROCKSDB_PATCH);
  if (LoadedWithAssertions("librocksdb").value_or(WINNOW_BENCH_ROCKSDB_ASSERTIONS)) {
    title.append(" (assertions on: release builds are up to 1.6x faster)");
  }
  return title;
}

absl::StatusOr<std::shared_ptr<const rocksdb::FilterPolicy>> MakeFilter(std::string_view spec) {
  constexpr std::string_view kRibbon = "rocksdb.ribbon:";
  if (spec.starts_with(kRibbon)) {
    const std::string_view amount = spec.substr(kRibbon.size());
    double bits = 0;
    if (!absl::SimpleAtod(absl::string_view(amount.data(), amount.size()), &bits) || bits < 1 ||
        bits > 100) {
      return absl::InvalidArgumentError(
          "rocksdb.ribbon:N takes the bits per key of the Bloom "
          "filter of the same accuracy, 1 to 100");
    }
    return std::shared_ptr<const rocksdb::FilterPolicy>(rocksdb::NewRibbonFilterPolicy(bits));
  }
  if (spec == "none" || spec.starts_with("rocksdb.bloom")) {
    const absl::StatusOr<double> bits = PeerBloomBits("rocksdb", spec);
    if (!bits.ok()) return bits.status();
    if (*bits == 0) return nullptr;
    return std::shared_ptr<const rocksdb::FilterPolicy>(rocksdb::NewBloomFilterPolicy(*bits));
  }
#ifdef WINNOW_BENCH_ROCKSDB_FILTERS
  // Winnow's, also as rocksdb.<spec> to set it apart from the other engines' filters.
  constexpr std::string_view kRocksDb = "rocksdb.";
  if (spec.starts_with(kRocksDb)) spec.remove_prefix(kRocksDb.size());
  return filter::NewFilterPolicy(spec);
#else
  return absl::UnimplementedError(
      "this build has only RocksDB's own filters, rocksdb.bloom:N and rocksdb.ribbon:N");
#endif
}

absl::Status SetFilterKey(std::string_view filter_key, rocksdb::Options* options,
                          rocksdb::BlockBasedTableOptions* table) {
  if (filter_key == "whole") return absl::OkStatus();
  constexpr std::string_view kWholeAnd = "whole+";
  constexpr std::string_view kPrefix = "prefix:";
  const bool has_whole_keys = filter_key.starts_with(kWholeAnd);
  if (has_whole_keys) filter_key.remove_prefix(kWholeAnd.size());
  const std::string_view amount = filter_key.substr(std::min(filter_key.size(), kPrefix.size()));
  uint64_t bytes = 0;
  if (!filter_key.starts_with(kPrefix) ||
      !absl::SimpleAtoi(absl::string_view(amount.data(), amount.size()), &bytes) || bytes == 0) {
    return absl::InvalidArgumentError(
        "rocksdb runs with --filter_key=whole, prefix:N or whole+prefix:N");
  }
  options->prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(bytes));
  table->whole_key_filtering = has_whole_keys;
  return absl::OkStatus();
}

rocksdb::CompressionType Compression(std::string_view name) {
  if (name == "snappy") return rocksdb::kSnappyCompression;
  if (name == "lz4") return rocksdb::kLZ4Compression;
  if (name == "zstd") return rocksdb::kZSTD;
  return rocksdb::kNoCompression;
}

// A cache without locks, where this version has it.
std::shared_ptr<rocksdb::Cache> NewClockCache(const EngineSettings& settings) {
#if ROCKSDB_MAJOR > 7 || (ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR >= 8)
  return rocksdb::HyperClockCacheOptions(settings.cache_bytes, settings.block_bytes)
      .MakeSharedCache();
#else
  return rocksdb::NewLRUCache(settings.cache_bytes);
#endif
}

// What RocksDB's own OptimizeForPointLookup sets, a cache without locks, and mapped files where the
// cache would have to be filled from them all the time. Mapped blocks bypass the cache.
void TuneForPoints(const EngineSettings& settings, rocksdb::Options* options,
                   rocksdb::BlockBasedTableOptions* table) {
  table->block_cache = NewClockCache(settings);
  table->data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table->data_block_hash_table_util_ratio = 0.75;
  options->memtable_prefix_bloom_size_ratio = 0.02;
  options->memtable_whole_key_filtering = true;
  options->allow_mmap_reads =
      settings.compression == "none" && settings.data_bytes > settings.cache_bytes;
}

// Tiers of RocksDB are its universal compaction. What bounds its fifo bounds all of the files.
absl::Status SetCompactionStyle(std::string_view style, rocksdb::Options* options) {
  constexpr std::string_view kFifo = "fifo:";
  if (style == "leveled") return absl::OkStatus();
  if (style == "tiered") {
    options->compaction_style = rocksdb::kCompactionStyleUniversal;
    return absl::OkStatus();
  }
  const absl::StatusOr<CompactionStyle> parsed = ParseCompactionStyle(style);
  if (!parsed.ok()) return parsed.status();
  if (!style.starts_with(kFifo)) {
    return absl::InvalidArgumentError("rocksdb has --compaction=leveled, tiered and fifo:BYTES");
  }
  options->compaction_style = rocksdb::kCompactionStyleFIFO;
  options->compaction_options_fifo.max_table_files_size = parsed->fifo_bytes;
  return absl::OkStatus();
}

enum class Tuning { kNone, kForPoints };

// With a budget for filters: the same memory in one cache, where filters and blocks contend.
EngineSettings WithBudgetInCache(EngineSettings settings) {
  if (settings.filter_memory_budget == 0) return settings;
  settings.cache_bytes += settings.filter_memory_budget;
  settings.cache_index_and_filter_blocks = true;
  settings.partition_index_and_filters = true;
  return settings;
}

absl::StatusOr<std::unique_ptr<Engine>> OpenWith(Tuning tuning, const EngineSettings& given) {
  const EngineSettings settings = WithBudgetInCache(given);
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = Compression(settings.compression);
  options.write_buffer_size = settings.write_buffer_bytes;
  options.max_background_jobs = settings.background_threads;
  options.max_open_files = settings.open_files;
  options.target_file_size_base = settings.table_file_bytes;
  options.max_bytes_for_level_base = 4 * settings.table_file_bytes;
  options.allow_mmap_reads = settings.mmap_reads;
  options.disable_auto_compactions = settings.disable_auto_compactions;
  options.optimize_filters_for_hits = settings.optimize_filters_for_hits;
  const rocksdb::Status found = rocksdb::MergeOperator::CreateFromString(
      rocksdb::ConfigOptions(), "uint64add", &options.merge_operator);
  if (!found.ok()) return AsStatus<RocksDbApi>(found);
  const absl::Status styled = SetCompactionStyle(settings.compaction, &options);
  if (!styled.ok()) return styled;
  if (settings.statistics) options.statistics = rocksdb::CreateDBStatistics();

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(settings.cache_bytes);
  table.block_size = settings.block_bytes;
  table.cache_index_and_filter_blocks = settings.cache_index_and_filter_blocks;
  if (settings.partition_index_and_filters) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  }
  if (tuning == Tuning::kForPoints) TuneForPoints(settings, &options, &table);
  absl::StatusOr<std::shared_ptr<const rocksdb::FilterPolicy>> filter = MakeFilter(settings.filter);
  if (!filter.ok()) return filter.status();
  table.filter_policy = *std::move(filter);
  absl::Status keyed = SetFilterKey(settings.filter_key, &options, &table);
  if (!keyed.ok()) return keyed;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

  std::unique_ptr<rocksdb::DB> db;
  RocksDbBegin begin;
  const rocksdb::Status status =
      OpenForTransactions(settings.transactions, options, settings.directory, &db, &begin);
  if (!status.ok()) return AsStatus<RocksDbApi>(status);
  return std::make_unique<RocksDbEngine>(std::unique_ptr<Opened>(new Opened{
      std::move(db), std::move(begin), options, TableFolder(settings.directory + ".tables")}));
}

absl::Status Destroy(const std::string& directory) {
  return AsStatus<RocksDbApi>(rocksdb::DestroyDB(directory, rocksdb::Options()));
}

}  // namespace

const EngineFactory kRocksDbFactory = {
    "rocksdb", WritePath::kLog, [] { return TitleOf("rocksdb"); }, Destroy,
    [](const EngineSettings& settings) { return OpenWith(Tuning::kNone, settings); }};
const EngineFactory kRocksDbTunedFactory = {
    "rocksdb_tuned", WritePath::kLog,
    [] {
      return TitleOf("rocksdb_tuned") +
             " (tuned for points: clock cache, hash index in data blocks, mapped files where the "
             "data is larger than the cache)";
    },
    Destroy, [](const EngineSettings& settings) { return OpenWith(Tuning::kForPoints, settings); }};

}  // namespace winnow::bench
