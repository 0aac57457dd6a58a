#include "leveldb/db.h"

#include <algorithm>
#include <vector>

#include "engine/compat/compact_range_error.h"
#include "engine/compat/error_text.h"
#include "engine/compat/leveldb/conversions.h"
#include "engine/compat/leveldb/write_batch_internal.h"
#include "engine/compat/leveldb_properties.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"
#include "winnow/db.h"
#include "winnow/repair.h"

namespace leveldb {

DB::~DB() = default;
Snapshot::~Snapshot() = default;

Options::Options() : comparator(BytewiseComparator()), env(Env::Default()) {}

namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;
constexpr size_t kGiB = 1024 * kMiB;
// The bounds are those of leveldb/options.h, inside Winnow's: LevelDB moves sizes that are out of
// range to the nearest end and opens all the same.
constexpr int kMaxRestartInterval = 1024;
constexpr int kMinOpenFiles = 16;
constexpr int kMaxOpenFiles = 10'000'000;

// Winnow's objects behind LevelDB's options, for as long as the database is open.
struct OpenOptions {
  explicit OpenOptions(const Options& given);

  winnow::Options options;
  std::unique_ptr<const winnow::Comparator> comparator;
  std::unique_ptr<const winnow::FilterPolicy> filter_policy;
  std::unique_ptr<winnow::FileSystem> file_system;
};

// What LevelDB leaves to constants (two memtables, 10 MiB on level 1, the triggers of level 0, a
// cache of 8 MiB) is set to LevelDB's values, so that a program finds the sizes and stalls that it
// was tuned for. Where an option has its default, Winnow's own object is used and not a wrapper
// around LevelDB's: the bytewise order, the operating system's files.
OpenOptions::OpenOptions(const Options& given) {
  const std::string_view bloom = BloomSpec(given.filter_policy);
  options.filter = bloom;
  if (given.comparator != BytewiseComparator()) {
    // LevelDB demands of users of its Bloom filter what Winnow calls EqualKeysHaveEqualBytes.
    comparator = WrapComparator(given.comparator, !bloom.empty());
    options.comparator = comparator.get();
  }
  // A Bloom policy is only a name for Winnow's filter; any other is asked for each SSTable.
  if (given.filter_policy != nullptr && bloom.empty()) {
    filter_policy = WrapFilterPolicy(given.filter_policy);
    options.filter_policy = filter_policy.get();
  }
  if (given.env != Env::Default()) {
    file_system = WrapEnv(given.env);
    options.file_system = file_system.get();
  }
  options.create_if_missing = given.create_if_missing;
  options.error_if_exists = given.error_if_exists;
  // What paranoid_checks means for damaged logs; checksums are verified in any case.
  options.recovery_mode =
      given.paranoid_checks ? winnow::RecoveryMode::kStrict : winnow::RecoveryMode::kPointInTime;
  options.write_buffer_bytes = std::clamp(given.write_buffer_size, 64 * kKiB, kGiB);
  options.max_write_buffers = 2;
  options.block_bytes = std::clamp(given.block_size, kKiB, 4 * kMiB);
  options.block_restart_interval = std::clamp(given.block_restart_interval, 1, kMaxRestartInterval);
  options.target_file_bytes = std::clamp(given.max_file_size, kMiB, kGiB);
  options.max_open_files = std::clamp(given.max_open_files, kMinOpenFiles, kMaxOpenFiles);
  options.level_base_bytes = 10 * kMiB;
  options.level0_slowdown_trigger = 8;
  options.level0_stop_trigger = 12;
  options.compression = given.compression == kSnappyCompression ? winnow::Compression::kSnappy
                                                                : winnow::Compression::kNone;
  options.block_cache = BlockCacheOf(given.block_cache);
  options.block_cache_bytes = 8 * kMiB;
}

// An Env of the program's own makes one directory at a time anyway.
Status CheckParent(const Options& options, const std::string& name) {
  if (options.env != Env::Default() || !options.create_if_missing) return Status::OK();
  return ToStatus(winnow::LevelDbCheckParent(name));
}

// Holds the state that it shows until it is deleted, which must happen before the database is.
class IteratorOnWinnow final : public Iterator {
 public:
  explicit IteratorOnWinnow(std::unique_ptr<winnow::Iterator> iterator)
      : iterator_(std::move(iterator)) {}
  bool Valid() const override { return iterator_->Valid(); }
  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(const Slice& target) override { iterator_->Seek(ToView(target)); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  Slice key() const override { return ToSlice(iterator_->key()); }
  Slice value() const override { return ToSlice(iterator_->value()); }
  Status status() const override { return ToStatus(iterator_->status()); }

 private:
  const std::unique_ptr<winnow::Iterator> iterator_;
};

// A snapshot's handle is the store's own object: it needs nothing besides. The store frees none as
// long as it is open, so that one that has been released may still be read at, as in LevelDB.
const winnow::Snapshot* Unwrap(const Snapshot* snapshot) {
  return reinterpret_cast<const winnow::Snapshot*>(snapshot);
}

// For each call: a few words are copied and nothing is allocated.
winnow::ReadOptions Translate(const ReadOptions& options) {
  winnow::ReadOptions translated;
  translated.snapshot = Unwrap(options.snapshot);
  translated.fill_cache = options.fill_cache;
  return translated;  // checksums are always verified
}

winnow::WriteOptions Translate(const WriteOptions& options) {
  winnow::WriteOptions translated;
  translated.sync = options.sync;
  return translated;
}

std::optional<std::string_view> Bound(const Slice* key) {
  if (key == nullptr) return std::nullopt;
  return ToView(*key);
}

class DbOnWinnow final : public DB {
 public:
  DbOnWinnow(std::unique_ptr<OpenOptions> options, std::unique_ptr<winnow::DB> db)
      : options_(std::move(options)), db_(std::move(db)), family_(db_->DefaultColumnFamily()) {}

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
    if (absl::Status kept = compact_range_error_.Get(); !kept.ok()) return ToStatus(kept);
    return ToStatus(db_->Put(Translate(options), family_, ToView(key), ToView(value)));
  }
  Status Delete(const WriteOptions& options, const Slice& key) override {
    if (absl::Status kept = compact_range_error_.Get(); !kept.ok()) return ToStatus(kept);
    return ToStatus(db_->Delete(Translate(options), family_, ToView(key)));
  }
  // The batch has been Winnow's all along, so that nothing is copied here, and stays as it is.
  Status Write(const WriteOptions& options, WriteBatch* updates) override {
    if (absl::Status kept = compact_range_error_.Get(); !kept.ok()) return ToStatus(kept);
    return ToStatus(db_->Write(Translate(options), WriteBatchInternal::Get(*updates)));
  }
  // An absent key is the status NotFound, and *value keeps what it had.
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override {
    return ToStatus(db_->Get(Translate(options), family_, ToView(key), value));
  }
  // Never null: an iterator that could not be made has no entries and an error.
  Iterator* NewIterator(const ReadOptions& options) override {
    return new IteratorOnWinnow(db_->NewIterator(Translate(options), family_));
  }
  // Never looked into: the class of this name has no object, and its protected destructor keeps
  // programs from deleting what is not theirs.
  const Snapshot* GetSnapshot() override {
    return reinterpret_cast<const Snapshot*>(db_->GetSnapshot());
  }
  void ReleaseSnapshot(const Snapshot* snapshot) override {
    db_->ReleaseSnapshot(Unwrap(snapshot));
  }
  // As LevelDB's, also in that *value is emptied where there is no such property.
  bool GetProperty(const Slice& property, std::string* value) override {
    value->clear();
    std::optional<std::string> found =
        winnow::LevelDbProperty(*db_, family_, ToView(property), compact_range_error_.Get());
    if (!found.has_value()) return false;
    *value = *std::move(found);
    return true;
  }
  void GetApproximateSizes(const Range* ranges, int n, uint64_t* sizes) override {
    // One by one: a range that cannot be answered is 0, and the others keep their answers.
    for (int i = 0; i < n; i++) {
      const winnow::KeyRange range = {ToView(ranges[i].start), ToView(ranges[i].limit)};
      const auto bytes = db_->GetApproximateSizes(family_, {&range, 1});
      sizes[i] = bytes.ok() ? bytes->front() : 0;
    }
  }
  void CompactRange(const Slice* begin, const Slice* end) override {
    compact_range_error_.Keep(db_->CompactRange(family_, Bound(begin), Bound(end)));
  }

 private:
  // Background work uses comparator, filter policy and files until the database is closed.
  const std::unique_ptr<OpenOptions> options_;  // outlives db_
  const std::unique_ptr<winnow::DB> db_;
  winnow::ColumnFamily* const family_;
  winnow::CompactRangeError compact_range_error_;
};

}  // namespace

// For subclasses that write batches only, as LevelDB's own do.
Status DB::Put(const WriteOptions& options, const Slice& key, const Slice& value) {
  WriteBatch batch;
  batch.Put(key, value);
  return Write(options, &batch);
}

Status DB::Delete(const WriteOptions& options, const Slice& key) {
  WriteBatch batch;
  batch.Delete(key);
  return Write(options, &batch);
}

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  // Also where opening fails: programs delete the pointer without looking.
  *dbptr = nullptr;
  Status status = CheckParent(options, name);
  if (!status.ok()) return status;
  auto translated = std::make_unique<OpenOptions>(options);
  auto opened = winnow::DB::Open(translated->options, name);
  if (!opened.ok()) {
    return ToStatus(winnow::LevelDbOpenError(opened.status(), name, options.create_if_missing));
  }
  *dbptr = new DbOnWinnow(std::move(translated), *std::move(opened));
  return Status::OK();
}

Status DestroyDB(const std::string& name, const Options& options) {
  // The temporary, and what it wraps, lives until the call has returned.
  return ToStatus(winnow::DB::Destroy(OpenOptions(options).options, name));
}

Status RepairDB(const std::string& name, const Options& options) {
  return ToStatus(winnow::LevelDbRepairError(
      winnow::RepairDatabase(OpenOptions(options).options, name).status()));
}

}  // namespace leveldb
