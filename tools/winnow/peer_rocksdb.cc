#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <map>

#include "absl/status/status.h"
#include "tools/peer/open_peer_database.h"
#include "tools/winnow/peer_types.h"

namespace winnow::cli {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
// RocksDB ends the process if a thread that opens files cannot be had.
constexpr int kOpeningThreads = 1;

rocksdb::Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }

using Handles = std::map<std::string, rocksdb::ColumnFamilyHandle*>;

// Column families go back before their database.
class OpenRocksDb {
 public:
  OpenRocksDb(std::unique_ptr<rocksdb::DB> db, Handles handles)
      : db_(std::move(db)), handles_(std::move(handles)) {}
  ~OpenRocksDb() { Close().PermitUncheckedError(); }
  OpenRocksDb(const OpenRocksDb&) = delete;
  OpenRocksDb& operator=(const OpenRocksDb&) = delete;

  rocksdb::Status Close() {
    if (db_ == nullptr) return rocksdb::Status::OK();
    for (const auto& [name, handle] : handles_) {
      if (handle != db_->DefaultColumnFamily()) {
        db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
      }
    }
    const rocksdb::Status closed = db_->Close();
    db_.reset();
    return closed;
  }

  rocksdb::DB& db() { return *db_; }
  Handles& handles() { return handles_; }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  Handles handles_;
};

class RocksDbReader final : public PeerReader {
 public:
  RocksDbReader(std::unique_ptr<rocksdb::DB> db, const Handles& handles,
                std::vector<std::string> families)
      : opened_(std::move(db), handles), families_(std::move(families)) {}
  const std::vector<std::string>& families() const override { return families_; }
  std::unique_ptr<PeerCursor> NewCursor(const std::string& family) override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.total_order_seek = true;
    return std::make_unique<IteratorCursor<rocksdb::Iterator>>(
        opened_.db().NewIterator(options, Handle(family)));
  }
  uint64_t FileBytes(const std::string& family) override {
    uint64_t bytes = 0;
    opened_.db().GetIntProperty(Handle(family), "rocksdb.live-sst-files-size", &bytes);
    return bytes;
  }
  uint64_t FileBytesBefore(const std::string& family, std::string_view key) override {
    const rocksdb::Range range("", ToSlice(key));
    uint64_t bytes = 0;
    opened_.db()
        .GetApproximateSizes(rocksdb::SizeApproximationOptions(), Handle(family), &range, 1,
                             &bytes)
        .PermitUncheckedError();  // progress only
    return bytes;
  }

 private:
  rocksdb::ColumnFamilyHandle* Handle(const std::string& family) {
    return opened_.handles().at(family);
  }

  OpenRocksDb opened_;
  const std::vector<std::string> families_;
};

class RocksDbWriter final : public PeerWriter {
 public:
  explicit RocksDbWriter(std::unique_ptr<rocksdb::DB> db) : opened_(std::move(db), {}) {
    opened_.handles()["default"] = opened_.db().DefaultColumnFamily();
  }
  absl::Status CreateFamily(const std::string& family) override {
    return ToStatus(opened_.db().CreateColumnFamily(rocksdb::ColumnFamilyOptions(), family,
                                                    &opened_.handles()[family]));
  }
  absl::Status Put(const std::string& family, std::string_view key,
                   std::string_view value) override {
    const rocksdb::Status status =
        batch_.Put(opened_.handles().at(family), ToSlice(key), ToSlice(value));
    if (!status.ok()) return ToStatus(status);
    return batch_.GetDataSize() < kBatchBytes ? absl::OkStatus() : WriteBatchOut();
  }
  absl::Status Finish() override {
    absl::Status status = WriteBatchOut();
    std::vector<rocksdb::ColumnFamilyHandle*> all;
    for (const auto& [name, handle] : opened_.handles()) all.push_back(handle);
    status.Update(ToStatus(opened_.db().Flush(rocksdb::FlushOptions(), all)));
    status.Update(ToStatus(opened_.Close()));
    return status;
  }

 private:
  absl::Status WriteBatchOut() {
    rocksdb::WriteOptions options;
    options.disableWAL = true;  // Finish flushes
    const rocksdb::Status status = opened_.db().Write(options, &batch_);
    batch_.Clear();
    return ToStatus(status);
  }

  OpenRocksDb opened_;
  rocksdb::WriteBatch batch_;
};

absl::StatusOr<std::unique_ptr<PeerReader>> Open(const std::string& path) {
  std::vector<std::string> families;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path, &families);
  if (!status.ok()) return ToStatus(status);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& family : families) {
    descriptors.emplace_back(family, rocksdb::ColumnFamilyOptions());
  }
  rocksdb::DBOptions options;
  options.max_file_opening_threads = kOpeningThreads;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> found;
  status = OpenPeerDatabase(&db,
                            [&](auto* opened) -> decltype(rocksdb::DB::OpenForReadOnly(
                                                  options, path, descriptors, &found, opened)) {
                              return rocksdb::DB::OpenForReadOnly(options, path, descriptors,
                                                                  &found, opened);
                            });
  if (!status.ok()) return ToStatus(status);
  Handles handles;
  for (size_t i = 0; i < families.size(); i++) handles[families[i]] = found[i];
  // Only these are the caller's to give back.
  return std::make_unique<RocksDbReader>(std::move(db), handles, std::move(families));
}

absl::StatusOr<std::unique_ptr<PeerWriter>> Create(const std::string& path) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.max_file_opening_threads = kOpeningThreads;
  std::unique_ptr<rocksdb::DB> db;
  const rocksdb::Status status = OpenPeerDatabase(
      &db, [&](auto* opened) -> decltype(rocksdb::DB::Open(options, path, opened)) {
        return rocksdb::DB::Open(options, path, opened);
      });
  if (status.IsInvalidArgument()) return absl::AlreadyExistsError(status.ToString());
  if (!status.ok()) return ToStatus(status);
  return std::make_unique<RocksDbWriter>(std::move(db));
}

absl::Status Destroy(const std::string& path) {
  return ToStatus(rocksdb::DestroyDB(path, rocksdb::Options()));
}

}  // namespace

Peer RocksDbPeer() { return {"rocksdb", /*has_families=*/true, Open, Create, Destroy}; }

}  // namespace winnow::cli
