// RocksDB with the same cell keys and a prefix filter: of rows (ROW), or of columns (ROWCOL). A
// column is read by a seek inside its prefix, since who reads it does not know its timestamp.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/status.h"
#include "engine/table/cell_key.h"
#include "tools/peer/open_peer_database.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/pe/cell_client.h"
#include "tools/winnow_bench/pe/store_factory.h"

namespace winnow::bench::pe {
namespace {

absl::Status RocksStatus(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("rocksdb: ", status.ToString()));
}

rocksdb::Slice SliceOf(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// The part of a cell's key that filters know.
class CellPrefix final : public rocksdb::SliceTransform {
 public:
  explicit CellPrefix(bool with_column) : with_column_(with_column) {}
  const char* Name() const override { return with_column_ ? "cell.column" : "cell.row"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), LengthOf(key)};
  }
  bool InDomain(const rocksdb::Slice& key) const override { return LengthOf(key) > 0; }

 private:
  size_t LengthOf(const rocksdb::Slice& key) const {
    const std::string_view view = ViewOf(key);
    if (with_column_) return view.size() < kCellNumberBytes ? 0 : view.size() - kCellNumberBytes;
    const size_t end = view.find(std::string_view("\0\1", 2));
    return end == std::string_view::npos ? 0 : end + 2;
  }

  const bool with_column_;
};

class RocksCursor final : public CellCursor {
 public:
  explicit RocksCursor(std::unique_ptr<rocksdb::Iterator> iterator)
      : iterator_(std::move(iterator)) {}
  void Seek(std::string_view key) override { iterator_->Seek(SliceOf(key)); }
  void SeekForPrev(std::string_view key) override { iterator_->SeekForPrev(SliceOf(key)); }
  bool Valid() override { return iterator_->Valid(); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  std::string_view key() override { return ViewOf(iterator_->key()); }
  std::string_view value() override { return ViewOf(iterator_->value()); }
  absl::Status status() override { return RocksStatus(iterator_->status()); }

 private:
  const std::unique_ptr<rocksdb::Iterator> iterator_;
};

struct RocksFamilies {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  bool knows_rows = false;
  bool knows_columns = false;
};

class RocksCells final : public CellStore {
 public:
  RocksCells(rocksdb::DB* db, const RocksFamilies& families, const PeOptions& options)
      : db_(db), families_(families) {
    write_.disableWAL = !options.write_to_wal;
  }
  void AddPut(size_t family, std::string_view key, std::string_view value) override {
    Keep(batch_.Put(families_.handles[family], SliceOf(key), SliceOf(value)));
  }
  void AddDelete(size_t family, std::string_view key) override {
    Keep(batch_.Delete(families_.handles[family], SliceOf(key)));
  }
  absl::Status Commit() override {
    Keep(db_->Write(write_, &batch_));
    batch_.Clear();
    return RocksStatus(std::exchange(first_error_, rocksdb::Status()));
  }
  absl::Status ReadColumn(size_t family, std::string_view column_prefix, bool* is_there,
                          std::string* value) override {
    rocksdb::ReadOptions options;
    const bool has_filter = families_.knows_columns || families_.knows_rows;
    options.prefix_same_as_start = has_filter;
    options.total_order_seek = !has_filter;
    std::unique_ptr<rocksdb::Iterator> iterator(
        db_->NewIterator(options, families_.handles[family]));
    // The newest that the column could have.
    key_.assign(column_prefix).append(kCellNumberBytes, '\0');
    iterator->Seek(SliceOf(key_));
    *is_there = iterator->Valid() && iterator->key().starts_with(SliceOf(column_prefix));
    if (*is_there) value->assign(iterator->value().data(), iterator->value().size());
    return RocksStatus(iterator->status());
  }
  std::unique_ptr<CellCursor> NewCursor(size_t family, std::string_view row_prefix) override {
    rocksdb::ReadOptions options;
    const bool asks_filter = families_.knows_rows && !row_prefix.empty();
    options.prefix_same_as_start = asks_filter;
    options.total_order_seek = !asks_filter;
    return std::make_unique<RocksCursor>(
        std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, families_.handles[family])));
  }

 private:
  void Keep(const rocksdb::Status& status) {
    if (first_error_.ok()) first_error_ = status;
  }

  rocksdb::DB* const db_;
  const RocksFamilies& families_;
  rocksdb::WriteOptions write_;
  rocksdb::WriteBatch batch_;
  rocksdb::Status first_error_;
  std::string key_;
};

class RocksStore final : public RowStore {
 public:
  RocksStore(std::unique_ptr<rocksdb::DB> db, RocksFamilies families, const PeOptions& options)
      : db_(std::move(db)), families_(std::move(families)), options_(options) {}
  ~RocksStore() override { Close().IgnoreError(); }

  absl::StatusOr<std::unique_ptr<RowClient>> NewClient(
      std::vector<CellColumn> read_columns) override {
    return NewCellClient(std::make_unique<RocksCells>(db_.get(), families_, options_), options_,
                         latches_, std::move(read_columns));
  }
  absl::Status Settle() override {
    rocksdb::CompactRangeOptions compact;
    compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    for (rocksdb::ColumnFamilyHandle* const family : families_.handles) {
      WINNOW_RETURN_IF_ERROR(RocksStatus(db_->CompactRange(compact, family, nullptr, nullptr)));
    }
    return absl::OkStatus();
  }
  absl::Status Flush() override {
    return RocksStatus(db_->Flush(rocksdb::FlushOptions(), families_.handles));
  }
  // Its own statistics slow it down, and are off.
  EngineCounters Counters() override { return {}; }
  absl::Status Close() override {
    if (db_ == nullptr) return absl::OkStatus();
    for (rocksdb::ColumnFamilyHandle* const family : families_.handles) {
      WINNOW_RETURN_IF_ERROR(RocksStatus(db_->DestroyColumnFamilyHandle(family)));
    }
    families_.handles.clear();
    const rocksdb::Status closed = db_->Close();
    db_.reset();
    return RocksStatus(closed);
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  RocksFamilies families_;
  const PeOptions& options_;
  RowLatches latches_;
};

rocksdb::CompressionType RocksCompression(const std::string& name) {
  if (name == "snappy") return rocksdb::kSnappyCompression;
  if (name == "lz4") return rocksdb::kLZ4Compression;
  if (name == "zstd") return rocksdb::kZSTD;
  return rocksdb::kNoCompression;
}

absl::StatusOr<rocksdb::ColumnFamilyOptions> RocksFamilyOptions(const PeOptions& options,
                                                                const RocksFamilies& families) {
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.write_buffer_bytes;
  family.compression = RocksCompression(options.compression);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.cache_bytes);
  table.block_size = options.block_bytes;
  if (families.knows_rows || families.knows_columns) {
    // Bits a key as Winnow's have, which take a blocked Bloom filter for a plain one of as many.
    WINNOW_ASSIGN_OR_RETURN(const double bits, PeerBloomBits("rocksdb", options.filter));
    if (bits > 0) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(bits));
    family.prefix_extractor = std::make_shared<CellPrefix>(families.knows_columns);
    table.whole_key_filtering = false;
  }
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

absl::StatusOr<std::unique_ptr<RowStore>> OpenRocksDb(const PeOptions& options,
                                                      const std::string& directory) {
  RocksFamilies families;
  families.knows_columns = options.bloom_filter == "ROWCOL";
  families.knows_rows = !families.knows_columns && options.bloom_filter != "NONE";
  WINNOW_ASSIGN_OR_RETURN(const rocksdb::ColumnFamilyOptions family,
                          RocksFamilyOptions(options, families));
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
      {rocksdb::kDefaultColumnFamilyName, family}};
  for (uint64_t i = 1; i < options.families; i++) descriptors.emplace_back(FamilyName(i), family);
  rocksdb::DBOptions database;
  database.create_if_missing = true;
  database.create_missing_column_families = true;
  database.max_background_jobs = 2;
  std::unique_ptr<rocksdb::DB> db;
  const rocksdb::Status opened = OpenPeerDatabase(
      &db,
      [&](auto* target) -> decltype(rocksdb::DB::Open(database, directory, descriptors,
                                                      &families.handles, target)) {
        return rocksdb::DB::Open(database, directory, descriptors, &families.handles, target);
      });
  if (!opened.ok()) return RocksStatus(opened);
  return std::make_unique<RocksStore>(std::move(db), std::move(families), options);
}

}  // namespace

const RowStoreFactory kRocksDbRowsFactory = {
    "rocksdb", "RocksDB with the same cell keys, and a filter of their rows or columns",
    OpenRocksDb, [](const std::string& directory) {
      return RocksStatus(rocksdb::DestroyDB(directory, rocksdb::Options()));
    }};

}  // namespace winnow::bench::pe
