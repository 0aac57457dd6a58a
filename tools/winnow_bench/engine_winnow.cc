// Winnow itself, through its public headers; how large the framing of its log is, they do not tell.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/log/log_format.h"
#include "tools/winnow_bench/engine_factory.h"
#include "tools/winnow_bench/table_folder.h"
#include "winnow/db.h"
#include "winnow/ingest.h"
#include "winnow/transaction.h"

namespace winnow::bench {
namespace {

absl::Status WithName(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("winnow: ", status.message()));
}

class WinnowCursor final : public Cursor {
 public:
  explicit WinnowCursor(std::unique_ptr<Iterator> iterator) : iterator_(std::move(iterator)) {}
  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(std::string_view key) override { iterator_->Seek(key); }
  bool StandsOn(std::string_view key) override {
    return iterator_->Valid() && iterator_->key() == key;
  }
  uint64_t Walk(uint64_t max_entries, Direction direction, uint64_t* bytes) override {
    return WalkIterator(*iterator_, max_entries, direction, bytes);
  }
  absl::Status status() override { return WithName(iterator_->status()); }

 private:
  std::unique_ptr<Iterator> iterator_;
};

// What the sessions of one database share.
struct Opened {
  std::unique_ptr<DB> db;
  uint64_t table_bytes;
  TransactionOptions transactions;
  TableFolder tables;
};

class WinnowSession final : public Session {
 public:
  WinnowSession(Opened* opened, const SessionSettings& settings)
      : opened_(opened), db_(opened->db.get()), family_(db_->DefaultColumnFamily()) {
    write_options_.sync = settings.sync;
    write_options_.disable_wal = settings.disable_wal;
    read_options_.verify_checksums = settings.verify_checksums;
  }

  void Put(std::string_view key, std::string_view value) override {
    if (!failed()) Check(db_->Put(write_options_, family_, key, value));
  }
  void Delete(std::string_view key) override {
    if (!failed()) Check(db_->Delete(write_options_, family_, key));
  }
  void DeleteRange(std::string_view begin, std::string_view end) override {
    if (!failed()) Check(db_->DeleteRange(write_options_, family_, begin, end));
  }
  void MergeNumber(std::string_view key, std::string_view number) override {
    if (!failed()) Check(db_->Merge(write_options_, family_, key, number));
  }
  bool Transact(std::span<const std::string_view> keys, std::string_view value,
                uint64_t* found) override {
    if (failed()) return false;
    absl::StatusOr<std::unique_ptr<Transaction>> begun =
        db_->BeginTransaction(opened_->transactions);
    if (!begun.ok()) Check(begun.status());
    if (failed()) return false;
    Transaction& transaction = **begun;
    absl::Status status;
    for (const std::string_view key : keys) {
      status = transaction.GetForUpdate(read_options_, family_, key, &value_);
      *found += status.ok() ? 1 : 0;
      if (status.ok() || absl::IsNotFound(status)) status = transaction.Put(family_, key, value);
      if (!status.ok()) break;
    }
    if (status.ok()) status = transaction.Commit(write_options_);
    if (!absl::IsAborted(status) && !absl::IsDeadlineExceeded(status)) Check(status);
    return status.ok();
  }

  void AddToTable(std::string_view key, std::string_view value) override {
    if (failed()) return;
    if (writer_ == nullptr) BeginTable();
    if (!failed()) Check(writer_->Put(key, value));
    if (!failed() && writer_->file_bytes() >= opened_->table_bytes) EndTable();
  }
  void IngestTables() override {
    if (writer_ != nullptr) EndTable();
    if (failed() || tables_.empty()) return;
    Check(db_->Ingest(tables_, {.move = true}).status());
    tables_.clear();
  }

  void AddToBatch(std::string_view key, std::string_view value) override { batch_.Put(key, value); }
  void WriteBatch() override {
    if (!failed()) Check(db_->Write(write_options_, batch_));
    batch_.Clear();
  }

  bool Get(std::string_view key, uint64_t* bytes) override {
    return Found(db_->Get(read_options_, family_, key, &value_), value_, bytes);
  }

  uint64_t MultiGet(std::span<const std::string_view> keys, uint64_t* bytes) override {
    if (values_.size() < keys.size()) {
      values_.resize(keys.size());
      statuses_.resize(keys.size());
    }
    const std::span<PinnedValue> values(values_.data(), keys.size());
    const std::span<absl::Status> statuses(statuses_.data(), keys.size());
    db_->MultiGet(read_options_, family_, keys, values, statuses);
    uint64_t found = 0;
    for (size_t i = 0; i < keys.size(); i++) found += Found(statuses[i], values[i], bytes);
    return found;
  }

  std::unique_ptr<Cursor> NewCursor() override {
    return std::make_unique<WinnowCursor>(db_->NewIterator(read_options_, family_));
  }
  std::unique_ptr<Cursor> NewCursorBetween(std::string_view lower,
                                           std::string_view upper) override {
    ReadOptions read_options = read_options_;
    read_options.lower_bound = std::string(lower);
    read_options.upper_bound = std::string(upper);
    return std::make_unique<WinnowCursor>(db_->NewIterator(read_options, family_));
  }

 private:
  void Check(const absl::Status& status) {
    if (!status.ok()) Fail(WithName(status));
  }
  void BeginTable() {
    const absl::StatusOr<std::string> path = opened_->tables.NextTable();
    if (!path.ok()) return Check(path.status());
    absl::StatusOr<std::unique_ptr<SstWriter>> writer = db_->NewSstWriter(family_, *path);
    if (!writer.ok()) return Check(writer.status());
    writer_ = *std::move(writer);
    tables_.push_back({.path = *path});
  }
  void EndTable() {
    Check(writer_->Finish().status());
    writer_.reset();
  }
  bool Found(const absl::Status& status, const PinnedValue& value, uint64_t* bytes) {
    if (status.ok()) {
      *bytes += value.view().size();
      return true;
    }
    if (!absl::IsNotFound(status)) Check(status);
    return false;
  }

  Opened* const opened_;
  DB* const db_;
  ColumnFamily* const family_;
  WriteOptions write_options_;
  ReadOptions read_options_;
  winnow::WriteBatch batch_;
  PinnedValue value_;
  std::vector<PinnedValue> values_;
  std::vector<absl::Status> statuses_;
  std::unique_ptr<SstWriter> writer_;  // of the last of `tables_`; null: that is finished
  std::vector<IngestFile> tables_;
};

class WinnowEngine final : public Engine {
 public:
  explicit WinnowEngine(std::unique_ptr<Opened> opened)
      : opened_(std::move(opened)), db_(opened_->db.get()) {}

  absl::StatusOr<std::unique_ptr<Session>> NewSession(const SessionSettings& settings) override {
    return std::make_unique<WinnowSession>(opened_.get(), settings);
  }
  absl::Status Flush() override { return WithName(db_->Flush()); }
  absl::Status Compact() override {
    return WithName(db_->CompactRange(std::nullopt, std::nullopt));
  }
  absl::Status WaitForCompactions() override { return WithName(db_->WaitForBackgroundWork()); }

  EngineCounters Counters() override {
    const Statistics statistics = db_->GetStatistics();
    uint64_t checked = 0;
    uint64_t rejected = 0;
    uint64_t true_positive = 0;
    uint64_t false_positive = 0;
    for (const FilterStatistics& row : statistics.filters) {
      checked += row.checked;
      rejected += row.rejected;
      true_positive += row.true_positive;
      false_positive += row.false_positive;
    }
    EngineCounters counters;
    counters.filter_checked = checked;
    counters.filter_rejected = rejected;
    counters.filter_true_positive = true_positive;
    counters.filter_false_positive = false_positive;
    counters.data_blocks_read = statistics.Get(Ticker::kDataBlocksRead);
    counters.bytes_written = LogBytes(statistics) + statistics.Get(Ticker::kFlushBytesWritten) +
                             statistics.Get(Ticker::kBytesIngested) +
                             statistics.Get(Ticker::kCompactionBytesWritten) +
                             statistics.Get(Ticker::kRefilterBytesWritten);
    return counters;
  }

  FilterShape Shape() override {
    const Statistics statistics = db_->GetStatistics();
    uint64_t filter_bytes = 0;
    uint64_t entries = 0;
    for (const LevelStatistics& level : statistics.levels) {
      filter_bytes += level.filter_bytes + level.range_filter_bytes;
      entries += level.num_entries;
    }
    FilterShape shape;
    shape.filter_bytes = filter_bytes;
    if (entries > 0) {
      shape.bits_per_key = 8.0 * static_cast<double>(filter_bytes) / static_cast<double>(entries);
    }
    shape.promised_fpr = PromisedFpr(statistics);
    return shape;
  }

  std::string StatsText() override {
    return Property("winnow.stats") + Property("winnow.filter-stats");
  }
  std::string LevelsText() override { return Property("winnow.levels"); }
  absl::Status Close() override { return WithName(db_->Close()); }

 private:
  // As if each write had a record of its own: those that writers share are counted too high.
  static uint64_t LogBytes(const Statistics& statistics) {
    const uint64_t payloads = statistics.Get(Ticker::kLogBytesWritten);
    if (payloads == 0) return 0;  // no log is written
    return payloads + statistics.Get(Ticker::kWrites) * kLogRecordHeaderBytes;
  }

  // The mean over the look-ups of what was not there, since the database was opened.
  static std::optional<double> PromisedFpr(const Statistics& statistics) {
    double absent = 0;
    double promised = 0;
    for (const FilterStatistics& row : statistics.filters) {
      const double here = static_cast<double>(row.rejected + row.false_positive);
      absent += here;
      promised += here * row.promised_fpr;
    }
    if (absent == 0) return std::nullopt;
    return promised / absent;
  }

  std::string Property(std::string_view name) {
    const absl::StatusOr<std::string> text = db_->GetProperty(name);
    return text.ok() ? *text : std::string(text.status().message());
  }

  const std::unique_ptr<Opened> opened_;
  DB* const db_;
};

std::string TitleOf(std::string_view name) {
  std::string title =
      absl::StrCat(absl::string_view(name.data(), name.size()), " ", WINNOW_BENCH_WINNOW_VERSION);
#ifndef NDEBUG
  title.append(" (assertions on: build the release preset to compare)");
#endif
  return title;
}

absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineSettings& settings) {
  Options options;
  options.write_buffer_bytes = settings.write_buffer_bytes;
  options.block_cache_bytes = settings.cache_bytes;
  options.block_bytes = settings.block_bytes;
  options.target_file_bytes = settings.table_file_bytes;
  options.level_base_bytes = 4 * settings.table_file_bytes;
  // The store's range begins at 16; without a number it keeps as many open as it can.
  options.max_open_files =
      settings.open_files < 0 ? 0 : std::clamp(settings.open_files, 16, 10'000'000);
  const absl::StatusOr<CompactionStyle> style = ParseCompactionStyle(settings.compaction);
  if (!style.ok()) return style.status();
  options.compaction = *style;
  options.mmap_reads = settings.mmap_reads;
  options.io_uring_reads = settings.io_uring_reads;
  options.row_cache_bytes = settings.row_cache_bytes;
  options.background_threads = settings.background_threads;
  options.filter = settings.filter;
  options.filter_memory_budget = settings.filter_memory_budget;
  options.optimize_filters_for_hits = settings.optimize_filters_for_hits;
  // The budget decides the amount.
  if (settings.filter_memory_budget != 0) {
    options.filter = settings.filter.substr(0, settings.filter.find(':'));
  }
  options.filter_key = settings.filter_key;
  options.disable_auto_compactions = settings.disable_auto_compactions;
  // A database of somebody's own, copied here to be measured, keeps what its values mean.
  Options recorded;
  if (DB::LoadOptions(settings.directory, &recorded).ok()) {
    options.merge_operator = recorded.merge_operator;
    options.ttl_seconds = recorded.ttl_seconds;
  }
  if (options.merge_operator == nullptr && options.ttl_seconds.value_or(0) == 0) {
    if (absl::Status set = SetOption(&options, "merge_operator", "uint64_add"); !set.ok()) {
      return set;
    }
  }
  const absl::StatusOr<Compression> compression = ParseCompression(settings.compression);
  if (!compression.ok()) return compression.status();
  options.compression = *compression;
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, settings.directory);
  if (!db.ok()) return WithName(db.status());
  TransactionOptions transactions;
  if (settings.transactions == "pessimistic") {
    transactions.mode = TransactionOptions::Mode::kPessimistic;
  }
  // Of an aggregate, since what counts tables can be neither copied nor moved.
  return std::make_unique<WinnowEngine>(
      std::unique_ptr<Opened>(new Opened{*std::move(db), settings.table_file_bytes, transactions,
                                         TableFolder(settings.directory + ".tables")}));
}

absl::Status Destroy(const std::string& directory) {
  return WithName(DB::Destroy(Options(), directory));
}

}  // namespace

const EngineFactory kWinnowFactory = {"winnow", WritePath::kLog, [] { return TitleOf("winnow"); },
                                      Destroy, Open};
const EngineFactory kWinnowMappedFactory = {
    "winnow_mapped", WritePath::kLog,
    [] { return TitleOf("winnow_mapped") + " (mmap_reads: SSTables are mapped into memory)"; },
    Destroy,
    [](const EngineSettings& settings) {
      EngineSettings mapped = settings;
      mapped.mmap_reads = true;
      return Open(mapped);
    }};

}  // namespace winnow::bench
