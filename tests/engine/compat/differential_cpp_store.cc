// LevelDB's C++ classes on Winnow.
#include <gtest/gtest.h>

#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/options.h"
#include "leveldb/write_batch.h"
#include "tests/engine/compat/differential_store.h"

namespace winnow {
namespace {

class CppStore final : public Store {
 public:
  CppStore(const Settings& settings, const std::string& path) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = settings.write_buffer_bytes;
    options.block_size = settings.block_bytes;
    options.block_restart_interval = settings.restart_interval;
    options.compression =
        settings.compresses ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    if (settings.bloom_bits > 0) policy_.reset(leveldb::NewBloomFilterPolicy(settings.bloom_bits));
    options.filter_policy = policy_.get();
    leveldb::DB* db = nullptr;
    Check(leveldb::DB::Open(options, path, &db));
    db_.reset(db);
  }
  ~CppStore() override {
    iterators_.clear();
    for (const leveldb::Snapshot* const snapshot : snapshots_) db_->ReleaseSnapshot(snapshot);
  }

  void Put(const std::string& key, const std::string& value, bool sync) override {
    leveldb::WriteOptions options;
    options.sync = sync;
    Check(db_->Put(options, key, value));
  }
  void Delete(const std::string& key) override { Check(db_->Delete({}, key)); }
  void Write(const std::vector<Update>& updates) override {
    leveldb::WriteBatch batch;
    leveldb::WriteBatch rest;
    for (size_t i = 0; i < updates.size(); i++) {
      leveldb::WriteBatch& to = i < updates.size() / 2 ? batch : rest;
      if (updates[i].value.has_value()) {
        to.Put(updates[i].key, *updates[i].value);
      } else {
        to.Delete(updates[i].key);
      }
    }
    batch.Append(rest);
    Check(db_->Write({}, &batch));
  }
  std::string Get(const std::string& key, int snapshot) override {
    std::string value;
    const leveldb::Status status = db_->Get(Read(snapshot), key, &value);
    if (status.IsNotFound()) return "absent";
    Check(status);
    return EntryText(key, value);
  }
  void TakeSnapshot() override { snapshots_.push_back(db_->GetSnapshot()); }
  void ReleaseSnapshot(int snapshot) override {
    db_->ReleaseSnapshot(snapshots_[static_cast<size_t>(snapshot)]);
    snapshots_.erase(snapshots_.begin() + snapshot);
  }
  void NewIterator(int snapshot) override {
    iterators_.emplace_back(db_->NewIterator(Read(snapshot)));
  }
  void DropIterator(int iterator) override { iterators_.erase(iterators_.begin() + iterator); }
  std::string Move(int iterator, Step step, const std::string& key) override {
    leveldb::Iterator& it = *iterators_[static_cast<size_t>(iterator)];
    const bool was_valid = it.Valid();
    if (step == Step::kFirst) it.SeekToFirst();
    if (step == Step::kLast) it.SeekToLast();
    if (step == Step::kSeek) it.Seek(key);
    if (step == Step::kNext && was_valid) it.Next();
    if (step == Step::kPrev && was_valid) it.Prev();
    Check(it.status());
    return it.Valid() ? EntryText({it.key().data(), it.key().size()},
                                  {it.value().data(), it.value().size()})
                      : "end";
  }
  void Compact(const Bound& begin, const Bound& end) override {
    const leveldb::Slice first = begin ? leveldb::Slice(*begin) : leveldb::Slice();
    const leveldb::Slice last = end ? leveldb::Slice(*end) : leveldb::Slice();
    db_->CompactRange(begin ? &first : nullptr, end ? &last : nullptr);
  }
  bool HasProperty(const std::string& name) override {
    std::string value;
    return db_->GetProperty(name, &value);
  }

 private:
  static void Check(const leveldb::Status& status) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  leveldb::ReadOptions Read(int snapshot) const {
    leveldb::ReadOptions options;
    if (snapshot != kNoSnapshot) options.snapshot = snapshots_[static_cast<size_t>(snapshot)];
    return options;
  }

  std::unique_ptr<const leveldb::FilterPolicy> policy_;
  std::unique_ptr<leveldb::DB> db_;
  std::vector<const leveldb::Snapshot*> snapshots_;
  std::vector<std::unique_ptr<leveldb::Iterator>> iterators_;
};

}  // namespace

std::unique_ptr<Store> OpenWithCppClasses(const Settings& settings, const std::string& path) {
  return std::make_unique<CppStore>(settings, path);
}

}  // namespace winnow
