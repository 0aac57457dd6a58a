#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include "absl/status/status.h"
#include "tools/winnow/peer_types.h"

namespace winnow::cli {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;

leveldb::Slice ToSlice(std::string_view view) { return {view.data(), view.size()}; }

class LevelDbReader final : public PeerReader {
 public:
  explicit LevelDbReader(leveldb::DB* db) : db_(db) {}
  const std::vector<std::string>& families() const override { return families_; }
  std::unique_ptr<PeerCursor> NewCursor(const std::string& family) override {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    return std::make_unique<IteratorCursor<leveldb::Iterator>>(db_->NewIterator(options));
  }
  uint64_t FileBytes(const std::string& family) override {
    const std::unique_ptr<leveldb::Iterator> last(db_->NewIterator(leveldb::ReadOptions()));
    last->SeekToLast();
    return last->Valid() ? FileBytesBefore(family, View(last->key())) : 0;
  }
  uint64_t FileBytesBefore(const std::string& family, std::string_view key) override {
    const leveldb::Range range("", ToSlice(key));
    uint64_t bytes = 0;
    db_->GetApproximateSizes(&range, 1, &bytes);
    return bytes;
  }

 private:
  const std::unique_ptr<leveldb::DB> db_;
  const std::vector<std::string> families_ = {"default"};
};

class LevelDbWriter final : public PeerWriter {
 public:
  explicit LevelDbWriter(leveldb::DB* db) : db_(db) {}
  absl::Status CreateFamily(const std::string& family) override {
    return absl::UnimplementedError("LevelDB has no column families");
  }
  absl::Status Put(const std::string& family, std::string_view key,
                   std::string_view value) override {
    batch_.Put(ToSlice(key), ToSlice(value));
    return batch_.ApproximateSize() < kBatchBytes ? absl::OkStatus() : WriteBatchOut(false);
  }
  // A synced write syncs the newest log alone, and closing gives up a memtable that is on its way
  // to a table, whose log was never synced. So all of it goes to tables first: CompactRange waits
  // for that, and the write behind it fails if that has failed.
  absl::Status Finish() override {
    absl::Status written = WriteBatchOut(false);
    const leveldb::Slice none;
    if (written.ok()) {
      db_->CompactRange(&none, &none);
      written = WriteBatchOut(true);
    }
    db_.reset();
    return written;
  }

 private:
  absl::Status WriteBatchOut(bool sync) {
    leveldb::WriteOptions options;
    options.sync = sync;
    const leveldb::Status status = db_->Write(options, &batch_);
    batch_.Clear();
    return ToStatus(status);
  }

  std::unique_ptr<leveldb::DB> db_;
  leveldb::WriteBatch batch_;
};

absl::StatusOr<std::unique_ptr<PeerReader>> Open(const std::string& path) {
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, path, &db);
  if (!status.ok()) return ToStatus(status);
  return std::make_unique<LevelDbReader>(db);
}

absl::StatusOr<std::unique_ptr<PeerWriter>> Create(const std::string& path) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.write_buffer_size = size_t{64} << 20;
  leveldb::DB* db = nullptr;
  const leveldb::Status status = leveldb::DB::Open(options, path, &db);
  if (status.IsInvalidArgument()) return absl::AlreadyExistsError(status.ToString());
  if (!status.ok()) return ToStatus(status);
  return std::make_unique<LevelDbWriter>(db);
}

absl::Status Destroy(const std::string& path) {
  return ToStatus(leveldb::DestroyDB(path, leveldb::Options()));
}

}  // namespace

Peer LevelDbPeer() { return {"leveldb", /*has_families=*/false, Open, Create, Destroy}; }

}  // namespace winnow::cli
