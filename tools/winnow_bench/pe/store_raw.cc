// Winnow's engine without tables: the same cell keys, each known whole to who reads it, so that a
// column is one look-up. What tables cost is measured against it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/table/cell_key.h"
#include "tools/winnow_bench/pe/cell_client.h"
#include "tools/winnow_bench/pe/store_factory.h"
#include "tools/winnow_bench/pe/winnow_settings.h"

namespace winnow::bench::pe {
namespace {

class RawCursor final : public CellCursor {
 public:
  explicit RawCursor(std::unique_ptr<Iterator> iterator) : iterator_(std::move(iterator)) {}
  void Seek(std::string_view key) override { iterator_->Seek(key); }
  void SeekForPrev(std::string_view key) override { iterator_->SeekForPrev(key); }
  bool Valid() override { return iterator_->Valid(); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  std::string_view key() override { return iterator_->key(); }
  std::string_view value() override { return iterator_->value(); }
  absl::Status status() override { return iterator_->status(); }

 private:
  const std::unique_ptr<Iterator> iterator_;
};

class RawCells final : public CellStore {
 public:
  RawCells(DB& db, const std::vector<ColumnFamily*>& families, const PeOptions& options)
      : db_(db), families_(families) {
    write_.disable_wal = !options.write_to_wal;
  }
  void AddPut(size_t family, std::string_view key, std::string_view value) override {
    batch_.Put(families_[family], key, value);
  }
  void AddDelete(size_t family, std::string_view key) override {
    batch_.Delete(families_[family], key);
  }
  absl::Status Commit() override {
    absl::Status written = db_.Write(write_, batch_);
    batch_.Clear();
    return written;
  }
  absl::Status ReadColumn(size_t family, std::string_view column_prefix, bool* is_there,
                          std::string* value) override {
    key_ = column_prefix;
    AppendCellNumber(1, CellKind::kVersion, &key_);
    const absl::Status got = db_.Get(ReadOptions(), families_[family], key_, value);
    *is_there = got.ok();
    return absl::IsNotFound(got) ? absl::OkStatus() : got;
  }
  std::unique_ptr<CellCursor> NewCursor(size_t family, std::string_view row_prefix) override {
    ReadOptions options;
    if (!row_prefix.empty()) {
      options.lower_bound = row_prefix;
      options.upper_bound = EndOfPrefix(row_prefix);
    }
    return std::make_unique<RawCursor>(db_.NewIterator(options, families_[family]));
  }

 private:
  DB& db_;
  const std::vector<ColumnFamily*>& families_;
  WriteOptions write_;
  WriteBatch batch_;
  std::string key_;
};

class RawStore final : public RowStore {
 public:
  RawStore(std::unique_ptr<DB> db, std::vector<ColumnFamily*> families, const PeOptions& options)
      : db_(std::move(db)), families_(std::move(families)), options_(options) {}

  absl::StatusOr<std::unique_ptr<RowClient>> NewClient(
      std::vector<CellColumn> read_columns) override {
    return NewCellClient(std::make_unique<RawCells>(*db_, families_, options_), options_, latches_,
                         std::move(read_columns));
  }
  absl::Status Settle() override {
    for (ColumnFamily* const family : families_) {
      WINNOW_RETURN_IF_ERROR(db_->CompactRange(family, std::nullopt, std::nullopt));
    }
    return db_->WaitForBackgroundWork();
  }
  absl::Status Flush() override {
    for (ColumnFamily* const family : families_) WINNOW_RETURN_IF_ERROR(db_->Flush(family));
    return absl::OkStatus();
  }
  EngineCounters Counters() override { return CountersOf(*db_); }
  absl::Status Close() override { return db_->Close(); }

 private:
  const std::unique_ptr<DB> db_;
  const std::vector<ColumnFamily*> families_;
  const PeOptions& options_;
  RowLatches latches_;
};

absl::StatusOr<std::unique_ptr<RowStore>> OpenRaw(const PeOptions& options,
                                                  const std::string& directory) {
  WINNOW_ASSIGN_OR_RETURN(const Options database, WinnowOptionsOf(options));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<DB> db, DB::Open(database, directory));
  std::vector<ColumnFamily*> families;
  for (uint64_t i = 0; i < options.families; i++) {
    absl::StatusOr<ColumnFamily*> family = db->FindColumnFamily(FamilyName(i));
    if (absl::IsNotFound(family.status())) {
      family = db->CreateColumnFamily(database, FamilyName(i));
    }
    if (!family.ok()) return family.status();
    families.push_back(*family);
  }
  return std::make_unique<RawStore>(std::move(db), std::move(families), options);
}

}  // namespace

const RowStoreFactory kRawFactory = {
    "raw", "Winnow's engine with the same cell keys, whole keys in its filters", OpenRaw,
    [](const std::string& directory) { return DB::Destroy(Options(), directory); }};

}  // namespace winnow::bench::pe
