// Random histories with merges, applied to Winnow and to RocksDB, which must give the same answers.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "rocksdb/c.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

// RocksDB's callbacks for what append:, does.
char* Joined(std::string joined, bool has_first, const char* const* operands, const size_t* lengths,
             int count, unsigned char* success, size_t* length) {
  for (int i = 0; i < count; i++) {
    if (has_first || i > 0) joined += ",";
    joined.append(operands[i], lengths[i]);
  }
  *success = 1;
  *length = joined.size();
  char* copy = static_cast<char*>(std::malloc(joined.size() + 1));
  std::memcpy(copy, joined.data(), joined.size());
  return copy;
}
char* FullJoin(void*, const char*, size_t, const char* existing, size_t existing_length,
               const char* const* operands, const size_t* lengths, int count,
               unsigned char* success, size_t* length) {
  const bool has_first = existing != nullptr;
  return Joined(has_first ? std::string(existing, existing_length) : "", has_first, operands,
                lengths, count, success, length);
}
char* PartialJoin(void*, const char*, size_t, const char* const* operands, const size_t* lengths,
                  int count, unsigned char* success, size_t* length) {
  return Joined("", false, operands, lengths, count, success, length);
}
const char* JoinName(void*) { return "join"; }
void DoNothing(void*) {}

class Oracle {
 public:
  Oracle(const std::string& path, bool counts) : path_(path) {
    options_ = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options_, 1);
    rocksdb_options_set_write_buffer_size(options_, 64 << 10);
    if (counts) {
      rocksdb_options_set_uint64add_merge_operator(options_);
    } else {
      rocksdb_options_set_merge_operator(
          options_, rocksdb_mergeoperator_create(nullptr, DoNothing, FullJoin, PartialJoin, nullptr,
                                                 JoinName));
    }
    Open();
  }
  ~Oracle() {
    Close();
    rocksdb_options_destroy(options_);
    rocksdb_readoptions_destroy(read_);
    rocksdb_writeoptions_destroy(write_);
  }
  void Open() {
    db_ = rocksdb_open(options_, path_.c_str(), &err_);
    Check();
  }
  void Close() {
    rocksdb_close(db_);
    db_ = nullptr;
  }
  void Put(const std::string& key, const std::string& value) {
    rocksdb_put(db_, write_, key.data(), key.size(), value.data(), value.size(), &err_);
    Check();
  }
  void Merge(const std::string& key, const std::string& operand) {
    rocksdb_merge(db_, write_, key.data(), key.size(), operand.data(), operand.size(), &err_);
    Check();
  }
  void Delete(const std::string& key) {
    rocksdb_delete(db_, write_, key.data(), key.size(), &err_);
    Check();
  }
  void Flush() {
    rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
    rocksdb_flush(db_, options, &err_);
    rocksdb_flushoptions_destroy(options);
    Check();
  }
  void Compact() { rocksdb_compact_range(db_, nullptr, 0, nullptr, 0); }
  const rocksdb_snapshot_t* Snapshot() { return rocksdb_create_snapshot(db_); }
  void Release(const rocksdb_snapshot_t* snapshot) { rocksdb_release_snapshot(db_, snapshot); }

  std::string Get(const std::string& key, const rocksdb_snapshot_t* snapshot) {
    rocksdb_readoptions_set_snapshot(read_, snapshot);
    size_t length = 0;
    char* value = rocksdb_get(db_, read_, key.data(), key.size(), &length, &err_);
    Check();
    if (value == nullptr) return "(absent)";
    std::string copy(value, length);
    rocksdb_free(value);
    return copy;
  }
  using Entries = std::vector<std::pair<std::string, std::string>>;
  Entries All(const rocksdb_snapshot_t* snapshot) {
    rocksdb_readoptions_set_snapshot(read_, snapshot);
    rocksdb_iterator_t* iterator = rocksdb_create_iterator(db_, read_);
    Entries entries;
    for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator) != 0;
         rocksdb_iter_next(iterator)) {
      size_t key_length = 0;
      size_t value_length = 0;
      const char* key = rocksdb_iter_key(iterator, &key_length);
      const char* value = rocksdb_iter_value(iterator, &value_length);
      entries.emplace_back(std::string(key, key_length), std::string(value, value_length));
    }
    rocksdb_iter_destroy(iterator);
    return entries;
  }

 private:
  void Check() { ASSERT_EQ(err_, nullptr) << err_; }

  const std::string path_;
  rocksdb_options_t* options_;
  rocksdb_readoptions_t* read_ = rocksdb_readoptions_create();
  rocksdb_writeoptions_t* write_ = rocksdb_writeoptions_create();
  rocksdb_t* db_ = nullptr;
  char* err_ = nullptr;
};

class Histories {
 public:
  Histories(uint64_t seed, const std::string& directory)
      : random_(seed), counts_(seed % 2 == 0), oracle_(directory, counts_) {
    Options options = MemoryDb::Busy();
    options.merge_operator = *ParseMergeOperator(counts_ ? "uint64_add" : "append:,");
    options.disable_auto_compactions = Below(2) == 0;
    db_ = std::make_unique<MemoryDb>(options);
  }
  ~Histories() { ReleaseAll(); }

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); i++) Step(Below(1000));
    CheckAll(nullptr, nullptr);
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  std::string Key() { return absl::StrCat("key", Below(60)); }
  std::string Value() {
    if (!counts_) return std::string(Below(8), static_cast<char>('a' + Below(26)));
    std::string bytes;
    PutFixed64(&bytes, Below(3) == 0 ? random_() : Below(100));
    return bytes;
  }

  void Step(uint64_t choice) {
    const std::string key = Key();
    if (choice < 600) {
      const std::string operand = Value();
      ASSERT_TRUE((*db_)->Merge(WriteOptions(), key, operand).ok());
      oracle_.Merge(key, operand);
    } else if (choice < 680) {
      const std::string value = Value();
      db_->Put(key, value);
      oracle_.Put(key, value);
    } else if (choice < 740) {
      db_->Delete(key);
      oracle_.Delete(key);
    } else if (choice < 900) {
      ASSERT_EQ(db_->Get(key), oracle_.Get(key, nullptr)) << key;
    } else if (choice < 940) {
      CheckSnapshot(key);
    } else if (choice < 960) {
      if (snapshots_.size() < 4) {
        snapshots_.emplace_back((*db_)->GetSnapshot(), oracle_.Snapshot());
      }
    } else if (choice < 970) {
      ReleaseOne();
    } else if (choice < 982) {
      db_->Flush();
      oracle_.Flush();
    } else if (choice < 990) {
      db_->CompactAll();
      oracle_.Compact();
    } else if (choice < 994) {
      ReleaseAll();
      db_->Reopen();
      oracle_.Close();
      oracle_.Open();
    } else {
      CheckAll(nullptr, nullptr);
    }
  }
  void CheckSnapshot(const std::string& key) {
    if (snapshots_.empty()) return;
    const auto& [snapshot, other] = snapshots_[Below(snapshots_.size())];
    ASSERT_EQ(db_->Get(key, snapshot), oracle_.Get(key, other)) << key;
    if (Below(4) == 0) CheckAll(snapshot, other);
  }
  void CheckAll(const Snapshot* snapshot, const rocksdb_snapshot_t* other) {
    ReadOptions read;
    read.snapshot = snapshot;
    const Oracle::Entries expected = oracle_.All(other);
    const auto iterator = (*db_)->NewIterator(read);
    Oracle::Entries forward;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      forward.emplace_back(iterator->key(), iterator->value());
    }
    ASSERT_EQ(forward, expected);
    Oracle::Entries backward;
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      backward.emplace_back(iterator->key(), iterator->value());
    }
    ASSERT_EQ(backward, Oracle::Entries(expected.rbegin(), expected.rend()));
    ASSERT_TRUE(iterator->status().ok());
  }
  void ReleaseOne() {
    if (snapshots_.empty()) return;
    const size_t index = Below(snapshots_.size());
    (*db_)->ReleaseSnapshot(snapshots_[index].first);
    oracle_.Release(snapshots_[index].second);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(index));
  }
  void ReleaseAll() {
    while (!snapshots_.empty()) ReleaseOne();
  }

  std::mt19937_64 random_;
  const bool counts_;
  Oracle oracle_;
  std::unique_ptr<MemoryDb> db_;
  std::vector<std::pair<const Snapshot*, const rocksdb_snapshot_t*>> snapshots_;
};

TEST(MergeOracle, RocksDbGivesTheSameAnswers) {
  const ScratchDirectory directory("merge_oracle");
  for (const uint64_t seed : Seeds(10)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    Histories(seed, absl::StrCat(directory.path(), "/", seed)).Run(3000);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace winnow
