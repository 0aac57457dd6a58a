// Random histories applied to Winnow and to RocksDB, which must give the same answers: puts,
// deletions of keys and of ranges, merges, batches, ingested tables, snapshots, and iterators that
// are held while others write.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "tests/engine/rocksdb_oracle/rocksdb_database.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "winnow/ingest.h"

namespace winnow {
namespace {

using Updates = std::vector<OracleUpdate>;

// What a history is made of, in thousandths.
struct Mixture {
  uint64_t merges;
  uint64_t puts;
  uint64_t deletions;
  uint64_t range_deletions;
  uint64_t ingestions;
};
constexpr Mixture kMostlyMerges = {600, 80, 60, 0, 0};
constexpr Mixture kOfEverything = {150, 250, 80, 60, 12};

// Two iterators of one moment. RocksDB's needs its snapshot as long as it lives.
struct HeldIterators {
  std::unique_ptr<Iterator> own;
  rocksdb_iterator_t* other = nullptr;
  const rocksdb_snapshot_t* snapshot = nullptr;
};

class Histories {
 public:
  Histories(uint64_t seed, const std::string& directory, const Mixture& mixture)
      : random_(seed), mixture_(mixture), counts_(seed % 2 == 0), oracle_(directory, counts_) {
    Options options = MemoryDb::Busy();
    options.merge_operator = *ParseMergeOperator(counts_ ? "uint64_add" : "append:,");
    options.disable_auto_compactions = Below(2) == 0;
    options.row_cache_bytes = Below(2) == 0 ? 0 : 64 << 10;
    options.filter_memory_budget = Below(3) == 0 ? 64 << 10 : 0;
    options.optimize_filters_for_hits = Below(3) == 0;
    constexpr CompactionStyle::Kind kStyles[] = {CompactionStyle::Kind::kLeveled,
                                                 CompactionStyle::Kind::kLazyLeveled,
                                                 CompactionStyle::Kind::kTiered};
    options.compaction.kind = kStyles[Below(std::size(kStyles))];
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
  OracleUpdate RangeDeletion() {
    OracleUpdate update = {.key = Key(), .value = std::nullopt, .end = Key()};
    if (*update.end < update.key) std::swap(*update.end, update.key);
    return update;
  }

  void Step(uint64_t choice) {
    const auto falls_to = [&](uint64_t share) {
      const bool chosen = choice < share;
      choice -= chosen ? 0 : share;
      return chosen;
    };
    if (falls_to(mixture_.merges)) return Write({{Key(), Value(), true}});
    if (falls_to(mixture_.puts)) return Write({{Key(), Value()}});
    if (falls_to(mixture_.deletions)) return Write({{Key(), std::nullopt}});
    if (falls_to(mixture_.range_deletions)) {
      return Write(Below(2) == 0 ? Updates{RangeDeletion()} : Batch());
    }
    if (falls_to(mixture_.ingestions)) return Ingest();
    if (falls_to(40)) return CheckSnapshot(Key());
    if (falls_to(20)) return TakeSnapshot();
    if (falls_to(10)) return ReleaseOne();
    if (falls_to(12)) return Flush();
    if (falls_to(8)) return Compact();
    if (falls_to(4)) return Reopen();
    if (falls_to(6)) return CheckAll(nullptr, nullptr);
    if (falls_to(60)) return MoveIterators();
    const std::string key = Key();
    ASSERT_EQ(db_->Get(key), oracle_.Get(key, nullptr)) << key;
  }

  // Updates of a few keys, so that a range deletion stands between them.
  Updates Batch() {
    Updates updates;
    for (uint64_t left = 2 + Below(6); left > 0; left--) {
      const uint64_t kind = Below(4);
      if (kind == 0) updates.push_back(RangeDeletion());
      if (kind == 1) updates.push_back({Key(), std::nullopt});
      if (kind > 1) updates.push_back({Key(), Value(), kind == 2});
    }
    return updates;
  }
  void Write(const Updates& updates) {
    WriteBatch batch;
    for (const OracleUpdate& update : updates) {
      if (update.end.has_value()) {
        batch.DeleteRange(update.key, *update.end);
      } else if (!update.value.has_value()) {
        batch.Delete(update.key);
      } else if (update.merges) {
        batch.Merge(update.key, *update.value);
      } else {
        batch.Put(update.key, *update.value);
      }
    }
    ASSERT_TRUE((*db_)->Write(WriteOptions(), batch).ok());
    oracle_.Write(updates);
  }
  void Ingest() {
    std::map<std::string, OracleUpdate> updates;
    for (uint64_t left = 1 + Below(8); left > 0; left--) {
      const std::string key = Key();
      const uint64_t kind = Below(3);
      updates[key] = {key, std::nullopt};
      if (kind > 0) updates[key] = {key, Value(), kind == 1};
    }
    const auto writer = *(*db_)->NewSstWriter((*db_)->DefaultColumnFamily(), "/table");
    Updates ascending;
    for (const auto& [key, update] : updates) {
      ascending.push_back(update);
      const absl::Status added = !update.value.has_value() ? writer->Delete(key)
                                 : update.merges           ? writer->Merge(key, *update.value)
                                                           : writer->Put(key, *update.value);
      ASSERT_TRUE(added.ok()) << added;
    }
    ASSERT_TRUE(writer->Finish().ok());
    const auto ingested = (*db_)->Ingest({{.path = "/table"}}, {.move = true});
    ASSERT_TRUE(ingested.ok()) << ingested.status();
    oracle_.Ingest(ascending);
  }
  void Flush() {
    db_->Flush();
    oracle_.Flush();
  }
  void Compact() {
    db_->CompactAll();
    oracle_.Compact();
  }
  void Reopen() {
    ReleaseAll();
    db_->Reopen();
    oracle_.Close();
    oracle_.Open();
  }

  // They go on from where they are, at the moment when they were made.
  void MoveIterators() {
    if (iterators_.size() < 3) {
      ReadOptions read;
      const rocksdb_snapshot_t* other = nullptr;
      if (!snapshots_.empty() && Below(2) == 0) {
        std::tie(read.snapshot, other) = snapshots_[Below(snapshots_.size())];
      }
      iterators_.push_back({(*db_)->NewIterator(read), oracle_.NewIterator(other), other});
    }
    const size_t index = Below(iterators_.size());
    const auto& [own, other, snapshot] = iterators_[index];
    for (uint64_t left = Below(30); left > 0 && !testing::Test::HasFailure(); left--) {
      Move(own.get(), other);
      ASSERT_TRUE(own->status().ok()) << own->status();
      const std::string shown =
          own->Valid() ? absl::StrCat(std::string(own->key()), " = ", std::string(own->value()))
                       : "end";
      ASSERT_EQ(shown, RocksDbDatabase::Shown(other));
    }
    if (Below(4) == 0) DestroyIterators(index);
  }
  void Move(Iterator* own, rocksdb_iterator_t* other) {
    const std::string key = Key();
    const uint64_t kind = own->Valid() ? Below(12) : Below(4);
    switch (kind) {
      case 0:
        own->SeekToFirst();
        return rocksdb_iter_seek_to_first(other);
      case 1:
        own->SeekToLast();
        return rocksdb_iter_seek_to_last(other);
      case 2:
        own->Seek(key);
        return rocksdb_iter_seek(other, key.data(), key.size());
      case 3:
        own->SeekForPrev(key);
        return rocksdb_iter_seek_for_prev(other, key.data(), key.size());
      default:
        kind % 2 == 0 ? own->Next() : own->Prev();
        return kind % 2 == 0 ? rocksdb_iter_next(other) : rocksdb_iter_prev(other);
    }
  }
  void DestroyIterators(size_t index) {
    rocksdb_iter_destroy(iterators_[index].other);
    iterators_.erase(iterators_.begin() + static_cast<ptrdiff_t>(index));
  }

  void TakeSnapshot() {
    if (snapshots_.size() < 4) {
      snapshots_.emplace_back((*db_)->GetSnapshot(), oracle_.Snapshot());
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
    const RocksDbDatabase::Entries expected = oracle_.All(other);
    const auto iterator = (*db_)->NewIterator(read);
    RocksDbDatabase::Entries forward;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      forward.emplace_back(iterator->key(), iterator->value());
    }
    ASSERT_EQ(forward, expected);
    RocksDbDatabase::Entries backward;
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      backward.emplace_back(iterator->key(), iterator->value());
    }
    ASSERT_EQ(backward, RocksDbDatabase::Entries(expected.rbegin(), expected.rend()));
    ASSERT_TRUE(iterator->status().ok());
  }
  void ReleaseOne() {
    if (snapshots_.empty()) return;
    const size_t index = Below(snapshots_.size());
    for (size_t i = iterators_.size(); i-- > 0;) {
      if (iterators_[i].snapshot == snapshots_[index].second) DestroyIterators(i);
    }
    (*db_)->ReleaseSnapshot(snapshots_[index].first);
    oracle_.Release(snapshots_[index].second);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(index));
  }
  void ReleaseAll() {
    while (!iterators_.empty()) DestroyIterators(0);
    while (!snapshots_.empty()) ReleaseOne();
  }

  std::mt19937_64 random_;
  const Mixture mixture_;
  const bool counts_;
  RocksDbDatabase oracle_;
  std::unique_ptr<MemoryDb> db_;
  std::vector<std::pair<const Snapshot*, const rocksdb_snapshot_t*>> snapshots_;
  std::vector<HeldIterators> iterators_;
};

void AnswersAreTheSame(const Mixture& mixture, uint64_t seeds, int steps) {
  const ScratchDirectory directory("rocksdb_oracle");
  for (const uint64_t seed : Seeds(seeds)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    Histories(seed, absl::StrCat(directory.path(), "/", seed), mixture).Run(steps);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RocksDbOracle, MergesGiveTheSameAnswers) { AnswersAreTheSame(kMostlyMerges, 10, 3000); }

TEST(RocksDbOracle, RangeDeletionsAndAllElseGiveTheSameAnswers) {
  AnswersAreTheSame(kOfEverything, 12, 3000);
}

}  // namespace
}  // namespace winnow
